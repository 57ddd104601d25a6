//! Layout of a stripe's chunks: data, copies and parity.
//!
//! A stripe has places: data chunks first, then redundant ones. Unlike place is a chunk on another
//! member, at the same row. Rotations follow Lee and Katz (ASPLOS 1991); the second parity follows
//! the first, as in Linux md.

use crate::ArrayOptions;
use crate::config::Layout;
use crate::redundancy::{Redundancy, Rotation};
use engine::SECTOR_BYTES;
use options::{Invalid, Size};
use ssd::device::{DeviceKind, Model};

/// Golden ratio's fraction in 64 bits: its multiples spread evenly over the circle.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mapping between stripe places and members.
#[derive(Debug, Clone)]
pub struct Geometry {
    redundancy: Redundancy,
    rotation: Rotation,
    members: u64,
    /// Members per stripe: all members, or the copies of a mirror.
    pub width: u64,
    /// Data chunks per stripe.
    pub data: u64,
    /// Sectors per chunk.
    pub chunk: u64,
    /// Rows of chunks per member.
    pub rows: u64,
    /// With uneven parity shares: end of each member's share on a circle of 64 bits.
    ends: Option<Vec<u64>>,
    /// Stripes per row: members divided by the width.
    groups: u64,
    /// For few members with a periodic layout: member at each place of each stripe in a period.
    /// Otherwise empty.
    places: Vec<u32>,
}

/// Maximum number of members with such a table.
const FEW: u64 = 64;

impl Geometry {
    /// Layout over members of `member_sectors` sectors.
    ///
    /// # Errors
    /// For contradictory keys, which the error names.
    pub fn new(
        config: &ArrayOptions<impl DeviceKind>,
        member_sectors: u64,
    ) -> Result<Geometry, Invalid> {
        let (redundancy, members) = (config.redundancy, u64::from(config.members));
        if config.layout == Layout::Concatenated {
            let problem = format!("a {redundancy} array is striped, not concatenated");
            return Err(Invalid::new(&["device.layout", "device.redundancy"], problem));
        }
        let (width, data) = match redundancy {
            Redundancy::None => (members, members),
            Redundancy::Mirror => (mirror(config)?, 1),
            _ if members < 3 => {
                let problem = format!(
                    "{redundancy} takes at least 3 members, not {members}; two are a mirror"
                );
                return Err(Invalid::new(&["device.members", "device.redundancy"], problem));
            }
            Redundancy::DoubleParity => (members, members - 2),
            _ => (members, members - 1),
        };
        let bytes = config.stripe.bytes();
        let refuse = |problem: String| Err(Invalid::new(&["device.stripe"], problem));
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
            return refuse(format!("{} is not a multiple of a sector of 512B", config.stripe));
        }
        let chunk = bytes / SECTOR_BYTES;
        if chunk > member_sectors {
            let member = Size::from_bytes(member_sectors * SECTOR_BYTES);
            return refuse(format!("{} is more than a member holds, {member}", config.stripe));
        }
        let rows = member_sectors / chunk;
        let rotation = config.parity_rotation;
        let ends = ends(config)?;
        let groups = members / width;
        let places = Vec::new();
        let mut geometry = Geometry {
            redundancy,
            rotation,
            members,
            width,
            data,
            chunk,
            rows,
            ends,
            groups,
            places,
        };
        if let Some(period) = geometry.period().filter(|_| !geometry.is_mirror() && members <= FEW)
        {
            let of = |stripe| (0..width).map(move |place| (stripe, place));
            let all = (0..period).flat_map(of);
            geometry.places = all.map(|it| geometry.computed_member(it.0, it.1) as u32).collect();
        }
        Ok(geometry)
    }

    /// Layout over members of `member_units` units, with chunks of `chunk` units.
    fn in_units(&self, member_units: u64, chunk: u64) -> Geometry {
        Geometry { chunk, rows: member_units / chunk, ..self.clone() }
    }

    /// Layout in pages, without each drive's `log` sectors. If chunks are not whole pages, one page
    /// counts as a chunk.
    pub fn in_pages(&self, drives: &[Box<dyn Model>], log: u64) -> Geometry {
        let fewest = drives.iter().min_by_key(|drive| drive.facts().pages);
        let drive = fewest.expect("an array has members");
        let pages = drive.facts().pages;
        let sectors = drive.capacity_sectors() / pages.max(1);
        let whole = sectors > 0 && self.chunk.is_multiple_of(sectors);
        let pages = pages - log.div_ceil(sectors.max(1)).min(pages);
        self.in_units(pages, if whole { self.chunk / sectors } else { 1 })
    }

    /// Number of member failures without data loss.
    pub fn checks(&self) -> u64 {
        self.width - self.data
    }

    pub fn redundancy(&self) -> Redundancy {
        self.redundancy
    }

    pub fn is_mirror(&self) -> bool {
        self.redundancy == Redundancy::Mirror
    }

    pub fn stripes(&self) -> u64 {
        self.rows * self.groups
    }

    /// Data sectors per stripe.
    pub fn stripe_sectors(&self) -> u64 {
        self.data * self.chunk
    }

    pub fn capacity(&self) -> u64 {
        self.stripes() * self.stripe_sectors()
    }

    /// Row of a stripe.
    pub fn row(&self, stripe: u64) -> u64 {
        stripe / self.groups
    }

    /// Stripe of a member's chunk.
    pub fn stripe_of(&self, member: u64, row: u64) -> u64 {
        row * self.groups + if self.is_mirror() { member / self.width } else { 0 }
    }

    /// Member with the first parity chunk of a stripe.
    fn parity(&self, stripe: u64) -> u64 {
        if let Some(ends) = &self.ends {
            let point = stripe.wrapping_add(1).wrapping_mul(GOLDEN);
            return ends.partition_point(|end| *end <= point) as u64;
        }
        let n = self.members;
        match (self.redundancy, self.rotation) {
            (Redundancy::ParityDisk, _) => n - 1,
            (_, Rotation::LeftSymmetric | Rotation::LeftAsymmetric) => n - 1 - stripe % n,
            _ => stripe % n,
        }
    }

    /// Member at a place of a stripe.
    #[inline]
    pub fn member(&self, stripe: u64, place: u64) -> u64 {
        if self.is_mirror() {
            return stripe % self.groups * self.width + place;
        }
        let known = self.places.get((stripe % self.members * self.width + place) as usize);
        known.map_or_else(|| self.computed_member(stripe, place), |member| u64::from(*member))
    }

    /// Member at a place of a stripe, computed without the table.
    fn computed_member(&self, stripe: u64, place: u64) -> u64 {
        let (n, p) = (self.members, self.parity(stripe));
        if place >= self.data {
            return (p + place - self.data) % n;
        }
        if self.redundancy == Redundancy::ParityDisk {
            return place;
        }
        let checks = self.checks();
        match self.rotation {
            Rotation::LeftSymmetric | Rotation::RightSymmetric => (p + checks + place) % n,
            _ => {
                // From member 0, skipping the parity chunks, which may wrap around.
                let wrapped = (p + checks).saturating_sub(n);
                let member = place + wrapped;
                if member < p { member } else { member + checks - wrapped }
            }
        }
    }

    /// Place of a member in one of its stripes.
    pub fn place_of(&self, stripe: u64, member: u64) -> u64 {
        (0..self.width).find(|place| self.member(stripe, *place) == member).expect("a member of it")
    }

    /// Number of stripes after which places repeat; `None` if they do not.
    pub fn period(&self) -> Option<u64> {
        self.ends.is_none().then_some(self.members)
    }
}

/// Number of copies of a mirror.
fn mirror(config: &ArrayOptions<impl DeviceKind>) -> Result<u64, Invalid> {
    let (copies, members) = (config.copies, config.members);
    if !(2..=10).contains(&copies) {
        let problem = format!("a mirror has 2 to 10 copies, not {copies}");
        return Err(Invalid::new(&["device.copies"], problem));
    }
    if !members.is_multiple_of(copies) {
        let problem = format!("{members} members are no multiple of {copies} copies");
        return Err(Invalid::new(&["device.members", "device.copies"], problem));
    }
    Ok(u64::from(copies))
}

/// End of each member's parity share on a circle of 64 bits.
fn ends(config: &ArrayOptions<impl DeviceKind>) -> Result<Option<Vec<u64>>, Invalid> {
    let Some(shares) = config.parity_share.percent() else { return Ok(None) };
    let refuse = |problem: String| Err(Invalid::new(&["device.parity_share"], problem));
    if ![Redundancy::Parity, Redundancy::DoubleParity].contains(&config.redundancy) {
        return refuse(format!("a {} array has no rotating parity", config.redundancy));
    }
    if shares.len() != config.members as usize {
        return refuse(format!("{} shares for {} members", shares.len(), config.members));
    }
    let sum: f64 = shares.iter().sum();
    if (sum - 100.0).abs() > 1e-6 {
        return refuse(format!("the shares add up to {sum}, not to 100"));
    }
    let mut below = 0.0;
    let mut ends: Vec<u64> = shares
        .iter()
        .map(|share| {
            below += share;
            (below / 100.0 * 2f64.powi(64)) as u64
        })
        .collect();
    // The last member with a share gets the rounding remainder.
    let last = shares.iter().rposition(|share| *share > 0.0).unwrap_or(0);
    ends[last..].fill(u64::MAX);
    Ok(Some(ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OfLaws;
    use options::Choice;
    use std::collections::BTreeSet;

    const ROWS: u64 = 24;
    const CHUNK: u64 = 3;

    fn geometry(members: u64, redundancy: Redundancy, rotation: Rotation, share: &str) -> Geometry {
        let config = OfLaws {
            members: members as u32,
            redundancy,
            parity_rotation: rotation,
            parity_share: share.parse().unwrap(),
            stripe: Size::from_bytes(CHUNK * SECTOR_BYTES),
            ..OfLaws::default()
        };
        Geometry::new(&config, ROWS * CHUNK + 1).unwrap()
    }

    /// All arrays of 3 to 9 members, with each redundancy and rotation.
    fn all() -> impl Iterator<Item = (u64, Redundancy, Rotation, Geometry)> {
        let words = |words: &'static [(&str, &str)]| words.iter().map(|(word, _)| *word);
        let kinds = words(Redundancy::WORDS).filter(|word| *word != "none");
        kinds.flat_map(move |kind| {
            let kind: Redundancy = kind.parse().unwrap();
            words(Rotation::WORDS).flat_map(move |rotation| {
                let rotation: Rotation = rotation.parse().unwrap();
                let even = move |n: &u64| kind != Redundancy::Mirror || n.is_multiple_of(2);
                (3..=9)
                    .filter(even)
                    .map(move |n| (n, kind, rotation, geometry(n, kind, rotation, "equal")))
            })
        })
    }

    #[test]
    fn every_chunk_of_every_member_is_in_one_stripe_and_in_one_place() {
        for (n, kind, rotation, it) in all() {
            let mut seen = BTreeSet::new();
            for stripe in 0..it.stripes() {
                let members: BTreeSet<_> = (0..it.width).map(|k| it.member(stripe, k)).collect();
                assert_eq!(
                    members.len() as u64,
                    it.width,
                    "{n} {kind} {rotation}: on members of their own"
                );
                for place in 0..it.width {
                    let member = it.member(stripe, place);
                    assert!(member < n);
                    assert_eq!(it.place_of(stripe, member), place);
                    assert_eq!(it.stripe_of(member, it.row(stripe)), stripe);
                    assert!(seen.insert((member, it.row(stripe))));
                }
            }
            assert_eq!(seen.len() as u64, n * ROWS, "{n} {kind} {rotation}: a bijection");
            assert_eq!(it.capacity(), n / it.width * ROWS * CHUNK * it.data);
        }
    }

    /// The table for few members equals the computed layout.
    #[test]
    fn the_table_of_places_has_what_is_computed() {
        for (n, kind, rotation, it) in all().filter(|it| !it.3.is_mirror()) {
            assert_eq!(it.places.len() as u64, n * n);
            let places = (0..it.stripes()).flat_map(|stripe| (0..n).map(move |it| (stripe, it)));
            for (stripe, place) in places {
                let computed = it.computed_member(stripe, place);
                assert_eq!(it.member(stripe, place), computed, "{n} {kind} {rotation}");
            }
        }
        let many = geometry(FEW + 1, Redundancy::Parity, Rotation::LeftSymmetric, "equal");
        assert!(many.places.is_empty() && many.member(0, FEW) == FEW);
    }

    #[test]
    fn parity_is_spread_evenly_over_any_n_stripes() {
        for (n, kind, rotation, it) in all().filter(|it| !it.3.is_mirror()) {
            for first in 0..ROWS - n {
                let mut counts = vec![0u32; n as usize];
                for stripe in first..first + n {
                    for place in it.data..it.width {
                        counts[it.member(stripe, place) as usize] += 1;
                    }
                }
                if kind == Redundancy::ParityDisk {
                    assert_eq!(u64::from(counts[n as usize - 1]), n);
                    continue;
                }
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(most - least <= 1, "{n} {kind} {rotation}: {counts:?}");
            }
        }
    }

    /// A long read uses every member.
    #[test]
    fn any_n_consecutive_chunks_of_left_symmetric_lie_on_n_members() {
        for (n, kind, rotation, it) in all() {
            let chunks = it.stripes() * it.data;
            let member = |chunk: u64| it.member(chunk / it.data, chunk % it.data);
            let all_on =
                |first| (first..first + n).map(member).collect::<BTreeSet<_>>().len() as u64;
            let always = (0..chunks - n).all(|first| all_on(first) == n);
            if kind == Redundancy::Parity && n > 3 {
                assert_eq!(always, rotation == Rotation::LeftSymmetric, "{n} {rotation}");
            }
        }
    }

    /// The first stripes of four members, as in the literature.
    #[test]
    fn the_rotations_are_those_of_lee_and_katz() {
        let drawn = |kind, rotation| -> Vec<String> {
            let it = geometry(4, kind, rotation, "equal");
            let names = ["P", "Q"];
            let cell = |stripe, member| {
                let place = it.place_of(stripe, member);
                let check =
                    place.checked_sub(it.data).map(|check| names[check as usize].to_owned());
                check.unwrap_or_else(|| (stripe * it.data + place).to_string())
            };
            let row =
                |stripe| (0..4).map(|member| cell(stripe, member)).collect::<Vec<_>>().join(" ");
            (0..4).map(row).collect()
        };
        let one = |rotation| drawn(Redundancy::Parity, rotation);
        assert_eq!(one(Rotation::LeftSymmetric), ["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11"]);
        assert_eq!(one(Rotation::LeftAsymmetric), ["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11"]);
        assert_eq!(one(Rotation::RightAsymmetric), ["P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P"]);
        assert_eq!(one(Rotation::RightSymmetric), ["P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P"]);
        let two = drawn(Redundancy::DoubleParity, Rotation::LeftSymmetric);
        assert_eq!(two, ["Q 0 1 P", "2 3 P Q", "5 P Q 4", "P Q 6 7"]);
        let two = drawn(Redundancy::DoubleParity, Rotation::LeftAsymmetric);
        assert_eq!(two, ["Q 0 1 P", "2 3 P Q", "4 P Q 5", "P Q 6 7"]);
    }

    #[test]
    fn shares_of_parity_are_kept_over_any_stretch_of_stripes() {
        for text in ["100,0,0,0,0", "80,5,5,5,5", "40,15,15,15,15", "0,0,50,50,0"] {
            let it = geometry(5, Redundancy::Parity, Rotation::LeftSymmetric, text);
            let shares: Vec<f64> = text.split(',').map(|it| it.parse().unwrap()).collect();
            for first in [0, 777, 1 << 40] {
                let mut counts = [0.0; 5];
                (first..first + 1000).for_each(|s| counts[it.member(s, it.data) as usize] += 0.1);
                for (share, count) in shares.iter().zip(counts) {
                    assert!((share - count).abs() < 0.5, "{text}: {counts:?}");
                }
            }
        }
    }
}

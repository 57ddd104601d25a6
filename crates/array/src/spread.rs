//! Layout of an array without redundancy.

use super::config::{ArrayOptions, Layout};
use engine::{Lba, Request, SECTOR_BYTES};
use options::{Invalid, Size};
use ssd::device::DeviceKind;

/// Address mapping of an array without redundancy.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    /// Sectors per stripe unit; a concatenation has stripe units as long as a member.
    unit: u64,
    members: u64,
    /// Stripe units per member.
    units: u64,
}

impl Spread {
    /// Mapping over members of `member_sectors` sectors.
    ///
    /// # Errors
    /// When a stripe unit is not a whole number of sectors, or exceeds a member.
    pub fn new(
        config: &ArrayOptions<impl DeviceKind>,
        member_sectors: u64,
    ) -> Result<Spread, Invalid> {
        let members = u64::from(config.members);
        if config.layout == Layout::Concatenated {
            return Ok(Spread { unit: member_sectors, members, units: 1 });
        }
        let bytes = config.stripe.bytes();
        let refuse = |problem: String| Err(Invalid::new(&["device.stripe"], problem));
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
            return refuse(format!("{} is not a multiple of a sector of 512B", config.stripe));
        }
        let unit = bytes / SECTOR_BYTES;
        if unit > member_sectors {
            let member = Size::from_bytes(member_sectors * SECTOR_BYTES);
            return refuse(format!("{} is more than a member holds, {member}", config.stripe));
        }
        Ok(Spread { unit, members, units: member_sectors / unit })
    }

    /// Capacity of the array, sectors.
    pub fn capacity(self) -> u64 {
        self.unit * self.members * self.units
    }

    /// Number of array sectors below `sector` that lie on a member.
    fn below(&self, member: u64, sector: u64) -> u64 {
        let row = self.unit * self.members;
        let rest = (sector % row).saturating_sub(member * self.unit).min(self.unit);
        sector / row * self.unit + rest
    }

    /// Member and member request of a request within one stripe unit.
    #[inline]
    pub fn only_part(self, request: &Request) -> Option<(usize, Request)> {
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let unit = start / self.unit;
        if end > (unit + 1) * self.unit {
            return None;
        }
        let (row, member) = (unit / self.members, unit % self.members);
        let lba = Lba(row * self.unit + start % self.unit);
        Some((member as usize, Request { lba, ..*request }))
    }

    /// Members that hold a range, each once, in address order.
    fn touched(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + use<> {
        let (first, last) = (start / self.unit, (end - 1) / self.unit);
        let members = self.members;
        (first..=last.min(first + members - 1)).map(move |unit| unit % members)
    }

    /// Unlike touched member, with its request.
    pub fn parts(self, request: Request) -> impl Iterator<Item = (usize, Request)> {
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        self.touched(start, end).map(move |member| {
            let (from, to) = (self.below(member, start), self.below(member, end));
            (member as usize, Request { lba: Lba(from), sectors: (to - from) as u32, ..request })
        })
    }
}

//! Array content as numbers: each write has a number, and parity is computed from them.
//!
//! The array stores no data, so the tests do. They follow its event log, and check after every
//! event that each computed value follows from completed reads and that all parity is consistent.
//! They also check that the remaining chunks yield the last written number, whichever members are
//! removed. Numbers are modulo a prime; P is their sum and Q their weighted sum, so that any two
//! missing ones can be computed.

use super::Raid;
use super::geometry::Geometry;
use super::message::{Kind, Purpose};
use super::operation::{Operation, Rules};
use super::sight::Sight;
use crate::members::Part;
use crate::redundancy::HoleRule;
use crate::{Array, Body};
use engine::{Op, Request};
use ssd::device::kit::slots::Slot;
use std::collections::{BTreeMap, BTreeSet};

/// Actions of an array.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    Started {
        slot: Slot,
        stripe: u64,
    },
    Issued {
        id: Slot,
        part: Part,
        operation: Operation,
        member: usize,
    },
    Done {
        id: Slot,
    },
    Finished {
        slot: Slot,
        operation: Operation,
        owner: Option<Request>,
    },
    /// A part at a power cut, and true if it survived; after these, all operations are lost.
    Torn {
        id: Slot,
        is_there: bool,
    },
    PowerLost,
}

/// A log entry: drive, first sector, and end sector.
type Entry = (u32, u32, u32);

/// First symbolic sector of the logs.
const LOG: u64 = 1 << 32;

const PRIME: u64 = (1 << 61) - 1;

fn times(one: u64, other: u64) -> u64 {
    (u128::from(one) * u128::from(other) % u128::from(PRIME)) as u64
}

fn plus(one: u64, other: u64) -> u64 {
    (one + other) % PRIME
}

fn minus(one: u64, other: u64) -> u64 {
    plus(one, PRIME - other % PRIME)
}

fn over(one: u64, other: u64) -> u64 {
    let (mut power, mut base, mut inverse) = (PRIME - 2, other, 1);
    while power > 0 {
        if power & 1 == 1 {
            inverse = times(inverse, base);
        }
        base = times(base, base);
        power >>= 1;
    }
    times(one, inverse)
}

/// Weight of a data chunk in a parity chunk.
fn weight(check: u64, place: u64) -> u64 {
    if check == 0 { 1 } else { place + 2 }
}

/// Number that a request writes to a sector.
fn number(request: &Request, sector: u64) -> u64 {
    if request.op == Op::Trim { 0 } else { (request.id + 1) * 1_000_003 + sector }
}

/// Values of a row by place, with computable data filled in.
fn solved(array: &Array, mut known: Vec<Option<u64>>) -> Option<Vec<u64>> {
    let (data, width) = (array.geometry().data as usize, array.geometry().width as usize);
    if array.geometry().is_mirror() {
        return Some(vec![known.into_iter().flatten().next()?]);
    }
    let checks: Vec<_> = (data..width).filter(|place| known[*place].is_some()).collect();
    let unknown: Vec<_> = (0..data).filter(|place| known[*place].is_none()).collect();
    // A parity value without the known data.
    let rest = |check: usize| {
        let all = (0..data).filter_map(|place| Some((place, known[place]?)));
        all.fold(known[check].unwrap(), |rest, (place, value)| {
            minus(rest, times(weight((check - data) as u64, place as u64), value))
        })
    };
    match unknown[..] {
        [] => {}
        [one] => {
            let check = *checks.first()?;
            let value = over(rest(check), weight((check - data) as u64, one as u64));
            known[one] = Some(value);
        }
        [one, other] if checks.len() == 2 => {
            let (sum, weighted) = (rest(data), rest(data + 1));
            let (a, b) = (weight(1, one as u64), weight(1, other as u64));
            let second = over(minus(weighted, times(a, sum)), minus(b, a));
            known[other] = Some(second);
            known[one] = Some(minus(sum, second));
        }
        _ => return None,
    }
    Some(known[..data].iter().map(|it| it.unwrap()).collect())
}

fn parity(check: u64, data: impl Iterator<Item = u64>) -> u64 {
    (0..).zip(data).fold(0, |sum, (place, value)| plus(sum, times(weight(check, place), value)))
}

/// Test access to an array.
impl Array {
    /// The redundancy of the array.
    pub fn raid(&self) -> &Raid {
        let Body::Raid(raid) = &self.body else { unreachable!("it has redundancy") };
        raid
    }

    /// The redundancy, mutable.
    pub fn raid_mut(&mut self) -> &mut Raid {
        let Body::Raid(raid) = &mut self.body else { unreachable!("it has redundancy") };
        raid
    }

    /// Layout of chunks.
    pub fn geometry(&self) -> &Geometry {
        &self.raid().geometry
    }

    fn sight(&self) -> Sight<'_> {
        let Raid { geometry, recovery, .. } = self.raid();
        Sight { geometry, members: &self.members, recovery }
    }

    fn rules(&self) -> &Rules {
        self.raid().plans.rules()
    }

    fn has(&self, stripe: u64, place: u64) -> bool {
        self.sight().has(stripe, place)
    }

    fn drive(&self, member: usize) -> usize {
        self.members.drive(member) as usize
    }

    /// True for a log entry without data.
    fn logs_header(&self, operation: &Operation, place: u64) -> bool {
        super::plans::is_header(operation, place, self.rules(), self.sight())
    }
}

/// Content of an array.
pub struct Shadow {
    /// Values by drive and sector.
    drives: Vec<Vec<u64>>,
    /// Last written values, by sector of the array.
    pub expected: Vec<u64>,
    /// Values read by each operation, by place and row; and its stripe while outstanding.
    read: BTreeMap<Slot, BTreeMap<(u64, u64), u64>>,
    busy: BTreeMap<Slot, u64>,
    /// Stripes with changes since the last check.
    changed: BTreeSet<u64>,
    /// Outstanding parts: location, and the numbers of a write.
    parts: BTreeMap<Slot, (Part, u64, Vec<u64>)>,
    /// Content of the logs, and outstanding parts of log entries.
    logs: BTreeMap<Entry, Vec<u64>>,
    entries: BTreeMap<Slot, Entry>,
    /// True after a power cut, until the content is determined.
    pub is_unsure: bool,
}

impl Shadow {
    pub fn of(array: &Array) -> Shadow {
        let sectors = (array.geometry().rows * array.geometry().chunk) as usize;
        Shadow {
            drives: vec![vec![0; sectors]; array.members.drives().len()],
            expected: vec![0; array.geometry().capacity() as usize],
            read: BTreeMap::new(),
            busy: BTreeMap::new(),
            changed: (0..array.geometry().stripes()).collect(),
            parts: BTreeMap::new(),
            logs: BTreeMap::new(),
            entries: BTreeMap::new(),
            is_unsure: false,
        }
    }

    /// Follows the array's actions since the last call.
    pub fn follow(&mut self, array: &mut Array) {
        for event in std::mem::take(&mut array.raid_mut().events) {
            match event {
                Event::Started { slot, stripe } => {
                    self.read.insert(slot, BTreeMap::new());
                    self.busy.insert(slot, stripe);
                }
                Event::Issued { id, part, operation, member } => {
                    self.parts.remove(&id);
                    if operation.kind() != Kind::Flush {
                        let room = operation.log().map_or(0..0, super::message::Place::range);
                        let entry = (part.drive, room.start, room.end);
                        let numbers = match part.purpose {
                            Purpose::Write => self.written(array, &part, &operation),
                            Purpose::Log => self.logged(array, &part, &operation),
                            Purpose::Recall => self.logs[&entry].clone(),
                            Purpose::Own | Purpose::Other => Vec::new(),
                        };
                        self.entries.insert(id, entry);
                        assert_eq!(
                            array.geometry().member(operation.stripe(), part.place),
                            member as u64
                        );
                        let first =
                            array.geometry().row(operation.stripe()) * array.geometry().chunk;
                        self.parts.insert(id, (part, first + part.span.from, numbers));
                    }
                }
                Event::Done { id } | Event::Torn { id, is_there: true } => self.done(id),
                Event::Torn { .. } => {}
                Event::PowerLost => {
                    self.is_unsure = true;
                    self.parts.clear();
                    self.read.clear();
                    self.changed.extend(std::mem::take(&mut self.busy).into_values());
                }
                Event::Finished { slot, operation, owner } => {
                    let is_read = operation.kind() == Kind::Read && !self.is_unsure;
                    if is_read && operation.status().is_ok() {
                        self.check_read(array, slot, &operation, owner.unwrap());
                    }
                    self.changed.extend(self.busy.remove(&slot));
                }
            }
        }
    }

    fn done(&mut self, id: Slot) {
        let Some((part, first, numbers)) = self.parts.remove(&id) else { return };
        if part.purpose == Purpose::Log {
            let entry = self.entries[&id];
            // The entry replaces earlier ones in its place.
            self.logs.retain(|it, _| it.0 != entry.0 || it.2 <= entry.1 || entry.2 <= it.1);
            self.logs.insert(entry, numbers);
            return;
        }
        if part.purpose == Purpose::Recall {
            let read = self.read.get_mut(&part.operation).unwrap();
            let rows = (part.span.from..).zip(numbers);
            read.extend(rows.map(|(row, number)| ((LOG + part.place, row), number)));
            return;
        }
        let drive = &mut self.drives[part.drive as usize];
        if part.purpose == Purpose::Write {
            drive[first as usize..][..numbers.len()].copy_from_slice(&numbers);
            return;
        }
        let read = self.read.get_mut(&part.operation).unwrap();
        for row in part.span.from..part.span.to {
            let value = drive[(first + row - part.span.from) as usize];
            read.insert((part.place, row), value);
        }
    }

    /// Known values of a row from an operation's reads.
    fn known(&self, array: &Array, slot: Slot, row: u64) -> Vec<Option<u64>> {
        let read = &self.read[&slot];
        (0..array.geometry().width).map(|place| read.get(&(place, row)).copied()).collect()
    }

    /// Value written to a log: with partial parity the parity of the unchanged chunks, otherwise
    /// the written data.
    fn logged(&self, array: &Array, part: &Part, operation: &Operation) -> Vec<u64> {
        if array.rules().hole == HoleRule::Journal {
            return self.written(array, part, operation);
        }
        if array.logs_header(operation, part.place) {
            return Vec::new();
        }
        let (chunk, data) = (array.geometry().chunk, array.geometry().data);
        let of_row = |row: u64| -> Option<u64> {
            let known = self.known(array, part.operation, row);
            let is_left = |place: &u64| !operation.span(*place, chunk).has(row);
            let left = (0..data).filter(is_left).map(|place| known[place as usize]);
            let by_rest = left.collect::<Option<Vec<_>>>().map(|it| parity(0, it.into_iter()));
            by_rest.or_else(|| {
                let changed = (0..data).filter(|place| !is_left(place));
                let old = changed.map(|place| known[place as usize]).collect::<Option<Vec<_>>>()?;
                Some(old.into_iter().fold(known[data as usize]?, minus))
            })
        };
        let rows = part.span.from..part.span.to;
        rows.map(|row| of_row(row).unwrap_or_else(|| panic!("row {row} of {operation:?}")))
            .collect()
    }

    /// Value of a resync after a cut.
    fn resynced(&self, array: &Array, part: &Part, operation: &Operation, row: u64) -> Option<u64> {
        let (chunk, data) = (array.geometry().chunk, array.geometry().data);
        let known = self.known(array, part.operation, row);
        let logged = self.read[&part.operation].get(&(LOG + part.place, row)).copied();
        match array.rules().hole {
            HoleRule::Resync if array.geometry().is_mirror() => known.into_iter().flatten().next(),
            HoleRule::Resync => {
                let all = known.into_iter().take(data as usize).collect::<Option<Vec<_>>>()?;
                Some(parity(part.place - data, all.into_iter()))
            }
            HoleRule::Journal => logged,
            HoleRule::PartialParity => {
                let touched = (0..data).filter(|it| operation.span(*it, chunk).has(row));
                let new = touched.map(|place| known[place as usize]).collect::<Option<Vec<_>>>()?;
                let is_full = array.logs_header(operation, part.place);
                let rest = if is_full { Some(0) } else { logged };
                // A trim is not logged, and covers the whole stripe.
                let rest = rest.or_else(|| (new.len() as u64 == data).then_some(0))?;
                Some(new.into_iter().fold(rest, plus))
            }
        }
    }

    /// Numbers written, which must follow from completed reads.
    fn written(&self, array: &Array, part: &Part, operation: &Operation) -> Vec<u64> {
        let (chunk, data) = (array.geometry().chunk, array.geometry().data);
        let first = operation.stripe() * array.geometry().stripe_sectors();
        let rows = part.span.from..part.span.to;
        let new = |place: u64, row: u64| {
            let at = place * chunk + row;
            let asked = operation.sectors().contains(&at);
            // Last requested values: merged requests do not overlap.
            asked.then(|| self.expected[(first + at) as usize])
        };
        let of_row = |row: u64| -> Option<u64> {
            let known = self.known(array, part.operation, row);
            let check = part.place.saturating_sub(data);
            if let Kind::Rebuild(_) = operation.kind() {
                let solved = solved(array, known)?;
                let is_data = part.place < data || array.geometry().is_mirror();
                let place = if array.geometry().is_mirror() { 0 } else { part.place as usize };
                return Some(if is_data {
                    solved[place]
                } else {
                    parity(check, solved.into_iter())
                });
            }
            if operation.kind() == Kind::Resync {
                return self.resynced(array, part, operation, row);
            }
            if operation.kind() == Kind::Trim {
                return Some(0);
            }
            if part.place < data || array.geometry().is_mirror() {
                return new(if array.geometry().is_mirror() { 0 } else { part.place }, row);
            }
            // From the rest of the stripe, from the old parity, or from all computable values.
            let after = |old: &[Option<u64>]| -> Option<u64> {
                let values = (0..data).map(|place| new(place, row).or(old[place as usize]));
                Some(parity(check, values.collect::<Option<Vec<_>>>()?.into_iter()))
            };
            let changed = || -> Option<u64> {
                let mut sum = known[part.place as usize]?;
                for place in 0..data {
                    if let Some(new) = new(place, row) {
                        let change = minus(new, known[place as usize]?);
                        sum = plus(sum, times(weight(check, place), change));
                    }
                }
                Some(sum)
            };
            after(&known).or_else(changed).or_else(|| {
                let old = solved(array, known.clone())?.into_iter().map(Some).collect::<Vec<_>>();
                after(&old)
            })
        };
        rows.map(|row| {
            of_row(row).unwrap_or_else(|| panic!("row {row} of {part:?} of {operation:?}"))
        })
        .collect()
    }

    /// Checks that read values are the last written ones, reconstructed where needed.
    fn check_read(&self, array: &Array, slot: Slot, operation: &Operation, owner: Request) {
        let chunk = array.geometry().chunk;
        let first = operation.stripe() * array.geometry().stripe_sectors();
        for at in operation.sectors() {
            let known = self.known(array, slot, at % chunk);
            let (place, all) = ((at / chunk) as usize, || solved(array, known.clone()));
            let direct = if array.geometry().is_mirror() { None } else { known[place] };
            let value = direct.or_else(|| Some(all()?[place])).expect("it follows");
            assert_eq!(value, self.expected[(first + at) as usize], "{owner:?}");
        }
    }

    /// Notes a new request; no other outstanding request overlaps it.
    pub fn asked(&mut self, array: &Array, request: &Request) {
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        let sectors = array.geometry().stripe_sectors();
        let range = match request.op {
            Op::Write => start..end,
            Op::Trim if array.geometry().is_mirror() => start..end,
            Op::Trim => start.next_multiple_of(sectors)..end / sectors * sectors,
            _ => return,
        };
        for sector in range {
            self.expected[sector as usize] = number(request, sector);
        }
    }

    /// Reconstructed values of a stripe by place and row.
    pub fn found(&self, array: &Array, stripe: u64, row: u64) -> Vec<u64> {
        let geometry = &array.geometry();
        let known = (0..geometry.width).map(|place| {
            let member = geometry.member(stripe, place) as usize;
            let sector = geometry.row(stripe) * geometry.chunk + row;
            let drive = &self.drives[array.drive(member)];
            array.has(stripe, place).then(|| drive[sector as usize])
        });
        solved(array, known.collect()).expect("enough is there")
    }

    /// Marks every stripe for a check with removed members.
    pub fn check_all(&mut self, array: &Array) {
        self.changed = (0..array.geometry().stripes()).collect();
        self.check_without(array, array.geometry().checks());
    }

    /// Checks that every stripe without a write in progress holds the last written values, in its
    /// available chunks and its parity.
    pub fn check(&mut self, array: &Array) {
        self.check_without(array, 0);
    }

    /// `check` with reconstruction for any `most` missing members.
    fn check_without(&mut self, array: &Array, most: u64) {
        let geometry = &array.geometry();
        if self.is_unsure {
            return;
        }
        let mut busy: Vec<u64> = self.busy.values().copied().collect();
        busy.extend(array.raid().recovery.dirty().map(|it| it.0));
        let (wait, idle) = self.changed.iter().partition(|stripe| busy.contains(stripe));
        self.changed = wait;
        let idle: BTreeSet<u64> = idle;
        for stripe in idle {
            let there: Vec<u64> =
                (0..geometry.width).filter(|place| array.has(stripe, *place)).collect();
            let spare = (there.len() as u64).checked_sub(geometry.data);
            let Some(spare) = spare else { continue };
            for row in 0..geometry.chunk {
                let value = |place: u64| {
                    let member = geometry.member(stripe, place) as usize;
                    let sector = geometry.row(stripe) * geometry.chunk + row;
                    self.drives[array.drive(member)][sector as usize]
                };
                let first = stripe * geometry.stripe_sectors() + row;
                let data = (0..geometry.data)
                    .map(|it| self.expected[(first + it * geometry.chunk) as usize]);
                let expected: Vec<u64> = data.collect();
                let without = |gone: &[u64]| {
                    let known = (0..geometry.width).map(|place| {
                        let is_there = there.contains(&place) && !gone.contains(&place);
                        is_there.then(|| value(place))
                    });
                    let solved = solved(array, known.collect()).expect("enough is there");
                    assert_eq!(solved, expected, "stripe {stripe} row {row} without {gone:?}");
                };
                let parities = (0..geometry.width).skip(geometry.data as usize);
                for place in parities.filter(|place| there.contains(place)) {
                    let sum = || parity(place - geometry.data, expected.iter().copied());
                    let fits = if geometry.is_mirror() { expected[0] } else { sum() };
                    assert_eq!(value(place), fits, "stripe {stripe} row {row} parity {place}");
                }
                without(&[]);
                for one in there.iter().filter(|_| spare.min(most) >= 1) {
                    without(&[*one]);
                    for other in there.iter().filter(|it| spare.min(most) >= 2 && *it > one) {
                        without(&[*one, *other]);
                    }
                }
            }
        }
    }
}

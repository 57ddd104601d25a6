//! An array: identical devices behind one controller, striped (RAID-0) or one behind the other.
//!
//! A request is cut into one part for each member that it touches: the stripe units that a member
//! holds of a range lie side by side in it. The request is answered when its last part is. Time
//! belongs to the members; the array's next event is the earliest of theirs and its own link's.

mod report;

use crate::kit::config::HostLink;
use crate::kit::link::{Link, Turn};
use crate::kit::slots::{Slot, Slots};
use crate::ssd::config::PolicyName;
use crate::ssd::snapshot::ARRAY_KEY;
use crate::ssd::timeline::{Timeline, Window};
use crate::ssd::{Snapshot, SsdReport};
use crate::{DeviceConfig, DeviceKind, Model, Supplied};
use engine::{
    Breakdown, Completion, Device, EventQueue, Followed, Lba, Op, Request, SECTOR_BYTES, Status,
    Time,
};
use options::{Bandwidth, Duration, Invalid, Size, choices, options};

/// Members at most: more than any controller has ports.
const MOST_MEMBERS: u32 = 1024;

choices! {
    /// How the members share the addresses.
    pub enum Layout {
        /// In stripe units, taken in turn (RAID-0).
        Striped = "striped",
        /// One behind the other, each a volume of its own.
        Concatenated = "concatenated",
    }
}

options! {
    /// The link between the host and the controller of an array.
    pub struct ControllerLink as ControllerLinkPartial {
        /// Rate at which data crosses the link.
        bandwidth: Bandwidth = Bandwidth::UNLIMITED,
        /// Time from the host sending a request to the controller seeing it.
        latency: Duration = Duration::from_ns(0),
    }

    /// Identical devices behind one controller.
    pub struct ArrayConfig as ArrayPartial {
        /// How many devices.
        members: u32 = 6,
        /// How they share the addresses.
        layout: Layout = Layout::Striped,
        /// What a member holds of consecutive addresses before the next one's turn.
        stripe: Size = Size::from_bytes(64 << 10),
        /// The link between the host and the controller, which all members share.
        host_link: ControllerLink = ControllerLink::default(),
        /// Each of the devices.
        member: DeviceConfig = DeviceConfig::Ssd(Box::default()),
    }
}

impl DeviceKind for ArrayConfig {
    const SUMMARY: &'static str = "Identical devices behind one controller: RAID-0, or volumes.";

    fn has_flash(&self) -> bool {
        self.member.has_flash()
    }

    fn member_mut(&mut self) -> Option<&mut DeviceConfig> {
        Some(&mut self.member)
    }

    fn policy_name(&self) -> Option<&PolicyName> {
        self.member.policy_name()
    }

    fn build_with(&self, seed: u64, supplied: &Supplied) -> Result<Box<dyn Model>, Invalid> {
        Ok(Box::new(Array::new(self, seed, supplied)?))
    }
}

/// The address space of one member within the array's.
#[derive(Debug, Clone, Copy)]
struct Stripes {
    /// Sectors of a stripe unit; concatenation is a stripe as long as a member.
    unit: u64,
    members: u64,
    /// Stripe units that each member has.
    units: u64,
}

impl Stripes {
    /// How many of the sectors below `sector` a member holds.
    fn below(&self, member: u64, sector: u64) -> u64 {
        let row = self.unit * self.members;
        let rest = (sector % row).saturating_sub(member * self.unit).min(self.unit);
        sector / row * self.unit + rest
    }

    /// The members that hold a range, each once, in order of its addresses.
    fn touched(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + use<> {
        let (first, last) = (start / self.unit, (end - 1) / self.unit);
        let members = self.members;
        (first..=last.min(first + members - 1)).map(move |unit| unit % members)
    }

    /// The parts of a request for a range: each member that it touches, and what that is asked.
    fn parts(self, request: Request) -> impl Iterator<Item = (usize, Request)> {
        let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        self.touched(start, end).map(move |member| {
            let (from, to) = (self.below(member, start), self.below(member, end));
            (member as usize, Request { lba: Lba(from), sectors: (to - from) as u32, ..request })
        })
    }
}

/// A request inside the array.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    submitted: Time,
    /// When its parts were given to the members, and later when the last of them was done.
    at_members: Time,
    done: Time,
    parts_left: u32,
    /// Of the part done last.
    breakdown: Breakdown,
    /// Of all parts so far.
    status: Status,
}

/// Event payloads.
const LINK_FREE: u32 = 0;
const LINK_ARRIVAL: u32 = 1;

/// Identical devices behind one controller.
pub struct Array {
    members: Vec<Box<dyn Model>>,
    stripes: Stripes,
    layout: Layout,
    /// What of the configuration its state depends on, beside that of its members.
    shape: Vec<(String, String)>,
    link: Link,
    events: EventQueue,
    active: Slots<Active>,
    /// Parts that a member has completed; empty between calls.
    parts: Vec<Completion>,
    /// Answered outside of [`Device::advance`].
    done: Vec<Completion>,
    /// Pages on their way to each member; empty between calls.
    batches: Vec<Vec<u32>>,
}

impl Array {
    /// An array of devices in their initial state.
    ///
    /// # Errors
    /// When the configuration contradicts itself; the error names the keys.
    pub fn new(config: &ArrayConfig, seed: u64, supplied: &Supplied) -> Result<Array, Invalid> {
        let count = config.members;
        if count == 0 || count > MOST_MEMBERS {
            let problem = format!("an array has 1 to {MOST_MEMBERS} members, not {count}");
            return Err(Invalid::new(&["device.members"], problem));
        }
        let mut members = Vec::with_capacity(count as usize);
        for member in 0..u64::from(count) {
            // The first is the device that it would be alone; each draws for itself.
            let seed = seed.wrapping_add(member.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            members.push(config.member.build_with(seed, supplied).map_err(of_member)?);
        }
        let stripes = stripes(config, members[0].capacity_sectors())?;
        if members[0].preparable_pages().checked_mul(count).is_none() {
            let problem = format!("{count} members have more than {} pages", u32::MAX);
            return Err(Invalid::new(&["device.members"], problem));
        }
        let link = HostLink {
            bandwidth: config.host_link.bandwidth,
            latency: config.host_link.latency,
            ..HostLink::default()
        };
        Ok(Array {
            batches: vec![Vec::new(); members.len()],
            members,
            stripes,
            layout: config.layout,
            shape: shape(config),
            link: Link::new(&link),
            events: EventQueue::new(),
            active: Slots::new(),
            parts: Vec::new(),
            done: Vec::new(),
        })
    }

    // ---- from the host to the members ------------------------------------------------------

    /// Lets the link take its turns until it is busy or idle.
    fn pump(&mut self, now: Time) {
        loop {
            match self.link.turn(now) {
                Turn::Arrived(slot) => self.reach_members(slot, now),
                Turn::Answered(slot) => self.complete(slot, now),
                Turn::Busy(end) => {
                    self.events.push(end, LINK_FREE);
                    return;
                }
                Turn::Idle => return,
            }
        }
    }

    fn reach_members(&mut self, slot: Slot, now: Time) {
        let active = &mut self.active[slot];
        active.at_members = now;
        let request = active.request;
        let id = u64::from(slot);
        if request.op == Op::Flush {
            // Everything sent before has reached its member before, so each can answer for its own.
            active.parts_left = self.members.len() as u32;
            for member in &mut self.members {
                member.submit(now, Request { id, ..request });
            }
            return;
        }
        let part = Request { id, ..request };
        active.parts_left = self.stripes.parts(part).count() as u32;
        for (member, part) in self.stripes.parts(part) {
            self.members[member].submit(now, part);
        }
    }

    // ---- and back -----------------------------------------------------------------------------

    fn part_done(&mut self, part: &Completion, now: Time) {
        let slot = part.request.id as Slot;
        let active = &mut self.active[slot];
        active.parts_left -= 1;
        active.status = active.status.and(part.status);
        if active.parts_left > 0 {
            return;
        }
        active.done = now;
        active.breakdown = part.breakdown;
        let Request { op, .. } = active.request;
        let bytes = if op == Op::Read { active.request.bytes() } else { 0 };
        self.link.answer(slot, bytes);
        self.pump(now);
    }

    fn complete(&mut self, slot: Slot, now: Time) {
        let active = self.active.remove(slot);
        let mut breakdown = active.breakdown;
        breakdown.host_link += active.at_members - active.submitted + (now - active.done);
        self.done.push(Completion {
            request: active.request,
            submitted: active.submitted,
            at: now,
            breakdown,
            status: active.status,
        });
    }

    /// The earliest event of the link and the members.
    fn next_inside(&self) -> Option<Time> {
        let members = self.members.iter().filter_map(|member| member.next_event());
        members.chain(self.events.next_at()).min()
    }
}

/// The error of a member, in the keys of its section.
fn of_member(invalid: Invalid) -> Invalid {
    let keys = invalid.keys.iter().map(|key| in_member(key));
    Invalid { keys: keys.collect(), problem: invalid.problem }
}

/// A key of a device, of one that is a member.
fn in_member(key: &str) -> String {
    key.replacen("device.", "device.member.", 1)
}

/// The keys that an array must share with the one whose state it takes up: where data lie.
fn shape(config: &ArrayConfig) -> Vec<(String, String)> {
    let pair = |key: &str, value: String| (key.to_owned(), value);
    let mut pairs = vec![
        pair(ARRAY_KEY, config.members.to_string()),
        pair("device.layout", config.layout.to_string()),
    ];
    if config.layout == Layout::Striped {
        pairs.push(pair("device.stripe", config.stripe.to_string()));
    }
    pairs
}

fn stripes(config: &ArrayConfig, member_sectors: u64) -> Result<Stripes, Invalid> {
    let members = u64::from(config.members);
    if config.layout == Layout::Concatenated {
        return Ok(Stripes { unit: member_sectors, members, units: 1 });
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
    Ok(Stripes { unit, members, units: member_sectors / unit })
}

impl Device for Array {
    fn submit(&mut self, now: Time, request: Request) {
        let end = request.lba.0.checked_add(u64::from(request.sectors));
        let inside = end.is_some_and(|end| end <= self.capacity_sectors());
        assert!(inside || request.op == Op::Flush, "a request lies within the capacity");
        assert!(request.sectors > 0 || request.op == Op::Flush, "a request has a length");
        let slot = self.active.insert(Active {
            request,
            submitted: now,
            at_members: now,
            done: now,
            parts_left: 0,
            breakdown: Breakdown::default(),
            status: Status::Ok,
        });
        if let Some(at) = self.link.send(slot, inward_bytes(&request), now) {
            self.events.push(at, LINK_ARRIVAL);
        }
        self.pump(now);
    }

    fn next_event(&self) -> Option<Time> {
        self.next_inside()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(now) = self.next_inside().filter(|at| *at <= to) {
            while let Some((_, payload)) = self.events.pop_until(now) {
                if payload == LINK_ARRIVAL {
                    let active = &self.active;
                    self.link.arrive(|slot| inward_bytes(&active[slot].request));
                }
                self.pump(now);
            }
            let mut parts = std::mem::take(&mut self.parts);
            for member in &mut self.members {
                if member.next_event().is_some_and(|at| at <= now) {
                    member.advance(now, &mut parts);
                }
            }
            for part in parts.drain(..) {
                self.part_done(&part, now);
            }
            self.parts = parts;
        }
        completions.append(&mut self.done);
    }

    /// With its first member: it then refuses some writes.
    fn has_ended(&self) -> bool {
        self.members.iter().any(|member| member.has_ended())
    }

    fn may_refuse(&self) -> bool {
        self.members.iter().any(|member| member.may_refuse())
    }

    fn followed(&self) -> Option<Followed> {
        let mut all = Followed::default();
        for member in &self.members {
            all += member.followed()?;
        }
        Some(all)
    }

    fn capacity_sectors(&self) -> u64 {
        let Stripes { unit, members, units } = self.stripes;
        unit * members * units
    }
}

/// Data that a request sends to the controller, bytes.
fn inward_bytes(request: &Request) -> u64 {
    if request.op == Op::Write { request.bytes() } else { 0 }
}

impl Model for Array {
    fn preparable_pages(&self) -> u32 {
        self.members.iter().map(|member| member.preparable_pages()).sum()
    }

    fn volumes(&self) -> u32 {
        match self.layout {
            Layout::Striped => 1,
            Layout::Concatenated => self.members.len() as u32,
        }
    }

    /// The pages of striped members are numbered in turn, whatever the stripe, of which pages know
    /// nothing: each member is written in the same order.
    fn overwrite_untimed(&mut self, pages: &[u32]) {
        let count = self.members.len() as u32;
        let each = self.members[0].preparable_pages();
        for page in pages {
            let (member, place) = match self.layout {
                Layout::Striped => (page % count, page / count),
                Layout::Concatenated => (page / each, page % each),
            };
            self.batches[member as usize].push(place);
        }
        for (member, batch) in self.members.iter_mut().zip(&mut self.batches) {
            if !batch.is_empty() {
                member.overwrite_untimed(batch);
                batch.clear();
            }
        }
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        if request.op == Op::Flush {
            let answers = self.members.iter_mut().map(|member| member.serve_untimed(request));
            return answers.fold(Status::Ok, Status::and);
        }
        let parts = self.stripes.parts(*request);
        let answers = parts.map(|(member, part)| self.members[member].serve_untimed(&part));
        answers.fold(Status::Ok, Status::and)
    }

    fn save(&self) -> Option<Snapshot> {
        let mut drives = Vec::new();
        let mut shape = Vec::new();
        for member in &self.members {
            let snapshot = member.save()?;
            drives.extend(snapshot.drives);
            shape = snapshot.shape;
        }
        let own = self.shape.iter().cloned();
        let of_member = shape.into_iter().map(|(key, value)| (in_member(&key), value));
        Some(Snapshot { shape: own.chain(of_member).collect(), drives })
    }

    fn restore(&mut self, mut snapshot: Snapshot) -> Result<(), String> {
        if snapshot.shape.first().is_none_or(|(key, _)| key != ARRAY_KEY) {
            return Err("it is of a single drive, and this device is an array".to_owned());
        }
        let own = self.shape.len().min(snapshot.shape.len());
        let of_member = snapshot.shape.split_off(own);
        snapshot.compare(&self.shape)?;
        let shape = of_member
            .iter()
            .map(|(key, value)| (key.replacen("device.member.", "device.", 1), value.clone()));
        let shape: Vec<_> = shape.collect();
        let count = self.members.len();
        if !snapshot.drives.len().is_multiple_of(count) {
            return Err(format!("it holds {} drives, of {count} members", snapshot.drives.len()));
        }
        let each = snapshot.drives.len() / count;
        let mut drives = snapshot.drives.into_iter();
        for (number, member) in self.members.iter_mut().enumerate() {
            let drives = drives.by_ref().take(each).collect();
            member.restore(Snapshot { shape: shape.clone(), drives }).map_err(|problem| {
                format!("member {number}: {}", problem.replace("device.", "device.member."))
            })?;
        }
        Ok(())
    }

    fn reset_counts(&mut self) {
        for member in &mut self.members {
            member.reset_counts();
        }
    }

    fn audit(&self) -> Result<(), String> {
        let numbered = self.members.iter().enumerate();
        for (number, member) in numbered {
            member.audit().map_err(|problem| format!("member {number}: {problem}"))?;
        }
        if !self.active.is_empty() && self.next_inside().is_none() {
            return Err("requests are outstanding and no member has an event".to_owned());
        }
        Ok(())
    }

    fn record_operations(&mut self, window: Window) {
        for member in &mut self.members {
            member.record_operations(window);
        }
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        let all = self.members.iter_mut().map(|member| member.take_operations());
        all.collect::<Option<Vec<_>>>().map(Timeline::together)
    }

    fn report(&self, end: Time) -> Option<SsdReport> {
        let reports = self.members.iter().map(|member| member.report(end));
        reports.collect::<Option<Vec<_>>>().map(report::together)
    }
}

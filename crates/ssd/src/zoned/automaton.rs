//! States of zones, and effects of commands (NVMe Zoned Namespace Command Set, 2.1 and 3.4; windows
//! of random writes by TP4076). It knows neither time nor flash. Sectors are counted within a zone
//! unless they are addresses.

use super::states::{Changed, Limits, Look, State, Written};
use super::window::Window;
use engine::{Op, Status, ZoneShape};
use std::collections::VecDeque;

/// A zone.
#[derive(Debug, Clone)]
struct Zone {
    state: State,
    /// Write pointer: the next sector to be written or committed.
    pointer: u64,
    capacity: u64,
    /// Sectors written by the host since the last reset.
    written: u64,
    /// Sequence number of the last write.
    used: u64,
    window: Option<Window>,
    finished_by_controller: bool,
}

impl Zone {
    /// Sectors in its window.
    fn in_window(&self) -> u64 {
        self.window.as_ref().map_or(0, Window::len)
    }
}

/// Counters of zone commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub opened_implicitly: u64,
    pub opened_explicitly: u64,
    pub closed_by_controller: u64,
    /// Sectors replaced in a window; commits requested and commits caused by writes.
    pub absorbed: u64,
    pub commits: u64,
}

/// All zones.
#[derive(Debug, Clone)]
pub struct Zones {
    limits: Limits,
    /// Zones that are full before the first request, from the first one on.
    full: u32,
    each: Vec<Zone>,
    open: u32,
    active: u32,
    windows: u32,
    writes: u64,
    tally: Tally,
    /// Zones last changed by the controller, and the number of such changes.
    altered: VecDeque<u32>,
    alterations: u64,
}

/// Maximum number of remembered zone changes by the controller.
const MOST_ALTERED: usize = 512;

impl Zones {
    /// All zones empty.
    pub fn new(limits: Limits) -> Zones {
        let zone = Zone {
            state: State::Empty,
            pointer: 0,
            capacity: limits.capacity,
            written: 0,
            used: 0,
            window: None,
            finished_by_controller: false,
        };
        Zones {
            each: memory::filled(zone, limits.zones as usize),
            limits,
            full: 0,
            open: 0,
            active: 0,
            windows: 0,
            writes: 0,
            tally: Tally::default(),
            altered: VecDeque::new(),
            alterations: 0,
        }
    }

    /// Fills the first zones, as if a host had written them.
    pub fn fill(&mut self, zones: u32) {
        self.full = zones;
        for zone in &mut self.each[..zones as usize] {
            (zone.state, zone.pointer, zone.written) = (State::Full, zone.capacity, zone.capacity);
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The division of a device's addresses into these zones.
    pub fn shape(&self) -> ZoneShape {
        ZoneShape {
            size: self.limits.size,
            capacity: self.limits.capacity,
            count: u64::from(self.limits.zones),
            open: u64::from(self.limits.open),
            full: u64::from(self.full),
        }
    }

    /// State of a zone.
    pub fn look(&self, zone: u32) -> Look {
        let it = &self.each[zone as usize];
        Look {
            state: it.state,
            pointer: it.pointer,
            capacity: it.capacity,
            written: it.written,
            has_window: it.window.is_some(),
            window_end: it.window.as_ref().and_then(Window::end).unwrap_or(it.pointer),
            finished_by_controller: it.finished_by_controller,
        }
    }

    /// Number of open zones, of active zones, and of zones with a window.
    pub fn counts(&self) -> [u32; 3] {
        [self.open, self.active, self.windows]
    }

    /// Number of changes by the controller, and the zones changed since the `since`th; `None` if
    /// they are too many.
    pub fn altered(&self, since: u64) -> (u64, Option<Vec<u32>>) {
        let count = (self.alterations - since.min(self.alterations)) as usize;
        let fits = count <= self.altered.len();
        let mut found: Vec<u32> = self.altered.iter().rev().take(count).copied().collect();
        found.sort_unstable();
        found.dedup();
        (self.alterations, fits.then_some(found))
    }

    fn alter(&mut self, zone: u32) {
        self.alterations += 1;
        self.altered.push_back(zone);
        if self.altered.len() > MOST_ALTERED {
            self.altered.pop_front();
        }
    }

    /// Counters since the last reset.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Resets the counters.
    pub fn reset_tally(&mut self) {
        self.tally = Tally::default();
    }

    /// Zone of an address, and the sector in it.
    pub fn place(&self, lba: u64) -> (u32, u64) {
        ((lba / self.limits.size) as u32, lba % self.limits.size)
    }

    /// True if a sector lies in its zone's window.
    pub fn is_in_window(&self, zone: u32, sector: u64) -> bool {
        self.each[zone as usize].window.as_ref().is_some_and(|window| window.has(sector))
    }

    /// Checks that a range may be read.
    ///
    /// # Errors
    /// The reason for rejection.
    pub fn read(&self, lba: u64, sectors: u64) -> Result<(), Status> {
        let (first, _) = self.place(lba);
        let (last, _) = self.place(lba + sectors - 1);
        if first != last && !self.limits.read_across {
            return Err(Status::ZoneBoundary);
        }
        let is_offline = |zone: u32| self.each[zone as usize].state == State::Offline;
        if (first..=last).any(is_offline) { Err(Status::ZoneOffline) } else { Ok(()) }
    }

    // ---- resources -------------------------------------------------------------------------------

    /// Changes a zone's state and its resources.
    fn turn(&mut self, zone: u32, to: State) {
        let it = &mut self.each[zone as usize];
        self.open -= u32::from(it.state.is_open());
        self.active -= u32::from(it.state.is_active());
        it.state = to;
        self.open += u32::from(to.is_open());
        self.active += u32::from(to.is_active());
        if !to.is_active() && it.window.take().is_some() {
            self.windows -= 1;
        }
    }

    /// Ensures that one more zone may be open and, if needed, active. To do so it closes the
    /// implicitly opened zone with the oldest write.
    fn make_room(&mut self, zone: u32) -> Result<(), Status> {
        let state = self.each[zone as usize].state;
        if !state.is_active() && self.active >= self.limits.active {
            return Err(Status::TooManyActive);
        }
        if !state.is_open() && self.open >= self.limits.open {
            let implicit = self.each.iter().zip(0..).filter(|(it, _)| it.state == State::Implicit);
            let oldest = implicit.min_by_key(|(it, _)| it.used).map(|(_, number)| number);
            self.turn(oldest.ok_or(Status::TooManyOpen)?, State::Closed);
            self.tally.closed_by_controller += 1;
        }
        Ok(())
    }

    // ---- writes ----------------------------------------------------------------------------------

    /// Writes at an address.
    ///
    /// # Errors
    /// The reason for rejection; nothing has changed.
    pub fn write(&mut self, lba: u64, sectors: u64) -> Result<Written, Status> {
        let (zone, at) = self.place(lba);
        let it = &self.each[zone as usize];
        if let Some(refused) = it.state.refuses_writes() {
            return Err(refused);
        }
        let (pointer, end) = (it.pointer, at + sectors);
        if end > it.capacity {
            return Err(Status::ZoneBoundary);
        }
        let is_possible = match it.window {
            None => at == pointer,
            Some(_) => at >= pointer && end <= pointer + 2 * self.limits.window,
        };
        if !is_possible {
            return Err(Status::InvalidWrite);
        }
        self.take(zone, at, sectors)
    }

    /// Appends to the zone that starts at an address.
    ///
    /// # Errors
    /// The reason for rejection; nothing has changed.
    pub fn append(&mut self, lba: u64, sectors: u64) -> Result<Written, Status> {
        let (zone, at) = self.place(lba);
        if at != 0 || sectors > self.limits.append {
            return Err(Status::InvalidField);
        }
        let it = &self.each[zone as usize];
        if let Some(refused) = it.state.refuses_writes() {
            return Err(refused);
        }
        if it.window.is_some() {
            return Err(Status::InvalidZoneOperation);
        }
        if it.pointer + sectors > it.capacity {
            return Err(Status::ZoneBoundary);
        }
        self.take(zone, it.pointer, sectors)
    }

    /// Applies a valid write.
    fn take(&mut self, zone: u32, at: u64, sectors: u64) -> Result<Written, Status> {
        let state = self.each[zone as usize].state;
        if !state.is_open() {
            self.make_room(zone)?;
            self.turn(zone, State::Implicit);
            self.tally.opened_implicitly += 1;
        }
        self.writes += 1;
        let (window, granularity) = (self.limits.window, self.limits.granularity);
        let it = &mut self.each[zone as usize];
        it.used = self.writes;
        let end = at + sectors;
        let fresh = match &mut it.window {
            None => {
                it.pointer = end;
                sectors
            }
            Some(own) => {
                let taken = own.write(at..end);
                self.tally.absorbed += taken.absorbed;
                if end > it.pointer + window {
                    let to = (end - window).next_multiple_of(granularity).min(it.capacity);
                    own.commit(to);
                    it.pointer = to;
                    self.tally.commits += 1;
                }
                // The rest of the zone is completely written, so it is committed.
                if own.len() == it.capacity - it.pointer {
                    own.commit(it.capacity);
                    it.pointer = it.capacity;
                    self.tally.commits += 1;
                }
                taken.fresh
            }
        };
        it.written += fresh;
        let pointer = it.pointer;
        if pointer == it.capacity {
            self.turn(zone, State::Full);
        }
        Ok(Written { zone, at, fresh, pointer, opened: state == State::Empty })
    }

    // ---- management ------------------------------------------------------------------------------

    /// Executes a command on the zone that starts at an address; for a commit, on the range that
    /// ends at its end.
    ///
    /// # Errors
    /// The reason for rejection; nothing has changed.
    pub fn manage(&mut self, op: Op, lba: u64, sectors: u64) -> Result<Changed, Status> {
        let (zone, at) = self.place(lba);
        if op == Op::Commit {
            return self.commit(zone, at + sectors);
        }
        if at != 0 {
            return Err(Status::InvalidField);
        }
        self.change(op, zone)
    }

    /// Executes a command on all zones in a suitable state.
    ///
    /// # Errors
    /// The reason for rejection; nothing has changed.
    pub fn manage_all(&mut self, op: Op) -> Result<Vec<Changed>, Status> {
        let concerns = |state: State| match op {
            Op::Open => state == State::Closed,
            Op::Close => state.is_open(),
            Op::Finish => state.is_active(),
            Op::Reset => state.is_active() || state == State::Full,
            Op::Offline => state == State::ReadOnly,
            _ => false,
        };
        if matches!(op, Op::OpenWindow | Op::Commit) {
            return Err(Status::InvalidField);
        }
        let numbered = self.each.iter().zip(0..);
        let concerned: Vec<u32> =
            numbered.filter(|(it, _)| concerns(it.state)).map(|(_, number)| number).collect();
        // All or none: implicitly opened zones may be closed for the others.
        let explicit = self.each.iter().filter(|it| it.state == State::Explicit).count();
        if op == Op::Open && explicit + concerned.len() > self.limits.open as usize {
            return Err(Status::TooManyOpen);
        }
        concerned.into_iter().map(|zone| self.change(op, zone)).collect()
    }

    /// Effect of a command on a zone.
    fn change(&mut self, op: Op, zone: u32) -> Result<Changed, Status> {
        let it = &self.each[zone as usize];
        let before = it.state;
        let pointer = it.pointer;
        let (written, mut committed) = (it.written, pointer);
        let is_dead = matches!(before, State::ReadOnly | State::Offline);
        match op {
            Op::Open | Op::OpenWindow if is_dead || before == State::Full => {
                return Err(Status::InvalidTransition);
            }
            Op::Open => self.open(zone, false)?,
            Op::OpenWindow => self.open(zone, true)?,
            Op::Close => match before {
                State::Implicit | State::Explicit => self.turn(zone, State::Closed),
                State::Closed => {}
                _ => return Err(Status::InvalidTransition),
            },
            Op::Finish if !is_dead => {
                // Writes in the window are committed before the rest is padded.
                let it = &mut self.each[zone as usize];
                let end = it.window.as_ref().and_then(Window::end);
                committed = end.unwrap_or(pointer);
                it.pointer = committed;
                if before != State::Full {
                    self.turn(zone, State::Full);
                }
            }
            Op::Reset if !is_dead => {
                self.turn(zone, State::Empty);
                let it = &mut self.each[zone as usize];
                (it.pointer, it.written, it.finished_by_controller) = (0, 0, false);
            }
            Op::Offline if is_dead => self.turn(zone, State::Offline),
            _ => return Err(Status::InvalidTransition),
        }
        Ok(Changed { zone, before, pointer, written, committed })
    }

    fn open(&mut self, zone: u32, with_window: bool) -> Result<(), Status> {
        let it = &self.each[zone as usize];
        let (state, takes) = (it.state, with_window && it.window.is_none());
        if takes && state != State::Empty {
            return Err(Status::InvalidZoneOperation);
        }
        if !state.is_active() && self.active >= self.limits.active {
            return Err(Status::TooManyActive);
        }
        if takes && self.windows >= self.limits.windows {
            return Err(Status::NoWindow);
        }
        if !state.is_open() {
            self.make_room(zone)?;
        }
        self.tally.opened_explicitly += u64::from(state != State::Explicit);
        self.turn(zone, State::Explicit);
        if takes {
            self.each[zone as usize].window = Some(Window::default());
            self.windows += 1;
        }
        Ok(())
    }

    /// Commits the window of a zone up to a sector.
    fn commit(&mut self, zone: u32, end: u64) -> Result<Changed, Status> {
        let it = &mut self.each[zone as usize];
        if let Some(refused) = it.state.refuses_writes() {
            return Err(refused);
        }
        let Some(window) = &mut it.window else { return Err(Status::InvalidZoneOperation) };
        let last = it.capacity.min(it.pointer + self.limits.window);
        let is_border = end.is_multiple_of(self.limits.granularity) || end == it.capacity;
        if !is_border || end < it.pointer || end > last {
            return Err(Status::InvalidZoneOperation);
        }
        let (before, pointer, written) = (it.state, it.pointer, it.written);
        window.commit(end);
        it.pointer = end;
        self.tally.commits += 1;
        if end == it.capacity {
            self.turn(zone, State::Full);
        }
        Ok(Changed { zone, before, pointer, written, committed: end })
    }

    // ---- controller -----------------------------------------------------------------------------

    /// Handles a failed program of a zone: its current data stay readable.
    pub fn fail_program(&mut self, zone: u32) {
        if self.each[zone as usize].state != State::Offline {
            self.turn(zone, State::ReadOnly);
            self.alter(zone);
        }
    }

    /// Handles a failed erase of a zone: it shrinks by `lost`, and is offline if nothing is left.
    pub fn fail_erase(&mut self, zone: u32, lost: u64) {
        self.alter(zone);
        let it = &mut self.each[zone as usize];
        let left = it.capacity.saturating_sub(lost);
        if left == 0 {
            it.capacity = 0;
            return self.turn(zone, State::Offline);
        }
        // Written sectors remain.
        it.capacity = left.max(it.pointer);
        if it.pointer == it.capacity && it.state.is_active() {
            self.turn(zone, State::Full);
        }
    }

    /// Sets a zone's write pointer after a power cut, up to its surviving data. A zone with torn
    /// flash becomes read-only.
    pub fn lose_power(&mut self, zone: u32, pointer: u64, torn: bool) {
        let it = &mut self.each[zone as usize];
        if !it.state.is_active() {
            return;
        }
        (it.pointer, it.written) = (pointer, it.written.min(pointer + it.in_window()));
        if torn {
            it.finished_by_controller = true;
            self.alter(zone);
            return self.turn(zone, State::Full);
        }
        let holds = pointer > 0 || it.in_window() > 0;
        self.turn(zone, if holds { State::Closed } else { State::Empty });
    }

    /// Drops the content of the windows.
    pub fn lose_windows(&mut self) {
        for zone in &mut self.each {
            if let Some(window) = &mut zone.window {
                *window = Window::default();
            }
        }
    }

    // ---- checked ---------------------------------------------------------------------------------

    /// Checks counters and limits against the zones.
    ///
    /// # Errors
    /// The first violation.
    pub fn audit(&self) -> Result<(), String> {
        let count = |is: fn(&Zone) -> bool| self.each.iter().filter(|it| is(it)).count() as u32;
        let found = [
            count(|it| it.state.is_open()),
            count(|it| it.state.is_active()),
            count(|it| it.window.is_some()),
        ];
        if found != self.counts() {
            return Err(format!(
                "zones open, active, with a window: {found:?}, counted {:?}",
                self.counts()
            ));
        }
        let most = [self.limits.open, self.limits.active, self.limits.windows];
        if found.iter().zip(most).any(|(count, most)| *count > most) {
            return Err(format!("zones open, active, with a window: {found:?}, limits {most:?}"));
        }
        for (number, it) in self.each.iter().enumerate() {
            let takes_writes = it.state.is_active() || it.state == State::Empty;
            let is_wrong = it.pointer > it.capacity && takes_writes
                || it.state == State::Empty && it.pointer > 0
                || it.window.is_some() && !it.state.is_active();
            if is_wrong {
                return Err(format!(
                    "zone {number} is {:?} with its pointer at {}",
                    it.state, it.pointer
                ));
            }
        }
        Ok(())
    }
}

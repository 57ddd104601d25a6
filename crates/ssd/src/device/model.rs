//! Abilities of a device besides serving requests, each with defaults for devices without it.

use crate::device::energy::EnergyReport;
use crate::device::{Looks, Report, Run, Writes};
use crate::media::Age;
use crate::timeline::{Timeline, Window};
use crate::zoned::Zones;
use crate::{PageTable, Room, Snapshot};
use engine::{Device, Request, Status, Time, ZoneShape};

/// A device that can be prepared, saved and examined; wherever, as long as one at a time does.
pub trait Model: Device + Prepare + Persist + Examine + Cleans + Send {}

impl<D: Device + Prepare + Persist + Examine + Cleans + Send> Model for D {}

/// Parts of a device are copied with it.
impl Clone for Box<dyn Model> {
    fn clone(&self) -> Self {
        self.copied().expect("devices of the table can be copied")
    }
}

/// Cleaning that the caller can coordinate, for devices that clean.
pub trait Cleans {
    /// True if its cleaning can be coordinated from outside.
    fn is_steerable(&self) -> bool {
        false
    }

    /// Units that are cleaning.
    fn units_cleaning(&self) -> u32 {
        0
    }

    /// True if a unit should clean, or is cleaning.
    fn wants_cleaning(&self) -> bool {
        false
    }

    /// Every unit that would clean soon cleans a block now. Events before `now` have been
    /// processed.
    fn clean_now(&mut self, _now: Time) {}

    /// Postpones cleaning as long as possible, or ends this.
    fn put_off_cleaning(&mut self, _put_off: bool) {}

    /// Starts a new reclaim unit for a placement handle. Events before `now` have been processed.
    ///
    /// # Errors
    /// Why it cannot, at least now.
    fn next_unit(&mut self, _now: Time, _handle: u32) -> Result<(), String> {
        Err("the device has no placement handles (device.fdp.handles)".to_owned())
    }
}

/// Work without time: bringing a device into a state, and serving it requests.
pub trait Prepare {
    /// Pages that [`write_untimed`](Prepare::write_untimed) may address; 0 when the device has no
    /// state worth preparing.
    fn preparable_pages(&self) -> u64 {
        0
    }

    /// True if a page holds data.
    fn holds(&self, _page: u64) -> bool {
        true
    }

    /// Memory of a share of the pages when filled, bytes.
    fn memory(&self, _share: f64) -> u64 {
        0
    }

    /// Into how many volumes of equal size, one behind the other, its addresses are divided.
    fn volumes(&self) -> u32 {
        1
    }

    /// Zones, if any.
    fn zones(&self) -> Option<ZoneShape> {
        None
    }

    /// Overwrites pages, in order and untimed, to bring the device into a state; before the first
    /// request.
    fn overwrite_untimed(&mut self, _pages: &[u64]) {}

    /// Number of final overwrites that determine the state. Earlier ones only affect the backing
    /// device ([`Prepare::overwrite_behind`]).
    fn overwrites_that_settle(&self) -> u64 {
        u64::MAX
    }

    /// Overwrites pages like [`overwrite_untimed`](Prepare::overwrite_untimed), when enough others
    /// follow.
    fn overwrite_behind(&mut self, pages: &[u64]) {
        self.overwrite_untimed(pages);
    }

    /// Overwrites one page untimed.
    fn write_untimed(&mut self, page: u64) {
        self.overwrite_untimed(&[page]);
    }

    /// Divides the state into at most the given number of parts, which are overwritten in parallel
    /// until they are [united](Prepare::unite); into how many.
    ///
    /// # Errors
    /// Why the parts would not give the result of the whole.
    fn divide(&mut self, _parts: u32) -> Result<u32, &'static str> {
        Err("this device has no state to divide")
    }

    /// Overwrites that the parts can surely do next before they must be one again.
    fn overwrites_divided(&self) -> u64 {
        u64::MAX
    }

    /// Overwrites pages like [`overwrite_untimed`](Prepare::overwrite_untimed), in parallel parts.
    /// Counts are then complete, and the rest when the parts are united.
    fn overwrite_divided(&mut self, _writes: &dyn Writes, _run: &mut Run<'_>) {}

    /// Joins the parts.
    fn unite(&mut self) {}

    /// Sets the ageing time per untimed byte, ns; none: no time.
    fn set_pace(&mut self, _ns_per_byte: Option<f64>) {}

    /// Lets data age without requests. the device is at rest.
    ///
    /// # Errors
    /// Why they do not.
    fn age(&mut self, _age: Age) -> Result<(), &'static str> {
        Err("its data do not age")
    }

    /// Serves a request untimed, and returns its status; nothing where there is no such state.
    fn serve_untimed(&mut self, _request: &Request) -> Status {
        Status::Ok
    }
}

/// A state that can be saved while the device is idle, and restored before the first request.
pub trait Persist {
    /// True without operations, background ones included, so that flash and map hold the whole
    /// state. Before the first request it is so.
    fn rests(&self) -> bool {
        true
    }

    /// True if a saved state is complete: a run that loads it continues identically. A drive drops
    /// its copy-on-write snapshots when it is saved.
    fn saves_all(&self) -> bool {
        true
    }

    /// Another device that does what this one will do, whatever that is doing; none where it cannot be copied.
    fn copied(&self) -> Option<Box<dyn Model>> {
        None
    }

    /// The host shuts the device down: its write buffer is written to the flash and half-cleaned blocks are cleaned, in
    /// time. The caller repeats this while the device has no event and does not [rest](Persist::rests). It takes
    /// requests as before. Events before `now` have been processed.
    fn shut_down(&mut self, _now: Time) {}

    /// The device, which was shut down and rests, is on again since `now`: it has what a saved state has, and nothing
    /// more.
    fn turn_on(&mut self, _now: Time) {}

    /// State of a device that was shut down and rests that no saved state has, if there is any.
    fn loses(&self) -> Option<&'static str> {
        None
    }

    /// State to save, if any.
    fn save(&self) -> Option<Snapshot> {
        None
    }

    /// Capacity of a state of this shape, checked before more is read.
    ///
    /// # Errors
    /// Why this device cannot have it.
    fn room(&self, _shape: &[(String, String)]) -> Result<Room, String> {
        Err("this device has no state to restore".to_owned())
    }

    /// Restores a saved state.
    ///
    /// # Errors
    /// Why this device cannot have it.
    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.room(&snapshot.shape).map(|_| ())
    }

    /// Takes up a state that this version kept and whose file was whole, as [`restore`](Persist::restore) does, but
    /// without a look at every page.
    ///
    /// # Errors
    /// As for that.
    fn take_up(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.restore(snapshot)
    }

    /// Takes out the page tables, the largest part of a state, to [save](Persist::save) without
    /// copying them. Until they are returned it can do nothing else.
    fn lend_tables(&mut self) -> Vec<PageTable> {
        Vec::new()
    }

    /// Puts the tables back.
    fn return_tables(&mut self, _tables: &mut dyn Iterator<Item = PageTable>) {}

    /// True if another seed could have given another state; otherwise only later draws depend on
    /// it. A device that does not know says so.
    fn depends_on_seed(&self) -> bool {
        true
    }

    /// After a restore: later draws follow this device's seed, not the saved device's.
    fn draw_anew(&mut self) {}
}

/// Reports of a device.
pub trait Examine {
    /// Starts counting operations from zero.
    fn reset_counts(&mut self) {}

    /// Writes before now were not of the load whose lifetime is reported: the evenness of wear is
    /// measured from now on.
    fn begin_load(&mut self) {}

    /// Begins the account anew in the middle of a run: counts start from zero, and shares of time
    /// are of the time after `now`. Events up to `now` have been processed.
    fn begin_account(&mut self, _now: Time) {
        self.reset_counts();
    }

    /// Checks every invariant of the device's state.
    ///
    /// # Errors
    /// The first broken invariant; always our mistake, never the user's.
    fn audit(&self) -> Result<(), String> {
        Ok(())
    }

    /// Adds the present state of every block inside; nothing where there is none.
    fn blocks(&self, _looks: &mut Looks) {}

    /// Records the flash operations under way within a window from now on, if there are any.
    fn record_operations(&mut self, _window: Window) {}

    /// Recorded operations, if requested.
    fn take_operations(&mut self) -> Option<Timeline> {
        None
    }

    /// Activity during a run that ended at `end`.
    fn report(&self, _end: Time) -> Report {
        Report::default()
    }

    /// Current zones.
    fn zone_states(&self) -> Option<&Zones> {
        None
    }

    /// Energy of a run until `end`, if known.
    fn energy_report(&self, _end: Time) -> Option<EnergyReport> {
        None
    }
}

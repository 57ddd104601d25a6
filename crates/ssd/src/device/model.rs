//! What a device can do beside answering requests, each part with defaults for devices without it.

use crate::device::energy::EnergyReport;
use crate::device::{Looks, Report, Run, Writes};
use crate::media::Age;
use crate::timeline::{Timeline, Window};
use crate::zoned::Zones;
use crate::{PageTable, Room, Snapshot};
use engine::{Device, Request, Status, Time, ZoneShape};

/// A device that can be prepared, kept and examined; wherever, as long as one at a time does.
pub trait Model: Device + Prepare + Persist + Examine + Cleans + Send {}

impl<D: Device + Prepare + Persist + Examine + Cleans + Send> Model for D {}

/// Cleaning that the caller can coordinate, for devices that clean.
pub trait Cleans {
    /// Whether cleaning can be coordinated from outside.
    fn is_steerable(&self) -> bool {
        false
    }

    /// Units that are cleaning.
    fn units_cleaning(&self) -> u32 {
        0
    }

    /// Whether a unit should clean, or is cleaning.
    fn wants_cleaning(&self) -> bool {
        false
    }

    /// Every unit that would clean soon cleans a block now. What happened before `now` has been processed.
    fn clean_now(&mut self, _now: Time) {}

    /// From now on units put cleaning off as long as they can, or no longer.
    fn put_off_cleaning(&mut self, _put_off: bool) {}

    /// What is written next with a placement handle begins a reclaim unit. What happened before `now` has been
    /// processed.
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

    /// Whether such a page holds data.
    fn holds(&self, _page: u64) -> bool {
        true
    }

    /// Memory of a share of these once it holds data, bytes.
    fn memory(&self, _share: f64) -> u64 {
        0
    }

    /// Into how many volumes of equal size, one behind the other, its addresses are divided.
    fn volumes(&self) -> u32 {
        1
    }

    /// Its zones, if it has such.
    fn zones(&self) -> Option<ZoneShape> {
        None
    }

    /// Overwrites pages, in order and in no time, to bring the device into a state; before the first
    /// request.
    fn overwrite_untimed(&mut self, _pages: &[u64]) {}

    /// Of many overwrites that bring the device into a state, so many at last go through all of it. Those before leave
    /// their trace [behind](Prepare::overwrite_behind) what these settle.
    fn overwrites_that_settle(&self) -> u64 {
        u64::MAX
    }

    /// Overwrites pages as [`overwrite_untimed`](Prepare::overwrite_untimed) does, where enough others follow.
    fn overwrite_behind(&mut self, pages: &[u64]) {
        self.overwrite_untimed(pages);
    }

    /// Overwrites one page in no time.
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

    /// Overwrites pages as [`overwrite_untimed`](Prepare::overwrite_untimed) does, each part its own.
    /// Counts are then complete, and the rest when the parts are united.
    fn overwrite_divided(&mut self, _writes: &dyn Writes, _run: &mut Run<'_>) {}

    /// Makes one of the parts again.
    fn unite(&mut self) {}

    /// Each byte that is written without time takes so many nanoseconds in which data age; none: no time.
    fn set_pace(&mut self, _ns_per_byte: Option<f64>) {}

    /// Time passes in which nothing is asked, and data age; the device is at rest.
    ///
    /// # Errors
    /// Why they do not.
    fn age(&mut self, _age: Age) -> Result<(), &'static str> {
        Err("its data do not age")
    }

    /// Does to the state what a request does, in no time, and how it ended; nothing where there is no
    /// such state.
    fn serve_untimed(&mut self, _request: &Request) -> Status {
        Status::Ok
    }
}

/// A state that can be saved while the device is idle, and restored before the first request.
pub trait Persist {
    /// Whether nothing is under way, not even in the background, so that the state is all in the flash
    /// and the map. Before the first request it is so.
    fn rests(&self) -> bool {
        true
    }

    /// Whether a state that is saved now is all that the device has: what goes on from it goes on as this one does. A
    /// drive drops its copy-on-write snapshots when it is saved.
    fn saves_all(&self) -> bool {
        true
    }

    /// Its state, to be kept, if there is any worth keeping.
    fn save(&self) -> Option<Snapshot> {
        None
    }

    /// What a state of this shape may hold, which is asked before more of it is read than that.
    ///
    /// # Errors
    /// Why this device cannot have it.
    fn room(&self, _shape: &[(String, String)]) -> Result<Room, String> {
        Err("this device has no state to restore".to_owned())
    }

    /// Takes up a state that was kept.
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

    /// Takes out the tables of pages, the most of a state, so that it is [saved](Persist::save) without a copy of
    /// them. Until they are returned it can do nothing else.
    fn lend_tables(&mut self) -> Vec<PageTable> {
        Vec::new()
    }

    /// Puts the tables back.
    fn return_tables(&mut self, _tables: &mut dyn Iterator<Item = PageTable>) {}

    /// Whether another seed could have given another state so far; if not, only what is drawn later depends on
    /// it. A device that does not know says so.
    fn depends_on_seed(&self) -> bool {
        true
    }

    /// After a restore: what is drawn from now on is what the seed of this device says, and not that of the one
    /// that was saved.
    fn draw_anew(&mut self) {}
}

/// Reports of a device.
pub trait Examine {
    /// Starts counting operations from zero.
    fn reset_counts(&mut self) {}

    /// Writes before now were not of the load whose lifetime is reported: how evenly its wear falls is told
    /// from what follows.
    fn begin_load(&mut self) {}

    /// Begins the account anew in the middle of a run: counts start from zero, and shares of time are
    /// of the time after `now`. What happened up to `now` has been processed.
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

    /// Adds what every block of the flash inside looks like now; nothing where there is none.
    fn blocks(&self, _looks: &mut Looks) {}

    /// Records the flash operations under way within a window from now on, if there are any.
    fn record_operations(&mut self, _window: Window) {}

    /// What was recorded of them, if that was asked for.
    fn take_operations(&mut self) -> Option<Timeline> {
        None
    }

    /// Activity during a run that ended at `end`.
    fn report(&self, _end: Time) -> Report {
        Report::default()
    }

    /// The zones as they are now.
    fn zone_states(&self) -> Option<&Zones> {
        None
    }

    /// What it took of its supply during a run that ended at `end`, if that is known.
    fn energy_report(&self, _end: Time) -> Option<EnergyReport> {
        None
    }
}

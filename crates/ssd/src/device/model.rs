//! The trait by which the lab, an array and a cache use a device of any kind, besides requests. A device without an
//! ability leaves the default.

use crate::device::energy::EnergyReport;
use crate::device::{Looks, Report, Run, Writes};
use crate::media::Age;
use crate::timeline::{Timeline, Window};
use crate::zoned::Zones;
use crate::{PageTable, Room, Snapshot};
use engine::{Device, Request, Status, Time};

/// A device that can be prepared, saved and examined; wherever, as long as one at a time does.
pub trait Model: Device + Send {
    /// Follows an instruction. Events before `now` have been processed.
    ///
    /// # Errors
    /// Why it does not.
    fn instruct(&mut self, _now: Time, instruction: Instruction) -> Result<(), String> {
        instruction.without_effect()
    }

    /// Constant facts.
    fn facts(&self) -> Constants<'_> {
        Constants::default()
    }

    /// Its present activity, and how much of its state a saved one would have.
    fn condition(&self) -> Condition {
        Condition::default()
    }

    /// A copy of the device in its current state; None if it cannot be copied.
    fn copied(&self) -> Option<Box<dyn Model>> {
        None
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

    /// Recorded operations, if requested.
    fn take_operations(&mut self) -> Option<Timeline> {
        None
    }

    /// Activity during a run that ended at `end`.
    fn report(&self, _end: Time) -> Report {
        Report::default()
    }

    /// Energy of a run until `end`, if known.
    fn energy_report(&self, _end: Time) -> Option<EnergyReport> {
        None
    }

    // ---- work without time: bringing a device into a state, and serving it requests

    /// True if a page holds data.
    fn holds(&self, _page: u64) -> bool {
        true
    }

    /// Memory of a share of the pages when filled, bytes.
    fn memory(&self, _share: f64) -> u64 {
        0
    }

    /// Overwrites pages, in order and untimed, to bring the device into a state; before the first request. As
    /// many as `more` overwrites follow, which may leave nothing of these.
    fn overwrite_untimed(&mut self, _pages: &[u64], _more: u64) {}

    /// Divides the state into at most the given number of parts, which are overwritten in parallel until
    /// [`Instruction::Unite`].
    ///
    /// # Errors
    /// Why the parts would not give the result of the whole.
    fn divide(&mut self, _parts: u32) -> Result<Division, &'static str> {
        Err("this device has no state to divide")
    }

    /// Overwrites pages like [`overwrite_untimed`](Model::overwrite_untimed), in parallel parts. Counts are then
    /// complete, and the rest when the parts are united. Returns the overwrites that the parts can surely do next
    /// before they must be one again.
    fn overwrite_divided(&mut self, _writes: &dyn Writes, _run: &mut Run<'_>) -> u64 {
        u64::MAX
    }

    /// Serves a request untimed, and returns its status; a device without state does nothing.
    fn serve_untimed(&mut self, _request: &Request) -> Status {
        Status::Ok
    }

    // ---- a state that can be saved while the device is idle, and restored before the first request

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

    /// Takes up a state that this version kept and whose file was whole, as [`restore`](Model::restore) does, but
    /// without a look at every page.
    ///
    /// # Errors
    /// As for that.
    fn restore_state(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.restore(snapshot)
    }

    /// Takes out the page tables, the largest part of a state, to [save](Model::save) without
    /// copying them. Until they are returned it can do nothing else.
    fn lend_tables(&mut self) -> Vec<PageTable> {
        Vec::new()
    }

    /// Puts the tables back.
    fn return_tables(&mut self, _tables: &mut dyn Iterator<Item = PageTable>) {}
}

/// Parts of a device are copied with it.
impl Clone for Box<dyn Model> {
    fn clone(&self) -> Self {
        self.copied().expect("devices of the table can be copied")
    }
}

/// An instruction to a device, which is no request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Instruction {
    /// Counts of operations start from zero.
    ResetCounts,
    /// Writes before now were not of the load whose lifetime is reported: the evenness of wear is
    /// measured from now on.
    BeginLoad,
    /// The account begins anew in the middle of a run: counts start from zero, and shares of time are of the time from
    /// now on.
    BeginAccount,
    /// The flash operations under way within a window from now on are recorded, if there are any.
    Record(Window),
    /// The [parts](Model::divide) are joined.
    Unite,
    /// Untimed bytes take this time each, ns, during which data age; none: no time.
    Pace(Option<f64>),
    /// Data age without requests. The device is at rest.
    Age(Age),
    /// The host shuts the device down: its write buffer is written to the flash and half-cleaned blocks are cleaned, in
    /// time. The caller repeats this while the device has no event and does not [rest](Condition::rests). It takes
    /// requests as before.
    ShutDown,
    /// Turns a shut-down device on again: only the content of a saved state survives.
    TurnOn,
    /// After a restore: later draws follow this device's seed, not the saved device's.
    DrawAnew,
    /// Every unit that would clean soon cleans a block now.
    CleanNow,
    /// Cleaning is postponed as long as possible, or no longer.
    PutOffCleaning(bool),
    /// A placement handle gets a new reclaim unit.
    NextUnit(u32),
}

impl Instruction {
    /// A device without the ability does nothing.
    ///
    /// # Errors
    /// Where somebody asked for it.
    pub fn without_effect(self) -> Result<(), String> {
        match self {
            Instruction::Age(_) => Err("its data do not age".to_owned()),
            Instruction::NextUnit(_) => {
                Err("the device has no placement handles (device.fdp.handles)".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Constant facts of a device.
#[derive(Debug, Clone, Copy)]
pub struct Constants<'a> {
    /// Pages that untimed overwrites may address; 0 when the device has no state worth preparing.
    pub pages: u64,
    /// Number of equal volumes into which its addresses are divided.
    pub volumes: u32,
    /// Its zones, if any, as they are now.
    pub zones: Option<&'a Zones>,
}

impl Default for Constants<'_> {
    fn default() -> Self {
        Constants { pages: 0, volumes: 1, zones: None }
    }
}

/// Present activity of a device, and how much of its state a saved one would have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// True without operations, background ones included, so that flash and map hold the whole
    /// state. Before the first request it is so.
    pub rests: bool,
    /// True if a saved state is complete: a run that loads it continues identically. A drive drops
    /// its copy-on-write snapshots when it is saved.
    pub saves_all: bool,
    /// State of a device that was shut down and rests that no saved state has, if there is any.
    pub loses: Option<&'static str>,
    /// True if another seed could have given another state; otherwise only later draws depend on
    /// it. A device that does not know says so.
    pub depends_on_seed: bool,
    /// Its cleaning, if that can be coordinated from outside.
    pub cleaning: Option<CleaningNow>,
}

impl Default for Condition {
    fn default() -> Self {
        Condition {
            rests: true,
            saves_all: true,
            loses: None,
            depends_on_seed: true,
            cleaning: None,
        }
    }
}

impl Condition {
    /// The condition of a device made of others, which coordinates their cleaning itself.
    pub fn together(each: impl Iterator<Item = Condition>) -> Condition {
        let alone = Condition { depends_on_seed: false, ..Condition::default() };
        each.fold(alone, |all, one| Condition {
            rests: all.rests && one.rests,
            saves_all: all.saves_all && one.saves_all,
            loses: all.loses.or(one.loses),
            depends_on_seed: all.depends_on_seed || one.depends_on_seed,
            cleaning: None,
        })
    }
}

/// Cleaning under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleaningNow {
    /// Units that are cleaning; with a write buffer, domains.
    pub units: u32,
    /// True if a unit should clean, or is cleaning.
    pub is_wanted: bool,
}

/// A [divided](Model::divide) state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Division {
    /// Number of parts.
    pub parts: u32,
    /// Overwrites that the parts can surely do before they must be one again.
    pub sure: u64,
}

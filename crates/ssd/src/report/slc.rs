//! Report of the SLC cache.

use crate::Ssd;
use crate::cache::SlcState;
use crate::config::WhenFull;
use crate::device::{Field, Report};
use engine::Time;
use serde_json::{Map, Value, json};

/// SLC cache in a run; sizes are bytes of host data.
#[derive(Debug, Clone, PartialEq)]
pub struct SlcReport {
    /// Host bytes written to the cache.
    pub written: u64,
    /// Host bytes written directly to native blocks.
    pub direct: u64,
    /// Host bytes written while only folding freed space.
    pub forced: u64,
    /// Bytes folded.
    pub folded: u64,
    /// Host bytes at the first fill; `None` if the cache never filled.
    pub cliff_at: Option<u64>,
    /// Final content in whole blocks.
    pub held: u64,
    /// Time in each state.
    pub states: Vec<(&'static str, Time)>,
    /// Sequence of states.
    pub phases: Vec<SlcStretch>,
}

/// A period in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlcStretch {
    /// The state.
    pub state: &'static str,
    /// Start, ns.
    pub from: Time,
    /// Duration, ns.
    pub time: Time,
    /// Host bytes written during the period.
    pub written: u64,
    /// Content at the end of the period, in whole blocks.
    pub held: u64,
}

impl SlcReport {
    /// Results section `slc_cache`: traffic, and sequence of states.
    pub(super) fn section(&self) -> Report {
        let seconds = |ns: Time| ns as f64 / 1e9;
        let states =
            self.states.iter().map(|(state, ns)| ((*state).to_owned(), json!(seconds(*ns))));
        let phases = self.phases.iter().map(|it| {
            json!({
                "state": it.state,
                "from_seconds": seconds(it.from),
                "seconds": seconds(it.time),
                "written_bytes": it.written,
                "held_bytes": it.held,
            })
        });
        section! {
            "written_bytes": self.written,
            "direct_bytes": self.direct,
            "forced_bytes": self.forced,
            "folded_bytes": self.folded,
            "cliff_at_bytes": self.cliff_at,
            "held_bytes": self.held,
            "states_seconds": Field::same(states.collect::<Map<String, Value>>()),
            "phases": Field::same(phases.collect::<Vec<Value>>()),
        }
    }
}

impl Ssd {
    /// Host bytes written to the SLC cache, if there is one.
    pub fn slc_written(&self) -> Option<u64> {
        let groups = self.geometry().groups.as_ref()?;
        let (_, pages, _) = self.buffered.cache.slc_account()?.account(0);
        let states = SlcState::ALL.into_iter().filter(|state| self.writes_to_slc(*state));
        let pages: u64 = states.map(|state| pages[state as usize]).sum();
        Some(pages * u64::from(groups.unit_bytes))
    }

    /// True if host writes go to the cache in a state.
    fn writes_to_slc(&self, state: SlcState) -> bool {
        let folds_first = self.config.slc_cache.when_full == WhenFull::Fold;
        state == SlcState::Fast || state == SlcState::Forced && folds_first
    }

    /// Report of the SLC cache up to `end`, if any.
    pub(super) fn slc_report(&self, end: Time) -> Option<SlcReport> {
        let groups = self.geometry().groups.as_ref()?;
        let (times, pages, phases) = self.buffered.cache.slc_account()?.account(end);
        let bytes = |pages: u64| pages * u64::from(groups.unit_bytes);
        let of_block = bytes(u64::from(groups.one_bit_units_per_block()));
        let blocks = self.ftl.slc_blocks();
        let written = |state: SlcState| bytes(pages[state as usize]);
        let mut stretches: Vec<SlcStretch> = memory::with_capacity(phases.len());
        for (number, phase) in phases.iter().enumerate() {
            let next = phases.get(number + 1);
            let until = next.map_or(end, |next| next.from);
            let held = next.map_or(blocks, |_| phase.blocks);
            stretches.push(SlcStretch {
                state: phase.state.name(),
                from: phase.from,
                time: until.saturating_sub(phase.from),
                written: bytes(phase.pages),
                held: u64::from(held) * of_block,
            });
        }
        let is_slow =
            |name| [SlcState::Direct, SlcState::Forced].iter().any(|it| it.name() == name);
        let first = stretches.iter().position(|it| is_slow(it.state));
        let all = written(SlcState::Fast) + written(SlcState::Direct) + written(SlcState::Forced);
        let in_cache = self.slc_written()?;
        Some(SlcReport {
            written: in_cache,
            direct: all - in_cache,
            forced: written(SlcState::Forced),
            folded: bytes(self.ftl.counters.folds),
            cliff_at: first.map(|at| stretches[..at].iter().map(|it| it.written).sum()),
            held: u64::from(blocks) * of_block,
            states: SlcState::ALL.iter().map(|it| (it.name(), times[*it as usize])).collect(),
            phases: stretches,
        })
    }
}

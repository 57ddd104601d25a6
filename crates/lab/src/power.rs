//! Power cuts of a run: their times, and the section `power` of the results. For drawn cuts, a run
//! without cuts is rehearsed first (`session.rs`).

use crate::config::{Experiment, PowerCut};
use crate::error::{InputError, RunError};
use engine::{Completion, Driven, Observer, PowerCuts, Random, Time, Xoshiro256};
use options::{Duration, Invalid};
use std::ops::ControlFlow;

/// Random stream of power cuts.
const CUT_STREAM: u64 = 13;

/// Records only the end of a run.
pub(crate) struct Rehearsal<'a>(
    pub(crate) &'a mut dyn FnMut() -> ControlFlow<()>,
    /// True if stopped early.
    pub(crate) bool,
);

impl Observer for Rehearsal<'_> {
    fn completed(&mut self, _completion: &Completion) {}

    fn tick(&mut self, _now: Time) -> ControlFlow<()> {
        let flow = (self.0)();
        self.1 |= flow.is_break();
        flow
    }
}

/// Times of a run's power cuts. Drawn cuts are distributed over a rehearsed run without cuts.
pub(crate) fn cuts(
    experiment: &Experiment,
    rehearse: &mut dyn FnMut() -> Result<(Driven, u64), RunError>,
) -> Result<Option<PowerCuts>, RunError> {
    let run = &experiment.run;
    let mut cuts = PowerCuts::new(run.power_off.ns());
    match run.power_cut {
        PowerCut::None => return Ok(None),
        PowerCut::At(at) => cuts.times.push_back(at.ns()),
        PowerCut::Every(every) => cuts.every = Some(every.ns()),
        PowerCut::Random(count) => {
            let (driven, _) = rehearse()?;
            cuts.times = drawn(run.seed, count, driven.last.max(1)).into();
        }
        PowerCut::Events(count) => {
            let (_, events) = rehearse()?;
            cuts.events = drawn(run.seed, count, events.max(1)).into();
        }
    }
    Ok(Some(cuts))
}

/// `count` random numbers from 1 to `last`, sorted.
fn drawn(seed: u64, count: u32, last: u64) -> Vec<u64> {
    let random = &mut Xoshiro256::new(seed, CUT_STREAM);
    let mut all: Vec<u64> = (0..count).map(|_| 1 + random.below(last)).collect();
    all.sort_unstable();
    all
}

/// Refuses a run that ended before its power cuts.
pub(crate) fn check_made(
    experiment: &Experiment,
    cuts: &PowerCuts,
    last: Time,
) -> Result<(), InputError> {
    if !cuts.made.is_empty() {
        return Ok(());
    }
    let problem = format!(
        "the run ended after {}, before the power cut; cut earlier or make the run longer",
        Duration::from_ns(last)
    );
    Err(experiment.blame(&Invalid::new(&["run.power_cut"], problem)))
}

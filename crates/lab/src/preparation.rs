//! Preparation of a device's initial state: restored from the cache, or built and written.

use crate::cache::{CacheSettings, Found, Place, PreparingLoad};
use crate::config::{Experiment, Precondition};
use crate::error::RunError;
use crate::inputs::Opened;
use crate::own_load;
use crate::precondition::{Target, precondition};
use crate::steady::Prepared;
use crate::threads::Threads;
use devices::{DeviceKind as _, Model, Supplied, Tick};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::PoisonError;

/// Reason for preparing without threads.
const KEPT: &str = "its prepared state was kept";

/// Progress of a preparation: the name of the phase, the writes done and, if known, expected.
pub type PhaseTick<'a> = &'a mut dyn FnMut(&'static str, u64, Option<u64>) -> ControlFlow<()>;

/// Preparation of the device of an experiment.
pub struct Preparation<'a> {
    experiment: &'a Experiment,
    supplied: &'a Supplied,
    /// Cache of prepared states; if set, the device is built empty until its state is found.
    cache: Option<&'a CacheSettings>,
}

impl<'a> Preparation<'a> {
    pub fn new(
        experiment: &'a Experiment,
        supplied: &'a Supplied,
        cache: Option<&'a CacheSettings>,
    ) -> Preparation<'a> {
        // Not cached: a drive loaded from a file or with a supplied policy, and data that age
        // during preparation, because the pace depends on the first device.
        let run = &experiment.run;
        let is_own = run.load_drive.is_none()
            && supplied.policy.is_none()
            && run.pace.ns_per_byte(1, 1).is_none();
        let cache = cache.filter(|_| is_own && run.precondition != Precondition::None);
        Preparation { experiment, supplied, cache }
    }

    /// Builds the device; `tick` is called at intervals and may end it.
    pub fn device(&self, tick: Tick<'_>) -> Result<Box<dyn Model>, RunError> {
        match self.cache {
            Some(_) => self.experiment.build_unfilled(self.supplied, tick),
            None => self.experiment.build_device(self.supplied, tick),
        }
    }

    /// Brings the device into its initial state; returns how it settled, if settling ended the
    /// preparation.
    pub fn prepare(
        &self,
        device: &mut Box<dyn Model>,
        threads: &mut Threads,
        is_served: bool,
        tick: PhaseTick<'_>,
    ) -> Result<ControlFlow<(), Option<Prepared>>, RunError> {
        let opened = Opened::default();
        let mut passes = own_load::of(self.experiment, &**device, is_served, &opened)?;
        let uniform = passes.as_ref().err().copied();
        let files = names_of(&opened);
        let reach = if is_served { None } else { own_load::reach(self.experiment, &**device) };
        let reach = reach.filter(|_| uniform.is_some_and(|why| why != own_load::UNIFORM));
        let load = load_of(uniform, &files, reach);
        let mut place = self.cache.and_then(|it| Place::of(it, self.experiment, &**device, load));
        if let Some(place) = &mut place {
            match place.find(&mut **device, &mut || tick("loading", 0, None)) {
                ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                ControlFlow::Continue(Found::State(prepared)) => {
                    threads.prepare(Err(KEPT));
                    return Ok(ControlFlow::Continue(prepared));
                }
                ControlFlow::Continue(Found::Nothing) => {}
            }
        }
        if self.cache.is_some() {
            let building = &mut || tick("building", 0, None);
            *device = self.experiment.build_device(self.supplied, building)?;
        }
        let supplied = self.supplied;
        let mut written = |done, expected| {
            // Results without the policy would be useless.
            if supplied.failure().is_some() {
                return ControlFlow::Break(());
            }
            tick("preconditioning", done, Some(expected))
        };
        let own = passes.as_mut().map(|it| &mut **it).map_err(|why| *why);
        let run = &self.experiment.run;
        let target = if uniform == Some(own_load::UNIFORM) {
            Target::all(&**device)
        } else {
            Target::of(&**device, self.experiment.device.is_partly_filled(), reach)
        };
        let prepared = precondition(&mut **device, run, own, target, threads, &mut written)?;
        if let (Some(place), ControlFlow::Continue(prepared)) = (place, &prepared) {
            let files = names_of(&opened);
            let saving = &mut || tick("saving", 0, None);
            let load = load_of(uniform, &files, reach);
            place.keep(&mut **device, prepared.as_ref(), load, saving);
        }
        Ok(prepared)
    }
}

fn load_of<'a>(
    uniform: Option<&'static str>,
    files: &'a BTreeSet<String>,
    reach: Option<u64>,
) -> PreparingLoad<'a> {
    uniform.map_or(PreparingLoad::Own(files), |why| PreparingLoad::Uniform(why, reach))
}

/// Names of the files opened so far.
fn names_of(opened: &Opened) -> BTreeSet<String> {
    opened.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

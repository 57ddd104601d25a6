//! Prepared states of drives, stored in files: a drive is prepared once for any number of runs.
//!
//! An entry is identified by everything that determines the state ([`key`]): the keys of the
//! device, the load and the contents of its files, the seed if anything is drawn, and a fingerprint
//! of the engine's sources (`build.rs`). A new config key is included until a test shows that it
//! has no effect. An entry gets its name once it is complete ([`entry`]); a damaged one is deleted,
//! and the drive prepared again. A device whose state is only saved in part (`Condition::saves_all`)
//! is always prepared. Results are bit-identical with and without the cache. Problems with a cache
//! file never end a run: each is reported once ([`take_notices`]).

mod entry;
mod key;
mod settings;
mod shelf;
mod turn;

pub use key::PreparingLoad;
pub use settings::CacheSettings;
pub use shelf::{
    CacheEntry, cache_clear, cache_entries, cache_json, cache_make_room, take_notices,
};

use crate::config::{Experiment, Precondition, RunConfig};
use crate::precondition::begins_load;
use crate::steady::Prepared;
use devices::{Instruction, Model, Tick};
use entry::Head;
use key::Key;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;
use turn::Turn;

/// Position of a drive's state in the cache.
pub struct Place<'a> {
    settings: &'a CacheSettings,
    experiment: &'a Experiment,
    /// Entry for all seeds, if the seed has no effect.
    any_seed: Option<Key>,
    own_seed: Key,
    /// Lock that makes other processes wait for this state.
    turn: Option<Turn>,
    started: Instant,
}

/// The result of a search for a state.
pub enum Found {
    /// The device is restored.
    State(Option<Prepared>),
    /// No readable entry: the device must be rebuilt.
    Nothing,
}

impl<'a> Place<'a> {
    /// The place of an experiment's state, if caching it is worthwhile.
    pub fn of(
        settings: &'a CacheSettings,
        experiment: &'a Experiment,
        device: &dyn Model,
        load: PreparingLoad<'_>,
    ) -> Option<Place<'a>> {
        if writes(&experiment.run, device.facts().pages) < settings.least_writes {
            return None;
        }
        let (any_seed, own_seed) = key::keys(experiment, load)?;
        let draws = device.condition().depends_on_seed || key::load_draws(experiment, load);
        #[expect(
            clippy::disallowed_methods,
            reason = "reports how long a preparation took; no result depends on it"
        )]
        let started = Instant::now();
        let any_seed = (!draws).then_some(any_seed);
        Some(Place { settings, experiment, any_seed, own_seed, turn: None, started })
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        self.any_seed.iter().chain([&self.own_seed])
    }

    fn path(&self, key: &Key) -> PathBuf {
        shelf::path(&self.settings.folder, &key.name())
    }

    /// Restores the device from an entry, if there is one; waits while another process prepares it.
    /// `tick` is called at intervals and may end the search.
    pub fn find(&mut self, device: &mut dyn Model, tick: Tick<'_>) -> ControlFlow<(), Found> {
        let mut found = self.look(device, tick)?;
        if matches!(found, Found::Nothing) {
            let name = self.keys().next().map(Key::name).unwrap_or_default();
            self.turn = turn::wait(&self.settings.folder, &name, tick)?;
            if self.turn.as_ref().is_some_and(Turn::was_waited_for) {
                found = self.look(device, tick)?;
            }
        }
        if matches!(found, Found::State(_)) {
            self.turn = None;
        }
        ControlFlow::Continue(found)
    }

    fn look(&self, device: &mut dyn Model, tick: Tick<'_>) -> ControlFlow<(), Found> {
        for (number, key) in self.keys().enumerate() {
            let path = self.path(key);
            if !path.exists() {
                continue;
            }
            let mut ended = false;
            let mut noting = || {
                let flow = tick();
                ended |= flow.is_break();
                flow
            };
            let read = entry::head(&path).and_then(|(head, rest)| {
                if head.key != key.text() {
                    return Err("it belongs to another drive".to_owned());
                }
                entry::restore(device, &path, rest, &mut noting)?;
                Ok(head)
            });
            if ended {
                return ControlFlow::Break(());
            }
            match read {
                Ok(head) => {
                    shelf::used(&path);
                    let mut tell = |instruction| device.instruct(0, instruction).expect("it rests");
                    if number == 0 && self.any_seed.is_some() {
                        tell(Instruction::DrawAnew);
                    }
                    let prepared = head.prepared(&self.experiment.run.steady);
                    tell(Instruction::ResetCounts);
                    if begins_load(&self.experiment.run, prepared.as_ref()) {
                        tell(Instruction::BeginLoad);
                    }
                    return ControlFlow::Continue(Found::State(prepared));
                }
                // The partly restored device is rebuilt.
                Err(problem) => shelf::discard(&path, &problem),
            }
        }
        ControlFlow::Continue(Found::Nothing)
    }

    /// Stores the state of the prepared device; `load` is the load that prepared it, with its files
    /// as they are now.
    pub fn keep(
        self,
        device: &mut dyn Model,
        prepared: Option<&Prepared>,
        load: PreparingLoad<'_>,
        tick: Tick<'_>,
    ) {
        // A load that writes nothing is replaced by random pages, and a file may have changed in
        // the meantime.
        let is_own = matches!(load, PreparingLoad::Own(_));
        let gave_way = is_own && !prepared.is_some_and(Prepared::is_own_load);
        let same = key::keys(self.experiment, load);
        let is_same = same.is_some_and(|(_, own)| own.text() == self.own_seed.text());
        if device.has_ended() || !is_same || !device.condition().saves_all {
            return;
        }
        let seedless =
            self.any_seed.as_ref().filter(|_| !device.condition().depends_on_seed && !gave_way);
        let key = seedless.unwrap_or(&self.own_seed);
        let run = &self.experiment.run;
        let figures = (
            device.capacity_sectors() * engine::SECTOR_BYTES,
            run.precondition.to_string(),
            self.started.elapsed().as_secs_f64(),
        );
        let head = Head::new(key.text(), &self.experiment.title, figures, prepared);
        // Avoids a copy of the tables, which are most of a drive's memory.
        let tables = device.lend_tables();
        if let Some(state) = device.save() {
            shelf::store(self.settings, &self.path(key), |file| {
                entry::write(file, &head, (&state, &tables), tick)
            });
        }
        device.return_tables(&mut tables.into_iter());
    }
}

/// Minimum number of pages that a preparation writes.
fn writes(run: &RunConfig, pages: u64) -> u64 {
    match run.precondition {
        Precondition::None => 0,
        Precondition::Sequential => pages,
        Precondition::Random(overwrites) => (pages as f64 * overwrites) as u64,
        Precondition::Steady => {
            (pages as f64 * run.steady.round_writes * f64::from(run.steady.window)) as u64
        }
    }
}

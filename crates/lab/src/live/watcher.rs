//! The observer of a served device: counts its requests, saves its state, and executes orders.

use super::keep::Keeper;
use super::looks::{self, Counted};
use super::settings::LiveStatus;
use crate::faults::{Faulty, Order};
use crate::figures::Figures;
use crate::placed;
use crate::results::Collected;
use crate::zones;
use devices::ssd::HealthReport;
use engine::{Completion, Followed, Load, Request, Time};
use nbd::{Health, Placement, Punctuality, Witness, ZoneLimits, ZoneList, ZoneQuery, ZonesAltered};
use serde_json::{Value, json};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use workloads::Record;

/// The load of clients: they wait for completions, so there is no arrival rate.
fn unrated() -> Load {
    Load::default()
}

/// Observes all requests.
pub(super) struct Watcher {
    pub(super) simulated: Collected,
    pub(super) measured: Collected,
    pub(super) first: Option<Time>,
    pub(super) last: Time,
    pub(super) recorder: Option<SyncSender<Record>>,
    pub(super) keeper: Option<Keeper>,
    pub(super) fresh: LiveStatus,
    pub(super) status: Arc<Mutex<LiveStatus>>,
    /// Reports from the time when all requests were completed, while the device only works in the
    /// background.
    pub(super) alone: Option<Alone>,
}

/// The device when all requests were completed, and samples of its background work since then. They
/// enter the results only if requests follow, because a replay ends with the last completion.
pub(super) struct Alone {
    figures: Figures,
    samples: Vec<(Time, Option<Followed>)>,
}

impl Alone {
    /// Reports at the time when all requests were completed.
    pub(super) fn end(self) -> Figures {
        self.figures
    }
}

impl Witness<Faulty<'_>> for Watcher {
    fn begins(&mut self, device: &mut Faulty<'_>, at: Time) {
        // Time shares count from the first request on, as in a replay.
        device.begin_account(at);
    }

    fn submitted(&mut self, at: Time, request: &Request, fua: bool) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        let Some(recorder) = &self.recorder else { return };
        let Request { op, lba, sectors, .. } = *request;
        let record =
            Record { at, device: 0, op, sector: lba.0, sectors, fua, handle: request.handle };
        // If the writer has stopped, its error is reported at the end.
        let _ = recorder.send(record);
    }

    fn left_alone(&mut self, device: &mut Faulty<'_>) {
        let figures = Figures::of(&*device.device, self.last, true);
        self.alone = Some(Alone { figures, samples: Vec::new() });
    }

    fn asked_again(&mut self) {
        for (now, figures) in self.alone.take().map(|it| it.samples).unwrap_or_default() {
            self.simulated.sample(now, figures, unrated());
        }
    }

    fn sample(&mut self, now: Time, figures: Option<Followed>) -> Time {
        let Some(alone) = &mut self.alone else {
            return self.simulated.sample(now, figures, unrated());
        };
        alone.samples.push((now, figures));
        self.simulated.sample_after(now)
    }

    fn delivered(&mut self, completion: &Completion, measured: Time) {
        let at = completion.submitted + measured;
        self.measured.record(&Completion { at, ..*completion });
    }

    fn completed(&mut self, completion: &Completion) {
        self.last = self.last.max(completion.at);
        self.simulated.record(completion);
        self.fresh.count(completion);
        if let Ok(mut status) = self.status.try_lock() {
            *status = self.fresh;
        }
    }

    fn idle(&mut self, device: &mut Faulty<'_>, now: Time, timing: &Punctuality) {
        let report = device.device.report(now);
        let amplification = report.number("flash.write_amplification_bytes");
        self.fresh.renew(timing.late_share(), amplification);
        if let Some(keeper) = &mut self.keeper
            && keeper.is_due(self.fresh.requests)
            && device.device.condition().rests
        {
            keeper.save_aside(&*device.device, self.fresh.requests);
        }
    }

    fn health(&mut self, device: &mut Faulty<'_>, now: Time) -> Option<Health> {
        let report = device.device.report(now);
        let health = HealthReport::of(report.section("health")?);
        Some(Health {
            critical_warning: health.critical_warning(),
            percentage_used: health.percentage_used,
            available_spare: Some(health.available_spare),
            data_units_written: Some(health.data_units_written),
            ..Health::default()
        })
    }

    fn placement(&mut self, device: &mut Faulty<'_>) -> Option<Placement> {
        device.device.report(self.last).section("fdp").map(placed::shown)
    }

    fn next_unit(&mut self, device: &mut Faulty<'_>, now: Time, handle: u32) -> bool {
        device.order(now, Order::NextUnit(handle)).is_ok()
    }

    fn zone_limits(&mut self, device: &mut Faulty<'_>) -> Option<ZoneLimits> {
        device.device.facts().zones.map(zones::limits)
    }

    fn zones(&mut self, device: &mut Faulty<'_>, query: &ZoneQuery) -> Option<ZoneList> {
        device.device.facts().zones.map(|states| zones::seen(states, query))
    }

    fn zones_altered(&mut self, device: &mut Faulty<'_>, since: u64) -> Option<ZonesAltered> {
        device.device.facts().zones.map(|states| zones::altered(states, since))
    }

    fn look(
        &mut self,
        device: &mut Faulty<'_>,
        now: Time,
        line: &str,
        timing: &Punctuality,
    ) -> Option<String> {
        let answer = match line.trim() {
            "save" => self.save(device),
            what => looks::look(self.counted(), device, now, what, timing)?,
        };
        Some(said(answer))
    }

    fn order(&mut self, device: &mut Faulty<'_>, now: Time, line: &str) -> String {
        let done = line.trim().parse::<Order>().and_then(|order| device.order(now, order));
        said(done.map(|()| {
            let mut answer = json!({ "done": line.trim(), "at_seconds": now as f64 / 1e9 });
            if line.trim().starts_with("age") {
                looks::add_age(&mut answer, device, now);
            }
            answer
        }))
    }
}

fn said(answer: Result<Value, String>) -> String {
    answer.unwrap_or_else(|problem| json!({ "error": problem })).to_string()
}

impl Watcher {
    fn counted(&self) -> Counted<'_> {
        Counted {
            simulated: &self.simulated,
            measured: &self.measured,
            simulated_ns: self.first.map_or(0, |first| self.last - first),
            requests: self.fresh.requests,
            bytes: self.fresh.bytes,
        }
    }

    fn save(&mut self, device: &Faulty<'_>) -> Result<Value, String> {
        let Some(keeper) = &mut self.keeper else {
            let problem = "there is no place to save the drive; serve it with --backing, or with \
                           run.save_drive, and a device that has flash";
            return Err(problem.to_owned());
        };
        if !device.device.condition().rests {
            return Err("save: the drive is at work; ask again when it rests".to_owned());
        }
        keeper.save(&*device.device, self.fresh.requests)?;
        Ok(json!({ "saved": keeper.path().display().to_string() }))
    }
}

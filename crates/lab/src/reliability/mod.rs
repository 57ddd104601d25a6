//! Data losses of an array over years: a Monte Carlo simulation of failures, repairs, latent
//! defects and scrubs, without a device.
//!
//! A group of members lives through its mission (`group.rs`), with Weibull distributed times
//! (`law.rs`). Losses are rare, so importance sampling is used: whenever a member is missing,
//! trials with accelerated failures branch off, each weighted by its likelihood. The group itself
//! continues without acceleration, so its own losses are a check (`seen`). Each group has its own
//! random generator, so results depend on the seed alone.

mod drives;
mod group;
mod law;
#[cfg(test)]
mod tests;

pub use drives::{FleetSettings, fleet};

use crate::error::{InputError, RunError};
use engine::Xoshiro256;
use group::{Defects, Group, Loss, State};
use law::{Law, YEAR};
use serde::Serialize;
use std::ops::ControlFlow;

/// Random streams of a group and of its trials.
const GROUP_STREAM: u64 = 21;
const TRIAL_STREAM: u64 = 22;
/// Trials per failure of a first member in a group.
const TRIALS: u32 = 4;
/// Target number of failures in a trial during a repair.
const AIM: f64 = 0.7;
/// Groups, or failures in one group, between two calls of `visit`.
const VISIT: u64 = 64;
const FAILURES: u64 = 4096;
/// Maximum inspections of members, or draws of defects: minutes of work.
const MOST: f64 = 1e8;
/// Maximum defects of a member between two inspections, which bounds memory.
const MOST_DEFECTS: f64 = 1e6;
/// Number of draws for a mean, and their random stream.
const DRAWS: u32 = 1_000;
const DRAWS_STREAM: u64 = 23;

/// Parameters as given by the user.
#[derive(Debug, Clone)]
pub struct ReliabilitySettings {
    /// Members of a redundancy group.
    pub members: u32,
    /// Number of members that may be missing.
    pub tolerated: u32,
    /// Capacity of a member.
    pub member_bytes: u64,
    /// Lifetime of a member.
    pub life: String,
    /// Time until a failed member is replaced and rebuilt.
    pub repair: String,
    /// True if concurrent failures are repaired in parallel, false if one after the other.
    pub repairs_together: bool,
    /// Time between two latent defects of a member, if defects are modelled.
    pub defects: Option<String>,
    /// Time until a scrub detects a defect; without it, scrubs never do.
    pub scrub: Option<String>,
    /// Bytes lost per uncorrected defect.
    pub defect_bytes: u64,
    /// Length of the mission.
    pub years: f64,
    /// Number of simulated groups.
    pub groups: u64,
    /// Seed of the random generators.
    pub seed: u64,
}

/// The results, per group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Reliability {
    /// Failures of members.
    pub member_failures: f64,
    /// Data losses in the mission, of both kinds.
    pub losses: f64,
    /// The standard error of `losses`.
    pub losses_error: f64,
    /// Losses caused by too many missing members.
    pub by_members: f64,
    /// Losses caused by a defect of another member during a rebuild without redundancy.
    pub by_defects: f64,
    /// Total losses in all groups, without accelerated failures.
    pub seen: u64,
    /// Bytes of data lost.
    pub bytes: f64,
    /// Losses by the end of each year.
    pub by_year: Vec<f64>,
    /// Mean time to data loss, hours, by the closed form for exponential times without defects.
    pub mttdl_hours: f64,
    /// Expected losses in the mission by that formula.
    pub losses_by_mttdl: f64,
    /// Acceleration of failures in trials.
    pub faster: f64,
}

impl Reliability {
    /// The outlook as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers are JSON")
    }
}

/// Simulates `groups` groups; `visit` gets the number done and may stop the simulation.
///
/// # Errors
/// When a value is invalid, or when `visit` stops it.
pub fn reliability(
    settings: &ReliabilitySettings,
    visit: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<Reliability, RunError> {
    let group = group(settings).map_err(|InputError(message)| RunError::Input(message))?;
    let end = settings.years * YEAR;
    check_effort(settings, &group, end).map_err(|InputError(message)| RunError::Input(message))?;
    let mut tally = Tally::new(settings, &group, end);
    for number in 0..settings.groups {
        let interrupted = RunError::Interrupted { requests: number };
        if number % VISIT == 0 && visit(number).is_break() {
            return Err(interrupted);
        }
        let seed = settings.seed.wrapping_add(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        if tally.live(&group, end, seed, &mut || visit(number)).is_break() {
            return Err(interrupted);
        }
    }
    Ok(tally.report(settings.groups as f64, end))
}

fn group(settings: &ReliabilitySettings) -> Result<Group, InputError> {
    let law = |option: &str, text: &str| Law::parse(option, text).map_err(InputError);
    let life = law("--life", &settings.life)?;
    let between = settings.defects.as_deref().map(|text| law("--defects", text)).transpose()?;
    let scrub = settings.scrub.as_deref().map(|text| law("--scrub", text)).transpose()?;
    let refused = |problem: String| Err(InputError(problem));
    for (option, law) in [("--life", Some(&life)), ("--defects", between.as_ref())] {
        if law.is_some_and(|law| !law.has_hazard()) {
            return refused(format!("{option}: needs a random distribution, not constant"));
        }
    }
    if scrub.is_some() && between.is_none() {
        return refused("--scrub needs --defects, the latent errors that it finds".into());
    }
    if settings.tolerated == 0 && between.is_some() {
        let problem =
            "--defects: an array without redundancy loses data at every one; set device.redundancy";
        return refused(problem.into());
    }
    if settings.tolerated >= settings.members {
        return refused(format!("all of the {} members would be redundant", settings.members));
    }
    if !(settings.years > 0.0 && settings.years <= 100.0) {
        return refused(format!("--years {}: expected above 0 and at most 100", settings.years));
    }
    if settings.groups == 0 {
        return refused("--groups 0: at least 1".into());
    }
    Ok(Group {
        members: settings.members,
        tolerated: settings.tolerated,
        life,
        repair: law("--repair", &settings.repair)?,
        repairs_together: settings.repairs_together,
        defects: between.map(|between| Defects { between, scrub }),
    })
}

/// Refuses settings that need hours of work or unlimited memory.
fn check_effort(settings: &ReliabilitySettings, group: &Group, end: f64) -> Result<(), InputError> {
    let members = f64::from(group.members);
    let seen = group.defects.as_ref().map_or(0.0, |defects| {
        let kept = defects.scrub.as_ref().map_or(end, |law| law.most().min(end));
        kept / mean_within(&defects.between, kept)
    });
    let option = |name: &str, text: &str| format!("{name} \"{text}\"");
    if seen > MOST_DEFECTS {
        let text = settings.defects.as_deref().unwrap_or_default();
        let problem = format!(
            "{}: a member would have {seen:.1e} defects at a time, and at most {MOST_DEFECTS:.0e} are \
             simulated; use a longer time, or a shorter --scrub",
            option("--defects", text)
        );
        return Err(InputError(problem));
    }
    let failures = members * end / mean_within(&group.life, end);
    let of_group = members * (1.0 + failures * (1.0 + seen));
    let groups = settings.groups as f64;
    if of_group * groups <= MOST {
        return Ok(());
    }
    let fewer = (MOST / of_group).floor();
    let out = if fewer >= 1.0 { format!("use --groups {fewer:.0}, ") } else { "use ".to_owned() };
    let problem = if failures > 10.0 {
        format!(
            "{}: {} groups would have {:.1e} failures of members in {} years, which takes too long; {out}fewer \
             --years or a longer --life",
            option("--life", &settings.life),
            settings.groups,
            failures * groups,
            settings.years
        )
    } else if seen > 10.0 {
        let text = settings.defects.as_deref().unwrap_or_default();
        format!(
            "{}: {} groups with {seen:.1e} defects of a member at a time take too long; {out}a longer time or a \
             shorter --scrub",
            option("--defects", text),
            settings.groups
        )
    } else {
        format!("--groups {}: takes too long; at most {fewer:.0} of this array", settings.groups)
    };
    Err(InputError(problem))
}

/// Mean of a time truncated at `most`. If a few times exceed the mission, the untruncated mean says
/// little about the number of events in it.
fn mean_within(law: &Law, most: f64) -> f64 {
    let mut random = Xoshiro256::new(0, DRAWS_STREAM);
    (0..DRAWS).map(|_| law.sample(&mut random).min(most)).sum::<f64>() / f64::from(DRAWS)
}

/// Cumulative losses of all groups.
struct Tally {
    faster: f64,
    /// Data bytes per byte of lost members.
    data_share: f64,
    member_bytes: f64,
    defect_bytes: f64,
    squares: f64,
    failures: u64,
    mttdl: f64,
    found: Reliability,
}

impl Tally {
    fn new(settings: &ReliabilitySettings, group: &Group, end: f64) -> Tally {
        let (members, lost) = (f64::from(group.members), f64::from(group.tolerated + 1));
        let (life, repair) = (group.life.mean(), group.repair.mean());
        let expected = (members - 1.0) * repair / life;
        let mut mttdl = life / members;
        for gone in 1..=group.tolerated {
            let repairs = if group.repairs_together { f64::from(gone) } else { 1.0 };
            mttdl *= life * repairs / (repair * f64::from(group.members - gone));
        }
        let years = (end / YEAR).ceil() as usize;
        Tally {
            faster: (AIM / expected).max(1.0),
            data_share: lost * (members - lost + 1.0) / members,
            member_bytes: settings.member_bytes as f64,
            defect_bytes: settings.defect_bytes as f64,
            squares: 0.0,
            failures: 0,
            mttdl,
            found: Reliability { by_year: vec![0.0; years], ..Reliability::default() },
        }
    }

    /// Simulates a group from its first day to the end of its mission, unless `visit` stops it.
    fn live(
        &mut self,
        group: &Group,
        end: f64,
        seed: u64,
        visit: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut random = Xoshiro256::new(seed, GROUP_STREAM);
        let mut lots = Xoshiro256::new(seed, TRIAL_STREAM);
        let mut state = State::new(group, &mut random);
        let mut trial = state.clone();
        let before = self.found.losses;
        while let Some(place) = state.next(end) {
            if !state.fails(place, &mut random) {
                continue;
            }
            self.failures += 1;
            if self.failures.is_multiple_of(FAILURES) {
                visit()?;
            }
            if group.tolerated == 0 {
                self.count(state.now(), 1.0, Loss::Members { share: 1.0 });
            } else if state.missing() == 0 {
                for _ in 0..TRIALS {
                    trial.follow(&state, self.faster, &mut lots);
                    self.try_on(&mut trial, place, end, &mut lots);
                }
            }
            self.found.seen += u64::from(state.fail(place, &mut random).is_some());
        }
        let lost = self.found.losses - before;
        self.squares += lost * lost;
        ControlFlow::Continue(())
    }

    /// Simulates a trial from the failure of a member until the group is complete, data are lost,
    /// or the mission ends.
    fn try_on(&mut self, trial: &mut State<'_>, place: usize, end: f64, lots: &mut Xoshiro256) {
        let each = 1.0 / f64::from(TRIALS);
        let mut failed = place;
        loop {
            let loss = trial.fail(failed, lots);
            if let Some(loss) = loss {
                self.count(trial.now(), trial.weight() * each, loss);
                if matches!(loss, Loss::Members { .. }) {
                    return;
                }
            }
            // The next failure, unless the group is complete before.
            failed = loop {
                let Some(next) = trial.next(end) else { return };
                if trial.fails(next, lots) {
                    break next;
                }
                if trial.missing() == 0 {
                    return;
                }
            };
        }
    }

    fn count(&mut self, now: f64, weight: f64, loss: Loss) {
        self.found.losses += weight;
        match loss {
            Loss::Members { share } => {
                self.found.by_members += weight;
                self.found.bytes += weight * share * self.data_share * self.member_bytes;
            }
            Loss::Defects { count } => {
                self.found.by_defects += weight;
                self.found.bytes += weight * count as f64 * self.defect_bytes;
            }
        }
        let last = self.found.by_year.len() - 1;
        self.found.by_year[((now / YEAR) as usize).min(last)] += weight;
    }

    fn report(self, groups: f64, end: f64) -> Reliability {
        let mut found = self.found;
        let spread = (self.squares - found.losses * found.losses / groups).max(0.0);
        found.losses_error = spread.sqrt() / groups;
        found.member_failures = self.failures as f64 / groups;
        for sum in
            [&mut found.losses, &mut found.by_members, &mut found.by_defects, &mut found.bytes]
        {
            *sum /= groups;
        }
        let mut so_far = 0.0;
        for year in &mut found.by_year {
            so_far += *year / groups;
            *year = so_far;
        }
        found.mttdl_hours = self.mttdl;
        found.losses_by_mttdl = end / self.mttdl;
        found.faster = self.faster;
        found
    }
}

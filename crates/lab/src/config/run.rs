//! Conditions of a run: the keys under `[run]`.

use super::age::RunAge;
use super::pace::Pace;
use super::power_cut::PowerCut;
use super::precondition::Precondition;
use super::sample::Sample;
use super::steady::Steady;
use super::window::TimelineWindow;
use devices::{DeviceConfig, DeviceKind as _};
use options::{Duration, Invalid, Values, options, text_setting};
use std::fmt;
use std::str::FromStr;

/// End of a run: with its workload, or earlier at a simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// At the end of the workload.
    End,
    /// When the drive has settled, or the maximum number of rounds is reached.
    Steady,
    /// Requests that arrive later are not submitted.
    Time(Duration),
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Until::End => f.write_str("end"),
            Until::Steady => f.write_str("steady"),
            Until::Time(time) => time.fmt(f),
        }
    }
}

impl FromStr for Until {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "end" => Ok(Until::End),
            "steady" => Ok(Until::Steady),
            _ => {
                let refused = |error| format!("{error}; or \"end\", or \"steady\"");
                text.parse().map(Until::Time).map_err(refused)
            }
        }
    }
}

text_setting!(
    Until: "\"end\", \"steady\", or a simulated time such as \"60s\"",
    Values::words_or(&["end", "steady"], Duration::pattern())
);

options! {
    /// Conditions of a run.
    pub struct RunConfig as RunPartial {
        /// Seed of all random number generators.
        seed: u64 = 42,
        /// Saved drive to start from, a file written by `run.save_drive`.
        load_drive: Option<String> = None,
        /// Preconditioning, in no simulated time: every page in order, N times as many uniform
        /// random pages, or with "steady" the workload itself until write amplification has
        /// settled. It writes only pages that the drive holds (`device.fill`), unless it is empty,
        /// and that the workload may touch (`workload.footprint`).
        precondition: Precondition = Precondition::None,
        /// Time that data age before the first request; default temperature:
        /// `device.media.temperature`.
        age: RunAge = RunAge::NONE,
        /// Pace of untimed writes (`run.precondition`, `run.timed`), for the clock of ageing;
        /// "none": data do not age meanwhile.
        pace: Pace = Pace::None,
        /// File to which the drive is saved after preconditioning and `run.age`, before the first request.
        save_drive: Option<String> = None,
        /// True if requests take simulated time; if not, each completes at once and only flash activity
        /// (write amplification, wear) is simulated.
        timed: bool = true,
        /// Share of the requests that slices of the run serve in time; all others only change the state of the drive,
        /// many times faster. "auto": 5 %.
        sample: Sample = Sample::None,
        /// Warm-up at the start of a timed run, excluded from all results.
        warm_up: Duration = Duration::from_ns(0),
        /// When the run ends.
        until: Until = Until::End,
        /// Window in which flash operations are recorded individually, at most 20,000.
        timeline: TimelineWindow = TimelineWindow::None,
        /// Power cuts: never, once, at intervals after the drive is ready, or N times at random
        /// over the time of the run or the events of the device.
        power_cut: PowerCut = PowerCut::None,
        /// Time without power after each cut; the workload pauses meanwhile.
        power_off: Duration = Duration::from_ns(1_000_000_000),
        /// Fault injection file: one fault per line, with its time after the first request and an order,
        /// such as "1.5s fail flush 1" (`ssdlab docs live` lists all orders).
        faults: Option<String> = None,
        /// Namespaces, one behind the other, such as "50%, 1GiB thin 100MiB, 25% lba 4KiB": each has a size, and where
        /// wanted what it may map at most and blocks of 4 KiB; without it the device is one. A live device has them over
        /// NVMe/TCP.
        namespaces: Option<String> = None,
        /// When a drive counts as settled (SNIA PTS, steady state).
        steady: Steady = Steady::default(),
    }
}

impl RunConfig {
    /// Refuses a warm-up that leaves no time to measure.
    pub(crate) fn check_warm_up(&self) -> Result<(), Invalid> {
        let refuse = |problem| Err(Invalid::new(&["run.warm_up"], problem));
        match self.until {
            _ if self.warm_up.ns() == 0 => Ok(()),
            _ if self.faults.is_some() => {
                refuse("faults (run.faults) count from the first request on".to_owned())
            }
            _ if !self.timed => refuse("an untimed run (run.timed) has no warm-up".to_owned()),
            Until::Time(end) if end <= self.warm_up => refuse(format!(
                "{} is not shorter than the run, which ends after {end} (run.until)",
                self.warm_up
            )),
            _ => Ok(()),
        }
    }

    /// Refuses ageing in untimed writes, and a pace for timed writes.
    pub(crate) fn check_pace(&self, device: &DeviceConfig) -> Result<(), Invalid> {
        let is_untimed = !self.timed || self.precondition != Precondition::None;
        if self.pace != Pace::None {
            if !is_untimed {
                let problem = "everything takes its own time: nothing is written without (run.precondition, run.timed)";
                return Err(Invalid::new(&["run.pace"], problem));
            }
            return device.check_pace();
        }
        if is_untimed && device.needs_pace() {
            let problem = "a patrol needs time, and what is written without time (run.precondition, run.timed) has none; \
                           state its pace, such as \"0.3 DWPD\" or \"200MB/s\"";
            return Err(Invalid::new(&["run.pace", "device.scrub.period"], problem));
        }
        if !self.timed && self.age.0.is_none() && device.check_pace().is_ok() {
            let problem = "data age with time, and an untimed run (run.timed) has none; state its pace, such as \
                           \"0.3 DWPD\" or \"200MB/s\", or run.age";
            return Err(Invalid::new(&["run.pace", "device.media.model"], problem));
        }
        Ok(())
    }

    /// Refuses an invalid power cut.
    pub(crate) fn check_power_cut(&self) -> Result<(), Invalid> {
        let refuse = |keys: &[&str], problem: String| Err(Invalid::new(keys, problem));
        if self.power_cut == PowerCut::None {
            return Ok(());
        }
        if !self.timed {
            let problem = "an untimed run (run.timed) has no power cuts";
            return refuse(&["run.power_cut", "run.timed"], problem.to_owned());
        }
        match (self.power_cut, self.until) {
            (PowerCut::At(at), Until::Time(end)) if at > end => refuse(
                &["run.power_cut", "run.until"],
                format!("{at} is later than the end of the run, {end} (run.until)"),
            ),
            _ => Ok(()),
        }
    }

    /// Refuses a sample of what cannot be sampled.
    pub(crate) fn check_sample(&self) -> Result<(), Invalid> {
        let refuse = |key: &str, problem: &str| {
            Err(Invalid::new(&["run.sample", key], format!("a sampled run has {problem}")))
        };
        match self {
            _ if self.sample == Sample::None => Ok(()),
            _ if !self.timed => {
                refuse("run.timed", "slices in time, and run.timed = false has no time")
            }
            _ if self.power_cut != PowerCut::None => refuse("run.power_cut", "no power cuts"),
            _ if self.faults.is_some() => refuse("run.faults", "no timed faults"),
            _ if self.timeline != TimelineWindow::None => {
                refuse("run.timeline", "no window of operations")
            }
            _ => Ok(()),
        }
    }

    /// Refuses faults in an untimed run.
    pub(crate) fn check_faults(&self) -> Result<(), Invalid> {
        if self.timed || self.faults.is_none() {
            return Ok(());
        }
        let problem = "an untimed run (run.timed) has no timed faults";
        Err(Invalid::new(&["run.faults", "run.timed"], problem.to_owned()))
    }

    /// True if the drive is brought into a state before the run.
    pub(crate) fn prepares(&self) -> bool {
        self.precondition != Precondition::None || self.load_drive.is_some()
    }
}

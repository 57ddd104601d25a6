//! Untimed runs of workloads that only time limits: they would never end.

use crate::config::Experiment;
use devices::DeviceKind as _;
use engine::Workload;
use options::Invalid;

/// Refuses an endless run.
pub fn refuse(experiment: &Experiment, workload: &dyn Workload) -> Result<(), Invalid> {
    let Some(by) = workload.needs_time() else { return Ok(()) };
    let way_out = "end it by a number of requests (workload.requests), or give it a rate";
    let (key, problem) = if !experiment.run.timed {
        let problem = "an untimed run has no time: every request is answered at once";
        ("run.timed", format!("{problem}, and the workload ends by time ({by}); {way_out}"))
    } else if !experiment.device.takes_time() {
        let problem = "every request to this device takes 0 ns";
        ("device.preset", format!("{problem}, and the workload ends by time ({by}); {way_out}"))
    } else {
        return Ok(());
    };
    Err(Invalid::new(&[key], problem))
}

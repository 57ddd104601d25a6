//! The whole drive for a trace: presets simulate a part of each block, and a trace has the addresses of a whole drive.

use super::run::RunConfig;
use super::section::Section;
use devices::DeviceConfig;
use workloads::{Beyond, WorkloadConfig};

/// Memory that a whole drive may take with what it holds, bytes. It is not what the machine has, so that no result
/// depends on that.
const MOST_BYTES: u64 = 2 << 30;

/// The device on which a trace is replayed: the whole drive, where a preset alone has said that a part of it is
/// simulated, the trace is to keep its span, and the whole takes little. What prepares a drive writes all of it, as runs without time do,
/// and one that is saved is to be loaded again by runs of another load.
pub(super) fn of_trace(
    device: DeviceConfig,
    sections: &[Section<'_, '_>],
    workload: &WorkloadConfig,
    run: &RunConfig,
) -> DeviceConfig {
    let states = |it: &Section<'_, '_>| it.states("scale") || it.states("member.scale");
    let is_chosen = sections.iter().any(|it| !it.gives_way() && states(it));
    let keeps_span = matches!(workload, WorkloadConfig::Trace(it) if it.beyond == Beyond::Span);
    let writes_all = run.prepares() || !run.timed;
    if !keeps_span || is_chosen || writes_all || run.save_drive.is_some() {
        return device;
    }
    let fits = |it: &DeviceConfig| it.check_shape().is_ok() && it.first_memory() <= MOST_BYTES;
    device.whole().filter(fits).unwrap_or(device)
}

//! The whole drive for a trace: presets simulate a part of each block, and a trace has the addresses of a whole drive.

use super::run::RunConfig;
use super::section::Section;
use devices::DeviceConfig;
use workloads::{Beyond, WorkloadConfig};

/// Maximum memory of a full-scale drive with its content, bytes. It is not what the machine has, so
/// that no result depends on that.
const MOST_BYTES: u64 = 2 << 30;

/// The device on which a trace is replayed: unscaled, if only a preset sets the scale, the trace
/// keeps its span, and the drive fits. Preconditioning and untimed runs would write the whole
/// drive, and a saved drive is loaded by other runs.
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

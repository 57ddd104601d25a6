//! The full-size drive for a trace: presets simulate a part of each block, but a trace has the
//! addresses of a full-size drive.

use super::run::RunConfig;
use super::section::Section;
use devices::{DeviceConfig, DeviceKind as _};
use workloads::{Beyond, WorkloadConfig};

/// Maximum memory of a full-size drive with its content, bytes. It is independent of the machine's
/// memory, so results are, too.
const MOST_BYTES: u64 = 2 << 30;

/// The device for replaying a trace: unscaled if only a preset sets the scale, the trace keeps its
/// span, and the drive fits. Preconditioned and untimed runs keep the scale, because they write the
/// whole drive; so do saved drives, because other runs load them.
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

//! The section `health` of results: `NVMe`'s log of health, as far as the model knows it.

use devices::ssd::{HealthReport, SPARE_THRESHOLD, data_units};
use serde_json::{Value, json};

/// The section of a drive or an array, of which this run read `bytes_read`.
///
/// Reads and power cuts are counted in the run, because a drive keeps no account of them.
pub(crate) fn section(health: &HealthReport, bytes_read: u64, cuts: usize) -> Value {
    let mut section = json!({
        "critical_warning": health.critical_warning(),
        "critical_warnings": health.critical_warnings().collect::<Vec<_>>(),
        "available_spare": health.available_spare,
        "spare_threshold": SPARE_THRESHOLD,
        "percentage_used": health.percentage_used,
        "data_units_read": data_units(bytes_read, health.scale),
        "data_units_written": health.data_units_written,
        "unsafe_shutdowns": cuts,
    });
    if let Some(errors) = health.media_errors {
        section["media_errors"] = json!(errors);
    }
    section
}

//! Options of a served device that are incompatible with zones.

use super::settings::LiveSettings;
use crate::config::Experiment;
use crate::error::RunError;
use engine::{SECTOR_BYTES, ZoneShape};
use options::{Invalid, Size};

/// Maximum size of a zone whose data can be discarded at once, bytes.
const MOST_BYTES: u64 = u32::MAX as u64;

/// Refuses transports without zone support, and options that would separate data from zones.
pub fn check(
    experiment: &Experiment,
    settings: &LiveSettings,
    zones: &ZoneShape,
) -> Result<(), RunError> {
    let ways = [
        (settings.address.is_some(), "NBD knows no zones"),
        (settings.mount.is_some(), "a file knows no zones"),
        (settings.vhost_user.is_some(), "the disk of a guest has no zones here"),
    ];
    if let Some((_, why)) = ways.iter().find(|(is_used, _)| *is_used) {
        let problem = format!(
            "{why}: hosts of NVMe/TCP do (--nvme tcp://127.0.0.1:4420), or \"log\" makes blocks of them"
        );
        return Err(experiment.blame(&Invalid::new(&["device.adapt"], problem)).into());
    }
    let kept = [
        (
            settings.backing.is_some(),
            "backing",
            "the zones are not saved, so that a file would outlive its write pointers",
        ),
        (settings.record_data.is_some(), "record_data", "crash tests know no zones"),
    ];
    if let Some((_, what, why)) = kept.iter().find(|(is_used, ..)| *is_used) {
        return Err(RunError::Input(format!("{what}: {why}; serve zones without it")));
    }
    let bytes = zones.size * SECTOR_BYTES;
    if bytes > MOST_BYTES {
        let problem = format!("{bytes} bytes are more than a served zone may have, 4 GiB - 1");
        return Err(experiment.blame(&Invalid::new(&["device.zones.size"], problem)).into());
    }
    let Some(text) = &settings.size else { return Ok(()) };
    let size = text.parse::<Size>().map_or(0, Size::bytes);
    if size.is_multiple_of(bytes) {
        return Ok(());
    }
    let zone = Size::from_bytes(bytes);
    Err(RunError::Input(format!("size {text}: zones have {zone}, so use {zone} or a multiple")))
}

//! NVMe namespaces of a served device.

use super::settings::LiveSettings;
use crate::error::RunError;
use crate::namespaces::read;
use engine::NamespaceWish;

/// The namespaces that the settings request, for a device with this many bytes; by default one that
/// spans the device.
pub fn wishes(
    settings: &LiveSettings,
    configured: Option<&String>,
    bytes: u64,
    has_zones: bool,
) -> Result<Vec<NamespaceWish>, RunError> {
    let own = settings.namespaces.as_ref();
    let configured = configured.filter(|_| settings.nvme.is_some());
    let Some(text) = own.or(configured) else { return Ok(Vec::new()) };
    let refuse = |problem: String| RunError::Input(format!("namespaces {text}: {problem}"));
    if settings.nvme.is_none() {
        return Err(refuse("only hosts of NVMe/TCP see them; give its address (nvme)".to_owned()));
    }
    let found = read(text, bytes).map_err(refuse)?;
    if has_zones && found.iter().any(|it| it.bytes != bytes || it.capacity != bytes) {
        return Err(refuse("zones are one namespace, of all: 100% [lba 512B|4KiB]".to_owned()));
    }
    Ok(found)
}

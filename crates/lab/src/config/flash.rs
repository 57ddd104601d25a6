//! Scaling of the flash of a preset to fewer dies or smaller blocks.

use super::layer::Layer;
use devices::DeviceConfig;
use devices::ssd::SsdConfig;

/// Keys that determine the amount of flash, besides the blocks per plane.
const SHAPE: [&str; 6] = [
    "channels",
    "packages_per_channel",
    "dies_per_package",
    "planes_per_die",
    "pages_per_block",
    "page_size",
];

/// Advice after an error that the flash is too small: the blocks per plane that restore the
/// capacity of `own`, the device of the presets below `layers`, and the keys that reduced it.
pub(super) fn kept(device: &DeviceConfig, own: &DeviceConfig, layers: &[Layer]) -> Option<String> {
    let (DeviceConfig::Ssd(config), DeviceConfig::Ssd(own)) = (device, own) else { return None };
    let parsed: Vec<_> = layers.iter().filter_map(|layer| layer.parse().ok()).collect();
    let blocks = bytes(own).div_ceil(bytes(config) / u128::from(config.blocks_per_plane).max(1));
    let is_changed =
        |path: &String| parsed.iter().any(|it| !it.layer.gives_way && it.stated(path).is_some());
    let keys: Vec<String> =
        SHAPE.iter().map(|key| format!("device.{key}")).filter(is_changed).collect();
    if keys.is_empty() || blocks > u128::from(u32::MAX) {
        return None;
    }
    Some(format!(
        "; beside {}, --set device.blocks_per_plane={blocks} keeps the flash of the preset, and with it capacity and \
         spare area",
        keys.join(" and ")
    ))
}

/// Capacity of the flash, bytes.
fn bytes(config: &SsdConfig) -> u128 {
    let counts = [
        config.channels,
        config.packages_per_channel,
        config.dies_per_package,
        config.planes_per_die,
        config.blocks_per_plane,
        config.pages_per_block,
    ];
    counts.iter().map(|it| u128::from(*it)).product::<u128>() * u128::from(config.page_size.bytes())
}

//! Keys of a preset that depend on other keys: if one is stated, the other must be, too.

use super::section::Section;
use crate::error::InputError;
use devices::DeviceConfig;

/// Refuses a layer that overrides the bits per cell without the program time: otherwise more bits
/// would write faster, and less durable cells would last as long. `below` resolves the given number
/// of lowest sections.
pub(super) fn refuse(
    sections: &[Section<'_, '_>],
    path: &str,
    config: &DeviceConfig,
    below: impl Fn(usize) -> Option<DeviceConfig>,
) -> Result<(), InputError> {
    const BITS: &str = "cell.bits";
    let DeviceConfig::Ssd(config) = config else { return Ok(()) };
    let topmost = |keys: &[&str]| {
        sections.iter().rposition(|section| keys.iter().any(|key| section.states(key)))
    };
    let Some(place) = topmost(&[BITS]).filter(|place| !sections[*place].gives_way()) else {
        return Ok(());
    };
    let Some(DeviceConfig::Ssd(before)) = below(place) else { return Ok(()) };
    let is_of_these = topmost(&["timing.program", "cell.preset"]).is_some_and(|it| it >= place);
    if before.cell.bits == config.cell.bits || is_of_these {
        return Ok(());
    }
    let problem = format!(
        "{path}.timing.program = {} and {path}.wear.rated_cycles = {} are those of {} bit{} a cell; give both, the \
         time of a word line of {} pages and the cycles of such cells, or use a part (ssdlab list cells) or a preset \
         of such cells, as mlc-2008",
        before.timing.program,
        before.wear.rated_cycles,
        before.cell.bits,
        if before.cell.bits == 1 { "" } else { "s" },
        config.cell.bits
    );
    Err(sections[place].refuse(BITS, path, &problem))
}

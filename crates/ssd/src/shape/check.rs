//! Checks of a configuration: counts, sizes, and spare space.

use crate::config::{
    ActiveBlocks, ControlLine, DEFAULT_SPARE_FACTOR, Gang, Interleave, Pairing, PairingGuard, Pool,
    Recovery, SsdConfig,
};
use crate::shape::granule::Granule;
use engine::SECTOR_BYTES;
use options::{Invalid, Size, percent_meant};

/// Maximum duration of a stage: 32 bits of nanoseconds.
const LONGEST_STAGE_NS: u64 = 4_000_000_000;

/// Maximum spare space relative to the exported capacity. Drives are sold with up to about 1; a
/// value above 3, three quarters of the flash, is most likely a percentage.
const MOST_OVER_PROVISIONING: f64 = 3.0;

/// The spare area must hold a page's logical page number and program number, if stored.
fn ordered(config: &SsdConfig) -> Result<(), Invalid> {
    const EACH: u64 = 8;
    let page = config.page_size.bytes();
    let logical = config.logical_page.map_or(page, options::Size::bytes).max(1);
    let needed = (page / logical).max(1) * EACH;
    // With a write buffer the bus rate may count data only.
    if config.is_buffered()
        || !config.persistence.is_ordered()
        || config.spare_size.bytes() >= needed
    {
        return Ok(());
    }
    let problem = format!(
        "{} is too small for the numbers that go with the data of a page, {needed} bytes",
        config.spare_size
    );
    let keys = ["device.spare_size", "device.persistence.order", "device.logical_page"];
    Err(Invalid::new(&keys, problem))
}

/// Checks recovery from power cuts.
pub(super) fn recovery(config: &SsdConfig) -> Result<(), Invalid> {
    let persistence = &config.persistence;
    if persistence.keeps_map() && config.is_buffered() {
        let problem = "behind a write buffer the map is rebuilt from the flash; use recovery = \"spare\", \
                       \"summary\" or \"checkpoint\", or no write buffer";
        return Err(Invalid::new(&["device.persistence.recovery", "device.buffer.size"], problem));
    }
    if persistence.keeps_map() && persistence.map_write.ns() == 0 {
        let problem = "a map in a non-volatile memory costs a write for each page; state it, such as \
                       map_write = \"2us\"";
        return Err(Invalid::new(
            &["device.persistence.map_write", "device.persistence.recovery"],
            problem,
        ));
    }
    if persistence.map_write.ns() > LONGEST_STAGE_NS / 2 {
        let problem = format!("{} is too long; at most 2s", persistence.map_write);
        return Err(Invalid::new(&["device.persistence.map_write"], problem));
    }
    let by_summaries = matches!(persistence.recovery, Recovery::Summary | Recovery::Checkpoint);
    if by_summaries && !config.summary_page {
        let problem = "a drive without summary pages cannot read them; use summary_page = true or \
                       recovery = \"spare\"";
        return Err(Invalid::new(&["device.persistence.recovery", "device.summary_page"], problem));
    }
    if persistence.checkpoint.ns() == 0 {
        let problem = "the checkpoint interval must be above 0";
        return Err(Invalid::new(&["device.persistence.checkpoint"], problem));
    }
    Ok(())
}

/// Constraints of paired pages.
pub(super) fn pairs(config: &SsdConfig, granule: Granule) -> Result<(), Invalid> {
    let (pairing, guard) = (config.cell.pairing, config.cell.pairing_guard);
    if pairing == Pairing::None {
        return Ok(());
    }
    if granule.parts > 1 || granule.pages_per_lane() > 1 {
        let problem = "a logical page is to be one page of the flash where pages share their cells";
        return Err(Invalid::new(&["device.cell.pairing", "device.logical_page"], problem));
    }
    if guard == PairingGuard::Copy && config.cache_commands {
        let problem = "a page that is copied first cannot be chained with the one before it";
        return Err(Invalid::new(&["device.cell.pairing_guard", "device.cache_commands"], problem));
    }
    Ok(())
}

/// Checks counts and sizes: positive, divisible, addressable.
pub(crate) fn counts(config: &SsdConfig) -> Result<(), Invalid> {
    let counts = [
        ("device.channels", config.channels),
        ("device.packages_per_channel", config.packages_per_channel),
        ("device.dies_per_package", config.dies_per_package),
        ("device.planes_per_die", config.planes_per_die),
        ("device.blocks_per_plane", config.blocks_per_plane),
        ("device.pages_per_block", config.pages_per_block),
        ("device.wear.rated_cycles", config.wear.rated_cycles),
        ("device.cleaning.windowed_greedy.window", config.cleaning.windowed_greedy.window),
        ("device.cleaning.d_choices.d", config.cleaning.d_choices.d),
    ];
    for (key, count) in counts {
        if count == 0 {
            return Err(Invalid::new(&[key], "0 is not possible; it must be at least 1"));
        }
    }
    if config.summary_page && config.pages_per_block < 2 {
        let problem = "a block of 1 page is all summary; use more pages or summary_page = false";
        return Err(Invalid::new(&["device.pages_per_block", "device.summary_page"], problem));
    }
    scale(config)?;
    if config.pages_per_block > 16_384 {
        let problem = format!("{} is too many; at most 16384", config.pages_per_block);
        return Err(Invalid::new(&["device.pages_per_block"], problem));
    }
    let page = config.page_size.bytes();
    if page == 0 || !page.is_multiple_of(SECTOR_BYTES) || page > 1 << 24 {
        let problem = format!(
            "{} is not possible; a page is a multiple of 512B, at most 16MiB",
            config.page_size
        );
        return Err(Invalid::new(&["device.page_size"], problem));
    }
    wear(config)?;
    let slowest_read = *config.timing.read.all().iter().max().expect("there is one");
    config.host_link.check()?;
    let times = [
        ("device.timing.read", slowest_read),
        ("device.timing.command", config.timing.command),
        ("device.firmware.read", config.firmware.read),
        ("device.firmware.write", config.firmware.write),
        ("device.firmware.per_page", config.firmware.per_page),
        ("device.suspend.cost", config.suspend.cost),
        ("device.suspend.resume", config.suspend.resume),
        ("device.timing.program", config.timing.program),
        ("device.timing.erase", config.timing.erase),
        ("device.host_link.latency", config.host_link.latency),
    ];
    for (key, time) in times {
        if time.ns() > LONGEST_STAGE_NS {
            return Err(Invalid::new(&[key], format!("{time} is too long; at most 4s")));
        }
    }
    if config.spare_size.bytes() > page {
        let problem = format!("{} is more than the page, {}", config.spare_size, config.page_size);
        return Err(Invalid::new(&["device.spare_size"], problem));
    }
    ordered(config)?;
    let bus_per_byte = config.timing.bus_per_byte;
    if config.timing.bus_rate.is_none()
        && bus_per_byte.time_ns(page + config.spare_size.bytes()) > LONGEST_STAGE_NS
    {
        let problem =
            format!("{bus_per_byte} is too long for {}; at most 4s a page", config.page_size);
        return Err(Invalid::new(&["device.timing.bus_per_byte", "device.page_size"], problem));
    }
    if let Some(share) = config.cleaning.min_free
        && !(0.0..1.0).contains(&share)
    {
        let problem = format!("{share} is not a share from 0 to below 1{}", percent_meant(share));
        return Err(Invalid::new(&["device.cleaning.min_free"], problem));
    }
    let blocks = [
        config.channels,
        config.packages_per_channel,
        config.dies_per_package,
        config.planes_per_die,
        config.blocks_per_plane,
    ];
    let blocks = blocks.iter().try_fold(1u32, |product, count| product.checked_mul(*count));
    // One number is reserved as a mark.
    if blocks.is_none_or(|blocks| blocks == u32::MAX) {
        let problem = "the drive has more than 4,294,967,294 blocks; use larger ones \
                       (device.pages_per_block)";
        return Err(Invalid::new(&["device.channels", "device.blocks_per_plane"], problem));
    }
    Ok(())
}

/// Alternative remedy for a drive that is too large.
pub(super) const SCALE: &str = ", or simulate a part of each block (device.scale)";

/// The simulated part is a number of pages without a write buffer, and of word lines with one.
fn scale(config: &SsdConfig) -> Result<(), Invalid> {
    let (pages, scale) = (config.pages_per_block, config.scale);
    let least = if config.summary_page { 2 } else { 1 };
    if !config.is_buffered()
        && (scale == 0 || !pages.is_multiple_of(scale) || pages / scale < least)
    {
        let problem =
            format!("a block of {pages} pages has no {least} or more pages in one part of {scale}");
        return Err(Invalid::new(&["device.scale", "device.pages_per_block"], problem));
    }
    Ok(())
}

/// Constraints of wear and levelling.
fn wear(config: &SsdConfig) -> Result<(), Invalid> {
    let levelling = &config.cleaning.levelling;
    let shares = [
        ("device.wear.spread", config.wear.spread, 0.5),
        ("device.cleaning.hot_cold.hot_addresses", config.cleaning.hot_cold.hot_addresses, 1.0),
        ("device.cleaning.levelling.age_variance", levelling.age_variance, 1.0),
        ("device.cleaning.levelling.retirement_age", levelling.retirement_age, 1.0),
        ("device.cleaning.levelling.rate_limit_floor", levelling.rate_limit_floor, 1.0),
        ("device.cleaning.levelling.cold_life", levelling.cold_life, 1.0),
    ];
    for (key, share, most) in shares {
        if !(0.0..=most).contains(&share) {
            let problem =
                format!("{share} is not a share from 0 to {most}{}", percent_meant(share));
            return Err(Invalid::new(&[key], problem));
        }
    }
    if levelling.rate_limit_floor >= 1.0 - levelling.age_variance {
        let problem = format!(
            "the chance of use cannot fall from 1 at {} of the mean life (1 - age_variance) to 0 at {} \
             (rate_limit_floor), which is not below it",
            1.0 - levelling.age_variance,
            levelling.rate_limit_floor
        );
        let keys = [
            "device.cleaning.levelling.rate_limit_floor",
            "device.cleaning.levelling.age_variance",
        ];
        return Err(Invalid::new(&keys, problem));
    }
    let memory = config.cleaning.hot_cold.memory;
    if !(64..=1 << 32).contains(&memory.bytes()) {
        let problem = format!("{memory} is not possible; at least 64B and at most 4GiB");
        return Err(Invalid::new(&["device.cleaning.hot_cold.memory"], problem));
    }
    let years = config.wear.service_years;
    if !(years > 0.0 && years <= 100.0) {
        let problem = format!("{years} is not a number of years above 0, at most 100");
        return Err(Invalid::new(&["device.wear.service_years"], problem));
    }
    Ok(())
}

/// Checks copies between packages.
pub(crate) fn streams(config: &SsdConfig, granule: Granule) -> Result<(), Invalid> {
    if !config.cleaning.stream {
        return pairs(config, granule);
    }
    let key = "device.cleaning.stream";
    if config.cleaning.copy_back {
        let problem = "a page that is moved by copy-back stays in its plane; keep one of the two";
        return Err(Invalid::new(&[key, "device.cleaning.copy_back"], problem));
    }
    if config.interleave == Interleave::Plane {
        let problem = "the planes of a pair begin their operations together, copies between packages \
                       do not; use interleave = \"plane-pair\"";
        return Err(Invalid::new(&[key, "device.interleave"], problem));
    }
    if granule.flash_pages > 1 {
        let problem = "copies between packages take one page at a time; use a logical page of at \
                       most one page";
        return Err(Invalid::new(&[key, "device.logical_page"], problem));
    }
    pairs(config, granule)
}

/// Checks gang, interleaving, pools, spans and open blocks against each other.
pub(crate) fn parallelism(config: &SsdConfig, granule: Granule) -> Result<(), Invalid> {
    let shared_control = config.gang != Gang::SharedBus;
    let held = shared_control && config.control_line == ControlLine::Held;
    if held && config.interleave != Interleave::None {
        let problem = format!(
            "the packages of a gang under shared control do one kind of operation at a time, so \
             that \"{}\" cannot interleave inside them; use interleave = \"none\"",
            config.interleave
        );
        return Err(Invalid::new(&["device.interleave", "device.gang"], problem));
    }
    if shared_control && config.cache_commands {
        let problem = "under shared control every operation of a gang begins and ends alone; \
                       cache commands need gang = \"shared-bus\"";
        return Err(Invalid::new(&["device.cache_commands", "device.gang"], problem));
    }
    let pairs = matches!(config.interleave, Interleave::PlanePair | Interleave::Plane);
    if pairs && !config.planes_per_die.is_multiple_of(2) {
        let problem = format!(
            "a die of {} planes does not divide into pairs; \"{}\" needs an even number",
            config.planes_per_die, config.interleave
        );
        return Err(Invalid::new(&["device.planes_per_die", "device.interleave"], problem));
    }
    if config.cache_commands && config.interleave == Interleave::Plane && config.planes_per_die > 1
    {
        let problem = "the planes of a pair begin and end their operations together; with cache \
                       commands use interleave = \"plane-pair\"";
        return Err(Invalid::new(&["device.cache_commands", "device.interleave"], problem));
    }
    let synchronous = config.gang == Gang::SharedControlSync;
    if synchronous && config.pool == Pool::Ssd {
        let problem = "partial writes of a synchronous gang are merged inside its planes, so a pool \
                       cannot reach over several gangs; use pool = \"gang\" or a smaller one";
        return Err(Invalid::new(&["device.pool", "device.gang"], problem));
    }
    if granule.span > 1 && !synchronous && config.pool == Pool::Gang {
        let problem = "a logical page over several packages does not lie on one channel, so a pool \
                       cannot be a channel's packages; use pool = \"package\" or \"ssd\"";
        return Err(Invalid::new(&["device.pool", "device.page_span"], problem));
    }
    if config.active_blocks == ActiveBlocks::Unit && (config.cleaning.copy_back || synchronous) {
        let other = if synchronous { "device.gang" } else { "device.cleaning.copy_back" };
        let problem = "copy-back keeps pages in their plane, which therefore needs an active block \
                       of its own; use active_blocks = \"plane\" or leave it out";
        return Err(Invalid::new(&["device.active_blocks", other], problem));
    }
    Ok(())
}

/// Key of the spare space, and logical pages left in a pool.
pub(crate) fn spare(
    config: &SsdConfig,
    pool_blocks: u32,
    physical: u64,
    data_pages: u32,
    (pools, logical_bytes): (u32, u64),
) -> Result<(&'static str, u64), Invalid> {
    let mut stated = vec![
        ("device.spare_factor", config.spare_factor.is_some()),
        ("device.over_provisioning", config.over_provisioning.is_some()),
        ("device.spare_blocks_per_plane", config.spare_blocks_per_plane.is_some()),
        ("device.capacity", config.capacity.is_some()),
    ];
    stated.retain(|(_, is_stated)| *is_stated);
    if stated.len() > 1 {
        let keys: Vec<&str> = stated.iter().map(|(key, _)| *key).collect();
        let problem = "the spare space is stated more than once; keep one of them";
        return Err(Invalid::new(&keys, problem));
    }
    if let Some(capacity) = config.capacity {
        let key = "device.capacity";
        let bytes = capacity.bytes() / u64::from(config.scale.max(1));
        let pages = bytes / (logical_bytes * u64::from(pools));
        if pages >= physical {
            let physical = Size::from_bytes(
                physical * logical_bytes * u64::from(pools) * u64::from(config.scale.max(1)),
            );
            let problem = format!(
                "{capacity} ({} bytes) is not less than what the flash holds, {physical} ({} bytes)",
                capacity.bytes(),
                physical.bytes()
            );
            return Err(Invalid::new(&[key, "device.blocks_per_plane"], problem));
        }
        return Ok((key, pages));
    }
    if let Some(blocks) = config.spare_blocks_per_plane {
        let key = "device.spare_blocks_per_plane";
        let Some(left) = config.blocks_per_plane.checked_sub(blocks) else {
            let problem = format!("{blocks} is more than the {} blocks", config.blocks_per_plane);
            return Err(Invalid::new(&[key, "device.blocks_per_plane"], problem));
        };
        let domains = pool_blocks / config.blocks_per_plane;
        return Ok((key, u64::from(left) * u64::from(domains) * u64::from(data_pages)));
    }
    if let Some(share) = config.over_provisioning {
        let key = "device.over_provisioning";
        if !(share > 0.0 && share <= MOST_OVER_PROVISIONING) {
            let problem = format!(
                "{share} is not a share above 0, at most {MOST_OVER_PROVISIONING} ({} %){}",
                MOST_OVER_PROVISIONING * 100.0,
                percent_meant(share)
            );
            return Err(Invalid::new(&[key], problem));
        }
        return Ok((key, (physical as f64 / (1.0 + share)) as u64));
    }
    let key = "device.spare_factor";
    let factor = config.spare_factor.unwrap_or(DEFAULT_SPARE_FACTOR);
    if !(factor > 0.0 && factor < 1.0) {
        return Err(Invalid::new(
            &[key],
            format!("{factor} is not a share between 0 and 1{}", percent_meant(factor)),
        ));
    }
    Ok((key, (physical as f64 * (1.0 - factor)) as u64))
}

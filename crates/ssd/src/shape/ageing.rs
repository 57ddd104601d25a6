//! Constraints on the keys of ageing, failures and temperature.

use crate::config::{EccKind, Media, Reference, SsdConfig};
use crate::media::{Ladder, Law, Outcome, Rebuilt, hard_rate};
use engine::Time;
use options::Invalid;

/// Range of thermal time constants.
const CONSTANTS_NS: std::ops::RangeInclusive<Time> = 1_000_000..=3_600_000_000_000;

/// Checks temperature.
pub fn check(config: &SsdConfig) -> Result<(), Invalid> {
    thermal(config)
}

/// Checks the ageing law and error correction.
pub fn media(config: &SsdConfig) -> Result<(), Invalid> {
    let Some(law) = Law::new(&config.media) else { return Ok(()) };
    let (media, ecc, retry) = (&config.media, &config.ecc, &config.retry);
    numbers(media)?;
    let spreads = [
        ("device.media.spread_layer", media.spread_layer),
        ("device.media.spread_block", media.spread_block),
        ("device.media.spread_page", media.spread_page),
        ("device.media.spread_errors", media.spread_errors.unwrap_or(0.0)),
        ("device.retry.estimate_error", retry.estimate_error),
    ];
    if let Some((key, spread)) = spreads.iter().find(|(_, it)| !(0.0..=1.0).contains(it)) {
        return Err(Invalid::new(&[key], format!("{spread} is not a spread from 0 to 1")));
    }
    let new = law.errors_of_new();
    let hard = hard_of(config)?;
    let by = if ecc.kind == EccKind::Bch { "device.ecc.corrects" } else { "device.ecc.hard" };
    if !(hard > new && hard < 0.5) {
        let problem = format!(
            "hard decoding corrects an error rate of {hard}, and a new block of {} has {new}: it must be above \
             that, and below 0.5",
            media.model
        );
        return Err(Invalid::new(&[by, "device.media.model"], problem));
    }
    if let Some((rate, _)) = ecc.soft.levels().first().filter(|(rate, _)| *rate <= hard) {
        let problem = format!(
            "the first soft level corrects {rate}, which hard decoding does already ({hard}): soft levels must rise"
        );
        return Err(Invalid::new(&["device.ecc.soft", by], problem));
    }
    if !(retry.window > 0.0 && retry.window <= 10.0) {
        let problem = format!("{} is not a number of steps above 0, and at most 10", retry.window);
        return Err(Invalid::new(&["device.retry.window"], problem));
    }
    if retry.steps > 1000 {
        let problem = format!("{} is too many; at most 1000", retry.steps);
        return Err(Invalid::new(&["device.retry.steps"], problem));
    }
    if retry.reference == Reference::Last && retry.search.ns().is_none() {
        let problem = "from the last good reference on, with search = \"none\", it depends on what was read before \
                       which pages are lost; use a time to search, or reference = \"table\" or \"model\"";
        let keys = ["device.retry.reference", "device.retry.search"];
        return Err(Invalid::new(&keys, problem));
    }
    if retry.reference == Reference::Calibrated && config.scrub.period.0.is_none() {
        let problem = "what the patrol finds is where reads begin, and there is none; give device.scrub.period, or use \
                       reference = \"table\", \"last\" or \"model\"";
        return Err(Invalid::new(&["device.retry.reference", "device.scrub.period"], problem));
    }
    scrub(config)?;
    failures(config)?;
    longest_read(config, &Ladder::new(ecc, retry, new))
}

/// Raw bit error rate that hard decoding corrects.
fn hard_of(config: &SsdConfig) -> Result<f64, Invalid> {
    /// Range of codeword data bytes, and maximum share of correctable bits: one in 16.
    const CODEWORDS: std::ops::RangeInclusive<u64> = 128..=1 << 16;
    let ecc = &config.ecc;
    if ecc.kind == EccKind::Bch {
        let codeword = ecc.codeword.bytes();
        if !CODEWORDS.contains(&codeword) || !config.page_size.bytes().is_multiple_of(codeword) {
            let problem = format!(
                "a page of {} has no whole number of codewords of {}, from 128B to 64KiB",
                config.page_size, ecc.codeword
            );
            return Err(Invalid::new(&["device.ecc.codeword", "device.page_size"], problem));
        }
        let most = codeword * 8 / 16;
        if !(1..=most).contains(&u64::from(ecc.corrects)) {
            let problem = format!(
                "{} is not a number of wrong bits from 1 to {most}, one in 16 of a codeword of {}",
                ecc.corrects, ecc.codeword
            );
            return Err(Invalid::new(&["device.ecc.corrects", "device.ecc.codeword"], problem));
        }
    }
    Ok(hard_rate(ecc))
}

/// Checks the ranges of ageing coefficients, within which sums stay finite.
fn numbers(media: &Media) -> Result<(), Invalid> {
    for (key, number, least, most) in [
        ("device.media.activation", media.activation, 0.0, 3.0),
        ("device.media.drift_month", media.drift_month, 0.0, 1000.0),
        ("device.media.drift_cycles", media.drift_cycles, 1.0, 1e9),
        ("device.media.drift_power", media.drift_power, 0.0, 2.0),
        ("device.media.errors_new", media.errors_new, 1e-12, 0.1),
        ("device.media.errors_wear", media.errors_wear, 0.0, 1.0),
        ("device.media.errors_wear_power", media.errors_wear_power, 0.0, 10.0),
        ("device.media.errors_time", media.errors_time, 0.0, 1.0),
        ("device.media.errors_reads", media.errors_reads, 0.0, 1.0),
        ("device.media.errors_reads_power", media.errors_reads_power, 0.0, 10.0),
        ("device.media.errors_reads_wear_power", media.errors_reads_wear_power, 0.0, 10.0),
    ] {
        if !(least..=most).contains(&number) {
            let problem = format!("{number} is not a number from {least} to {most}");
            return Err(Invalid::new(&[key], problem));
        }
    }
    Ok(())
}

/// Checks bad blocks other than worn ones.
pub fn chances(config: &SsdConfig) -> Result<(), Invalid> {
    let spares = &config.spares;
    for (key, chance) in [
        ("device.spares.factory_bad", spares.factory_bad),
        ("device.spares.grown", spares.grown),
        ("device.spares.program_fail", spares.program_fail),
        ("device.spares.erase_fail", spares.erase_fail),
    ] {
        if !(0.0..=1.0).contains(&chance) {
            return Err(Invalid::new(&[key], format!("{chance} is not a chance from 0 to 1")));
        }
    }
    let spare = config.spare_share();
    if spares.factory_bad >= spare {
        let problem = format!(
            "{} of the blocks are bad from the factory, and {spare:.4} of them are spare: use less",
            spares.factory_bad
        );
        return Err(Invalid::new(&["device.spares.factory_bad", "device.spare_factor"], problem));
    }
    Ok(())
}

/// Checks temperature: a drive whose writes wait must cool down.
fn thermal(config: &SsdConfig) -> Result<(), Invalid> {
    let thermal = &config.thermal;
    let Some(limit) = thermal.limit.0 else { return Ok(()) };
    let refuse = |keys: &[&str], problem: String| Err(Invalid::new(keys, problem));
    if !config.energy.is_known() {
        let problem = "heat follows from power, which is not known; set keys of device.energy";
        return refuse(&["device.thermal.limit", "device.energy"], problem.to_owned());
    }
    if thermal.resume >= limit {
        let problem =
            format!("writes go on at {}, which is not below the limit, {limit}", thermal.resume);
        return refuse(&["device.thermal.resume", "device.thermal.limit"], problem);
    }
    if !(thermal.resistance > 0.0 && thermal.resistance <= 1e6) {
        let problem = format!("{} K/W is not above 0, and at most 1000000", thermal.resistance);
        return refuse(&["device.thermal.resistance"], problem);
    }
    if !CONSTANTS_NS.contains(&thermal.time_constant.ns()) {
        let problem = format!("{} is not a time from 1ms to 1h", thermal.time_constant);
        return refuse(&["device.thermal.time_constant"], problem);
    }
    if !(thermal.floor > 0.0 && thermal.floor <= 1.0) {
        let problem = format!("{} is not a share above 0, and at most 1", thermal.floor);
        return refuse(&["device.thermal.floor"], problem);
    }
    let watts = config.energy.standby_watts(config) + config.energy.controller.watts();
    let rest = thermal.ambient.celsius() + thermal.resistance * watts;
    if rest >= thermal.resume.celsius() {
        let problem = format!(
            "at rest the drive is at {rest:.1} C ({watts:.3} W), and would never cool to {}, where writes go on",
            thermal.resume
        );
        let keys = ["device.thermal.resume", "device.thermal.ambient", "device.thermal.resistance"];
        return refuse(&keys, problem);
    }
    Ok(())
}

/// Checks failures other than wear.
fn failures(config: &SsdConfig) -> Result<(), Invalid> {
    let spares = &config.spares;
    if !(0.0..1.0).contains(&spares.sick_dies) {
        let problem = format!("{} is not a chance from 0 to below 1", spares.sick_dies);
        return Err(Invalid::new(&["device.spares.sick_dies"], problem));
    }
    let counts = [
        ("device.spares.defects", spares.defects, 0.0),
        ("device.spares.defects_shape", spares.defects_shape, 1e-3),
    ];
    for (key, count, least) in counts {
        if !(count >= least && count <= 1e6) {
            let problem = format!("{count} is not a number from {least} to 1000000");
            return Err(Invalid::new(&[key], problem));
        }
    }
    let health = &config.health;
    if let Some(rate) = health.rate.filter(|rate| !(0.0..=1.0).contains(rate)) {
        return Err(Invalid::new(
            &["device.health.rate"],
            format!("{rate} is not a share from 0 to 1"),
        ));
    }
    if health.fail_at_uncorrectable == Some(0) {
        let problem = "0 is not possible; it must be at least 1, or left out";
        return Err(Invalid::new(&["device.health.fail_at_uncorrectable"], problem));
    }
    Ok(())
}

/// Constraints of patrol reads.
fn scrub(config: &SsdConfig) -> Result<(), Invalid> {
    let scrub = &config.scrub;
    if scrub.period.0.is_some_and(|period| period.ns() == 0) {
        let problem =
            "0 is no time in which every block is read; use a time such as \"7d\", or \"none\"";
        return Err(Invalid::new(&["device.scrub.period"], problem));
    }
    if !(scrub.limit > 0.0 && scrub.limit <= 1.0) {
        let problem = format!("{} is not a share above 0, and at most 1", scrub.limit);
        return Err(Invalid::new(&["device.scrub.limit"], problem));
    }
    if let Some(drift) = scrub.drift_limit.filter(|drift| !(*drift > 0.0 && *drift <= 1000.0)) {
        let problem = format!("{drift} is not a number of steps above 0, and at most 1000");
        return Err(Invalid::new(&["device.scrub.drift_limit"], problem));
    }
    if scrub.reclaim_reads == Some(0) {
        let problem = "0 is not possible; it must be at least 1, or left out";
        return Err(Invalid::new(&["device.scrub.reclaim_reads"], problem));
    }
    Ok(())
}

/// The additional time of a read after its first sense must fit 32 bits.
fn longest_read(config: &SsdConfig, ladder: &Ladder) -> Result<(), Invalid> {
    let types = 0..config.cell.bits as usize;
    let sense = types.map(|kind| config.timing.read.of_type(kind).ns()).max().unwrap_or(0);
    let sense = sense.max(config.slc_cache.read.map_or(0, options::Duration::ns));
    let page = config.page_size.bytes() + config.spare_size.bytes();
    let bus = config.timing.command.ns() + config.timing.transfer_ns(page);
    let steps = config.retry.steps;
    let pages = config.parity.of.max(1) - 1;
    let rebuilt = (pages > 0).then_some(Rebuilt { pages, steps });
    let soft = config.ecc.soft.levels().len() as u32;
    let worst = Outcome { steps, soft, searched: true, lost: false, rebuilt };
    let longest = ladder.time(worst, sense, bus).max(ladder.rebuild_time(worst, sense, bus));
    if u32::try_from(longest).is_ok() {
        return Ok(());
    }
    let problem = format!(
        "a read with {steps} retries, a search and soft decoding takes up to {}; at most {}",
        options::Duration::from_ns(longest),
        options::Duration::from_ns(u64::from(u32::MAX))
    );
    let keys = ["device.retry.steps", "device.retry.search", "device.ecc.decode"];
    Err(Invalid::new(&keys, problem))
}

//! Warnings about the effective share of the spare space.

use devices::Report;
use devices::ssd::percent;
use serde_json::{Value, json};

/// Mode of a run and its preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Without time.
    Untimed,
    /// Timed, on a drive prepared untimed.
    TimedBehindUntimed,
    /// Timed only.
    Timed,
}

/// Minimum effective share of the spare space; below it, a warning is issued.
const LEAST_EFFECTIVE: f64 = 0.5;

/// Warning about spare space that is mostly used up by blocks kept erased or open.
pub fn effective_spare(spare: &Report) -> Option<(String, Value)> {
    let [nominal, effective] = [spare.number("nominal")?, spare.number("effective")?];
    let [min_free, default] = [spare.number("min_free")?, spare.number("default_min_free")?];
    if effective >= LEAST_EFFECTIVE * nominal {
        return None;
    }
    let advice = if min_free > default {
        let sane = (default * 1e4).floor() / 1e4;
        format!("set device.cleaning.min_free={sane} or less")
    } else {
        "use more blocks, more spare space or fewer open blocks".to_owned()
    };
    let message = format!(
        "of the {} spare space only {} is effective: {} blocks are kept free by \
            device.cleaning.min_free={:.4} and {} are open; write amplification is that of a drive with \
                the effective spare space; {advice}",
        percent(nominal),
        percent(effective),
        spare.count("blocks_kept_erased"),
        min_free,
        spare.count("blocks_open"),
    );
    let figures = json!({
        "nominal": nominal,
        "effective": effective,
        "min_free": min_free,
    });
    Some((message, figures))
}

/// Minimum share of the spare space that differs between timed and untimed runs; above it, a
/// warning is issued.
const LEAST_BEHIND: f64 = 0.05;

/// Untimed garbage collection keeps its threshold. Timed garbage collection yields to requests and
/// falls behind under load, so the effective spare space is larger.
pub fn cleaning_behind(spare: &Report, kind: RunKind) -> Option<(String, Value)> {
    let [asked, kept] = ["blocks_asked_erased", "blocks_kept_erased"].map(|it| spare.count(it));
    let [blocks, min_free] = [spare.number("blocks")?, spare.number("min_free")?];
    let of_spare = |part: u64| part as f64 / blocks;
    if !spare.is("yields") {
        return None;
    }
    let message = if kind == RunKind::Untimed && of_spare(asked) >= LEAST_BEHIND {
        format!(
            "an untimed run keeps {asked} blocks erased, {} of the spare space; in time cleaning yields to requests \
             (device.cleaning.time) and under load keeps fewer, so that write amplification is lower than here: use \
             run.timed=true for write amplification under that load",
            percent(of_spare(asked))
        )
    } else if kind == RunKind::TimedBehindUntimed && of_spare(asked - kept) >= LEAST_BEHIND {
        format!(
            "cleaning yields to requests (device.cleaning.time) and has fallen behind: {kept} blocks are erased of the \
             {asked} that device.cleaning.min_free={min_free:.4} asks for, which the preparation without time (run.precondition) \
             kept; write amplification is lower than what the drive was prepared at: use run.warm_up, or run longer"
        )
    } else {
        return None;
    };
    let figures = json!({ "blocks_asked_erased": asked, "blocks_kept_erased": kept });
    Some((message, figures))
}

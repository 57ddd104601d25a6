//! Warnings about the spare space: what of it is in effect.

use devices::ssd::SpareReport;
use serde_json::{Value, json};

/// How a run and what came before it were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// Without time.
    Untimed,
    /// In time, on a drive that was prepared without.
    TimedBehindUntimed,
    /// In time alone.
    Timed,
}

/// A share in percent, with two significant digits below ten.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        0.01.. => format!("{percent:.2} %"),
        0.0.. => format!("{percent:.1e} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// Less of the spare space than this is in effect: worth a word.
const LEAST_EFFECTIVE: f64 = 0.5;

/// Blocks that are kept erased or open take most of the spare space.
pub fn effective_spare(spare: &SpareReport) -> Option<(String, Value)> {
    if spare.effective >= LEAST_EFFECTIVE * spare.nominal {
        return None;
    }
    let advice = if spare.min_free > spare.default_min_free {
        let sane = (spare.default_min_free * 1e4).floor() / 1e4;
        format!("set device.cleaning.min_free={sane} or less")
    } else {
        "use more blocks, more spare space or fewer open blocks".to_owned()
    };
    let message = format!(
        "of the {} spare space only {} is effective: {} blocks are kept free by \
            device.cleaning.min_free={:.4} and {} are open; write amplification is that of a drive with \
                the effective spare space; {advice}",
        percent(spare.nominal),
        percent(spare.effective),
        spare.blocks_kept_erased,
        spare.min_free,
        spare.blocks_open,
    );
    let figures = json!({
        "nominal": spare.nominal,
        "effective": spare.effective,
        "min_free": spare.min_free,
    });
    Some((message, figures))
}

/// A share of the spare space that is in effect in one way of running and not in the other: worth a word.
const LEAST_BEHIND: f64 = 0.05;

/// Without time cleaning keeps to its threshold; in time, where it yields to requests, it falls behind that under load,
/// and more of the spare space is in effect.
pub fn cleaning_behind(spare: &SpareReport, kind: RunKind) -> Option<(String, Value)> {
    let (asked, kept) = (spare.blocks_asked_erased, spare.blocks_kept_erased);
    let of_spare = |blocks: u64| blocks as f64 / spare.blocks;
    if !spare.yields {
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
             {asked} that device.cleaning.min_free={:.4} asks for, which the preparation without time (run.precondition) \
             kept; write amplification is lower than what the drive was prepared at: use run.warm_up, or run longer",
            spare.min_free
        )
    } else {
        return None;
    };
    let figures = json!({ "blocks_asked_erased": asked, "blocks_kept_erased": kept });
    Some((message, figures))
}

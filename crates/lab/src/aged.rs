//! The section `media` of results: what age and wear did to data, and what reading them took.

use devices::ssd::SsdReport;
use devices::ssd::media::CODEWORD_BITS;
use serde_json::{Value, json};

/// Upper bound with 95 % confidence of the mean of a count of 0 (Poisson), and what a count adds to it.
const NONE_SEEN: f64 = 3.0;

/// Uncorrectable bit error rate as JESD218 counts it: codewords beyond correction / bits read. What is read of a page
/// is one codeword, as in the closed form.
pub fn uber(lost: f64, reads: f64) -> f64 {
    lost / (reads * CODEWORD_BITS)
}

/// Upper bound with 95 % confidence of the mean of a count; the normal bound is close enough above a few.
fn most_of(count: f64) -> f64 {
    if count > 0.0 { count + 2.0 * count.sqrt() + 2.0 } else { NONE_SEEN }
}

/// The section, of a drive whose data age.
pub fn section(flash: &SsdReport) -> Option<Value> {
    let report = flash.aged.as_ref()?;
    let [reads, retried] = report.reads();
    let mean = report.retries.iter().enumerate().map(|(steps, count)| steps as u64 * count);
    let mean = (reads > 0).then(|| mean.sum::<u64>() as f64 / reads as f64);
    // Those that parity brings back reach the host.
    let lost = (report.uncorrectable - report.rebuilt) as f64;
    let most = most_of(lost);
    let uber = |lost: f64| (reads > 0).then(|| uber(lost, reads as f64));
    let [rber_mean, rber_p99, rber_max] = report.rber;
    let [drift_mean, drift_max] = report.drift;
    let mut section = json!({
        "clock_days": report.clock_days,
        "rber": { "mean": rber_mean, "p99": rber_p99, "max": rber_max },
        "drift": { "mean": drift_mean, "max": drift_max },
        "now": report.shares_now().map(|[retried, lost]| json!({
            "retried_share": retried,
            "lost_share": lost,
        })),
        "spread_errors": report.spread_errors,
        "page_reads": reads,
        "reads_retried": retried,
        "mean_retries": mean,
        "retries": report.retries,
        "soft_reads": report.soft_reads,
        "searched": report.searched,
        "uncorrectable": report.uncorrectable,
        "rebuilt": report.rebuilt,
        "unreadable": report.unreadable,
        "healed": report.healed,
        "poisoned": report.poisoned,
        "patrol_reads": report.patrol_reads,
        "refreshed_blocks": report.moved_blocks[0],
        "refresh_bytes": flash.media.refresh,
        "reclaimed_blocks": report.moved_blocks[1],
        "uber": uber(lost),
        "uber_upper95": uber(most),
    });
    if let Some([dies, blocks, defects]) = report.failures {
        section["lost_dies"] = json!(dies);
        section["bad_blocks_of_sick_dies"] = json!(blocks);
        section["defects"] = json!(defects);
    }
    Some(section)
}

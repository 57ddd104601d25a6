//! The section `wear.lifetime` of the results: the estimated lifetime of the drive, if the run is
//! long enough.
//!
//! The drive computes it (`ssd/src/report/lifetime.rs`); this module decides if it may be stated.
//! The estimate must not depend on the length of the run. It therefore needs enough erases and
//! constant write amplification, whose error follows from batches of the run and the garbage
//! collection owed at its end. The load must also have covered all of its addresses once
//! ([`Reached`]), because blocks of addresses not yet written look like blocks at rest.

use crate::reach::Reached;
use crate::warnings::Piece;
use devices::Report;
use serde_json::{Value, json};

/// Minimum erases in the measured interval: with fewer, a block being cleaned at either end is an
/// error of 1 %.
const LEAST_ERASES: u64 = 100;
/// Maximum relative errors of reported write amplification and lifetime.
const MOST_ERROR: f64 = 0.03;
const MOST_ERROR_OF_LIFE: f64 = 0.1;
/// Number of batches from which the error of write amplification is estimated.
const BATCHES: usize = 10;
/// Student's t at 95 % for the mean of `BATCHES` batches.
const STUDENT: f64 = 2.262;

/// Advice for an unknown lifetime.
const ADVICE: &str = "`ssdlab endurance DEVICE --class CLASS --workload NAME` measures it";

/// The lifetime section of a run with these pieces, whose writes have this coverage.
pub(crate) fn section(it: &Report, pieces: &[Piece], reached: Reached) -> Value {
    let takes_turns = reached == Reached::InTurns && !it.is("ended");
    // Under a sequential load blocks are erased in turn, so differences in wear even out.
    let (evenness, unsure, more) = if takes_turns {
        let evenness = number(it, "evenness_in_turns");
        (evenness, number(it, "unsure_in_turns"), evenness / number(it, "evenness"))
    } else {
        (number(it, "evenness"), number(it, "evenness_unsure"), 1.0)
    };
    let milestone = |name: &str, more: f64| {
        let it = it.section(name)?;
        let host_bytes = number(it, "host_bytes") * more;
        Some(json!({
            "host_bytes": host_bytes,
            "terabytes_written": host_bytes / 1e12,
            "drive_writes": number(it, "drive_writes") * more,
            "drive_writes_per_day": number(it, "drive_writes_per_day") * more,
        }))
    };
    let (status, reason, error) = judged(it, unsure, pieces, reached);
    let is_known = matches!(status, "measured" | "estimated");
    let known = milestone("estimate", more).filter(|_| is_known);
    let mut section = json!({
        "service_years": it.value("service_years"),
        "status": status,
        "host_bytes": null,
        "terabytes_written": null,
        "drive_writes": null,
        "drive_writes_per_day": null,
        "error": error.filter(|_| known.is_some()),
        "reason": reason,
        "erases": it.value("erases"),
        "physical_bytes": it.value("physical_bytes"),
        "rated_cycles": it.value("rated_cycles"),
        "evenness": known.as_ref().map(|_| evenness),
        "amplification": known.as_ref().map(|_| it.value("amplification")),
        "first_expiry": milestone("first_expiry", 1.0),
        "spare_gone": milestone("spare_gone", 1.0),
    });
    if let (Some(section), Some(Value::Object(known))) = (section.as_object_mut(), known) {
        section.extend(known);
    }
    section
}

/// A mandatory figure.
fn number(of: &Report, name: &str) -> f64 {
    of.number(name).unwrap_or(f64::NAN)
}

/// Status of the lifetime, the reason if unknown, and its relative error.
fn judged(
    it: &Report,
    evenness_unsure: f64,
    pieces: &[Piece],
    reached: Reached,
) -> (&'static str, Option<String>, Option<f64>) {
    if it.section("estimate").is_none() {
        let reason = "the run wrote nothing, so this load does not limit the lifetime";
        return ("unwritten", Some(reason.to_owned()), None);
    }
    if it.is("ended") {
        return ("measured", None, None);
    }
    let erases = it.count("erases");
    let unknown = |because: String| {
        let reason = format!("not known from this run ({erases} erasures{because}); {ADVICE}");
        ("unknown", Some(reason), None)
    };
    if let Reached::StillNew { more_requests } = reached {
        return unknown(format!(
            ", and the load still reaches addresses that it has not written: {more_requests} more requests \
             (workload.requests) take it round the drive"
        ));
    }
    if erases < LEAST_ERASES {
        return unknown(String::new());
    }
    let Some(error) = amplification_error(pieces).zip(it.number("out_of_balance")) else {
        return unknown(String::new());
    };
    // A block more or less at the ends of the interval.
    let amplification = error.0 + error.1.abs() + 1.0 / erases as f64;
    if amplification > MOST_ERROR {
        let percent = 100.0 * amplification;
        return unknown(format!(", write amplification known within {percent:.0} %"));
    }
    if evenness_unsure >= 1.0 {
        return unknown(", which do not tell how even wear will be".to_owned());
    }
    if amplification + evenness_unsure > MOST_ERROR_OF_LIFE {
        let percent = 100.0 * evenness_unsure;
        return unknown(format!(", evenness of wear known within {percent:.0} %"));
    }
    ("estimated", None, Some(amplification + evenness_unsure))
}

/// Half width of the 95 % confidence interval of write amplification, relative to the mean: from
/// batches of equal numbers of host pages.
fn amplification_error(pieces: &[Piece]) -> Option<f64> {
    let all: u64 = pieces.iter().map(|it| it.host_pages).sum();
    let mut sums = [(0.0, 0.0); BATCHES];
    let mut before = 0.0;
    for piece in pieces {
        let middle = before + 0.5 * piece.host_pages as f64;
        before += piece.host_pages as f64;
        let at = (middle / all as f64 * BATCHES as f64) as usize;
        let (programs, host) = &mut sums[at.min(BATCHES - 1)];
        *programs += piece.programs as f64;
        *host += piece.host_pages as f64;
    }
    if sums.iter().any(|(_, host)| *host == 0.0) {
        return None;
    }
    let each = sums.map(|(programs, host)| programs / host);
    let mean = each.iter().sum::<f64>() / BATCHES as f64;
    let squares = each.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>();
    let deviation = (squares / (BATCHES - 1) as f64).sqrt();
    Some(STUDENT * deviation / (BATCHES as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(programs: impl Fn(u64) -> u64) -> Vec<Piece> {
        let piece = |n| Piece { host_pages: 1000, programs: programs(n), ..Piece::default() };
        (0..40).map(piece).collect()
    }

    #[test]
    fn the_error_is_that_of_the_mean_of_batches() {
        assert_eq!(amplification_error(&pieces(|_| 3000)), Some(0.0));
        // Alternate batches have 10 % more: a standard deviation of 5 % x sqrt(10 / 9).
        let wavy = amplification_error(&pieces(|n| if n / 4 % 2 == 0 { 2850 } else { 3150 }));
        let expected = STUDENT * 0.05 * (10.0_f64 / 9.0).sqrt() / 10.0_f64.sqrt();
        assert!((wavy.unwrap() - expected).abs() < 1e-12, "{wavy:?} {expected}");
        // A drive that was still settling gets no estimate, regardless of the number of pieces.
        assert!(amplification_error(&pieces(|n| 1000 + 50 * n)).unwrap() > MOST_ERROR);
        assert_eq!(amplification_error(&[]), None);
        assert_eq!(amplification_error(&pieces(|_| 3000)[..9]), None);
    }
}

//! Results of studies as JSON: gains over the same drive without placement, with confidence
//! intervals.

use super::row::{Medium, Row};
use ::placement::{Batch, Load, Measured, PAGE_BYTES, Rule};
use serde_json::{Value, json};

/// Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1 (standard table).
const STUDENT: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

pub fn of_rows(load: &Load, rows: &[Row]) -> Value {
    let none = |utilisation: f64| {
        let row = rows.iter().find(|row| {
            let is_drive = row.medium != Medium::Zones;
            is_drive && row.policy == "none" && row.utilisation.to_bits() == utilisation.to_bits()
        });
        row.and_then(|row| row.found.as_ref().ok())
    };
    rows.iter().map(|row| of_row(load, row, none(row.utilisation))).collect()
}

fn of_row(load: &Load, row: &Row, none: Option<&Measured>) -> Value {
    let mut value = json!({
        "policy": row.policy,
        "utilisation": row.utilisation,
        "isolation": row.medium.name(),
        "handles_used": row.shape.handles,
        "unit_bytes": u64::from(row.shape.unit_pages) * PAGE_BYTES,
        "units": row.shape.units,
        "open_units": row.open(),
        "spare_units": row.shape.spare(),
        "rule": rule(load, &row.rule),
    });
    let found = match &row.found {
        Ok(found) => measured(found, none),
        Err(ended) => json!({ "refused": ended.to_string() }),
    };
    if let (Value::Object(value), Value::Object(found)) = (&mut value, found) {
        value.extend(found);
    }
    value
}

fn measured(found: &Measured, none: Option<&Measured>) -> Value {
    let bytes = |pages: u64| pages * PAGE_BYTES;
    let handles = found.account.handles.iter().enumerate().map(|(handle, it)| {
        json!({
            "handle": handle,
            "host_bytes": bytes(it.host),
            "relocated_bytes": bytes(it.moved),
            "relocated_because_bytes": bytes(it.moved_because),
            "foreign_invalidated": share(it.foreign, it.invalidated),
            "units_opened": it.opened,
        })
    });
    let gain = none.map(|none| gain(&none.batches, &found.batches));
    json!({
        "dlwa": found.account.dlwa(),
        "dlwa_curve": found.curve,
        "settled": found.settled,
        "host_bytes": bytes(found.account.host()),
        "relocated_bytes": bytes(found.account.moved()),
        "relocated_because_of_copies_bytes": bytes(found.account.moved_from_copies),
        "replayed_bytes": bytes(found.replayed),
        "gain": gain.map(|(gain, _)| gain),
        "gain_error": gain.and_then(|(_, error)| error),
        "handles": handles.collect::<Vec<Value>>(),
    })
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

/// Ratio of bytes programmed without and with placement, and the half width of its 95 % confidence
/// interval: a jackknife over batches of the load, which are common to both.
fn gain(none: &[Batch], found: &[Batch]) -> (f64, Option<f64>) {
    let programmed = |batches: &[Batch], without: Option<usize>| -> f64 {
        let kept = batches.iter().enumerate().filter(|(at, _)| Some(*at) != without);
        kept.map(|(_, it)| (it.host + it.moved) as f64).sum()
    };
    let ratio = |without| programmed(none, without) / programmed(found, without);
    let all = ratio(None);
    let kept: Vec<f64> = (0..found.len())
        .filter(|at| found[*at].host > 0)
        .map(|at| ratio(Some(at)))
        .filter(|it| it.is_finite())
        .collect();
    let count = kept.len();
    if count < 2 {
        return (all, None);
    }
    let mean = kept.iter().sum::<f64>() / count as f64;
    let squares: f64 = kept.iter().map(|it| (it - mean) * (it - mean)).sum();
    let error = (squares * (count - 1) as f64 / count as f64).sqrt();
    (all, Some(error * STUDENT[(count - 2).min(STUDENT.len() - 1)]))
}

fn rule(load: &Load, rule: &Rule) -> Value {
    match rule {
        Rule::One => Value::Null,
        Rule::Borders(borders) => {
            let address = |place: &u32| {
                let (device, offset) = load.address(*place);
                let of_data = f64::from(*place) / f64::from(load.pages);
                json!({ "device": device, "offset_bytes": offset, "of_data": of_data })
            };
            json!({ "by": "address", "borders": borders.iter().map(address).collect::<Vec<Value>>() })
        }
        Rule::Sizes(sizes) => json!({ "by": "size", "largest_bytes": sizes }),
        Rule::Devices(devices) => json!({ "by": "device", "devices": devices }),
        Rule::Fua => json!({ "by": "fua" }),
        Rule::Named(handles) => json!({ "by": "column", "handles": handles }),
        Rule::Lifetimes(pages) => {
            let bytes: Vec<u64> =
                pages.iter().map(|pages| pages.saturating_mul(PAGE_BYTES)).collect();
            json!({ "by": "lifetime", "longest_bytes": bytes })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(moved: [u64; 10]) -> Vec<Batch> {
        moved.into_iter().map(|moved| Batch { host: 100, moved }).collect()
    }

    #[test]
    fn an_interval_has_no_width_where_every_part_gains_the_same() {
        let (none, found) = (batches([200; 10]), batches([50; 10]));
        let (ratio, error) = gain(&none, &found);
        assert!((ratio - 2.0).abs() < 1e-12 && error.unwrap() < 1e-9);
        assert!((gain(&none, &none).0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_interval_spans_one_where_parts_disagree() {
        let none = batches([100, 200, 100, 200, 100, 200, 100, 200, 100, 200]);
        let found = batches([200, 100, 200, 100, 200, 100, 200, 100, 200, 90]);
        let (ratio, error) = gain(&none, &found);
        assert!(ratio > 1.0 && ratio - error.unwrap() < 1.0, "{ratio} {error:?}");
    }
}

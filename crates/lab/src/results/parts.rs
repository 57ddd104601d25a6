//! Parts of the section `flash` that only some drives have.

use devices::ssd::SsdReport;
use devices::ssd::account::{Counts, Section};
use serde_json::{Map, Value, json};

/// The counts of a section, and then its other figures.
pub fn with_counts(section: Section, counts: &Counts, others: Value) -> Value {
    let own = counts.rows().filter(|(counter, _)| counter.section == section);
    let mut all: Map<String, Value> =
        own.map(|(counter, count)| (counter.key.to_owned(), json!(count))).collect();
    if let Value::Object(mut others) = others {
        all.append(&mut others);
    }
    Value::Object(all)
}

/// Adds those that a drive has.
pub fn add_own(report: &SsdReport, flash: &mut Value) {
    let counted = |section: Section| with_counts(section, &report.counts, json!({}));
    if report.merges {
        flash["merges"] = counted(Section::Merges);
    }
    if report.blocks {
        flash["block_buffer"] = counted(Section::Blocks);
    }
    if let Some(snapshots) = &report.snapshots {
        flash["snapshots"] = json!(snapshots);
    }
}

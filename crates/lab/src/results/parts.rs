//! Parts of the section `flash` that only some drives have, and the section `wear`.

use crate::reach::Reached;
use crate::warnings::Piece;
use crate::{lifetime, wear};
use devices::ssd::account::{Counts, Section};
use devices::ssd::{SsdReport, WearReport};
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

/// The section `wear`.
pub fn wear_of(worn: &WearReport, counts: &Counts, pieces: &[Piece], reached: Reached) -> Value {
    let mut section = json!({
        "mean_erases": worn.mean_erases,
        "std_erases": worn.std_erases,
        "max_erases": worn.max_erases,
        "mean_remaining": worn.mean_remaining,
        "std_remaining": worn.std_remaining,
        "expired_blocks": worn.expired_blocks,
        "retired_blocks": worn.retired_blocks,
        "spare_blocks": worn.spare_blocks,
        "ended": worn.ended,
    });
    let rest = json!({
        "remaining": {
            "blocks_by_tenth_of_mean": worn.remaining_of_mean,
            "blocks_by_twentieth_of_rated": worn.remaining_of_rated,
        },
        "blocks_by_erases": wear::blocks_by_erases(&worn.blocks_by_erases),
        "lifetime": lifetime::section(&worn.lifetime, pieces, reached),
        "map": wear::map(&worn.map),
    });
    if let (Some(section), Value::Object(mut rest)) =
        (section.as_object_mut(), with_counts(Section::Wear, counts, rest))
    {
        section.append(&mut rest);
    }
    section
}

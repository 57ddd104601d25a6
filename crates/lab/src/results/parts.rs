//! Parts of the section `flash` that only some drives have, and the section of hard disks.

use devices::disk::DiskReport;
use devices::ssd::SsdReport;
use devices::ssd::account::{Counts, Section};
use engine::Time;
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

/// The section `disk`: what the heads did, and where the time went.
pub fn disk(report: &DiskReport) -> Value {
    let media = report.media_reads + report.media_writes;
    let mean = |ns: Time| (media > 0).then(|| ns as f64 / 1e3 / media as f64);
    let time = report.time_ns as f64 * f64::from(report.disks);
    let share = |ns: Time| (time > 0.0).then_some(ns as f64 / time);
    let busy = report.seek_ns + report.rotation_ns + report.transfer_ns;
    let reads = report.read_hits + report.read_partial_hits + report.read_misses;
    let hits = (reads > 0).then(|| report.read_hits as f64 / reads as f64);
    let mut section = json!({
        "disks": report.disks,
        "read_hits": report.read_hits,
        "read_partial_hits": report.read_partial_hits,
        "read_misses": report.read_misses,
        "hit_share": hits,
        "writes_cached": report.writes_cached,
        "media_reads": report.media_reads,
        "media_writes": report.media_writes,
        "sectors_read_ahead": report.sectors_ahead,
        "mean_us": {
            "seek": mean(report.seek_ns),
            "rotation": mean(report.rotation_ns),
            "transfer": mean(report.transfer_ns),
        },
        "mean_seek_cylinders":
            (media > 0).then(|| report.seek_cylinders as f64 / media as f64),
        "busy": share(busy),
        "busy_parts": {
            "seek": share(report.seek_ns),
            "rotation": share(report.rotation_ns),
            "transfer": share(report.transfer_ns),
        },
    });
    if report.stops {
        section["standby"] = json!({
            "share": share(report.standby_ns),
            "hours": report.standby_ns as f64 / 3.6e12,
            "spin_ups": report.spin_ups,
        });
    }
    section
}

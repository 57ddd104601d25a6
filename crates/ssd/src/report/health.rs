//! Health of a drive in the terms of `NVMe`'s SMART / Health log (log page 02h of the base
//! specification).
//!
//! `media_errors` exists where data age; otherwise reads never fail. Power cuts count as
//! `unsafe_shutdowns`.

use crate::Ssd;
use crate::device::{Field, Formula, Report};
use crate::ids::Block;
use crate::media::Media;
use serde_json::json;

/// Spare threshold for a warning, percent.
pub const SPARE_THRESHOLD: u8 = 10;

/// Maximum of `percentage_used`.
const MOST_USED: u64 = 255;

/// Bytes in a data unit: a thousand times 512.
const DATA_UNIT_BYTES: u128 = 512_000;

/// A critical warning: bit in the log, and word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CriticalWarning {
    /// Bit value in the log.
    pub bit: u8,
    /// Name.
    pub word: &'static str,
}

/// Warnings that a simulated drive can raise; the others concern parts that are not modelled.
pub const CRITICAL_WARNINGS: [CriticalWarning; 3] = [
    CriticalWarning { bit: 1 << 0, word: "spare below threshold" },
    CriticalWarning { bit: 1 << 3, word: "read only" },
    CriticalWarning { bit: 1 << 2, word: "media errors" },
];

/// Health of a drive, or of the worst member of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthReport {
    /// Mean erases / mean rating of a block, in percent; at most 255.
    pub percentage_used: u8,
    /// Remaining spare blocks of the pool with the fewest, in percent of the initial ones.
    pub available_spare: u8,
    /// True at end of life.
    pub read_only: bool,
    /// Lifetime host writes in units of 512,000 bytes, rounded up.
    pub data_units_written: u64,
    /// Pages that the host could not read, where data age.
    pub media_errors: Option<u64>,
    /// True if failed host reads exceed `health.rate`.
    pub unreliable: bool,
    /// Scale of the simulation: each simulated byte stands for `scale` bytes.
    pub scale: u32,
}

impl HealthReport {
    /// Sum of the warning bits.
    pub fn critical_warning(&self) -> u8 {
        let spare = u8::from(self.available_spare < SPARE_THRESHOLD) * CRITICAL_WARNINGS[0].bit;
        let media = u8::from(self.unreliable) * CRITICAL_WARNINGS[2].bit;
        spare | (u8::from(self.read_only) * CRITICAL_WARNINGS[1].bit) | media
    }

    /// Names of the warnings.
    pub fn critical_warnings(&self) -> Vec<&'static str> {
        let sum = self.critical_warning();
        CRITICAL_WARNINGS.iter().filter(|it| sum & it.bit != 0).map(|it| it.word).collect()
    }

    /// Health from a results section.
    pub fn of(section: &Report) -> HealthReport {
        let errors = section.field("media_errors");
        HealthReport {
            percentage_used: section.count("percentage_used") as u8,
            available_spare: section.count("available_spare") as u8,
            read_only: section.is("read_only"),
            data_units_written: section.count("data_units_written"),
            media_errors: errors.map(|_| section.count("media_errors")),
            unreliable: section.is("unreliable"),
            scale: section.count("scale") as u32,
        }
    }

    /// Results section `health`, without reads and power cuts, which a drive does not count. For
    /// several drives host writes are summed, and other values are the worst.
    pub(super) fn section(&self) -> Report {
        let section = section! {
            "critical_warning": Field::Follows(Formula(|it| json!(HealthReport::of(it).critical_warning()))),
            "critical_warnings": Field::Follows(Formula(|it| json!(HealthReport::of(it).critical_warnings()))),
            "available_spare": Field::Least(json!(self.available_spare)),
            "spare_threshold": Field::same(SPARE_THRESHOLD),
            "percentage_used": Field::most(self.percentage_used),
            "data_units_written": self.data_units_written,
            "read_only": Field::fact(self.read_only),
            "unreliable": Field::fact(self.unreliable),
            "scale": Field::fact(Field::same(self.scale)),
        };
        section.with_some("media_errors", self.media_errors)
    }
}

/// Bytes as `NVMe` data units, for a drive simulated at 1/`scale`.
pub fn data_units(bytes: u64, scale: u32) -> u64 {
    (u128::from(bytes) * u128::from(scale)).div_ceil(DATA_UNIT_BYTES) as u64
}

impl Ssd {
    /// Current health.
    pub(crate) fn health(&self) -> HealthReport {
        let (ftl, flash) = (&self.ftl, &self.flash);
        let erases: u64 = flash.erases().iter().copied().map(u64::from).sum();
        let blocks = (0..flash.erases().len() as u32).map(Block);
        let rated: u64 = blocks.map(|block| u64::from(flash.ratings().of(block))).sum();
        let ageing = ftl.ageing();
        // Spare blocks from the factory.
        let losable = u64::from(self.geometry().losable_blocks());
        let spare = u64::from(ageing.spare.iter().copied().min().unwrap_or(0));
        // A pool without spare blocks at the start has 100 % until a block is missing.
        let available = (100 * spare).checked_div(losable).unwrap_or(100);
        let written = ageing.bytes_before + ftl.counters.host_bytes;
        HealthReport {
            percentage_used: (100 * erases / rated.max(1)).min(MOST_USED) as u8,
            available_spare: if ftl.has_ended() { 0 } else { available as u8 },
            read_only: ftl.has_ended(),
            data_units_written: data_units(written, self.config.scale),
            media_errors: flash.media().map(Media::unreadable),
            unreliable: flash.media().is_some_and(|media| {
                let limit = self.config.health.rate.unwrap_or(f64::INFINITY);
                media.unreadable() as f64 > limit * media.page_reads() as f64
            }),
            scale: self.config.scale,
        }
    }
}

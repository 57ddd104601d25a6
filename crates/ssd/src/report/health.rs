//! The health of a drive in the words of `NVMe`'s log of health (log page 02h of the base specification).
//!
//! Its `media_errors` are there where data age; elsewhere flash reads without errors. Power cuts
//! count as `unsafe_shutdowns`.

use crate::Ssd;
use crate::device::{Field, Formula, Report};
use crate::ids::Block;
use crate::media::Media;
use serde_json::json;

/// The share of the spare, in percent, below which a drive warns.
pub const SPARE_THRESHOLD: u8 = 10;

/// Maximum of `percentage_used`.
const MOST_USED: u64 = 255;

/// Bytes in a data unit: a thousand times 512.
const DATA_UNIT_BYTES: u128 = 512_000;

/// Kinds of critical warnings: its bit in the log, and the word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CriticalWarning {
    /// Bit value in the log.
    pub bit: u8,
    /// Name.
    pub word: &'static str,
}

/// The warnings of the log that a simulated drive can come to. The others are of parts that are not modelled.
pub const CRITICAL_WARNINGS: [CriticalWarning; 3] = [
    CriticalWarning { bit: 1 << 0, word: "spare below threshold" },
    CriticalWarning { bit: 1 << 3, word: "read only" },
    CriticalWarning { bit: 1 << 2, word: "media errors" },
];

/// The health of a drive, or of an array: its worst member's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthReport {
    /// Mean erasures of a block / mean rating, in percent; 255 for all above.
    pub percentage_used: u8,
    /// Blocks that the pool with the least spare can still lose, in percent of those at the start.
    pub available_spare: u8,
    /// True at end of life.
    pub read_only: bool,
    /// Written by the host since the drive was new, in thousands of 512 bytes, rounded up.
    pub data_units_written: u64,
    /// Pages that the host could not read, where data age.
    pub media_errors: Option<u64>,
    /// True above `health.rate` of the host's reads.
    pub unreliable: bool,
    /// Scale of the simulation: each counted byte stands for `scale` bytes of the real drive.
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

    /// Content of a section.
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

    /// The section `health`, without reads and power cuts, of which a drive keeps no account: of several drives what was
    /// written is added, the rest is the worst.
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
        // A pool that could lose none from the start has all of that until it lacks one.
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

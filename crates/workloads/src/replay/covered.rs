//! Coverage of a replay: pages by sketch, and requests by device.

use super::selection::Spans;
use crate::record::Record;
use crate::sketch::Sketch;
use crate::units::PAGE_SECTORS;
use engine::{Op, Replayed, SECTOR_BYTES};
use std::collections::BTreeMap;

/// Extent of the recorded requests.
#[derive(Debug, Default)]
pub(super) struct Covered {
    end_sector: u64,
    pages: Sketch,
    /// Number of requests by device, for at most [`Spans::LIMIT`] devices.
    volumes: BTreeMap<u32, u64>,
}

impl Covered {
    /// Records a request.
    #[inline]
    pub(super) fn note(&mut self, record: &Record) {
        if self.volumes.len() < Spans::LIMIT || self.volumes.contains_key(&record.device) {
            *self.volumes.entry(record.device).or_default() += 1;
        }
        if !matches!(record.op, Op::Read | Op::Write) {
            return;
        }
        let end = record.sector.saturating_add(u64::from(record.sectors));
        self.end_sector = self.end_sector.max(end);
        let first = record.sector / PAGE_SECTORS;
        self.pages.insert(record.device, first, end.div_ceil(PAGE_SECTORS));
    }

    /// Summary of the replay, with the mapping of addresses.
    pub(super) fn replayed(&self, mapping: &'static str, chunk_bytes: Option<u64>) -> Replayed {
        Replayed {
            mapping,
            span_bytes: self.end_sector.saturating_mul(SECTOR_BYTES),
            touched_bytes: (self.pages.count().round() as u64) * PAGE_SECTORS * SECTOR_BYTES,
            chunk_bytes,
            volumes: self.volumes.iter().map(|(device, requests)| (*device, *requests)).collect(),
        }
    }
}

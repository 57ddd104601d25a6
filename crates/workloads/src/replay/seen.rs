//! What a replay has come across: how much of the addresses, and of which devices.

use super::selection::Spans;
use crate::record::Record;
use crate::sketch::Sketch;
use crate::units::PAGE_SECTORS;
use engine::{Op, SECTOR_BYTES};
use std::collections::BTreeMap;

/// The requests so far, as recorded.
#[derive(Debug, Default)]
pub(super) struct Seen {
    end_sector: u64,
    pages: Sketch,
    /// Requests of each device; of at most [`Spans::LIMIT`].
    volumes: BTreeMap<u32, u64>,
}

impl Seen {
    /// Takes note of a request.
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

    /// The end of all reads and writes.
    pub(super) fn span_bytes(&self) -> u64 {
        self.end_sector.saturating_mul(SECTOR_BYTES)
    }

    /// About how much was read or written, each page once.
    pub(super) fn touched_bytes(&self) -> u64 {
        (self.pages.count().round() as u64) * PAGE_SECTORS * SECTOR_BYTES
    }

    /// The devices, and the requests of each.
    pub(super) fn volumes(&self) -> Vec<(u32, u64)> {
        self.volumes.iter().map(|(device, requests)| (*device, *requests)).collect()
    }
}

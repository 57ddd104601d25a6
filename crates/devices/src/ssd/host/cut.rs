//! How a request is cut into logical pages, and what each part of it needs of the flash.
//!
//! Both gears cut here: they touch, merge and refuse the same pages.

use crate::ssd::ftl::Ftl;
use crate::ssd::ids::Lpn;
use crate::ssd::sched::units::Kind;
use crate::ssd::shape::Geometry;
use engine::{Op, Request, SECTOR_BYTES};
use std::ops::Range;

/// The part of a read or a write that falls on one logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct Part {
    /// The logical page.
    pub(in crate::ssd) lpn: Lpn,
    /// Bytes of the request in it.
    pub(in crate::ssd) bytes: u64,
    /// The first flash page of it that is touched, and how many are.
    pub(in crate::ssd) touched: (u32, u32),
    /// The same of those that are covered whole; nothing where a logical page is not larger than one
    /// of the flash.
    whole: (u32, u32),
    /// The logical page is covered whole.
    covered: bool,
}

/// What a part needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) enum Need {
    /// Nothing: there is nothing to read.
    Unmapped,
    /// Nothing: the drive takes no more writes.
    Refused,
    /// An operation on flash pages of the logical page, given by the first and how many.
    Page(Kind, (u32, u32)),
}

/// The logical pages that a request touches.
pub(in crate::ssd) fn touched(geometry: &Geometry, request: &Request) -> Range<u32> {
    let sectors = u64::from(geometry.sectors_per_page);
    let (start, end) = range(request);
    (start / sectors) as u32..end.div_ceil(sectors) as u32
}

/// The logical pages that a request covers whole.
pub(in crate::ssd) fn covered(geometry: &Geometry, request: &Request) -> Range<u32> {
    let sectors = u64::from(geometry.sectors_per_page);
    let (start, end) = range(request);
    start.div_ceil(sectors) as u32..(end / sectors) as u32
}

fn range(request: &Request) -> (u64, u64) {
    (request.lba.0, request.lba.0 + u64::from(request.sectors))
}

/// The sectors of a logical page that a request touches, from the first to past the last.
#[inline]
fn within(geometry: &Geometry, request: &Request, lpn: Lpn) -> (u64, u64) {
    let sectors = u64::from(geometry.sectors_per_page);
    let base = u64::from(lpn.0) * sectors;
    let (start, end) = range(request);
    (start.max(base) - base, end.min(base + sectors) - base)
}

/// Bytes of a request in a logical page that it touches.
#[inline]
pub(in crate::ssd) fn bytes(geometry: &Geometry, request: &Request, lpn: Lpn) -> u64 {
    let (low, high) = within(geometry, request, lpn);
    (high - low) * SECTOR_BYTES
}

impl Part {
    /// The part of a request in a logical page that it touches.
    pub(in crate::ssd) fn new(geometry: &Geometry, request: &Request, lpn: Lpn) -> Part {
        let (low, high) = within(geometry, request, lpn);
        let (mut touched, mut whole) = ((0, 1), (0, 0));
        if geometry.granule.flash_pages > 1 {
            let per_page = u64::from(geometry.sectors_per_flash_page);
            let range = |from: u64, to: u64| (from as u32, to.saturating_sub(from) as u32);
            touched = range(low / per_page, high.div_ceil(per_page));
            whole = range(low.div_ceil(per_page), high / per_page);
        }
        let covered = high - low == u64::from(geometry.sectors_per_page);
        Part { lpn, bytes: (high - low) * SECTOR_BYTES, touched, whole, covered }
    }

    /// What it needs as the drive is now.
    pub(in crate::ssd) fn need(&self, op: Op, ftl: &Ftl) -> Need {
        let mapped = ftl.lookup(self.lpn).is_some();
        match op {
            Op::Read if mapped => Need::Page(Kind::Read, self.touched),
            Op::Read => Need::Unmapped,
            _ if ftl.has_ended() => Need::Refused,
            _ if self.covered || !mapped => Need::Page(Kind::Write, self.touched),
            _ if ftl.geometry().granule.synchronous => Need::Page(Kind::Merge, self.touched),
            _ => Need::Page(Kind::ReadForWrite, self.whole),
        }
    }
}

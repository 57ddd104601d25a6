//! Splits a request into page requests.
//!
//! Both gears cut here: they touch, merge and refuse the same pages.

use crate::ids::Lpn;
use crate::page::{Access, Owner, PageRequest};
use crate::shape::Geometry;
use engine::{Op, Request, SECTOR_BYTES};
use std::ops::Range;

/// A request lies within the capacity, and has a length; a flush has neither place nor length.
///
/// # Panics
/// When it does not: the caller of a device guarantees it.
#[inline]
pub fn check(request: &Request, capacity_sectors: u64) {
    let end = request.lba.0.checked_add(u64::from(request.sectors));
    let inside = end.is_some_and(|end| end <= capacity_sectors);
    assert!(inside || request.op == Op::Flush, "a request lies within the capacity");
    assert!(request.sectors > 0 || request.op == Op::Flush, "a request has a length");
}

/// The logical pages that a request touches.
#[inline]
pub fn touched(geometry: &Geometry, request: &Request) -> Range<u64> {
    let (start, end) = range(request);
    geometry.page_at(start).0..geometry.page_at(end - 1).0 + 1
}

/// The logical pages that a request covers whole.
pub fn covered(geometry: &Geometry, request: &Request) -> Range<u64> {
    let sectors = u64::from(geometry.sectors_per_page);
    let (start, end) = range(request);
    start.div_ceil(sectors)..end / sectors
}

#[inline]
fn range(request: &Request) -> (u64, u64) {
    (request.lba.0, request.lba.0 + u64::from(request.sectors))
}

/// The sectors of a logical page that a request touches, from the first to past the last.
#[inline]
fn within(geometry: &Geometry, request: &Request, lpn: Lpn) -> (u64, u64) {
    let sectors = u64::from(geometry.sectors_per_page);
    let base = lpn.0 * sectors;
    let (start, end) = range(request);
    (start.max(base) - base, end.min(base + sectors) - base)
}

/// Flash pages of a logical page that a request touches, and the bytes there.
#[inline]
pub fn part(geometry: &Geometry, request: &Request, lpn: Lpn) -> (u32, u32) {
    let (low, high) = within(geometry, request, lpn);
    let mut pages = 1;
    if geometry.granule.flash_pages > 1 {
        let per_page = u64::from(geometry.sectors_per_flash_page);
        pages = (high.div_ceil(per_page) - low / per_page) as u32;
    }
    (pages, ((high - low) * SECTOR_BYTES) as u32)
}

/// True if a request covers a touched logical page completely.
#[inline]
pub fn covers(geometry: &Geometry, request: &Request, lpn: Lpn) -> bool {
    let (low, high) = within(geometry, request, lpn);
    high - low == u64::from(geometry.sectors_per_page)
}

/// Part of a read or write within a touched logical page.
#[inline]
pub fn page_request(geometry: &Geometry, request: &Request, lpn: Lpn, owner: Owner) -> PageRequest {
    let (low, high) = within(geometry, request, lpn);
    let (mut touched, mut whole) = ((0, 1), (0, 0));
    if geometry.granule.flash_pages > 1 {
        let per_page = u64::from(geometry.sectors_per_flash_page);
        let range = |from: u64, to: u64| (from as u32, to.saturating_sub(from) as u32);
        touched = range(low / per_page, high.div_ceil(per_page));
        whole = range(low.div_ceil(per_page), high / per_page);
    }
    PageRequest {
        owner,
        access: if request.op == Op::Read { Access::Read } else { Access::Write },
        lpn,
        bytes: ((high - low) * SECTOR_BYTES) as u32,
        touched,
        whole,
        covered: high - low == u64::from(geometry.sectors_per_page),
        handle: request.handle,
    }
}

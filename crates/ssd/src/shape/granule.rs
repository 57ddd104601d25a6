//! Layout of a logical page on the flash: part of a flash page, or several of them, in one package
//! or across some.

use crate::config::{Gang, SsdConfig};
use options::{Invalid, Size};

/// Maximum number of packages of a logical page; a word holds a bitmap of them.
const WIDEST_SPAN: u32 = 64;

/// A logical page in flash pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granule {
    /// Logical pages per flash page: more than 1 if they are smaller.
    pub parts: u32,
    /// Flash pages per logical page: more than 1 if it is larger.
    pub flash_pages: u32,
    /// Number of packages over which the flash pages are striped.
    pub span: u32,
    /// True for a synchronous gang, whose packages act together.
    pub synchronous: bool,
}

impl Granule {
    /// Layout for a configuration; in a synchronous gang a logical page is one page of each
    /// package.
    ///
    /// # Errors
    /// When sizes or spans do not divide, or the gang does not allow the span.
    pub fn new(config: &SsdConfig) -> Result<Granule, Invalid> {
        let page = config.page_size.bytes();
        let synchronous = config.gang == Gang::SharedControlSync;
        let gang = if synchronous { config.packages_per_channel } else { 1 };
        let span = config.page_span.unwrap_or(gang);
        let logical = config.logical_page.map_or(page * u64::from(gang), Size::bytes);
        if synchronous && (span != gang || logical != page * u64::from(gang)) {
            let stated = if span == gang { "device.logical_page" } else { "device.page_span" };
            let problem = format!(
                "a synchronous gang of {gang} packages has logical pages of one page of each, \
                 {gang} x {}; leave the key out",
                config.page_size
            );
            return Err(Invalid::new(&[stated, "device.gang"], problem));
        }
        let packages = config.channels * config.packages_per_channel;
        if span == 0 || !packages.is_multiple_of(span) || span > WIDEST_SPAN {
            let problem = format!(
                "a logical page over {span} packages is not possible; the span divides the \
                 {packages} packages and is at most {WIDEST_SPAN}"
            );
            let keys = ["device.page_span", "device.channels", "device.packages_per_channel"];
            return Err(Invalid::new(&keys, problem));
        }
        let keys = ["device.logical_page", "device.page_size"];
        // With a write buffer a logical page may be any integer fraction of a flash page.
        let quarter = config.is_buffered() || page.is_multiple_of(4) && logical >= page / 4;
        if logical < page && quarter && page.is_multiple_of(logical) && logical.is_multiple_of(512)
        {
            if span > 1 {
                let problem = "a logical page smaller than a flash page lies in one package";
                return Err(Invalid::new(&["device.page_span", "device.logical_page"], problem));
            }
            let parts = (page / logical) as u32;
            return Ok(Granule { parts, flash_pages: 1, span, synchronous: false });
        }
        let whole = logical >= page && logical.is_multiple_of(page) && logical <= 1 << 30;
        let flash_pages = logical / page;
        if !whole || flash_pages > u64::from(config.simulated_pages_per_block()) * u64::from(span) {
            let problem = format!(
                "{} is not possible; a logical page is a quarter or half of the page of {} (at \
                 least 512B), or a whole number of pages up to a block",
                config.logical_page.unwrap_or(config.page_size),
                config.page_size
            );
            return Err(Invalid::new(&keys, problem));
        }
        let flash_pages = flash_pages as u32;
        if !flash_pages.is_multiple_of(span) {
            let problem = format!(
                "a logical page of {flash_pages} pages does not divide over {span} packages; a \
                 span divides the pages of the logical page"
            );
            return Err(Invalid::new(&["device.page_span", "device.logical_page"], problem));
        }
        let synchronous = synchronous && span > 1;
        let granule = Granule { parts: 1, flash_pages, span, synchronous };
        if granule.per_block(config) == 0 && !config.is_buffered() {
            let problem = format!(
                "a block has {} pages for data, and a logical page needs {} of each block; use \
                 summary_page = false or a smaller logical page",
                data_pages(config),
                granule.pages_per_lane()
            );
            return Err(Invalid::new(&["device.logical_page", "device.summary_page"], problem));
        }
        Ok(granule)
    }

    /// Flash pages of a logical page per package.
    #[inline]
    pub fn pages_per_lane(self) -> u32 {
        if self.span == 1 { self.flash_pages } else { self.flash_pages / self.span }
    }

    /// Logical pages per block; leftover pages at the block's end stay unused.
    pub fn per_block(self, config: &SsdConfig) -> u32 {
        data_pages(config) * self.parts / self.pages_per_lane()
    }

    /// Number of flash pages among `first..first + count` of a logical page that are in package
    /// `lane`.
    #[inline]
    pub fn pages_in_lane(self, first: u32, count: u32, lane: u32) -> u32 {
        if self.span == 1 {
            return count;
        }
        // Number of pages below `end` in package `lane`.
        let below = |end: u32| (end + self.span - 1 - lane) / self.span;
        below(first + count) - below(first)
    }
}

fn data_pages(config: &SsdConfig) -> u32 {
    config.simulated_pages_per_block() - u32::from(config.summary_page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flash_pages_go_round_the_packages() {
        let granule = Granule { parts: 1, flash_pages: 12, span: 4, synchronous: false };
        for (first, count) in [(0, 12), (0, 1), (3, 2), (5, 7), (11, 1), (2, 0)] {
            for lane in 0..4 {
                let slow = (first..first + count).filter(|page| page % 4 == lane).count();
                assert_eq!(granule.pages_in_lane(first, count, lane), slow as u32);
            }
        }
    }
}

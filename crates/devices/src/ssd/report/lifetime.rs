//! The lifetime of a drive: bytes that the host may write until the first block expires, and until the
//! spare space is gone.
//!
//! What has happened is reported as measured. What has not is extrapolated: each block keeps its rate of
//! erasures per byte written by the host since the counts were last reset. That
//! blocks wear faster as others are retired is left out, so the end of the spare is an upper bound.

use crate::ssd::Ssd;
use crate::ssd::ids::Block;

/// How much the host may write before something happens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Milestone {
    /// It has happened; otherwise this is extrapolated.
    pub measured: bool,
    /// Written by the host since the drive was new, bytes.
    pub host_bytes: f64,
    /// The same in capacities of the drive.
    pub drive_writes: f64,
    /// Drive writes a day over the years of service.
    pub drive_writes_per_day: f64,
}

/// How long a drive lasts; `None` where too few erasures were seen to tell.
#[derive(Debug, Clone, PartialEq)]
pub struct LifetimeReport {
    /// Years of service to which the daily figures refer.
    pub service_years: f64,
    /// Until the first block expires.
    pub first_expiry: Option<Milestone>,
    /// Until the spare space of some pool is gone.
    pub spare_gone: Option<Milestone>,
}

const DAYS_PER_YEAR: f64 = 365.0;

impl Ssd {
    /// The lifetime as measured and extrapolated.
    pub(in crate::ssd) fn lifetime(&self) -> LifetimeReport {
        let ageing = self.back.ftl().ageing();
        let geometry = self.geometry();
        let page_bytes = f64::from(geometry.sectors_per_page) * engine::SECTOR_BYTES as f64;
        let capacity = geometry.exported_pages() as f64 * page_bytes;
        let days = self.config.wear.service_years * DAYS_PER_YEAR;
        let milestone = |measured, host_bytes: f64| {
            let drive_writes = host_bytes / capacity;
            // A part of each block represents all of it.
            let host_bytes = host_bytes * f64::from(self.config.scale);
            let drive_writes_per_day = drive_writes / days;
            Milestone { measured, host_bytes, drive_writes, drive_writes_per_day }
        };
        let written = ageing.bytes_before + self.back.ftl().counters.host_bytes;
        let report = |measured: Option<u64>, more: Option<f64>| match measured {
            Some(bytes) => Some(milestone(true, bytes as f64)),
            None => more.map(|more| milestone(false, written as f64 + more)),
        };
        let (first, spare) = self.bytes_until_expiries();
        LifetimeReport {
            service_years: self.config.wear.service_years,
            first_expiry: report(ageing.first_expiry, first),
            spare_gone: report(ageing.end, spare),
        }
    }

    /// Bytes that the host writes from now on until the next block expires, and until some pool
    /// has lost one block more than it can.
    fn bytes_until_expiries(&self) -> (Option<f64>, Option<f64>) {
        let ageing = self.back.ftl().ageing();
        let geometry = self.geometry();
        let written = self.back.ftl().counters.host_bytes as f64;
        let mut pools = vec![Vec::new(); geometry.pools as usize];
        for block in (0..geometry.blocks()).map(Block) {
            let before = ageing.erases_before.get(block.at()).copied().unwrap_or(0);
            let seen = self.back.flash().erases()[block.at()] - before;
            if seen > 0 && !self.back.ftl().is_retired(block) {
                let life = f64::from(self.back.flash().life(block));
                let pool = geometry.domain_pool[geometry.domain_of(block).at()];
                pools[pool.at()].push(life * written / f64::from(seen));
            }
        }
        let first = pools.iter().flatten().copied().min_by(f64::total_cmp);
        let ends = pools.iter_mut().zip(&ageing.spare).filter_map(|(bytes, spare)| {
            let last = *spare as usize;
            (last < bytes.len()).then(|| *bytes.select_nth_unstable_by(last, f64::total_cmp).1)
        });
        (first, ends.min_by(f64::total_cmp))
    }
}

//! Constraints between placement handles, other keys, and spare space.

use super::Geometry;
use super::check::spare;
use super::spare_in_open::{MOST_TAKEN, SpareInOpen, TAKEN_BY_OPEN};
use crate::config::{MOST_HANDLES, MOST_PLACEMENTS, Program, SsdConfig};
use engine::SECTOR_BYTES;
use options::Invalid;

const HANDLES: &str = "device.fdp.handles";
const GROUPS: &str = "device.fdp.groups";

impl Geometry {
    /// Rejects keys that are incompatible with handles.
    ///
    /// # Errors
    /// [`Invalid`], with the keys.
    pub fn check_fdp(config: &SsdConfig) -> Result<(), Invalid> {
        let fdp = &config.fdp;
        if fdp.handles > MOST_HANDLES {
            let problem = format!("{} is too many; at most {MOST_HANDLES}", fdp.handles);
            return Err(Invalid::new(&[HANDLES], problem));
        }
        Geometry::check_reclaim_groups(config)?;
        if let Some(largest) = fdp.place.largest()
            && u32::from(largest) >= fdp.placements()
            && fdp.chooses()
        {
            let problem = format!(
                "\"{}\" names handle {largest}, and there are handles 0 to {}",
                fdp.place,
                fdp.placements() - 1
            );
            return Err(Invalid::new(&["device.fdp.place", HANDLES], problem));
        }
        if fdp.time_limit.ns().is_some() && config.buffer.size.bytes() == 0 {
            let problem =
                "units are given up under way by a drive with a write buffer only; use \"none\"";
            let keys = ["device.fdp.time_limit", "device.buffer.size"];
            return Err(Invalid::new(&keys, problem.to_owned()));
        }
        Ok(())
    }

    /// Dies must divide into reclaim groups.
    fn check_reclaim_groups(config: &SsdConfig) -> Result<(), Invalid> {
        let (groups, handles) = (config.fdp.groups, config.fdp.handles);
        if groups == 0 {
            let problem = "0 is not possible; it must be at least 1";
            return Err(Invalid::new(&[GROUPS], problem));
        }
        if handles == 0 || groups == 1 {
            return Ok(());
        }
        if config.fdp.placements() > MOST_PLACEMENTS {
            let problem = format!(
                "{groups} groups of {handles} handles are {} placements; at most {MOST_PLACEMENTS}: use at most {} \
                 groups",
                u64::from(groups) * u64::from(handles),
                MOST_PLACEMENTS / handles
            );
            return Err(Invalid::new(&[GROUPS, HANDLES], problem));
        }
        if !config.is_buffered() {
            let problem = "without a write buffer pages go where their address says, whatever a host names; use a \
                           write buffer, or 1 group";
            return Err(Invalid::new(&[GROUPS, "device.buffer.size"], problem));
        }
        let dies = config.channels * config.packages_per_channel * config.dies_per_package;
        if !dies.is_multiple_of(groups) {
            let possible = 1..=dies.min(MOST_PLACEMENTS / handles);
            let possible: Vec<String> =
                possible.filter(|it| dies.is_multiple_of(*it)).map(|it| it.to_string()).collect();
            let problem = format!(
                "{dies} dies do not divide into {groups} groups; use one of {}",
                possible.join(", ")
            );
            let keys = [
                GROUPS,
                "device.channels",
                "device.packages_per_channel",
                "device.dies_per_package",
            ];
            return Err(Invalid::new(&keys, problem));
        }
        Ok(())
    }

    /// Maximum content of a reclaim group above its share of the exported pages: half of the spare
    /// space without open and erased blocks, or less if a victim or two-pass programs need more.
    pub fn lent_by_group(&self, config: &SsdConfig) -> u64 {
        let Some(groups) = self.groups.filter(|_| self.reclaim_groups > 1) else { return 0 };
        if config.cell.program == Program::TwoPass {
            return 0;
        }
        let domains = u64::from(self.domains / self.pools);
        let data = u64::from(self.data_pages);
        let physical = domains * u64::from(self.blocks_per_domain) * data;
        let held = domains * u64::from(self.low_blocks + self.frontiers) * data;
        let half = (physical - self.pages_per_pool).saturating_sub(held) / 2;
        if !config.is_volatile() {
            return half;
        }
        // A victim must free more than its padding.
        let padded = f64::from(2 * config.frontiers_of_host() + 1);
        let kept = domains * u64::from(self.kept_pages());
        let most = (physical - kept.min(physical)) as f64
            * (1.0 - padded / f64::from(groups.per_block)).max(0.0);
        half.min((most as u64).saturating_sub(self.pages_per_pool))
    }

    /// Spare space must hold the open units of all handles and copies, and the erased reserve.
    ///
    /// # Errors
    /// [`Invalid`], with the handles and their maximum number.
    pub fn check_handles(&self, config: &SsdConfig) -> Result<(), Invalid> {
        if !config.fdp.chooses() {
            return Ok(());
        }
        let domains = self.domains / self.pools;
        let blocks = domains * self.blocks_per_domain;
        let physical = u64::from(blocks) * u64::from(self.data_pages);
        let bytes = u64::from(self.sectors_per_page) * SECTOR_BYTES;
        let (key, exported) =
            spare(config, blocks, physical, self.data_pages, (self.pools, bytes))?;
        let left = (physical - exported.min(physical)) / u64::from(self.data_pages);
        let needed = u64::from(domains) * u64::from(self.frontiers + self.low_blocks);
        if left > needed {
            return Ok(());
        }
        let copies = u64::from(config.destinations());
        // Of blocks that hold data of no handle, or are kept erased, there are as many with fewer.
        let others = self.frontiers - config.fdp.handles - config.destinations() + self.low_blocks;
        let most = (1..config.fdp.handles).rev().find(|handles| {
            let copies = config.fdp.destinations(*handles, config.folds());
            u64::from(domains) * u64::from(*handles + copies + others) < left
        });
        let remedy = match most {
            Some(1) => "use 1 handle, or more spare space".to_owned(),
            Some(most) => format!("use at most {most} handles, or more spare space"),
            None => "use more spare space".to_owned(),
        };
        let problem = format!(
            "{} handles keep {} reclaim units open, of which copies fill {}, and cleaning keeps {} erased; the spare \
             space has {left}; {remedy}",
            config.fdp.handles,
            u64::from(domains) * u64::from(self.frontiers),
            u64::from(domains) * copies,
            u64::from(domains) * u64::from(self.low_blocks),
        );
        Err(Invalid::new(&[HANDLES, "device.fdp.isolation", key], problem))
    }

    /// Spare space in open reclaim units, for a drive with several handles.
    pub fn spare_in_open(&self, config: &SsdConfig) -> Option<SpareInOpen> {
        let fdp = &config.fdp;
        if !fdp.chooses() {
            return None;
        }
        let data = f64::from(self.data_pages);
        let spare = f64::from(self.blocks()) - self.exported_pages() as f64 / data;
        // Without FDP one unit is open for the host and one for copies.
        let beyond = |handles: u32| {
            let copies = fdp.destinations(handles, config.folds());
            self.domains * (handles + copies - 2)
        };
        let share = |handles: u32| TAKEN_BY_OPEN * f64::from(beyond(handles)) / spare;
        let fitting = (1..=fdp.handles).rev().find(|handles| share(*handles) <= MOST_TAKEN);
        Some(SpareInOpen {
            open: beyond(fdp.handles),
            spare,
            share: share(fdp.handles),
            fitting: fitting.unwrap_or(1),
        })
    }
}

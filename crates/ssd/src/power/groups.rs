//! Effect of a power cut on groups of pages behind a write buffer.

use super::state::Power;
use super::tear::{count_erasure, drawn, end_blocks};
use crate::cache::{CutGroup, Fate};
use crate::flash::{Flash, Loose, Reading};
use crate::ftl::Ftl;
use crate::ids::Block;
use std::collections::BTreeMap;

impl Power {
    /// Applies the cut to the flash: groups are complete, torn or unwritten, in parallel within
    /// their blocks. Interrupted erases remain, and every open block ends.
    pub(super) fn tear_groups(
        &mut self,
        ftl: &Ftl,
        flash: &mut Flash,
        groups: &[CutGroup],
        erasing: &[Block],
    ) {
        self.forget_unstable(flash, ftl);
        let mut loose: BTreeMap<u32, Vec<Loose>> = BTreeMap::new();
        let mut headers = BTreeMap::new();
        for group in groups {
            let Some(first) = group.pages.first() else { continue };
            // Groups of a block are in order.
            let (opening, first_order) = *headers.entry(group.block.0).or_insert_with(|| {
                let (opening, order, _) = ftl.header_of(flash, first);
                let there = flash.programmed(group.block) > 0;
                (opening, if there { flash.first_order(group.block) } else { order })
            });
            let reading = match group.fate {
                Fate::Untouched => continue,
                Fate::Whole => Reading::Whole,
                Fate::Between => Reading::Nothing,
                // With sufficient capacitors the flash stays intact.
                Fate::Cells => match drawn(self.config.tear, &mut self.random) {
                    Reading::Unstable if self.protected => Reading::Nothing,
                    reading => reading,
                },
            };
            if reading != Reading::Whole {
                self.report.torn_pages += group.pages.len() as u64;
            }
            loose.entry(group.block.0).or_default().push(Loose {
                page: ftl.geometry().page_in_block(first.ppn),
                pages: group.pages.iter().map(|it| (it.lpn.0, it.order)).collect(),
                opening,
                first_order,
                reading,
            });
        }
        end_blocks(ftl, flash, &BTreeMap::new(), &mut loose);
        for block in erasing {
            flash.damage_mut().half_erased.insert(block.0);
            count_erasure(&mut self.report);
        }
    }
}

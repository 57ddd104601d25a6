//! Compares the data that must survive a cut with the recovered data.
//!
//! The drive's map before the cut has the newest copy of each page, and the programs in progress.
//! The newest programmed copy must be found, or one whose program was in progress.

use super::state::{Power, State};
use super::truth::{Begun, Truth, durable};
use crate::cache::CutProgram;
use crate::flash::Flash;
use crate::ftl::{Ftl, PageMap, Place};
use crate::ids::Lpn;
use std::collections::BTreeMap;

impl Power {
    /// Records the expected data before pages are torn. If a recovery is interrupted before it has
    /// a map, the earlier expectations stay.
    pub(super) fn note_truth(&mut self, ftl: &Ftl, programs: &[CutProgram]) {
        let has_map = !matches!(
            self.state,
            State::Off | State::Starting | State::Reading { .. } | State::Erasing
        );
        if !has_map {
            return;
        }
        let mut truth = Truth {
            durable: durable(ftl, programs).0,
            begun: BTreeMap::new(),
            served: matches!(self.state, State::Serving),
        };
        if !truth.served {
            // A page that the last start rejected may be readable now; the host has not read it
            // yet.
            truth.begun = self.truth.take().map_or_else(BTreeMap::new, |it| it.begun);
            let begun = truth.begun.values_mut().flatten();
            begun.for_each(|it| (it.is_hosts, it.answered) = (false, false));
        }
        for program in programs {
            let it = &program.programming;
            if it.lpn == Lpn::PADDING {
                continue;
            }
            let begun =
                Begun { ppn: it.ppn, is_hosts: program.is_hosts, answered: program.answered };
            truth.begun.entry(it.lpn.0).or_default().push(begun);
        }
        self.truth = Some(truth);
    }

    /// Counts losses in the recovered map.
    pub(super) fn judge(&mut self, ftl: &Ftl, flash: &Flash, found: &PageMap) {
        let Some(truth) = &self.truth else { return };
        let report = &mut self.report;
        for lpn in (0..ftl.geometry().exported_pages()).map(Lpn) {
            let (owed, is) = (truth.durable.get(lpn), found.get(lpn));
            let begun = truth.begun.get(&lpn.0).map_or(&[][..], Vec::as_slice);
            let hosts = begun.iter().filter(|it| it.is_hosts).count() as u64;
            let before = self.at_risk.get(&lpn.0).map_or(&[][..], Vec::as_slice);
            let same = |owed: Place| match (owed.ppn(), is.ppn()) {
                (Some(owed), Some(is)) => owed == is || ftl.are_twins(flash, owed, is),
                (owed, is) => owed.is_none() && is.is_none(),
            };
            let found = begun.iter().position(|it| Some(it.ppn) == is.ppn());
            let rest = &begun[found.map_or(0, |found| found + 1)..];
            report.acknowledged_lost += u64::from(rest.iter().any(|it| it.answered));
            if same(owed) {
                report.unacknowledged_lost += hosts * u64::from(truth.served);
            } else if let Some(found) = found {
                let kept = u64::from(begun[found].is_hosts);
                if truth.served {
                    report.unacknowledged_kept += kept;
                    report.unacknowledged_lost += hosts - kept;
                }
            } else if before.iter().any(|it| same(*it)) {
                // The host has not read it yet.
            } else if before.iter().chain([&owed]).any(|it| it.ppn().is_none()) {
                // The page was trimmed, possibly before unstable data: an older copy may be found.
                report.trims_undone += 1;
            } else {
                report.durable_lost += 1;
            }
        }
    }
}

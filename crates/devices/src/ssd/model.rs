//! What can be done to a drive beside asking it: preparing, keeping, examining, reporting.

use super::ids::Lpn;
use super::sched::Scheduler;
use super::timeline::{Recorder, Timeline, Window};
use super::{Snapshot, Ssd, SsdReport, host};
use crate::{Examine, Persist, Prepare};
use engine::{Op, Request, Status, Time};

impl Prepare for Ssd {
    fn preparable_pages(&self) -> u32 {
        self.geometry().exported_pages()
    }

    fn overwrite_untimed(&mut self, pages: &[u32]) {
        assert!(
            self.clock.now == 0 && self.host.is_idle(),
            "fast-forward comes before the first request"
        );
        self.back.ftl.overwrite_untimed(&mut self.back.flash, pages);
    }

    fn serve_untimed(&mut self, request: &Request) -> Status {
        let mut status = Status::Ok;
        match request.op {
            Op::Flush => {}
            Op::Trim => status = self.back.trim(host::covered(self.geometry(), request)),
            Op::Read | Op::Write => {
                for page in host::touched(self.geometry(), request) {
                    let page = host::page_request(self.geometry(), request, Lpn(page), None);
                    let Scheduler { ftl, flash, .. } = &mut self.back;
                    status = status.and(ftl.serve_untimed(flash, &page));
                }
            }
        }
        status
    }
}

impl Persist for Ssd {
    fn save(&self) -> Option<Snapshot> {
        Some(self.snapshot())
    }

    fn restore(&mut self, snapshot: Snapshot) -> Result<(), String> {
        self.take_up(snapshot)
    }
}

impl Examine for Ssd {
    /// Erase counts stay: they are the drive's age.
    fn reset_counts(&mut self) {
        self.back.ftl.reset_counters(&self.back.flash);
    }

    fn audit(&self) -> Result<(), String> {
        self.check()
    }

    fn record_operations(&mut self, window: Window) {
        self.back.recorder = Some(Box::new(Recorder::new(window)));
    }

    fn take_operations(&mut self) -> Option<Timeline> {
        self.back.recorder.take().map(|recorder| recorder.finish(self.geometry()))
    }

    fn report(&self, end: Time) -> Option<SsdReport> {
        Some(self.account(end))
    }
}

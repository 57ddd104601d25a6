//! The untimed cache: effects of requests on both devices and the map, as far as they do not depend
//! on time.

use super::Side;
use super::config::Mode;
use super::destage::Run;
use super::device::Cache;
use super::lists::NONE;
use engine::{Lba, Op, Request, SECTOR_BYTES, Status};

impl Cache {
    /// Serves an untimed request on both devices and the map.
    pub fn serve_in_no_time(&mut self, request: &Request) -> Status {
        let Request { op, lba, sectors, .. } = *request;
        let shape = self.shape;
        let lines = shape.lines(lba.0, u64::from(sectors));
        let sectors = lba.0..lba.0 + u64::from(sectors);
        if op == Op::Flush {
            let each = [Side::Fast, Side::Backing].map(|it| self.pair.serve_untimed(it, request));
            return each[0].and(each[1]);
        }
        if self.has_hints() {
            self.heed(request);
        }
        let passes = matches!(op, Op::Read | Op::Write) && self.streams.pass(request)
            || shape.is_too_long(&lines);
        let mut status = Status::Ok;
        for line in lines {
            let own = line..line + 1;
            let (start, end) = shape.clipped(&own, &sectors);
            let whole = shape.whole(&own);
            let is_whole = (start, end) == (whole.start, whole.end);
            let there = self.places.held(line) != NONE;
            let past = Request { lba: Lba(start), sectors: (end - start) as u32, ..*request };
            let (in_cache, on_backing) = match (op, shape.mode) {
                (Op::Read, _) => (there || !passes, !there),
                (Op::Write, Mode::WriteBack) => (there || !passes, !there && (passes || !is_whole)),
                (Op::Write, Mode::WriteThrough) => (there || is_whole && !passes, true),
                _ => (false, true),
            };
            let (hits, misses) = (u64::from(there), u64::from(!there));
            match op {
                Op::Read => self.counts.reads(hits, misses),
                Op::Write => self.counts.writes(hits, misses),
                _ => {}
            }
            if on_backing {
                // The rest of a partly written line is read.
                let reads = op == Op::Write && in_cache && shape.mode == Mode::WriteBack;
                let past = if reads { Request { op: Op::Read, ..past } } else { past };
                status = status.and(self.pair.serve_untimed(Side::Backing, &past));
            }
            if in_cache {
                let dirty = op == Op::Write && shape.mode == Mode::WriteBack;
                status = status.and(self.keep_in_no_time(line, op, dirty));
            } else if there && (is_whole || op == Op::Write) {
                let slot = self.places.table().find(line);
                self.places.forget(slot);
            }
        }
        if self.asks_for_all(request) {
            self.write_back_in_no_time(false);
        }
        status
    }

    /// Uses or inserts a line.
    fn keep_in_no_time(&mut self, line: u64, op: Op, dirty: bool) -> Status {
        let mut slot = self.places.held(line);
        let comes = slot == NONE;
        if comes {
            let found = self.places.allocate(line).or_else(|| {
                self.write_back_in_no_time(true);
                self.places.allocate(line)
            });
            let Some(found) = found else { return Status::Ok };
            slot = found;
            self.places.make_clean(slot, 0);
            self.pair.note(|ledger| ledger.loaded(slot, line));
        } else {
            self.places.used(slot);
        }
        if dirty {
            self.places.make_dirty(slot, 0);
        }
        let op = if comes { Op::Write } else { op };
        let place = Lba(u64::from(slot - 1) * self.shape.line);
        let request = Request::new(0, op, place, self.shape.sectors_of(line) as u32);
        let status = self.pair.serve_untimed(Side::Fast, &request);
        if dirty && self.places.destager().is_over_high() {
            self.write_back_in_no_time(true);
        }
        status
    }

    /// Writes dirty lines back: down to the low watermark but at least one run, or all of them.
    fn write_back_in_no_time(&mut self, to_low: bool) {
        self.places.rules().want_all(true);
        while let Some(run) = self.places.begin_run(false, 0) {
            let whole = self.shape.whole(&run.lines());
            let sectors = whole.end - whole.start;
            self.counts.destage(sectors * SECTOR_BYTES);
            let write = Request::new(0, Op::Write, Lba(whole.start), sectors as u32);
            let status = self.pair.serve_untimed(Side::Backing, &write);
            let failed = !status.is_ok();
            self.places.end_run(&Run { failed, ..run }, 0);
            if failed || to_low && self.places.destager().is_at_low() {
                break;
            }
        }
        self.places.rules().want_all(false);
    }
}

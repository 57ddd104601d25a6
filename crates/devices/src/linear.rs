//! The linear model: a request of n bytes takes A + n B, with A and B of its access pattern.
//!
//! From El Maghraoui et al., *Modeling and simulating flash based solid-state disks for operating
//! systems* (2010). Its only state is the previous request; requests are served one at a time, first
//! come first served. It knows nothing of flash: no cleaning, no wear, no parallelism.

use crate::ssd::SsdReport;
use crate::{Kind, Model};
use engine::{Breakdown, Completion, Device, Op, Request, SECTOR_BYTES, Time};
use options::{Duration, Invalid, Size, options};
use std::collections::VecDeque;

options! {
    /// The service time of one access pattern.
    pub struct Pattern as PatternPartial {
        /// A: what every request costs.
        fixed: Duration = Duration::from_ns(0),
        /// B: what each KiB of it adds.
        per_kib: Duration = Duration::from_ns(0),
    }

    /// A device that follows the linear model. The defaults are the STEC Zeus drive of the paper.
    pub struct LinearConfig as LinearPartial {
        /// What the host may address.
        size: Size = Size::from_bytes(64 << 30),
        /// A read that begins where the read before it ended.
        sequential_read: Pattern = pattern(127_500, 4_005),
        /// Any other read.
        random_read: Pattern = pattern(230_600, 3_987),
        /// A write that begins where the write before it ended.
        sequential_write: Pattern = pattern(2_167_000, 4_960),
        /// Any other write.
        random_write: Pattern = pattern(770_000, 5_382),
    }
}

fn pattern(fixed_ns: u64, per_kib_ns: u64) -> Pattern {
    Pattern { fixed: Duration::from_ns(fixed_ns), per_kib: Duration::from_ns(per_kib_ns) }
}

impl Kind for LinearConfig {
    const SUMMARY: &'static str = "The linear model: A + n B per access pattern, one at a time.";

    fn build(&self, _seed: u64) -> Result<Box<dyn Model>, Invalid> {
        if self.size.bytes() < SECTOR_BYTES {
            let problem = format!("{} is less than a sector of 512B", self.size);
            return Err(Invalid::new(&["device.size"], problem));
        }
        let patterns = [
            ("device.sequential_read", &self.sequential_read),
            ("device.random_read", &self.random_read),
            ("device.sequential_write", &self.sequential_write),
            ("device.random_write", &self.random_write),
        ];
        for (section, pattern) in patterns {
            for (key, time) in [("fixed", pattern.fixed), ("per_kib", pattern.per_kib)] {
                if time.ns() > 1_000_000_000 {
                    let problem = format!("{time} is too long; at most 1s");
                    return Err(Invalid::new(&[&format!("{section}.{key}")], problem));
                }
            }
        }
        Ok(Box::new(Linear { config: self.clone(), ..Linear::default() }))
    }
}

/// A device that follows the linear model.
#[derive(Debug, Clone, Default)]
pub struct Linear {
    config: LinearConfig,
    /// Requests with the instant of their submission; the first is being served.
    queue: VecDeque<(Time, Request)>,
    /// When the service of the first ends, and its share in the fixed part, ns.
    service: Option<(Time, Time)>,
    /// The direction and end of the previous read or write.
    previous: Option<(Op, u64)>,
    started: Time,
}

impl Linear {
    /// The fixed and the growing part of a request's service time, ns.
    fn cost(&mut self, request: &Request) -> (Time, Time) {
        // The model has no costs for requests that move no data.
        if !matches!(request.op, Op::Read | Op::Write) {
            return (0, 0);
        }
        let sequential = self.previous == Some((request.op, request.lba.0));
        self.previous = Some((request.op, request.lba.0 + u64::from(request.sectors)));
        let pattern = match (request.op, sequential) {
            (Op::Read, true) => &self.config.sequential_read,
            (Op::Read, false) => &self.config.random_read,
            (_, true) => &self.config.sequential_write,
            (_, false) => &self.config.random_write,
        };
        let growing = u128::from(request.bytes()) * u128::from(pattern.per_kib.ns());
        (pattern.fixed.ns(), ((growing + 512) / 1024) as Time)
    }

    fn begin(&mut self, now: Time) {
        if let Some((_, request)) = self.queue.front().copied() {
            let (fixed, growing) = self.cost(&request);
            self.started = now;
            self.service = Some((now + fixed + growing, fixed));
        }
    }
}

impl Device for Linear {
    fn submit(&mut self, now: Time, request: Request) {
        self.queue.push_back((now, request));
        if self.service.is_none() {
            self.begin(now);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.service.map(|(end, _)| end)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some((at, cell)) = self.service.filter(|(end, _)| *end <= to) {
            let (submitted, request) = self.queue.pop_front().expect("the first is being served");
            let breakdown = Breakdown {
                unit_wait: self.started - submitted,
                bus: at - self.started - cell,
                cell,
                ..Breakdown::default()
            };
            completions.push(Completion { request, submitted, at, breakdown });
            self.service = None;
            self.begin(at);
        }
    }

    fn capacity_sectors(&self) -> u64 {
        self.config.size.bytes() / SECTOR_BYTES
    }
}

impl Model for Linear {
    fn preparable_pages(&self) -> u32 {
        0
    }

    fn overwrite_untimed(&mut self, _pages: &[u32]) {}

    fn reset_counts(&mut self) {}

    fn audit(&self) -> Result<(), String> {
        Ok(())
    }

    fn report(&self, _end: Time) -> Option<SsdReport> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Lba;

    /// Latencies of requests submitted one after the other's completion.
    fn latencies(requests: &[(Op, u64, u32)]) -> Vec<Time> {
        let mut device = LinearConfig::default().build(0).unwrap();
        let (mut now, mut done) = (0, Vec::new());
        for (op, lba, sectors) in requests {
            device.submit(now, Request { id: 0, op: *op, lba: Lba(*lba), sectors: *sectors });
            now = device.next_event().unwrap();
            device.advance(now, &mut done);
        }
        done.iter().map(Completion::latency).collect()
    }

    #[test]
    fn each_pattern_has_its_line() {
        let requests = [
            (Op::Read, 0, 8),
            (Op::Read, 8, 8),
            (Op::Read, 8, 8),
            (Op::Write, 16, 8),
            (Op::Write, 24, 2048),
            (Op::Read, 2072, 1),
        ];
        let expected = [
            230_600 + 4 * 3_987,
            127_500 + 4 * 4_005,
            230_600 + 4 * 3_987,
            770_000 + 4 * 5_382,
            2_167_000 + 1024 * 4_960,
            // Half a KiB, rounded to the nearest; a read after a write is never sequential.
            230_600 + 1_994,
        ];
        assert_eq!(latencies(&requests), expected);
    }

    #[test]
    fn throughput_is_the_paper_s() {
        // MB/s at 4, 64 and 1024 KiB from A + n B (sequential read, random read).
        for (kib, sequential, random) in [(4, 28.5, 16.6), (64, 170.8, 134.9), (1024, 248.0, 243.1)]
        {
            let times =
                latencies(&[(Op::Read, 8, kib * 2), (Op::Read, 8 + u64::from(kib) * 2, kib * 2)]);
            let rate = |ns: Time| f64::from(kib) * 1024.0 / ns as f64 * 1000.0;
            assert!((rate(times[1]) - sequential).abs() < 0.1, "{kib}: {}", rate(times[1]));
            assert!((rate(times[0]) - random).abs() < 0.1, "{kib}: {}", rate(times[0]));
        }
    }

    #[test]
    fn requests_are_served_one_at_a_time() {
        let mut device = LinearConfig::default().build(0).unwrap();
        for id in 0..2 {
            let request = Request { id, op: Op::Read, lba: Lba(id * 100), sectors: 8 };
            device.submit(1000 * id, request);
        }
        let mut done = Vec::new();
        let service = 230_600 + 4 * 3_987;
        device.advance(2 * service - 1, &mut done);
        assert_eq!(done.len(), 1);
        device.advance(2 * service, &mut done);
        assert_eq!(done[1].breakdown.unit_wait, service - 1000);
        assert_eq!(done[1].breakdown.total(), done[1].latency());
    }

    #[test]
    fn impossible_devices_are_refused() {
        let tiny = LinearConfig { size: Size::from_bytes(100), ..LinearConfig::default() };
        assert_eq!(tiny.build(0).err().unwrap().keys, ["device.size"]);
        let random_read = pattern(2_000_000_000, 0);
        let slow = LinearConfig { random_read, ..LinearConfig::default() };
        assert_eq!(slow.build(0).err().unwrap().keys, ["device.random_read.fixed"]);
    }
}

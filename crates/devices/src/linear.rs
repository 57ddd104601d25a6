//! The linear model: a request of n bytes takes A + n B, with A and B of its access pattern.
//!
//! From El Maghraoui et al., *Modeling and simulating flash based solid-state disks for operating
//! systems* (2010). Requests are served one at a time. `piecewise` and `parallel` extend it.

use crate::served::{Access, LONGEST_NS, Law, Served, ServedEnergy, check_size};
use crate::{DeviceKind, Model, Supplied, Tick, Unbuilt};
use engine::Time;
use options::{Duration, Invalid, Size, options};

options! {
    /// The service time of one access pattern.
    pub struct Pattern as PatternPartial {
        /// A: fixed time per request.
        fixed: Duration = Duration::from_ns(0),
        /// B: additional time per KiB.
        per_kib: Duration = Duration::from_ns(0),
    }

    /// A device that follows the linear model. The defaults are the STEC Zeus drive of the paper.
    pub struct LinearConfig as LinearPartial {
        /// Exported capacity.
        size: Size = Size::from_bytes(64 << 30),
        /// A read that begins where the read before it ended.
        sequential_read: Pattern = pattern(127_500, 4_005),
        /// Any other read.
        random_read: Pattern = pattern(230_600, 3_987),
        /// A write that begins where the write before it ended.
        sequential_write: Pattern = pattern(2_167_000, 4_960),
        /// Any other write.
        random_write: Pattern = pattern(770_000, 5_382),
        /// Its power consumption.
        energy: ServedEnergy = ServedEnergy::default(),
    }
}

fn pattern(fixed_ns: u64, per_kib_ns: u64) -> Pattern {
    Pattern { fixed: Duration::from_ns(fixed_ns), per_kib: Duration::from_ns(per_kib_ns) }
}

impl DeviceKind for LinearConfig {
    const SUMMARY: &'static str =
        "The linear model: A + n B per access pattern, one request at a time.";

    fn build_watched(
        &self,
        _seed: u64,
        _: &Supplied,
        _: Tick<'_>,
    ) -> Result<Box<dyn Model>, Unbuilt> {
        check_size(self.size)?;
        self.energy.check()?;
        let patterns = [
            ("device.sequential_read", &self.sequential_read),
            ("device.random_read", &self.random_read),
            ("device.sequential_write", &self.sequential_write),
            ("device.random_write", &self.random_write),
        ];
        for (section, pattern) in patterns {
            for (key, time) in [("fixed", pattern.fixed), ("per_kib", pattern.per_kib)] {
                if time.ns() > LONGEST_NS {
                    let problem = format!("{time} is too long; at most 1s");
                    return Err(Invalid::new(&[&format!("{section}.{key}")], problem).into());
                }
            }
        }
        Ok(Box::new(Served::new(self.clone())))
    }
}

impl Law for LinearConfig {
    fn energy(&self) -> &ServedEnergy {
        &self.energy
    }

    fn size(&self) -> Size {
        self.size
    }

    fn cost(&self, access: Access, bytes: u64, _outstanding: usize) -> (Time, Time) {
        let pattern = match access {
            Access::SequentialRead => &self.sequential_read,
            Access::RandomRead => &self.random_read,
            Access::SequentialWrite => &self.sequential_write,
            Access::RandomWrite => &self.random_write,
        };
        (pattern.fixed.ns(), growing_ns(pattern.per_kib, bytes))
    }
}

/// Time of `bytes` at a rate per KiB, ns, rounded to the nearest.
pub(crate) fn growing_ns(per_kib: Duration, bytes: u64) -> Time {
    ((u128::from(bytes) * u128::from(per_kib.ns()) + 512) / 1024) as Time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::UNIT_WAIT;
    use crate::served;
    use engine::{Lba, Op, Request};

    fn latencies(requests: &[(Op, u64, u32)]) -> Vec<Time> {
        served::latencies(LinearConfig::default().build(0).unwrap().as_mut(), requests)
    }

    #[test]
    fn each_access_pattern_has_its_own_line() {
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
            let request = Request::new(id, Op::Read, Lba(id * 100), 8);
            device.submit(1000 * id, request);
        }
        let mut done = Vec::new();
        let service = 230_600 + 4 * 3_987;
        device.advance(2 * service - 1, &mut done);
        assert_eq!(done.len(), 1);
        device.advance(2 * service, &mut done);
        assert_eq!(done[1].breakdown[UNIT_WAIT], service - 1000);
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

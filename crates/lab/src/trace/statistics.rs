//! Statistics of a trace, from one pass over its requests in file order.
//!
//! Requests are reads, writes and trims; flushes, which have no sectors, are counted separately.
//! Shares are relative to reads and writes. The span is the sum over the devices.

use super::arrivals::Arrivals;
use super::bytes::number;
use super::density::Density;
use super::pages::Pages;
use super::sketch::WorkingSet;
use engine::{Op, SECTOR_BYTES};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workloads::Record;

/// Sectors in a page of 4 KiB.
const PAGE_SECTORS: u64 = 8;
const PAGE_BYTES: u128 = 4096;

/// Maximum size of a request in the working set over time: larger ones cover whole devices, and
/// would take time in proportion to their pages.
const WORKING_SET_SECTORS: u64 = 1 << 21;

/// Number of recent seconds with open counts, so that late requests are still counted.
const OPEN_SECONDS: usize = 4096;

const NS_PER_S: u64 = 1_000_000_000;

/// Number of requests of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ByOp([u64; Op::BLOCK.len()]);

impl ByOp {
    fn add(&mut self, op: Op) {
        for (count, known) in self.0.iter_mut().zip(Op::BLOCK) {
            *count += u64::from(known == op);
        }
    }

    fn of(&self, op: Op) -> u64 {
        Op::BLOCK.iter().position(|known| *known == op).map_or(0, |place| self.0[place])
    }
}

/// Number of requests by size, rounded up to powers of two of sectors.
#[derive(Debug, Default)]
struct Sizes(BTreeMap<u64, ByOp>);

impl Sizes {
    fn add(&mut self, op: Op, sectors: u32) {
        self.0.entry(u64::from(sectors).next_power_of_two()).or_default().add(op);
    }

    fn to_json(&self) -> Value {
        let row = |(sectors, counts): (&u64, &ByOp)| {
            json!({
                "up_to_bytes": sectors * SECTOR_BYTES,
                "reads": counts.of(Op::Read),
                "writes": counts.of(Op::Write),
                "trims": counts.of(Op::Trim),
            })
        };
        self.0.iter().map(row).collect()
    }
}

/// The busiest second.
#[derive(Debug, Default)]
struct Peak {
    /// Requests and bytes in the newest seconds.
    open: BTreeMap<u64, (u64, u64)>,
    requests: u64,
    bytes: u64,
}

impl Peak {
    fn add(&mut self, second: u64, bytes: u64) {
        let (requests, sum) = self.open.entry(second).or_default();
        *requests += 1;
        *sum += bytes;
        self.requests = self.requests.max(*requests);
        self.bytes = self.bytes.max(*sum);
        if self.open.len() > OPEN_SECONDS {
            self.open.pop_first();
        }
    }
}

/// Alignment of requests to pages.
#[derive(Debug, Default)]
struct Alignment {
    /// Requests that begin inside a page.
    inside_page: u64,
    /// Requests that begin or end inside a page.
    not_whole: u64,
    /// Starts by sector within a page.
    starts: [u64; PAGE_SECTORS as usize],
}

impl Alignment {
    fn add(&mut self, sector: u64, end: u64) {
        self.inside_page += u64::from(!sector.is_multiple_of(PAGE_SECTORS));
        self.not_whole += u64::from(!(sector | end).is_multiple_of(PAGE_SECTORS));
        self.starts[(sector % PAGE_SECTORS) as usize] += 1;
    }
}

/// State of a device's requests.
#[derive(Debug, Default)]
struct Touched {
    /// End of the last request.
    end: Option<u64>,
    /// Range from the lowest to the highest sector.
    extent: Option<(u64, u64)>,
}

/// Cumulative statistics.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    counts: ByOp,
    fua: u64,
    /// Bytes read and written.
    bytes: u128,
    trimmed: u128,
    sizes: Sizes,
    pages: Pages,
    devices: BTreeMap<u32, Touched>,
    arrivals: Arrivals,
    peak: Peak,
    working_set: WorkingSet,
    density: Density,
    sequential: u64,
    alignment: Alignment,
    /// Capacity of the target device, sectors.
    capacity: Option<u64>,
    beyond: u64,
}

impl Statistics {
    /// Empty statistics, for a target device of `capacity` sectors, if given.
    pub(super) fn new(capacity: Option<u64>) -> Self {
        Statistics { capacity, ..Statistics::default() }
    }

    /// Adds the next request.
    pub(super) fn record(&mut self, record: &Record) {
        let Record { device, op, sector, sectors, fua, .. } = *record;
        // An append is a write to a position chosen by the drive; other zone requests move no data.
        let op = if op == Op::Append { Op::Write } else { op };
        let bytes = u64::from(sectors) * SECTOR_BYTES;
        self.counts.add(op);
        self.fua += u64::from(fua);
        // A trim moves no data.
        let (moved, trimmed) = if op == Op::Trim { (0, bytes) } else { (bytes, 0) };
        self.bytes += u128::from(moved);
        self.trimmed += u128::from(trimmed);
        let since = self.arrivals.add(record);
        self.peak.add(since / NS_PER_S, moved);
        let known = self.devices.entry(device).or_default();
        if op == Op::Flush || !op.is_block() {
            return;
        }
        let end = sector.saturating_add(u64::from(sectors));
        self.beyond += u64::from(self.capacity.is_some_and(|capacity| end > capacity));
        let follows = known.end == Some(sector);
        known.end = Some(end);
        let (low, high) = known.extent.unwrap_or((sector, end));
        known.extent = Some((low.min(sector), high.max(end)));
        self.sizes.add(op, sectors);
        let (first_page, end_page) = (sector / PAGE_SECTORS, end.div_ceil(PAGE_SECTORS));
        self.pages.insert(device, first_page, end_page);
        self.density.insert(since, sector, op == Op::Read);
        if op == Op::Trim {
            return;
        }
        self.sequential += u64::from(follows);
        self.alignment.add(sector, end);
        if u64::from(sectors) <= WORKING_SET_SECTORS {
            self.working_set.insert(since, device, first_page, end_page);
        }
    }

    /// All statistics, under the names of the command line.
    pub(super) fn to_json(&self) -> Value {
        let ByOp([reads, writes, trims, flushes]) = self.counts;
        let directed = reads + writes;
        let requests = directed + trims;
        let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let duration = self.arrivals.duration_ns() as f64 / 1e9;
        let per_second = |amount: f64| (duration > 0.0).then(|| amount / duration);
        let extents = self.devices.values().filter_map(|device| device.extent);
        let span: u128 = extents.map(|(low, high)| u128::from(high - low)).sum();
        let working_set: Vec<u64> =
            self.working_set.counts().map(|pages| pages * PAGE_SECTORS * SECTOR_BYTES).collect();
        json!({
            "requests": requests,
            "reads": reads,
            "writes": writes,
            "trims": trims,
            "flushes": flushes,
            "fua": self.fua,
            "read_share": share(reads, directed),
            "total_bytes": number(self.bytes),
            "trimmed_bytes": number(self.trimmed),
            "mean_bytes": (directed > 0).then(|| self.bytes as f64 / directed as f64),
            "footprint_bytes": number(u128::from(self.pages.count()) * PAGE_BYTES),
            "span_bytes": number(span * u128::from(SECTOR_BYTES)),
            "start_seconds": self.arrivals.earliest as f64 / 1e9,
            "duration_seconds": duration,
            "devices": self.devices.len(),
            "backward_steps": self.arrivals.backward_steps,
            "sequential_share": share(self.sequential, directed),
            "alignment": {
                "misaligned_share": share(self.alignment.not_whole, directed),
                "misaligned_start_share": share(self.alignment.inside_page, directed),
                "starts_by_sector_in_page": self.alignment.starts,
            },
            "rates": {
                "mean_requests_per_second": per_second(requests as f64),
                "peak_requests_per_second": self.peak.requests,
                "mean_bytes_per_second": per_second(self.bytes as f64),
                "peak_bytes_per_second": self.peak.bytes,
            },
            "inter_arrival": {
                "mean_seconds": self.arrivals.gaps.mean_ns().map(|mean| mean / 1e9),
                "variation": self.arrivals.gaps.variation(),
            },
            "oddities": {
                "duplicates": self.arrivals.duplicates,
                "largest_backward_step_seconds": self.arrivals.largest_backward_step as f64 / 1e9,
                "beyond_device": self.capacity.map(|_| self.beyond),
                "largest_gap_seconds": self.arrivals.gaps.largest_ns as f64 / 1e9,
            },
            "sizes": self.sizes.to_json(),
            "working_set": {
                "bucket_seconds": self.working_set.width_ns() as f64 / 1e9,
                "bytes": working_set,
            },
            "density": self.density.to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Time;

    const MS: Time = 1_000_000;

    fn found(records: &[(Time, u32, Op, u64, u32)]) -> Value {
        let mut statistics = Statistics::default();
        for &(at, device, op, sector, sectors) in records {
            statistics.record(&Record {
                at,
                device,
                op,
                sector,
                sectors,
                fua: false,
                handle: engine::Handle::NONE,
            });
        }
        statistics.to_json()
    }

    #[test]
    fn counts_sizes_and_places() {
        let info = found(&[
            (10 * MS, 0, Op::Read, 0, 8),
            (20 * MS, 0, Op::Write, 8, 16),
            (20 * MS, 1, Op::Write, 8, 1),
            (15 * MS, 0, Op::Write, 20, 8),
            (30 * MS, 0, Op::Trim, 800, 8),
            (30 * MS, 0, Op::Flush, 0, 0),
        ]);
        let expected = [
            ("requests", json!(5)),
            ("reads", json!(1)),
            ("writes", json!(3)),
            ("trims", json!(1)),
            ("flushes", json!(1)),
            ("read_share", json!(0.25)),
            ("total_bytes", json!(33 * 512)),
            ("trimmed_bytes", json!(8 * 512)),
            ("mean_bytes", json!(4224.0)),
            // Pages 0, 1, 2, 3 and 100 of device 0, page 1 of device 1.
            ("footprint_bytes", json!(6 * 4096)),
            ("span_bytes", json!((808 + 1) * 512)),
            ("start_seconds", json!(0.01)),
            ("duration_seconds", json!(0.02)),
            ("devices", json!(2)),
            ("backward_steps", json!(1)),
            // The second request of device 0 begins at the end of the first.
            ("sequential_share", json!(0.25)),
        ];
        for (key, value) in expected {
            assert_eq!(info[key], value, "{key}");
        }
        let alignment = &info["alignment"];
        assert_eq!(alignment["misaligned_share"], 0.5);
        assert_eq!(alignment["misaligned_start_share"], 0.25);
        assert_eq!(alignment["starts_by_sector_in_page"], json!([3, 0, 0, 0, 1, 0, 0, 0]));
        assert_eq!(info["oddities"]["largest_backward_step_seconds"], 0.005);
        assert_eq!(info["oddities"]["largest_gap_seconds"], 0.01);
        let sizes = json!([
            {"up_to_bytes": 512, "reads": 0, "writes": 1, "trims": 0},
            {"up_to_bytes": 4096, "reads": 1, "writes": 1, "trims": 1},
            {"up_to_bytes": 8192, "reads": 0, "writes": 1, "trims": 0},
        ]);
        assert_eq!(info["sizes"], sizes);
    }

    #[test]
    fn even_arrivals_do_not_vary_and_bursts_do() {
        let at = |times: &[Time]| -> Value {
            let records: Vec<_> = times.iter().map(|at| (at * MS, 0, Op::Read, 0, 8)).collect();
            found(&records)
        };
        let even = at(&[0, 500, 1000, 1500, 2000]);
        assert_eq!(even["inter_arrival"]["mean_seconds"], 0.5);
        assert_eq!(even["inter_arrival"]["variation"], 0.0);
        assert_eq!(even["rates"]["peak_requests_per_second"], 2);
        assert_eq!(even["rates"]["mean_requests_per_second"], 2.5);
        let bursts = at(&[0, 0, 0, 0, 2000]);
        assert!(bursts["inter_arrival"]["variation"].as_f64().unwrap() > 1.7);
        assert_eq!(bursts["rates"]["peak_requests_per_second"], 4);
        assert_eq!(bursts["oddities"]["duplicates"], 3);
    }

    #[test]
    fn requests_beyond_a_device_are_counted_when_one_is_meant() {
        let record = |sector, sectors| Record {
            at: 0,
            device: 0,
            op: Op::Read,
            sector,
            sectors,
            fua: false,
            handle: engine::Handle::NONE,
        };
        for (capacity, beyond) in [(None, Value::Null), (Some(16), json!(2)), (Some(17), json!(1))]
        {
            let mut statistics = Statistics::new(capacity);
            for (sector, sectors) in [(8, 8), (9, 8), (100, 8)] {
                statistics.record(&record(sector, sectors));
            }
            assert_eq!(statistics.to_json()["oddities"]["beyond_device"], beyond);
        }
    }

    #[test]
    fn empty_traces_and_extreme_requests_have_statistics() {
        let nothing = found(&[]);
        assert_eq!(nothing["requests"], 0);
        assert_eq!(nothing["read_share"], Value::Null);
        let sectors = u32::MAX;
        let extremes = found(&[
            (0, 0, Op::Trim, u64::MAX - u64::from(sectors), sectors),
            (Time::MAX, u32::MAX, Op::Write, 0, sectors),
        ]);
        assert_eq!(extremes["devices"], 2);
        assert_eq!(extremes["footprint_bytes"], 2_u64 << 41);
    }
}

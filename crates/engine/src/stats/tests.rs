//! Moments, percentiles and series against sorted lists.

use super::*;
use crate::{Lba, Op, Part, Request, Status};

fn completion(at: Time, latency: Time) -> Completion {
    let request = Request::new(0, Op::Read, Lba(0), 8);
    let breakdown = Breakdown::of(Part(5), latency);
    Completion { request, submitted: at - latency, at, breakdown, status: Status::Ok }
}

#[test]
fn moments_are_exact_and_percentiles_close() {
    let mut stats = LatencyStats::new();
    for latency in 1..=1000 {
        stats.record(&completion(2_000_000, latency * 1000));
    }
    assert_eq!(stats.requests(), 1000);
    assert_eq!(stats.bytes(), 4_096_000);
    assert!((stats.mean_ns() - 500_500.0).abs() < 1e-9);
    assert!((stats.std_ns() - 288_674.99).abs() < 0.01);
    assert_eq!((stats.min_ns(), stats.max_ns()), (1000, 1_000_000));
    let p99 = stats.histogram().percentile_ns(99.0) as f64;
    assert!((p99 / 990_000.0 - 1.0).abs() < 0.001, "{p99}");
    assert!((stats.mean_breakdown_ns().iter().sum::<f64>() - stats.mean_ns()).abs() < 1e-6);
}

/// Percentiles and merging, compared with a sorted list.
#[test]
fn percentiles_are_those_of_a_sorted_list_and_parts_make_the_whole() {
    for count in [1_usize, 2, 3, 7, 100, 1001] {
        let mut latencies: Vec<Time> = (1..=count as u64)
            .map(|it| 1 + it.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << (8 + it % 20)))
            .collect();
        let (mut whole, mut parts) = (LatencyStats::new(), [(); 3].map(|()| LatencyStats::new()));
        for (number, latency) in latencies.iter().enumerate() {
            let it = completion(1 << 40, *latency);
            whole.record(&it);
            parts[number % 3].record(&it);
        }
        let mut merged = LatencyStats::new();
        for part in &parts {
            merged.merge(part);
        }
        latencies.sort_unstable();
        let exact = latencies.iter().map(|it| *it as f64);
        let mean = exact.clone().sum::<f64>() / count as f64;
        let variance = exact.map(|it| (it - mean).powi(2)).sum::<f64>() / count as f64;
        for stats in [&whole, &merged] {
            assert_eq!(stats.requests(), count as u64);
            assert!((stats.mean_ns() - mean).abs() <= 1e-9 * mean);
            assert!((stats.std_ns() - variance.sqrt()).abs() <= 1e-6 * mean + 1e-6);
            assert_eq!(stats.min_ns(), latencies[0]);
            assert_eq!(stats.max_ns(), latencies[count - 1]);
            for percent in [0.1, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0] {
                // The smallest sorted value that covers the percentage.
                let rank = ((percent / 100.0 * count as f64).ceil() as usize).max(1);
                let (found, exact) =
                    (stats.histogram().percentile_ns(percent), latencies[rank - 1]);
                assert!(found >= exact, "{count}, p{percent}: {found} < {exact}");
                assert!(found <= exact + exact / 500, "{count}, p{percent}: {found} > {exact}");
            }
        }
    }
}

#[test]
fn what_lies_between_ranks_adds_up_and_tells_slow_requests_from_fast_ones() {
    let mut stats = LatencyStats::new();
    for number in 0..1000 {
        let (part, latency) = if number < 900 { (5, 1000 + number) } else { (3, 60_000) };
        let mut it = completion(2_000_000, latency);
        it.breakdown = Breakdown::of(Part(part), latency);
        stats.record(&it);
    }
    let bands = stats.between(&[0.0, 0.5, 0.9, 0.99, 0.999, 1.0]);
    assert_eq!(bands.iter().map(|it| it.requests).collect::<Vec<_>>(), [500, 400, 90, 9, 1]);
    for (place, sum) in stats.mean_breakdown_ns().iter().enumerate() {
        let parts: f64 = bands.iter().map(|it| it.parts_ns[place]).sum();
        assert!((parts / 1000.0 - sum).abs() < 1e-6, "part {place}");
    }
    assert!(bands[..2].iter().all(|it| it.parts_ns[3] == 0.0 && it.parts_ns[5] > 0.0));
    for slow in &bands[2..] {
        assert_eq!((slow.parts_ns[3], slow.parts_ns[5]), (60_000.0 * slow.requests as f64, 0.0));
    }
    // Ranks within a bin are interpolated: exact to the width of a bin, an eighth.
    let half: f64 = (1000..1500).map(f64::from).sum();
    assert!((bands[0].parts_ns[5] / half - 1.0).abs() < 0.125);
    let mut merged = LatencyStats::new();
    merged.merge(&stats);
    assert_eq!(merged.between(&[0.0, 0.5, 1.0]), stats.between(&[0.0, 0.5, 1.0]));
    assert_eq!(LatencyStats::new().between(&[0.0, 1.0])[0].requests, 0);
}

#[test]
fn the_histogram_counts_every_request_once_in_bins_of_an_eighth_octave() {
    let mut stats = LatencyStats::new();
    for latency in [0, 7, 8, 100, 103, 104, 1_000_000, 1_000_001] {
        stats.record(&completion(2_000_000, latency));
    }
    let bins = stats.histogram().bins();
    assert_eq!(bins, [(1, 1), (8, 1), (9, 1), (104, 2), (112, 1), (1_048_576, 2)]);
    for latency in 1..5000 {
        stats.record(&completion(2_000_000, latency * 377));
    }
    let bins = stats.histogram().bins();
    assert_eq!(bins.iter().map(|(_, requests)| requests).sum::<u64>(), stats.requests());
    assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(bins.len() < 8 * 22);
}

#[test]
fn merging_equals_recording_together() {
    let (mut left, mut right, mut both) =
        (LatencyStats::new(), LatencyStats::new(), LatencyStats::new());
    for latency in 1..100 {
        let side = if latency % 3 == 0 { &mut left } else { &mut right };
        side.record(&completion(1000, latency));
        both.record(&completion(1000, latency));
    }
    left.merge(&right);
    assert_eq!(left.requests(), both.requests());
    assert_eq!(left.histogram().percentile_ns(50.0), both.histogram().percentile_ns(50.0));
    assert_eq!((left.min_ns(), left.max_ns()), (both.min_ns(), both.max_ns()));
}

#[test]
fn figures_are_sampled_at_the_ends_of_bins_whatever_their_width() {
    let mut series = TimeSeries::new();
    let counts = |erases| Followed([0, erases, 0, 0, 0, 0, 0]);
    // An erase every 300 us; nothing happens between 100 ms and 150 ms.
    let mut next = 0;
    for number in 0..2000u64 {
        let now = number * 300_000 + if number * 300_000 > 100_000_000 { 50_000_000 } else { 0 };
        if now >= next {
            next = series.sample(now, counts(number));
        }
    }
    assert_eq!(series.bin_ns(), 4_000_000);
    for (bin, figures) in series.followed().iter().enumerate() {
        let end = (bin as Time + 1) * 4_000_000;
        let expected = match end {
            0..=100_000_000 => end.div_ceil(300_000),
            100_000_001..=150_000_000 => 334,
            _ => (end - 50_000_000).div_ceil(300_000),
        };
        assert_eq!(figures.0[1], expected, "bin {bin}");
    }
    assert_eq!(series.followed().len(), 162);
}

#[test]
fn the_median_of_a_bin_is_that_of_its_requests_however_often_bins_are_joined() {
    let mut series = TimeSeries::new();
    // Half of each bin's requests take 5 us, 40 % take 50 us, 10 % take 2 ms. In the last tenth
    // of the run all take 1 ms.
    for number in 0..10_000u64 {
        let latency = match number % 10 {
            _ if number >= 9_000 => 1_000_000,
            0..5 => 5_000,
            5..9 => 50_000,
            _ => 2_000_000,
        };
        series.record(number * 1_000_000, &completion(number * 1_000_000 + latency, latency));
    }
    assert_eq!(series.bin_ns(), 64_000_000);
    let near = |found: Option<Time>, ns: f64| (found.unwrap() as f64 / ns - 1.0).abs() < 0.02;
    let (median, slow) = (series.at_share(0.4), series.at_share(0.99));
    assert_eq!(median.len(), series.bins().len());
    for bin in 0..140 {
        assert!(near(median[bin], 5e3) && near(slow[bin], 2e6), "{bin}: {:?}", median[bin]);
        assert!(near(series.at_share(0.8)[bin], 5e4));
    }
    for bin in 141..median.len() {
        assert!(near(median[bin], 1e6) && near(slow[bin], 1e6), "{bin}: {:?}", median[bin]);
    }
    let mut gaps = TimeSeries::new();
    gaps.record(0, &completion(5_000, 5_000));
    gaps.record(3_000_000, &completion(3_005_000, 5_000));
    assert_eq!(gaps.at_share(0.5)[1..3], [None, None]);
    assert!(near(gaps.at_share(0.5)[3], 5e3));
}

#[test]
fn a_series_loses_nothing_as_it_grows() {
    let mut series = TimeSeries::new();
    for i in 0..10_000u64 {
        series.record(i * 1_000_000, &completion(i * 1_000_000 + 5000, 5000));
    }
    assert!(series.bins().len() <= TimeSeries::BINS);
    assert_eq!(series.bins().iter().map(|bin| bin.requests).sum::<u64>(), 10_000);
}

//! `Diff-RAID` (Balakrishnan, Kadav, Prabhakaran and Malkhi, 2010): members that hold more parity age
//! sooner, so that they do not all fail at once.

use crate::common;
use crate::raid::{array, build};
use devices::array::{ArrayConfig, Redundancy};
use devices::ssd::SsdConfig;
use devices::{DeviceConfig, Field};
use engine::{Random, Xoshiro256};
use options::Size;

/// Erasures of each of five members under random writes.
fn aged(share: &str) -> Vec<f64> {
    // The spare space is so large that nothing is moved; otherwise hot data on a member would add to its
    // wear.
    let (fill, spare_factor) = (common::fill("full"), Some(0.95));
    let drive = SsdConfig { spare_factor, fill, blocks_per_plane: 256, ..common::small() };
    let config = ArrayConfig {
        parity_share: share.parse().unwrap(),
        stripe: Size::from_bytes(4096),
        member: DeviceConfig::Ssd(Box::new(drive)),
        ..array(Redundancy::Parity, 5)
    };
    let mut device = build(&config);
    let (pages, mut random) = (device.facts().pages, Xoshiro256::new(1, 0));
    let mut erases = |overwrites: u64| -> Vec<f64> {
        let all: Vec<u64> = (0..overwrites * pages).map(|_| random.below(pages)).collect();
        device.overwrite_untimed(&all, 0);
        let report = device.report(0);
        let Some(Field::Map(map)) = report.field("wear.map") else { panic!("no map") };
        let of_member = |member: usize| -> f64 {
            let own = map.rows.iter().filter(|it| it.0.starts_with(&format!("member {member} ")));
            own.flat_map(|(_, cells)| cells).map(|cell| cell.erases as f64).sum()
        };
        (0..5).map(of_member).collect()
    };
    // The first erasure comes when the erased blocks are used up, later on a member that is written
    // less.
    let (before, after) = (erases(40), erases(60));
    after.iter().zip(before).map(|(after, before)| after - before).collect()
}

#[test]
fn members_age_by_their_share_of_the_parity() {
    let rows = [
        ("100,0,0,0,0", 4.0),
        ("80,5,5,5,5", 2.957),
        ("60,10,10,10,10", 2.154),
        ("40,15,15,15,15", 1.517),
        ("equal", 1.0),
    ];
    for (share, expected) in rows {
        let aged = aged(share);
        let found = aged[0] / (aged[1..].iter().sum::<f64>() / 4.0);
        println!("{share}: {found:.3}, {expected}");
        assert!((found / expected - 1.0).abs() < 0.01, "{share}: {found} for {expected}");
    }
}

/// How old the oldest of the others is whenever a member is replaced, as a share of a life: the replaced one
/// is new, and most of the parity moves to the oldest. `rates` says how the members age while most
/// parity is on one.
fn next_oldest(replacements: usize, rates: impl Fn(usize) -> Vec<f64>) -> Vec<f64> {
    let mut ages = [0.0; 5];
    let mut hot = 0;
    let mut found = Vec::new();
    for _ in 0..replacements {
        let rates = rates(hot);
        let time = (1.0 - ages[hot]) / rates[hot];
        for (age, rate) in ages.iter_mut().zip(rates) {
            *age += rate * time;
        }
        ages[hot] = 0.0;
        let oldest = (0..5).rev().max_by(|a, b| ages[*a].total_cmp(&ages[*b])).unwrap();
        found.push(ages[oldest]);
        hot = oldest;
    }
    found
}

/// A member that replaces the oldest begins a row of ages: none is near its end with another.
#[test]
fn after_replacements_members_go_on_ageing_apart() {
    let share = |hot: usize| {
        let shares = (0..5).map(|it| if it == hot { "80" } else { "5" });
        shares.collect::<Vec<_>>().join(",")
    };
    let simulated: Vec<Vec<f64>> = (0..5).map(|hot| aged(&share(hot))).collect();
    let found = next_oldest(12, |hot| simulated[hot].clone());
    // A member with the share p of the parity is written p (N - 1) + 1 - p times for each write.
    let written = |p: f64| p * 4.0 + 1.0 - p;
    let law = |hot: usize| {
        (0..5).map(|it| if it == hot { written(0.8) } else { written(0.05) }).collect::<Vec<_>>()
    };
    let expected = next_oldest(12, law);
    println!("{found:.3?} {expected:.3?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
    }
    assert!(found[..].iter().all(|age| *age < 0.9), "{found:?}");
}

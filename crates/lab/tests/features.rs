//! Features of a drive obey the laws of `net/laws.rs` together: by pairs on both kinds of drive, and by triples. At
//! night every pair that is not refused must have been tried.

use crate::depth::depth;
use crate::net::dice::Dice;
use crate::net::features::{DRIVES, FEATURES, drive, pairs};
use crate::net::laws::{Verdict, judge};
use crate::net::{Config, Outcome, on_two_threads, outcome};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The kind of drive and the features of a case: first each pair on each kind, then triples.
fn case(number: u64) -> (usize, Vec<usize>) {
    let all = pairs();
    let (kind, number) = ((number % 2) as usize, number / 2);
    let rounds = number / all.len() as u64;
    // Neighbours are far apart, so that few cases have different features.
    let mut features = all[(number * 37 % all.len() as u64) as usize].to_vec();
    if rounds > 0 {
        let third = Dice::new(number).below(FEATURES.len() as u64) as usize;
        features.push(third);
        features.sort_unstable();
        features.dedup();
    }
    (kind, features)
}

fn names(features: &[usize]) -> String {
    features.iter().map(|it| FEATURES[*it].0).collect::<Vec<_>>().join(" + ")
}

#[test]
fn features_obey_the_laws_by_pairs_and_triples() {
    let each = 2 * pairs().len() as u64;
    let cases: Vec<u64> = (0..depth(24, 60, 6 * each)).collect();
    let verdicts = on_two_threads(&cases, |number| {
        let (kind, features) = case(*number);
        let config = drive(kind == 0, &features, *number);
        let verdict = judge(&config);
        (kind, features, config, verdict)
    });
    let mut report = String::new();
    let mut tried = BTreeMap::<(usize, usize, usize), u64>::new();
    let mut refused = BTreeSet::new();
    for (kind, features, config, verdict) in &verdicts {
        match verdict {
            Verdict::Holds => {
                for (at, one) in features.iter().enumerate() {
                    for two in &features[at + 1..] {
                        *tried.entry((*kind, *one, *two)).or_default() += 1;
                    }
                }
            }
            Verdict::Refused if features.len() == 2 => {
                refused.insert((*kind, features[0], features[1]));
            }
            Verdict::Refused => {}
            Verdict::Breaks(laws) => {
                for broken in laws {
                    let (name, on) = (names(features), DRIVES[*kind]);
                    let _ = writeln!(report, "{name} {on}: {}: {}", broken.law, broken.detail);
                }
                let _ = writeln!(report, "  {config}");
            }
        }
    }
    assert!(report.is_empty(), "{report}");
    if (cases.len() as u64) < each {
        assert!(tried.len() > 10, "{} pairs", tried.len());
        return;
    }
    for (kind, on) in DRIVES.iter().enumerate() {
        let of = |pair: &(usize, usize, usize)| pair.0 == kind;
        let (held, not) = (tried.keys().filter(|it| of(it)), refused.iter().filter(|it| of(it)));
        println!("{on}: {} pairs obey the laws, {} are refused", held.count(), not.count());
        for [one, two] in pairs() {
            let pair = (kind, one, two);
            let count = tried.get(&pair).copied().unwrap_or(0);
            assert!(
                count > 0 || refused.contains(&pair),
                "{} {on} was never tried",
                names(&[one, two])
            );
        }
    }
}

/// A client drive of today levels wear, recovers by checkpoints, ages and tells handles, all beside its SLC cache.
#[test]
fn a_client_drive_has_its_features_at_once() {
    let line = "device.preset=\"samsung-980pro\"; device.fdp.handles=3; \
                device.fdp.place=\"address(0-10%:1, 10-40%:2)\"; device.summary_page=true; \
                device.cleaning.levelling.rule=\"migrate\"; device.persistence.recovery=\"checkpoint\"; \
                device.persistence.checkpoint=\"50ms\"; device.media.model=\"tlc-3d\"; \
                device.slc_cache.limit=\"4GB\"; device.slc_cache.fold_after=\"1s\"; device.fill=0.5; \
                workload.kind=\"closed\"; workload.read_share=0.1; workload.outstanding=32; \
                workload.block_size=\"128KiB\"; workload.requests=4000; run.power_cut=\"at 150ms\"";
    let Outcome::Results(results) = outcome(&Config::from_line(line)) else {
        panic!("{:?}", outcome(&Config::from_line(line)))
    };
    let count = |path: &str| results.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    assert!(count("/slc_cache/written_bytes") > 0 && count("/slc_cache/direct_bytes") > 0);
    assert!(count("/power/cuts") == 1 && count("/power/checkpoint_programs") > 0);
    assert_eq!(count("/power/durable_lost"), 0);
    assert!(count("/flash/summary_programs") > 0);
    let handles = results["fdp"]["handles"].as_array().expect("there are handles");
    let media: u64 = handles.iter().filter_map(|it| it["media_bytes"].as_u64()).sum();
    let causes = &results["flash"]["media_bytes"];
    let of = |cause: &str| causes[cause].as_u64().unwrap_or(0);
    let sum: u64 = ["host", "merge", "copy", "fold", "refresh"].iter().map(|it| of(it)).sum();
    assert_eq!(media, sum, "{causes}");
}

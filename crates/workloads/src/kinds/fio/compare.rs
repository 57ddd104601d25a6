//! Compares requests of this kind with fio's own logs of the same job.
//!
//! fio's `null` engine completes instantly and its `write_iolog` logs each request. The streams are
//! random, so distributions are compared: direction, size, position (64 parts of the region), the
//! share of requests that follow the previous one of their direction, and the share of the most
//! popular blocks. The test is ignored by default; `make test` runs it if fio is installed. The
//! table has the largest differences of shares, with fio 3.33 (`cargo test -p ssdlab-workloads compare::
//! -- --ignored --nocapture`). The first two columns are the number of requests and the mean size;
//! the distributions follow in the order above. Random differences between two streams of this
//! length (16,000 to 260,000 requests) stay below 0.014 for a share, and below
//! [`chance_of_the_mean`] for the first two columns:
//!
//! ```text
//! job                             requests     mean direction     size position  follows popular
//! sequential                        0.0000   0.0000    0.0000   0.0000   0.0000   0.0000    0.0000
//! sequential mix                    0.0000   0.0000    0.0001   0.0000   0.0001   0.0000    0.0001
//! random, every block once          0.0000   0.0000    0.0000   0.0000   0.0000   0.0024    0.0000
//! rwmixread=70                      0.0000   0.0000    0.0024   0.0000   0.0032   0.0000    0.0018
//! bssplit, with the map             0.0006  -0.0006    0.0015   0.0011   0.0014   0.0008    0.0005
//! bssplit by direction, no map     -0.0040   0.0040    0.0008   0.0019   0.0013   0.0000    0.0035
//! bsrange, with the map            -0.0028   0.0028    0.0000   0.0046   0.0010   0.0003    0.0022
//! zipf:1.2, 2^n blocks              0.0000   0.0000    0.0000   0.0000   0.0021   0.0000    0.0061
//! zipf:0.8, other blocks            0.0000   0.0000    0.0000   0.0000   0.0031   0.0000    0.0029
//! pareto:0.2                        0.0000   0.0000    0.0000   0.0000   0.0020   0.0000    0.0052
//! normal:20                         0.0000   0.0000    0.0000   0.0000   0.0024   0.0001    0.0024
//! zoned, no map                     0.0000   0.0000    0.0000   0.0000   0.0025   0.0001    0.0028
//! zoned, with the map               0.0000   0.0000    0.0000   0.0000   0.0051   0.0001    0.0009
//! percentage_random=30              0.0000   0.0000    0.0000   0.0000   0.0068   0.0049    0.0027
//! JESD219 as published with fio    -0.0002   0.0002    0.0008   0.0017   0.0014   0.0000    0.0032
//! sizes by direction                0.0019  -0.0019    0.0016   0.0016   0.0015   0.0000    0.0022
//! trims                             0.0000   0.0000    0.0000   0.0000   0.0000   0.0044    0.0000
//! ```

use super::tests::run;
use engine::{Op, Request};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A request as (direction, byte, bytes).
type Row = (Op, u64, u64);

/// Jobs by name. All have queue depth 1: with more, fio 3.33 logs requests to its null engine
/// twice.
const JOBS: &[(&str, &str)] = &[
    ("sequential", "rw=read\nbs=64k\nsize=64m"),
    ("sequential mix", "rw=rw\nrwmixread=70\nbs=4k\nsize=128m"),
    ("random, every block once", "rw=randread\nbs=4k\nsize=128m"),
    ("rwmixread=70", "rw=randrw\nrwmixread=70\nbs=4k\nsize=128m\nnorandommap"),
    ("bssplit, with the map", "rw=randrw\nrwmixread=70\nbssplit=4k/50:8k/30:16k/20\nsize=256m"),
    (
        "bssplit by direction, no map",
        "rw=randrw\nbssplit=4k/50:64k/50,8k/90:32k/10\nsize=1g\nnorandommap",
    ),
    ("bsrange, with the map", "rw=randwrite\nbsrange=4k-64k\nsize=1g\nloops=2"),
    (
        "zipf:1.2, 2^n blocks",
        "rw=randread\nbs=4k\nsize=64m\nio_size=256m\nrandom_distribution=zipf:1.2:0.25",
    ),
    (
        "zipf:0.8, other blocks",
        "rw=randread\nbs=4k\nsize=60m\nio_size=256m\nrandom_distribution=zipf:0.8:0.5",
    ),
    ("pareto:0.2", "rw=randread\nbs=4k\nsize=60m\nio_size=256m\nrandom_distribution=pareto:0.2:0"),
    ("normal:20", "rw=randread\nbs=4k\nsize=60m\nio_size=256m\nrandom_distribution=normal:20"),
    (
        "zoned, no map",
        "rw=randread\nbs=4k\nsize=128m\nio_size=256m\nnorandommap\n\
         random_distribution=zoned:60/10:30/20:8/30:2/40",
    ),
    (
        "zoned, with the map",
        "rw=randread\nbs=4k\nsize=128m\nio_size=64m\n\
         random_distribution=zoned:60/10:30/20:8/30:2/40",
    ),
    ("percentage_random=30", "rw=randread\nbs=4k\nsize=128m\npercentage_random=30\nnorandommap"),
    (
        "JESD219 as published with fio",
        "rw=randrw\nnorandommap\nrandrepeat=0\nrwmixread=40\nrwmixwrite=60\n\
         bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3\n\
         blockalign=4k\nrandom_distribution=zoned:50/5:30/15:20/80\nsize=1g",
    ),
    ("sizes by direction", "rw=randrw\nbs=4k,16k\nsize=512m\nnorandommap"),
    ("trims", "rw=randtrim\nbs=64k\nsize=512m"),
];

/// Largest difference of shares attributed to chance: five standard deviations at 65,536 requests.
const CHANCE: f64 = 0.014;

/// Random difference of the mean sizes of two streams, and of their numbers of requests, given
/// equal total bytes: five deviations. Two fio runs of the published JESD219 job (512 bytes to 64
/// KiB) with different seeds already differ by 0.0056.
fn chance_of_the_mean(ours: &[Row], theirs: &[Row]) -> f64 {
    let count = theirs.len() as f64;
    let sum = |power: i32| theirs.iter().map(|row| (row.2 as f64).powi(power)).sum::<f64>();
    let (mean, square) = (sum(1) / count, sum(2) / count);
    let spread = (square / (mean * mean) - 1.0).max(0.0).sqrt();
    5.0 * spread * (1.0 / count + 1.0 / ours.len() as f64).sqrt()
}

#[test]
#[ignore = "needs fio, the program"]
fn requests_are_distributed_as_fio_s_own() {
    let folder = std::env::temp_dir().join(format!("ssdlab-fio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let heads = ["requests", "mean", "mix", "size", "position", "follows", "popular"];
    println!("{:<31}{}", "job", heads.map(|head| format!("{head:>9}")).concat());
    let mut far = Vec::new();
    for (name, keys) in JOBS {
        let job = format!("[j]\n{keys}\n");
        let theirs = fio_rows(&folder, &job);
        let rows = |request: &Request| (request.op, request.lba.0 * 512, request.bytes());
        let ours: Vec<Row> = run(&job, 0).iter().map(|arrival| rows(&arrival.request)).collect();
        let count = ours.len() as f64 / theirs.len() as f64 - 1.0;
        let mean = |rows: &[Row]| {
            rows.iter().map(|(_, _, bytes)| *bytes).sum::<u64>() as f64 / rows.len() as f64
        };
        let figures = [
            count,
            mean(&ours) / mean(&theirs) - 1.0,
            difference(&ours, &theirs, |(op, _, _)| *op as u64),
            difference(&ours, &theirs, |(_, _, bytes)| *bytes),
            difference(&ours, &theirs, |(_, byte, _)| byte >> 22),
            (follows(&ours) - follows(&theirs)).abs(),
            popularity(&ours, &theirs),
        ];
        println!("{name:<31}{}", figures.map(|figure| format!("{figure:>9.4}")).concat());
        // One request of tolerance, at the end of the region.
        let one = 1.0 / theirs.len() as f64;
        let mean_chance = chance_of_the_mean(&ours, &theirs) + one;
        let (means, shares) = figures.split_at(2);
        if means.iter().any(|figure| figure.abs() > mean_chance)
            || shares.iter().any(|figure| figure.abs() > CHANCE)
        {
            far.push((name, figures, mean_chance));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(far.is_empty(), "further from fio than by chance: {far:?}");
}

/// fio's log of a job.
fn fio_rows(folder: &Path, job: &str) -> Vec<Row> {
    let (file, log) = (folder.join("job.fio"), folder.join("log"));
    let all = format!("{job}ioengine=null\nfilename=device\nwrite_iolog={}\n", log.display());
    std::fs::write(&file, all).unwrap();
    let output = Command::new("fio").arg(&file).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("fio: {error}"));
    assert!(output.status.success(), "{job}: {}", String::from_utf8_lossy(&output.stdout));
    #[expect(clippy::disallowed_methods, reason = "reads what another program wrote")]
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    let row = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let op = match words.next()? {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            _ => return None,
        };
        Some((op, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

/// The largest difference between the shares of any category.
fn difference(ours: &[Row], theirs: &[Row], category: impl Fn(&Row) -> u64) -> f64 {
    let mut shares: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for row in ours {
        shares.entry(category(row)).or_default().0 += 1.0 / ours.len() as f64;
    }
    for row in theirs {
        shares.entry(category(row)).or_default().1 += 1.0 / theirs.len() as f64;
    }
    shares.values().map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f64::max)
}

/// The share of requests that begin where the previous one of their direction ended.
fn follows(rows: &[Row]) -> f64 {
    let mut last: [Option<u64>; 4] = [None; 4];
    let mut follows = 0;
    for (op, byte, bytes) in rows {
        let end = last[*op as usize].replace(byte + bytes);
        follows += u32::from(end == Some(*byte));
    }
    f64::from(follows) / rows.len() as f64
}

/// The largest difference between the shares of the k most popular blocks, for k in powers of 2.
fn popularity(ours: &[Row], theirs: &[Row]) -> f64 {
    let sorted = |rows: &[Row]| {
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for (_, byte, _) in rows {
            *counts.entry(*byte).or_default() += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total = rows.len() as f64;
        move |k: usize| counts.iter().take(k).map(|count| f64::from(*count)).sum::<f64>() / total
    };
    let (ours, theirs) = (sorted(ours), sorted(theirs));
    (0..24).map(|k| (ours(1 << k) - theirs(1 << k)).abs()).fold(0.0, f64::max)
}

//! Do the policies behave as in the literature? Their write amplification and their wear under uniform
//! random writes against the mean-field results for many blocks.
//!
//! Random: A = 1 / spare factor. FIFO: A = alpha / (alpha + W0(-alpha exp(-alpha))) (Desnoyers,
//! SYSTOR'12, eq. 4). d choices: the fixed point of Van Houdt (SIGMETRICS'13). Greedy is in
//! `theory.rs`.

use devices::ssd::config::Policy;
use devices::ssd::config::{
    Cleaning, CleaningTime, DChoices, Detector, Frontiers, HotCold, TieBreak, WindowedGreedy,
};
use devices::ssd::{Ssd, SsdConfig, SsdReport};
use devices::{Instruction, Model};
use engine::{Random, Xoshiro256};

/// Blocks that take part, and those that do not: the one kept erased, and the frontier.
const BLOCKS: u32 = 1024;
const HELD: u32 = 2;

/// One package with one frontier whose participating blocks hold 1 + `op` times its content.
fn drive(cleaning: &Cleaning, op: f64) -> Ssd {
    let physical = f64::from(BLOCKS + HELD) / f64::from(BLOCKS);
    let config = SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: BLOCKS + HELD,
        pages_per_block: 64,
        summary_page: false,
        over_provisioning: Some((1.0 + op) * physical - 1.0),
        cleaning: Cleaning {
            min_free: Some(0.0),
            time: CleaningTime::Blocking,
            ..cleaning.clone()
        },
        ..SsdConfig::default()
    };
    Ssd::new(&config, 5).unwrap()
}

fn cleaning(policy: Policy) -> Cleaning {
    Cleaning { policy, ..Cleaning::default() }
}

fn d_choices(d: u8) -> Cleaning {
    Cleaning { d_choices: DChoices { d: u32::from(d) }, ..cleaning(Policy::DChoices) }
}

/// Writes pages drawn by `draw` until the drive has settled, then measures.
fn run(ssd: &mut Ssd, warm: f64, measure: f64, mut draw: impl FnMut() -> u64) -> SsdReport {
    let pages = ssd.facts().pages as f64;
    for _ in 0..(pages * warm) as u64 {
        ssd.overwrite_untimed(&[draw()], 0);
    }
    ssd.instruct(0, Instruction::ResetCounts).unwrap();
    for _ in 0..(pages * measure) as u64 {
        ssd.overwrite_untimed(&[draw()], 0);
    }
    ssd.check().unwrap();
    ssd.account(0)
}

fn uniform(cleaning: &Cleaning, op: f64, warm: f64, measure: f64) -> SsdReport {
    let mut ssd = drive(cleaning, op);
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(1, 0);
    run(&mut ssd, warm, measure, || random.below(pages))
}

/// Asserts that `found` lies within `share` of `expected`.
fn within(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    println!("{what}: {found:.4}, expected {expected:.4} ({:+.2} %)", 100.0 * off);
    assert!(off.abs() <= share, "{what}: {found} is off {expected} by {:+.2} %", 100.0 * off);
}

/// A of FIFO: the only fixed point of A = 1 / (1 - exp(-alpha / A)) above 1.
fn fifo(alpha: f64) -> f64 {
    (0..10_000).fold(2.0, |a, _| 1.0 / (1.0 - libm::exp(-alpha / a)))
}

/// A of d choices by Van Houdt's recursion: `s[j]`, the share of blocks with at least j valid pages,
/// obeys `1 - s[j]^d = K j (s[j] - s[j + 1])`, with K such that all `s[j]` add up to b / alpha.
fn van_houdt(alpha: f64, b: u32, d: i32) -> f64 {
    let shares = |k: f64| -> Vec<f64> {
        let mut s = vec![0.0; b as usize + 2];
        for j in (1..=b as usize).rev() {
            // Bisection for s_j: the left side falls, the right side rises.
            let (mut low, mut high) = (s[j + 1], 1.0);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                let rises = k * j as f64 * (middle - s[j + 1]);
                if 1.0 - middle.powi(d) > rises { low = middle } else { high = middle }
            }
            s[j] = low;
        }
        s
    };
    let (mut low, mut high) = (1e-6, 1e6);
    for _ in 0..200 {
        let middle = f64::sqrt(low * high);
        let total: f64 = shares(middle)[1..=b as usize].iter().sum();
        // A larger K keeps blocks emptier.
        if total > f64::from(b) / alpha { low = middle } else { high = middle }
    }
    let valid: f64 = shares(low)[1..=b as usize].iter().map(|s| s.powi(d)).sum();
    f64::from(b) / (f64::from(b) - valid)
}

#[test]
fn the_formulas_give_the_published_figures() {
    for (op, fifo_a, two, ten) in
        [(0.07, 7.8172, 10.277, 7.323), (0.20, 3.1878, 4.203, 3.150), (0.50, 1.7158, 2.190, 1.721)]
    {
        within(fifo(1.0 + op), fifo_a, 1e-4, "FIFO");
        within(van_houdt(1.0 + op, 64, 2), two, 3e-4, "d = 2");
        within(van_houdt(1.0 + op, 64, 10), ten, 3e-4, "d = 10");
    }
}

#[test]
fn random_amplifies_by_the_inverse_of_the_spare_factor() {
    for op in [0.07, 0.20, 0.50] {
        let report = uniform(&cleaning(Policy::Random), op, 4.0, 15.0);
        let expected = (1.0 + op) / op;
        within(report.write_amplification.unwrap(), expected, 0.01, "random");
    }
}

#[test]
fn fifo_is_a_circular_log() {
    for op in [0.07, 0.20, 0.50] {
        let report = uniform(&cleaning(Policy::Fifo), op, 2.0, 4.0);
        within(report.write_amplification.unwrap(), fifo(1.0 + op), 0.01, "FIFO");
    }
}

#[test]
fn d_choices_lie_between_random_and_greedy() {
    for op in [0.07, 0.20, 0.50] {
        for d in [2, 4, 10] {
            // The fewer the choices, the longer a drive takes to settle.
            let report = uniform(&d_choices(d), op, 8.0, 12.0);
            let expected = van_houdt(1.0 + op, 64, i32::from(d));
            let what = format!("d = {d}, {op}");
            within(report.write_amplification.unwrap(), expected, 0.01, &what);
        }
    }
}

#[test]
fn a_window_leads_from_fifo_to_greedy() {
    let amplification = |window| {
        let windowed_greedy = WindowedGreedy { window };
        let cleaning = Cleaning { windowed_greedy, ..cleaning(Policy::WindowedGreedy) };
        uniform(&cleaning, 0.20, 2.0, 3.0).write_amplification.unwrap()
    };
    let greedy = uniform(&cleaning(Policy::Greedy), 0.20, 2.0, 3.0).write_amplification.unwrap();
    within(amplification(1), fifo(1.20), 0.01, "a window of one");
    within(amplification(BLOCKS), greedy, 1e-9, "a window of all");
    // At the ends of the table, where greedy has its exact limit.
    for op in [0.07, 0.50] {
        let windowed = |window| {
            let windowed_greedy = WindowedGreedy { window };
            let cleaning = Cleaning { windowed_greedy, ..cleaning(Policy::WindowedGreedy) };
            uniform(&cleaning, op, 2.0, 3.0).write_amplification.unwrap()
        };
        let greedy = uniform(&cleaning(Policy::Greedy), op, 2.0, 3.0).write_amplification.unwrap();
        within(windowed(1), fifo(1.0 + op), 0.01, "a window of one");
        within(windowed(BLOCKS), greedy, 1e-9, "a window of all");
    }
    let (narrow, wide) = (amplification(16), amplification(256));
    assert!(greedy <= wide && wide < narrow && narrow < fifo(1.20), "{narrow} {wide}");
}

/// The share of writes that hit a share of the data, FIFO with one log: A solves
/// `A = sum of r / (1 - exp(-(r / f) alpha / A))`.
#[test]
fn fifo_amplifies_hot_and_cold_data_as_the_theory_says() {
    let (hot_writes, hot_data) = (0.9, 0.1);
    let parts = [(hot_writes, hot_data), (1.0 - hot_writes, 1.0 - hot_data)];
    let alpha: f64 = 1.20;
    let next = |a: f64| -> f64 {
        parts.iter().map(|(r, f)| r / (1.0 - libm::exp(-(r / f) * alpha / a))).sum()
    };
    let expected = (0..10_000).fold(2.0, |a, _| next(a));
    let mut ssd = drive(&cleaning(Policy::Fifo), alpha - 1.0);
    let pages = ssd.facts().pages as f64;
    let mut random = Xoshiro256::new(2, 0);
    let report = run(&mut ssd, 5.0, 6.0, || {
        let hot = random.unit() < hot_writes;
        let (first, span) = if hot { (0.0, hot_data) } else { (hot_data, 1.0 - hot_data) };
        (pages * (first + span * random.unit())) as u64
    });
    within(report.write_amplification.unwrap(), expected, 0.01, "hot/cold FIFO");
}

/// Nine writes of ten to a tenth of the data, greedy, at a fifth over-provisioned.
fn hot_cold_greedy(cleaning: &Cleaning) -> f64 {
    let mut ssd = drive(cleaning, 0.20);
    let pages = ssd.facts().pages as f64;
    let mut random = Xoshiro256::new(2, 0);
    let report = run(&mut ssd, 6.0, 6.0, || {
        let (first, span) = if random.unit() < 0.9 { (0.0, 0.1) } else { (0.1, 0.9) };
        (pages * (first + span * random.unit())) as u64
    });
    report.write_amplification.unwrap()
}

/// With 1,024 blocks for both frontiers, one of which takes no part in what the theory counts.
#[test]
fn frontiers_matter_on_hot_and_cold_data_only() {
    let with = |frontiers| Cleaning { frontiers, ..cleaning(Policy::Greedy) };
    let [single, moved] = [Frontiers::Single, Frontiers::SeparateMoved].map(with);
    let even = |cleaning| uniform(cleaning, 0.20, 2.0, 3.0).write_amplification.unwrap();
    within(even(&moved), even(&single), 0.01, "uniform, moved pages apart");
    within(hot_cold_greedy(&single), 3.99, 0.01, "hot and cold, one frontier");
    within(hot_cold_greedy(&moved), 3.55, 0.01, "hot and cold, moved pages apart");
    // The detectors find most of it out that the host could have said.
    let detected = |detector| {
        let hot_cold = HotCold { detector, ..HotCold::default() };
        hot_cold_greedy(&Cleaning { hot_cold, ..with(Frontiers::HotCold) })
    };
    let [hinted, counted, recent] =
        [Detector::Address, Detector::Writes, Detector::Recency].map(detected);
    println!("kept apart by hint {hinted:.3}, by counts {counted:.3}, by recency {recent:.3}");
    // In proportion to the data it would be the uniform 3.05; greedy shares better.
    assert!(hinted > 2.9 && hinted < 3.05, "{hinted}");
    assert!(counted < 1.02 * hinted, "{counted}");
    assert!(hinted < recent && recent < 3.55, "{recent}");
}

/// Variance over mean of the erase counts tends to the squared coefficient of variation of the time
/// between two erasures of a block.
#[test]
fn the_more_random_the_choice_of_victims_the_wider_the_spread_of_wear() {
    let cases = [
        ("greedy", Cleaning { tie_break: TieBreak::Random, ..cleaning(Policy::Greedy) }, 0.048),
        ("d = 10", d_choices(10), 0.067),
        ("d = 4", d_choices(4), 0.165),
        ("d = 2", d_choices(2), 0.409),
        ("random", cleaning(Policy::Random), 1.0),
    ];
    for (what, cleaning, expected) in cases {
        let wear = uniform(&cleaning, 0.20, 2.0, 60.0).wear;
        let ratio = wear.std_erases * wear.std_erases / wear.mean_erases;
        within(ratio, expected, 0.10, what);
    }
    let wear = uniform(&cleaning(Policy::Fifo), 0.20, 2.0, 20.0).wear;
    assert!(wear.std_erases < 0.8, "a log wears evenly: {}", wear.std_erases);
}

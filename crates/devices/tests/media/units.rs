//! Drives without a write buffer whose data age: the life of a block by the strength of its code, losses and their
//! healing, and patrols.

use super::*;

/// Two packages of 64 blocks of 16 pages, of cells whose errors grow with the square of the cycles alone, and a code
/// that corrects a number of bits of 512 bytes (section 3.4 of the 2008 paper: one).
fn coded(corrects: u32, changes: &[(&'static str, Value)]) -> SsdConfig {
    let mut keys = vec![
        ("device.channels", json!(2)),
        ("device.dies_per_package", json!(1)),
        ("device.planes_per_die", json!(1)),
        ("device.blocks_per_plane", json!(64)),
        ("device.pages_per_block", json!(16)),
        ("device.media.model", json!("custom")),
        ("device.media.drift_month", json!(0.0)),
        ("device.media.errors_new", json!(1e-9)),
        ("device.media.errors_wear", json!(1e-7)),
        ("device.media.errors_wear_power", json!(2.0)),
        ("device.media.errors_time", json!(0.0)),
        ("device.media.errors_reads", json!(0.0)),
        ("device.media.spread_errors", json!(0.0)),
        ("device.ecc.kind", json!("bch")),
        ("device.ecc.codeword", json!("512B")),
        ("device.ecc.corrects", json!(corrects)),
        ("device.ecc.soft", json!("none")),
    ];
    keys.extend(changes.iter().cloned());
    match configured(&keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

/// Chance of more than `corrects` wrong bits of a codeword of 512 bytes with its parity.
fn beyond(corrects: u32, rate: f64) -> f64 {
    let bits = f64::from(4096 + 13 * corrects);
    let (mut term, mut sum) = ((bits * (-rate).ln_1p()).exp(), 0.0);
    for wrong in 0..=corrects {
        sum += term;
        let wrong = f64::from(wrong);
        term *= (bits - wrong) / (wrong + 1.0) * rate / (1.0 - rate);
    }
    1.0 - sum
}

/// P/E cycles after which the code fails on half of all pages.
fn life(corrects: u32) -> u32 {
    let (mut low, mut high) = (0.0_f64, 1e6_f64);
    for _ in 0..60 {
        let cycles = f64::midpoint(low, high);
        let rate = 1e-9 + 1e-7 * (cycles / 1000.0).powi(2);
        *(if beyond(corrects, rate) > 0.5 { &mut high } else { &mut low }) = cycles;
    }
    low as u32
}

fn share_lost(corrects: u32, cycles: u32) -> f64 {
    let config = coded(corrects, &[("device.media.cycles", json!(cycles))]);
    let mut drive = new(&config);
    let share = lost_of(&mut drive).len() as f64 / pages(&drive) as f64;
    drive.check().unwrap();
    share
}

#[test]
fn a_stronger_code_extends_the_life_of_a_block_as_the_binomial_says() {
    let lives = [1, 2, 4, 8].map(|corrects| {
        let cycles = life(corrects);
        let found = [cycles / 3, cycles, cycles * 3].map(|it| share_lost(corrects, it));
        // 1,700 pages: three standard deviations are 0.036.
        assert!((found[1] - 0.5).abs() < 0.04, "{corrects} bits: {found:?} at {cycles} cycles");
        assert!(found[0] < 0.2 && found[2] > 0.95, "{corrects} bits: {found:?}");
        cycles
    });
    assert!(lives.is_sorted(), "{lives:?}");
    // Twice the life from one bit to four or five; with the square of the cycles.
    assert!((1.5..2.5).contains(&(f64::from(lives[2]) / f64::from(lives[0]))), "{lives:?}");
}

/// A unit senses again for each step of the table, and holds its page for so long.
#[test]
fn a_read_takes_a_sense_a_transfer_and_a_decoding_for_each_step() {
    let drifting = |steps: f64| {
        let spreads = ["layer", "block", "page"];
        let mut changes = vec![
            ("device.media.drift_month", json!(steps - 0.1)),
            ("device.media.drift_cycles", json!(1e9)),
            ("device.retry.window", json!(1e-9)),
        ];
        let keys =
            ["device.media.spread_layer", "device.media.spread_block", "device.media.spread_page"];
        changes.extend(spreads.iter().zip(keys).map(|(_, key)| (key, json!(0.0))));
        let mut drive = aged(&coded(8, &changes), &["1mo"]);
        read_all(&mut drive)
    };
    let (plain, slow) = (drifting(0.1), drifting(3.0));
    // 25 us, 4,224 bytes of 25 ns, and 20 us.
    let step = 25_000 + 4_224 * 25 + 20_000;
    for (plain, slow) in plain.iter().zip(&slow) {
        assert_eq!(slow.latency() - plain.latency(), 3 * step);
        assert_eq!(slow.breakdown[devices::latency::RETRY], 3 * step);
        assert_eq!(slow.breakdown.total(), slow.latency());
    }
}

/// A loss stays one when the page is moved, and until it is written.
#[test]
fn a_lost_page_is_lost_in_every_copy_until_it_is_written_in_full() {
    let worn = coded(2, &[("device.media.cycles", json!(life(2)))]);
    let mut drive = new(&worn);
    let before = lost_of(&mut drive);
    assert!(before.len() > 100 && before == lost_of(&mut drive));
    // Other pages are overwritten until all blocks were cleaned: new copies of a lost page may be lost too, none is found.
    let sound: Vec<u64> = (0..pages(&drive)).filter(|page| !before.contains(page)).collect();
    let make = |n: u64| {
        let page = sound[n.wrapping_mul(7919) as usize % sound.len()];
        Request::new(n, Op::Write, Lba(page * SECTORS), SECTORS as u32)
    };
    drive.serve(8, 20_000, make);
    drive.check().unwrap();
    let after = lost_of(&mut drive);
    assert!(before.is_subset(&after), "{:?}", before.difference(&after).collect::<Vec<_>>());
    // A part of one leaves the rest lost, all of it does not, if the new place can be read.
    let page = *before.first().unwrap();
    write(&mut drive, &[(Op::Write, page * SECTORS, 2)]);
    assert!(lost_of(&mut drive).contains(&page));
    let mut tries = 0;
    while lost_of(&mut drive).contains(&page) {
        write(&mut drive, &[(Op::Write, page * SECTORS, SECTORS as u32)]);
        tries += 1;
        assert!(tries < 40, "half of the places can be read");
    }
    write(&mut drive, &[(Op::Trim, *before.last().unwrap() * SECTORS, SECTORS as u32)]);
    assert!(!lost_of(&mut drive).contains(before.last().unwrap()));
}

/// Reads with and without time find the same pages lost.
#[test]
fn reads_without_time_lose_what_reads_in_time_lose() {
    let worn = coded(1, &[("device.media.cycles", json!(life(1)))]);
    let timed = lost_of(&mut new(&worn));
    let mut drive = new(&worn);
    let read = |n: u64| Request::new(n, Op::Read, Lba(n * SECTORS), SECTORS as u32);
    let count = pages(&drive);
    let untimed: BTreeSet<u64> =
        (0..count).filter(|n| !drive.serve_untimed(&read(*n)).is_ok()).collect();
    assert_eq!(timed, untimed);
}

/// Patrolled data are moved before they are lost; with time and without.
#[test]
fn a_patrol_moves_old_data_before_they_are_lost() {
    let ageing = |period: &str| {
        let mut changes = vec![
            ("device.media.errors_time", json!(9.7e-4)),
            ("device.media.errors_wear", json!(0.0)),
            ("device.scrub.period", json!(period)),
        ];
        if period != "none" {
            changes.push(("device.scrub.limit", json!(0.5)));
        }
        let mut drive = aged(&coded(40, &changes), &["1y"]);
        let found = (lost_of(&mut drive).len(), media(&drive).moved_blocks[0]);
        drive.check().unwrap();
        found
    };
    let (none, patrolled) = (ageing("none"), ageing("7d"));
    assert!(none.0 > 500 && none.1 == 0, "{none:?}");
    assert!(patrolled.0 < none.0 / 10 && patrolled.1 > 100, "{patrolled:?} after {none:?}");
}

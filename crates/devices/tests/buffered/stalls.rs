//! Drives on which nothing was under way any more while writes waited.

use devices::ssd::Ssd;
use devices::{DeviceConfig, Model};
use engine::{Device, Lba, Op, Random, Request, Time, Xoshiro256};
use serde_json::{Value, json};

fn drive(cleaning: &Value, more: &Value, seed: u64) -> Ssd {
    let keys = json!({
        "channels": 1, "dies_per_package": 1, "planes_per_die": 1, "page_size": "4KiB", "cell": {"bits": 3},
        "timing": {"program": "1.2ms"}, "spare_factor": 0.5, "cleaning": cleaning,
    });
    let DeviceConfig::Ssd(config) =
        DeviceConfig::resolve("ssd", [keys, more.clone()]).expect("a valid drive")
    else {
        unreachable!("it was asked for")
    };
    Ssd::new(&config, seed).expect("a valid drive")
}

/// Asks for requests, each after a while but not more at a time than so many, until all are answered.
fn all_are_answered(
    ssd: &mut Ssd,
    asked: u64,
    outstanding: u64,
    mut ask: impl FnMut(u64) -> (Time, Request),
) {
    let (mut done, mut now) = (Vec::new(), 0);
    for number in 0..asked {
        let (at, request) = ask(number);
        now += at;
        while let Some(at) = ssd.next_event()
            && (at <= now || number - done.len() as u64 >= outstanding)
        {
            ssd.advance(at, &mut done);
            now = now.max(at);
        }
        ssd.submit(now, request);
    }
    while (done.len() as u64) < asked {
        let at = ssd.next_event().expect("something is under way for those that wait");
        ssd.advance(at, &mut done);
    }
    ssd.check().unwrap();
}

/// One of four domains has room for what is moved, and by that for its pace, but none that the host may take.
#[test]
fn a_domain_that_takes_nothing_is_cleaned_though_it_has_room() {
    let cleaning = json!({"frontiers": "hot-cold", "reclaim": "block", "pace": "adaptive"});
    let more = json!({
        "packages_per_channel": 4, "blocks_per_plane": 16, "pages_per_block": 108, "scale": 3,
        "buffer": {"size": "12MiB"},
    });
    for seed in 1..9 {
        let mut ssd = drive(&cleaning, &more, 0);
        let random = &mut Xoshiro256::new(seed, 0);
        all_are_answered(&mut ssd, 2_000, u64::MAX, |number| {
            let page = random.below(16);
            let pages = 1 + random.below(3).min(15 - page);
            let request = Request::new(number, Op::Write, Lba(page * 8), pages as u32 * 8);
            (random.below(1_000_000), request)
        });
    }
}

/// Blocks that expire without time are kept as long as cleaning in time, which fills groups with nothing, needs them.
#[test]
fn a_worn_drive_keeps_the_blocks_that_padding_needs() {
    let more = json!({
        "packages_per_channel": 2, "blocks_per_plane": 64, "pages_per_block": 3,
        "buffer": {"size": "1152KiB"}, "wear": {"rated_cycles": 1},
    });
    for seed in 0..8 {
        let mut ssd = drive(&json!({"frontiers": "hot-cold"}), &more, seed);
        let (pages, random) = (ssd.facts().pages, &mut Xoshiro256::new(seed, 0));
        let batch: Vec<u64> = (0..pages).map(|_| random.below(pages)).collect();
        ssd.overwrite_untimed(&batch, 0);
        all_are_answered(&mut ssd, 60, 10, |number| {
            let op = if random.below(5) == 0 { Op::Read } else { Op::Write };
            (0, Request::new(number, op, Lba(random.below(pages) * 8), 8))
        });
    }
}

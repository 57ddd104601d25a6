//! Placement handles: laws (one handle, permuted numbers, sums, with time and without), equations, refusals.

mod equations;
mod groups;
mod laws;
mod logs;
mod refusals;

use crate::buffered;
use crate::common::configured;
use devices::DeviceConfig;
use devices::ssd::{FdpReport, Ssd, SsdConfig, SsdReport};
use engine::{Handle, Lba, Op, Random, Request, Xoshiro256};
use serde_json::{Value, json};

type Keys = Vec<(&'static str, Value)>;

/// A drive of one plane without a write buffer, that holds nothing.
fn plane(blocks: u32, pages: u32, share: f64) -> Keys {
    vec![
        ("device.channels", json!(1)),
        ("device.dies_per_package", json!(1)),
        ("device.planes_per_die", json!(1)),
        ("device.blocks_per_plane", json!(blocks)),
        ("device.pages_per_block", json!(pages)),
        ("device.summary_page", json!(false)),
        ("device.spare_factor", json!(share)),
        ("device.cleaning.min_free", json!(0.0)),
        ("device.fill", json!("empty")),
    ]
}

/// A drive of two packages without a write buffer, whose pages go wherever there is room.
fn pooled() -> Keys {
    let mut keys = plane(48, 16, 0.25);
    keys.extend([("device.channels", json!(2)), ("device.pool", json!("ssd"))]);
    keys
}

/// A drive of eight dies with a write buffer, that holds nothing.
fn buffered() -> Keys {
    let mut keys = buffered::small();
    keys.extend([
        ("device.fill", json!("empty")),
        ("device.spare_factor", json!(0.2)),
        ("device.buffer.size", json!("4MiB")),
    ]);
    keys
}

/// With handles, isolation and more.
fn placed(
    mut keys: Keys,
    handles: u32,
    isolation: &'static str,
    more: &[(&'static str, Value)],
) -> SsdConfig {
    keys.push(("device.fdp.handles", json!(handles)));
    if handles > 1 {
        keys.push(("device.fdp.isolation", json!(isolation)));
    }
    keys.extend(more.iter().cloned());
    config(&keys)
}

fn config(keys: &[(&'static str, Value)]) -> SsdConfig {
    match configured(keys) {
        DeviceConfig::Ssd(config) => *config,
        other => panic!("{other:?}"),
    }
}

fn write(id: u64, page: u64, pages: u32, handle: u64) -> Request {
    let request = Request::new(id, Op::Write, Lba(page * 8), pages * 8);
    Request { handle: Handle::new(handle), ..request }
}

/// Writes, trims and flushes of three hosts with handles 0 to 2, that share some addresses. The second and the third
/// write in sequence, each at its own rate.
fn shared_load(requests: u64, pages: u64) -> Vec<Request> {
    let random = &mut Xoshiro256::new(11, 4);
    let third = pages / 3;
    let mut next = [0, 0];
    let mut load = Vec::new();
    for id in 0..requests {
        let request = match random.below(40) {
            0 => {
                let page = random.below(pages - 8);
                Request::new(id, Op::Trim, Lba(page * 8), 32)
            }
            1 => write(id, random.below(pages), 1, random.below(3)),
            2..=19 => write(id, random.below(third - 1), 2, 0),
            drawn => {
                let host = usize::from(drawn > 26);
                let page = next[host];
                next[host] = (page + 2) % (third - 2);
                write(id, third * (host as u64 + 1) + page, 2, host as u64 + 1)
            }
        };
        load.push(request);
    }
    load
}

fn fdp(report: &SsdReport) -> &FdpReport {
    report.fdp.as_ref().expect("it has handles")
}

fn pages(ssd: &Ssd) -> u64 {
    devices::Model::facts(ssd).pages
}

fn near(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    println!("{what}: {found:.4}, expected {expected:.4} ({:+.2} %)", 100.0 * off);
    assert!(off.abs() < share, "{what}: {found} is off {expected} by {:+.2} %", 100.0 * off);
}

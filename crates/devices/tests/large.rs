//! Limits on pages and blocks, and the message for a larger drive: the size of its pages, the limit, and
//! the alternatives.

use crate::common::configured;
use devices::{DeviceKind as _, Model};
use serde_json::{Value, json};

fn built(keys: &[(&str, Value)]) -> Result<Box<dyn Model>, String> {
    configured(keys).build(0).map_err(|refusal| refusal.to_string())
}

/// A drive of many dies of one plane.
fn dies(channels: u32, blocks: u32, pages: u32, page: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("device.channels", json!(channels)),
        ("device.dies_per_package", json!(1)),
        ("device.planes_per_die", json!(1)),
        ("device.blocks_per_plane", json!(blocks)),
        ("device.pages_per_block", json!(pages)),
        ("device.page_size", json!(page)),
        ("device.spare_size", json!("0B")),
        ("device.fill", json!("empty")),
    ]
}

#[test]
fn a_drive_that_is_too_large_is_refused_with_what_would_do() {
    for (keys, parts) in [
        (
            dies(65_536, 65_536, 64, "4KiB"),
            ["device.blocks_per_plane", "more than 4,294,967,294 blocks", "device.pages_per_block"],
        ),
        (
            dies(4096, 32_768, 16_384, "4KiB"),
            ["2199023255552 logical pages of 4KiB", "at most 1099511627774", "device.logical_page"],
        ),
        (
            dies(4096, 32_768, 16_384, "16KiB"),
            ["2199023255552 logical pages of 16KiB", "which is", "device.logical_page"],
        ),
    ] {
        let message = built(&keys).err().expect("it is too large");
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    }
    let mut keys = dies(64, 1 << 20, 64, "4KiB");
    *keys.last_mut().unwrap() = ("device.fill", json!("full"));
    // 4.3 billion pages need 10 bytes each, and would fit.
    keys[0] = ("device.channels", json!(128));
    let message = built(&keys).err().expect("it does not fit into memory");
    assert!(message.contains("device.fill") && message.contains("pages of 4KiB"), "{message}");
}

/// More than 262,144 blocks may share a frontier.
#[test]
fn a_domain_has_any_number_of_blocks() {
    let mut keys = dies(1, 600_000, 4, "4KiB");
    keys[7] = ("device.fill", json!(0.9));
    keys.push(("device.summary_page", json!(false)));
    let mut drive = built(&keys).unwrap();
    let pages = drive.facts().pages;
    let all: Vec<u64> = (0..pages).map(|page| page * 7 % pages).collect();
    for _ in 0..2 {
        drive.overwrite_untimed(&all, 0);
    }
    drive.audit().unwrap();
    assert!(drive.report(1).count("flash.block_erases") > 600_000);
}

//! A drive at half the scale has twice the size and equal write amplification; otherwise the
//! results warn that it depends on the scale.

use crate::common::{audited, experiment, outcome};
use crate::depth::depth;
use serde_json::Value;

/// An eighth of the preset, so that it settles quickly.
const DRIVE: &str = "
[device]
preset = 'tlc-enterprise'
blocks_per_plane = 114
capacity = '120024640512B'
[workload]
kind = 'closed'
read_share = 0.0
[run]
precondition = 'steady'
";

fn results(locality: &str, scale: u32) -> Value {
    // Both write more than the drive's capacity.
    let requests = format!("workload.requests={}", 32_000_000 / scale);
    let sets = [format!("workload.locality={locality}"), format!("device.scale={scale}"), requests];
    outcome(&experiment(&[DRIVE], &sets).unwrap(), &audited()).unwrap()
}

/// The warning about a scaled buffer, if any.
fn warned(results: &Value) -> Option<&Value> {
    results["warnings"].as_array().unwrap().iter().find(|it| it["name"] == "scaled_buffer")
}

#[test]
fn a_doubled_drive_has_the_same_results_or_says_so() {
    let rows = [("uniform", false), ("zipf(0.99)", true), ("hot-cold(0.9, 0.1)", false)];
    for (locality, absorbs) in rows.into_iter().take(depth(2, 2, 3) as usize) {
        let [half, whole] = [128, 64].map(|scale| results(locality, scale));
        let amplification =
            |results: &Value| results["flash"]["write_amplification"].as_f64().unwrap();
        let (one, two) = (amplification(&half), amplification(&whole));
        let said = [&half, &whole].map(|it| warned(it).map(|it| &it["figures"]));
        let off = two / one - 1.0;
        assert_eq!(said.map(|it| it.is_some()), [absorbs; 2], "{locality}: {one} {two}");
        let [Some(half), Some(whole)] = said else {
            assert!(off.abs() < 0.04, "{locality}: {one} {two}");
            continue;
        };
        let of = |figures: &Value, key: &str| figures[key].as_f64().unwrap();
        assert!(off.abs() < 0.1, "{one} {two}");
        assert!(two <= of(half, "write_amplification_not_replaced"), "{one} {two} {half}");
        let replaced = [half, whole].map(|it| of(it, "replaced_share"));
        assert!(replaced[0] > replaced[1] && replaced[1] > 0.01, "{replaced:?}");
        assert_eq!((of(half, "scale"), of(whole, "scale")), (128.0, 64.0));
    }
}

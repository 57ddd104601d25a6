//! The rows of placement handles.

use super::*;

/// Half of the writes go to a tenth of the pages at random, the others to the rest in sequence.
const TWO_KINDS: Load = |n, pages, random| {
    let small = pages / 10;
    let page = if n % 2 == 0 { random.below(small) } else { small + n / 2 % (pages - small) };
    (Op::Write, page, 1)
};

pub fn rows() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let placed = |key, values| {
        row(key, values, TWO_KINDS, (AMPLIFICATION, Less))
            .given("device.spare_factor", json!(0.25))
            .given("device.fdp.handles", json!(2))
            .given("device.fdp.place", json!("address(0-10%:1)"))
            .requests(20_000)
    };
    let mut late = row(
        "device.fdp.time_limit",
        words("none", "2ms"),
        TWO_KINDS,
        (|o| o.report.fdp.as_ref().unwrap().handles.iter().map(|it| it.partly as f64).sum(), More),
    )
    .given("device.fdp.handles", json!(1));
    late.buffered = true;
    // The rule names handles of the first group alone, which is half of the drive.
    let mut apart = row(
        "device.fdp.groups",
        [json!(1), json!(2)],
        TWO_KINDS,
        (|o| o.report.counts.refused_pages as f64, More),
    )
    .given("device.spare_factor", json!(0.25))
    .given("device.fdp.handles", json!(2))
    .given("device.fdp.place", json!("address(0-10%:1)"))
    .requests(12_000);
    apart.buffered = true;
    vec![
        late,
        apart,
        // What is written at random and what in sequence, or all together.
        placed("device.fdp.handles", [json!(1), json!(2)]),
        // Cold pages that are moved stay apart from hot ones.
        row(
            "device.fdp.isolation",
            words("initial", "persistent"),
            SKEWED_WRITES,
            (AMPLIFICATION, Less),
        )
        .given("device.blocks_per_plane", json!(192))
        .given("device.fdp.handles", json!(2))
        .given("device.fdp.place", json!("address(0-10%:1)"))
        .requests(60_000),
        placed("device.fdp.place", words("none", "address(0-10%:1)")),
    ]
}

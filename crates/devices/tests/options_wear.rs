//! The rows of wear, and of blocks that fail, without a write buffer.

use super::*;

const SPARE: Figure = |o| f64::from(o.report.wear.spare_blocks);

pub fn rows() -> Vec<Row> {
    let words = |a: &str, b: &str| [json!(a), json!(b)];
    let levelling = |key, values, rule, effect| {
        row(key, values, SKEWED_WRITES, effect)
            .given("device.wear.rated_cycles", json!(40))
            .given("device.cleaning.levelling.rule", json!(rule))
    };
    let migrate = "migrate";
    let spare = |key, values| row(key, values, WRITES, (SPARE, Less)).requests(20_000);
    vec![
        spare("device.spares.factory_bad", [json!(0.0), json!(0.05)]),
        spare("device.spares.grown", [json!(0.0), json!(1.0)])
            .given("device.wear.rated_cycles", json!(60)),
        spare("device.spares.program_fail", [json!(0.0), json!(2e-4)]),
        spare("device.spares.erase_fail", [json!(0.0), json!(2e-3)]),
        row("device.wear.rated_cycles", [json!(50), json!(500)], WRITES, (REMAINING, More)),
        row("device.wear.rated_cycles", [json!(500), json!(5)], WRITES, (EXPIRED, More)),
        row("device.wear.spread", [json!(0.0), json!(0.4)], WRITES, (EXPIRED, More))
            .given("device.wear.rated_cycles", json!(40)),
        row("device.wear.service_years", [json!(5), json!(3)], WRITES, (DAILY_WRITES, More)),
        row("device.persistence.order", [json!(false), json!(true)], READS, (KEPT, More)),
        row(
            "device.cleaning.levelling.rule",
            words("none", migrate),
            SKEWED_WRITES,
            (SPREAD_OF_WEAR, Less),
        )
        .given("device.wear.rated_cycles", json!(40)),
        levelling(
            "device.cleaning.levelling.age_variance",
            [json!(0.8), json!(0.05)],
            "rate-limit",
            (SPREAD_OF_WEAR, Less),
        ),
        levelling(
            "device.cleaning.levelling.rate_limit_floor",
            [json!(0.0), json!(0.7)],
            "rate-limit",
            (SPREAD_OF_WEAR, Less),
        ),
        levelling(
            "device.cleaning.levelling.retirement_age",
            [json!(0.3), json!(0.95)],
            migrate,
            (LEVELLED, More),
        ),
        // More blocks have life enough to be opened for their cold data.
        levelling(
            "device.cleaning.levelling.cold_life",
            [json!(1.0), json!(0.5)],
            migrate,
            (LEVELLED, More),
        ),
        // Another block is the coldest; whether its data stays cold is up to what comes. Over eight
        // seeds and six drives no figure moves one way.
        levelling(
            "device.cleaning.levelling.temperature",
            words("opened", "aggregate"),
            migrate,
            (LEVELLED, Different),
        ),
        levelling(
            "device.cleaning.levelling.cold_age",
            words("none", "100s"),
            migrate,
            (LEVELLED, Less),
        ),
        row(
            "device.cleaning.levelling.rule",
            words("none", "swap"),
            SKEWED_WRITES,
            (SPREAD_OF_WEAR, Less),
        )
        .given("device.cleaning.levelling.swap_above", json!(4)),
        levelling(
            "device.cleaning.levelling.swap_above",
            [json!(3), json!(12)],
            "swap",
            (LEVELLED, Less),
        ),
    ]
}

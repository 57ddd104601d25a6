//! Data retention: closed forms of `ssdlab retention`, and the comparisons of `ssdlab paper media`.

use crate::config::Experiment;
use crate::error::InputError;
use devices::DeviceConfig;
use devices::ssd::config::SsdConfig;
use devices::ssd::media::{Age, Aged, Forecast, MONTH, YEAR, days_at_fixed_references, uber};
use options::Invalid;
use serde_json::{Value, json};

/// Uncorrectable bit error rates that JESD218 permits, for client and enterprise drives.
const CLIENT_UBER: f64 = 1e-15;
const ENTERPRISE_UBER: f64 = 1e-16;
/// Probability of a loss at the reported day, and maximum years.
const FIRST: f64 = 0.01;
const MOST_YEARS: f64 = 1000.0;
const HOUR: f64 = 3600.0;
/// Upper bound on P/E cycles of any flash.
const MOST_CYCLES: f64 = 1e6;

/// The question: duration, temperature, wear of the blocks, and amount of data.
#[derive(Debug, Clone, PartialEq)]
pub struct Keeping {
    /// A time with an optional temperature, such as "1y at 40C".
    pub age: String,
    /// P/E cycles of every block.
    pub cycles: f64,
    /// Bytes of data; 0 means the full capacity.
    pub data_bytes: u64,
}

/// The closed form as JSON: losses, day of the first loss, and read time.
///
/// # Errors
/// When data of this device do not age, or the age is invalid.
pub fn keep(experiment: &Experiment, asked: &Keeping) -> Result<Value, InputError> {
    let age: Age = asked.age.parse().map_err(|problem: String| InputError(problem))?;
    let DeviceConfig::Ssd(config) = &experiment.device else {
        return Err(InputError("only a device of kind \"ssd\" keeps data that age".to_owned()));
    };
    let Some(forecast) = Forecast::of(config) else {
        let problem = "drives age by writes, not by days, unless device.media.model is set";
        return Err(experiment.blame(&Invalid::new(&["device.media.model"], problem.to_owned())));
    };
    let celsius =
        age.at.map_or(config.media.temperature.celsius(), devices::ssd::config::Celsius::celsius);
    let wall = age.seconds as f64 / HOUR;
    let page = config.page_size.bytes() as f64;
    let pages = asked.data_bytes as f64 / page;
    let case = |cycles: f64, hours: f64, celsius: f64| {
        let aged = Aged { cycles, hours: hours * forecast.acceleration(celsius) };
        of_case(config, &forecast, aged, pages)
    };
    let helps = [
        ("refreshed every half of the time", case(asked.cycles, wall / 2.0, celsius)),
        ("10 C cooler", case(asked.cycles, wall, celsius - 10.0)),
        ("half as worn", case(asked.cycles / 2.0, wall, celsius)),
    ];
    let helps: Vec<Value> =
        helps.into_iter().map(|(what, found)| json!({ "what": what, "found": found })).collect();
    let is_lost = |hours: f64| {
        let aged = Aged { cycles: asked.cycles, hours: hours * forecast.acceleration(celsius) };
        chance_any(pages * lost(config, &forecast, aged)) >= FIRST
    };
    Ok(json!({
        "model": config.media.model.to_string(),
        "celsius": celsius,
        "hours": wall,
        "days_at_30C": wall * forecast.acceleration(celsius) / 24.0,
        "cycles": asked.cycles,
        "rated_cycles": config.wear.rated_cycles,
        "data_bytes": asked.data_bytes,
        "page_bytes": page,
        "spread_errors": forecast.spread_errors(),
        "spread_origin": forecast.spread_origin().name(),
        "retries_compare": !forecast.is_of_first_reads(),
        "kept": case(asked.cycles, wall, celsius),
        "simulated": of_its_lines(config, Aged {
            cycles: asked.cycles,
            hours: wall * forecast.acceleration(celsius),
        }),
        "first_loss_days": first_loss(is_lost).map(|hours| hours / 24.0),
        "verdict": verdict(pages * lost(config, &forecast, Aged {
            cycles: asked.cycles,
            hours: wall * forecast.acceleration(celsius),
        })),
        "jesd218": classes(config, &forecast),
        "helps": helps,
        "over_time": over_time(config, &forecast, (asked.cycles, celsius), wall, pages),
    }))
}

/// Verdict from the expected number of lost pages. Losses are uncertain by a factor of ten at best:
/// "kept" and "lost" also hold at the end of that range, and all else is "open".
fn verdict(expected: f64) -> &'static str {
    const UNSURE: f64 = 10.0;
    if chance_any(expected * UNSURE) < FIRST {
        "kept"
    } else if chance_any(expected / UNSURE) > 0.5 {
        "lost"
    } else {
        "open"
    }
}

/// Losses and retries over time, from a sixteenth to sixteen times the age; also the losses of
/// blocks with less and more wear.
fn over_time(
    config: &SsdConfig,
    forecast: &Forecast,
    (cycles, celsius): (f64, f64),
    wall: f64,
    pages: f64,
) -> Value {
    let hours: Vec<f64> = (-4..=4).map(|power| wall * 2_f64.powi(power)).collect();
    let aged =
        |cycles: f64, hours: f64| Aged { cycles, hours: hours * forecast.acceleration(celsius) };
    let rated = f64::from(config.wear.rated_cycles);
    let mut wear = vec![0.0, 0.5 * rated, rated, 1.5 * rated, cycles];
    wear.sort_by(f64::total_cmp);
    wear.dedup();
    let losses = wear.iter().map(|cycles| {
        let of = |hours: &f64| pages * lost(config, forecast, aged(*cycles, *hours));
        json!({ "cycles": cycles, "pages_lost": hours.iter().map(of).collect::<Vec<f64>>() })
    });
    let retries = hours.iter().map(|hours| forecast.retries(aged(cycles, *hours)).mean());
    json!({
        "days": hours.iter().map(|hours| hours / 24.0).collect::<Vec<f64>>(),
        "mean_retries": retries.collect::<Vec<f64>>(),
        "losses": losses.collect::<Vec<Value>>(),
    })
}

/// First time, in hours, at which a condition holds that then stays true, within a limit.
fn first_loss(holds: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (0.0, MOST_YEARS * YEAR);
    if !holds(high) {
        return None;
    }
    if holds(low) {
        return Some(0.0);
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// Probability that a page can neither be read nor rebuilt from parity.
fn lost(config: &SsdConfig, forecast: &Forecast, aged: Aged) -> f64 {
    forecast.lost_of_stripe(aged, config.parity.of, config.parity.stagger)
}

fn chance_any(expected: f64) -> f64 {
    -(-expected).exp_m1()
}

fn of_case(config: &SsdConfig, forecast: &Forecast, aged: Aged, pages: f64) -> Value {
    let (drift, errors) = forecast.means(aged);
    let chance = lost(config, forecast, aged);
    let retries = forecast.retries(aged);
    json!({
        "drift": drift,
        "rber": errors,
        "page_lost": chance,
        "pages_lost": pages * chance,
        "chance_of_any": chance_any(pages * chance),
        "soft_share": forecast.soft(aged),
        "mean_retries": retries.mean(),
        "retried_share": retries.at_least(1),
        "retries": retries.chances,
    })
}

/// Expected result of a read of the simulated drive, and its variance: a scaled drive has few word
/// lines, so its losses vary more than the full-size drive's.
fn of_its_lines(config: &SsdConfig, aged: Aged) -> Value {
    let Some(forecast) = Forecast::of_its_lines(config) else { return Value::Null };
    let Some(lines) = forecast.lines() else { return Value::Null };
    json!({
        "word_lines": lines.count(),
        "pages_of_block": lines.pages_of_block(),
        "page_lost": lost(config, &forecast, aged),
        "mean_retries": forecast.retries(aged).mean(),
        "variance_of_blocks": forecast.variance_of_blocks(aged),
        // With parity, at least two pages of a stripe are lost together.
        "lost_together": if config.parity.of > 0 { 2 } else { 1 },
    })
}

/// Compliance with the classes of JESD218 at the end of the rating.
fn classes(config: &SsdConfig, forecast: &Forecast) -> Value {
    let cycles = f64::from(config.wear.rated_cycles);
    let of = |hours: f64, most: f64| {
        let chance = lost(config, forecast, Aged { cycles, hours });
        let uber = uber(chance, 1.0);
        // The spread was derived from the same sum, so equality is possible up to rounding.
        json!({ "uber": uber, "most": most, "kept": uber <= most * (1.0 + 1e-9) })
    };
    json!({
        "client": of(YEAR, CLIENT_UBER),
        "enterprise": of(3.0 * MONTH * forecast.acceleration(40.0), ENTERPRISE_UBER),
    })
}

/// Maximum cycles at which an unpowered drive meets a JESD218 class's retention, and its rating.
///
/// # Errors
/// When data of this device do not age, or the class does not exist.
pub fn retention(experiment: &Experiment, class: &str) -> Result<Value, InputError> {
    let DeviceConfig::Ssd(config) = &experiment.device else {
        return Err(InputError("only a device of kind \"ssd\" keeps data that age".to_owned()));
    };
    let Some(forecast) = Forecast::of(config) else {
        let problem = "drives age by writes, not by days, unless device.media.model is set";
        return Err(experiment.blame(&Invalid::new(&["device.media.model"], problem.to_owned())));
    };
    let (hours, most) = match class {
        "client" => (YEAR, CLIENT_UBER),
        "enterprise" => (3.0 * MONTH * forecast.acceleration(40.0), ENTERPRISE_UBER),
        _ => return Err(InputError(format!("class {class}: \"client\" or \"enterprise\""))),
    };
    let of = |cycles: f64| uber(lost(config, &forecast, Aged { cycles, hours }), 1.0);
    // The value from which the spread was derived is met exactly.
    let keeps = |cycles: f64| of(cycles) <= most * (1.0 + 1e-9);
    let rated = f64::from(config.wear.rated_cycles);
    let (mut low, mut high) = (0.0, MOST_CYCLES);
    if keeps(high) {
        low = high;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if keeps(middle) { low = middle } else { high = middle }
    }
    // The rating is met exactly if the spread was derived from it.
    let cycles = if keeps(rated) { low.max(rated) } else { low };
    Ok(json!({
        "model": config.media.model.to_string(),
        "rated_cycles": rated,
        "cycles": if keeps(0.0) { cycles } else { 0.0 },
        "uber_at_rating": of(rated),
        "uber_allowed": most,
        "spread_errors": forecast.spread_errors(),
        "spread_origin": forecast.spread_origin().name(),
    }))
}

/// Days until the first retry of flash with fixed read references, by cycles: published values.
#[must_use]
pub fn media_forms() -> Value {
    let first = [1, 500, 1000, 2000, 3000]
        .map(|cycles| json!([cycles, days_at_fixed_references(f64::from(cycles), 8.8e-3)]));
    json!({ "first_retry_days": first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{preset_layer, set_layers};
    use devices::ssd::media::CODEWORD_BITS;

    fn found(sets: &[&str], age: &str, cycles: f64) -> Result<Value, InputError> {
        let sets: Vec<String> = sets.iter().map(|it| (*it).to_owned()).collect();
        let layers = [preset_layer("device", "tlc-client").unwrap(), set_layers(&sets).unwrap()];
        let experiment = Experiment::from_layers(&layers).unwrap();
        let data_bytes = 500_000_000_000;
        keep(&experiment, &Keeping { age: age.to_owned(), cycles, data_bytes })
    }

    #[test]
    fn a_drive_keeps_what_it_is_rated_for_and_loses_what_is_beyond() {
        let on = ["device.media.model=tlc-3d"];
        let rated = found(&on, "1y at 30C", 1500.0).unwrap();
        assert_eq!(rated["jesd218"]["client"]["kept"], true);
        let allowed = rated["kept"]["page_lost"].as_f64().unwrap() / CODEWORD_BITS;
        assert!((allowed / CLIENT_UBER - 1.0).abs() < 1e-3, "{allowed}");
        let lost =
            |age, cycles| found(&on, age, cycles).unwrap()["kept"]["pages_lost"].as_f64().unwrap();
        assert!(lost("1y at 40C", 3000.0) > 1e4 && lost("1y at 40C", 1000.0) < 1e-6);
        assert!(lost("10y at 40C", 2000.0) > lost("1y at 40C", 2000.0));
        let help = |place: usize| rated["helps"][place]["found"]["pages_lost"].as_f64().unwrap();
        assert!((0..3).all(|place| help(place) <= rated["kept"]["pages_lost"].as_f64().unwrap()));
    }

    #[test]
    fn the_verdict_holds_at_both_ends_of_what_is_known() {
        assert_eq!(verdict(0.0), "kept");
        assert_eq!(verdict(0.0009), "kept");
        assert_eq!(verdict(0.002), "open");
        assert_eq!(verdict(1.0), "open", "a tenth of it is most likely nothing");
        assert_eq!(verdict(8.0), "lost");
        let of = |cycles| found(&["device.media.model=tlc-3d"], "1y at 40C", cycles).unwrap();
        let said = |cycles| of(cycles)["verdict"].as_str().unwrap().to_owned();
        assert_eq!((said(500.0), said(3000.0)), ("kept".to_owned(), "lost".to_owned()));
        let over = of(1500.0)["over_time"].clone();
        for row in over["losses"].as_array().unwrap() {
            let lost: Vec<f64> = row["pages_lost"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it.as_f64().unwrap())
                .collect();
            assert!(lost.windows(2).all(|pair| pair[0] <= pair[1]), "{lost:?}");
        }
        assert_eq!(over["days"][4], 365.25);
        assert_eq!(over["mean_retries"][4], of(1500.0)["kept"]["mean_retries"]);
    }

    #[test]
    fn retention_allows_the_cycles_that_meet_the_class_and_no_more() {
        let of = |sets: &[&str], class: &str| {
            let sets: Vec<String> = sets.iter().map(|it| (*it).to_owned()).collect();
            let layers =
                [preset_layer("device", "tlc-client").unwrap(), set_layers(&sets).unwrap()];
            retention(&Experiment::from_layers(&layers).unwrap(), class).unwrap()
        };
        let number = |found: &Value, key: &str| found[key].as_f64().unwrap();
        let on = "device.media.model=tlc-3d";
        // The spread was derived from the rating of a client drive, so the result equals the
        // rating.
        let rated = of(&[on], "client");
        assert!((number(&rated, "cycles") / 1500.0 - 1.0).abs() < 1e-3, "{rated}");
        // More variation between pages, and the stricter class, allow fewer cycles.
        let uneven = of(&[on, "device.media.spread_errors=0.22"], "client");
        let strict = of(&[on], "enterprise");
        assert!(number(&uneven, "cycles") < 1200.0, "{uneven}");
        assert!(number(&strict, "cycles") < 1500.0, "{strict}");
        assert!(number(&uneven, "uber_at_rating") > CLIENT_UBER);
        let again = number(&uneven, "cycles");
        let sets = [on, "device.media.spread_errors=0.22"];
        let kept = found(&sets, "1y at 30C", again).unwrap()["kept"]["page_lost"].as_f64().unwrap();
        assert!((kept / CODEWORD_BITS / CLIENT_UBER - 1.0).abs() < 1e-3, "{kept}");
        let equal = of(&[on, "device.media.spread_errors=0"], "client");
        assert!(number(&equal, "cycles") > 2500.0, "{equal}");
    }

    #[test]
    fn the_simulated_drive_has_few_word_lines_and_loses_less() {
        for cycles in [0.0, 150.0, 1500.0, 3000.0] {
            let form = found(&["device.media.model=tlc-3d"], "1y at 40C", cycles).unwrap();
            let of = |key: &str| form["simulated"][key].as_f64().unwrap();
            let whole = form["kept"]["page_lost"].as_f64().unwrap();
            assert_eq!(form["simulated"]["word_lines"], 6);
            assert_eq!(form["simulated"]["pages_of_block"].as_u64().unwrap() % 18, 0);
            assert!(of("page_lost") <= whole, "{cycles}: {} {whole}", of("page_lost"));
            // Even small probabilities have a finite relative variance.
            assert!(of("variance_of_blocks") >= 0.0);
            let retries = form["kept"]["mean_retries"].as_f64().unwrap();
            assert!((of("mean_retries") / retries - 1.0).abs() < 0.02);
        }
    }

    #[test]
    fn parity_squares_the_chance() {
        let of = |sets: &[&str]| {
            found(sets, "1y at 40C", 2500.0).unwrap()["kept"]["page_lost"].as_f64().unwrap()
        };
        let base = ["device.media.model=tlc-3d", "device.media.spread_errors=0.2"];
        let alone = of(&base);
        let parity = [base[0], base[1], "device.parity.of=16", "device.parity.stagger=true"];
        let with = of(&parity);
        assert!((with / (15.0 * alone * alone) - 1.0).abs() < 0.05, "{with} {alone}");
        let along = of(&parity[..3]);
        assert!(along > 2.0 * with, "pages of a word line are lost together: {along} {with}");
    }

    #[test]
    fn a_derived_spread_is_wider_with_staggered_parity_alone() {
        let of = |sets: &[&str]| found(sets, "1y at 40C", 1500.0).unwrap();
        let base = "device.media.model=tlc-3d";
        let alone = of(&[base]);
        let along = of(&[base, "device.parity.of=16"]);
        let apart = of(&[base, "device.parity.of=16", "device.parity.stagger=true"]);
        let lost = |found: &Value| found["kept"]["page_lost"].as_f64().unwrap();
        let spread = |found: &Value| found["spread_errors"].as_f64().unwrap();
        assert!(lost(&along) <= lost(&alone), "{} {}", lost(&along), lost(&alone));
        assert!((spread(&along) - spread(&alone)).abs() < 1e-12);
        assert!(spread(&apart) > spread(&alone));
    }

    #[test]
    fn the_spread_says_where_it_comes_from() {
        let of = |sets: &[&str]| {
            found(sets, "1y at 40C", 1500.0).unwrap()["spread_origin"].as_str().unwrap().to_owned()
        };
        let on = "device.media.model=tlc-3d";
        assert_eq!(of(&[on]), "rating");
        assert_eq!(of(&[on, "device.media.spread_errors=0.2"]), "given");
        assert_eq!(of(&[on, "device.wear.rated_cycles=6000"]), "out of reach");
    }

    #[test]
    fn what_does_not_age_is_refused() {
        let refusal = found(&[], "1y at 40C", 0.0).unwrap_err();
        assert!(refusal.0.contains("drives age by writes, not by days"), "{}", refusal.0);
        let refusal = found(&["device.media.model=tlc-3d"], "1y at 400C", 0.0).unwrap_err();
        assert!(refusal.0.contains("from -40C to 125C"), "{}", refusal.0);
    }
}

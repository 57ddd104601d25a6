//! Distribution of random positions (`random_distribution`).

use super::units::{DIRECTIONS, number, percentage, three};
use crate::locality::Zone;

/// Distribution of random requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RandomPlaces {
    Uniform,
    /// Exponent, and the centre as a share of the blocks.
    Zipf(f64, Option<f64>),
    /// Power and centre.
    Pareto(f64, Option<f64>),
    /// Deviation in percent and centre.
    Normal(f64, Option<f64>),
    /// Percentages of requests and blocks as shares, by direction.
    Zoned([Vec<Zone>; DIRECTIONS]),
    /// A repeated sequence of blocks.
    Sequence(Vec<u64>),
}

/// Parses a distribution.
///
/// # Errors
/// A sentence, if the text is not a distribution.
pub(super) fn distribution(text: &str) -> Result<RandomPlaces, String> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    if name == "zoned" {
        return Ok(RandomPlaces::Zoned(zones_by_direction(rest)?));
    }
    if name == "zoned_abs" {
        return Err("zoned_abs is not supported; zoned takes percentages".to_owned());
    }
    if name == "sequence" {
        let blocks: Result<Vec<u64>, String> =
            rest.split(',').map(|it| number(it.trim())).collect();
        return blocks.map(RandomPlaces::Sequence);
    }
    let mut numbers = Vec::new();
    for part in rest.split(':').filter(|part| !part.is_empty()) {
        match part.parse::<f64>() {
            Ok(value) if value.is_finite() => numbers.push(value),
            _ => return Err(format!("\"{part}\" is not a number")),
        }
    }
    let centre = numbers.get(1).copied();
    if centre.is_some_and(|centre| !(0.0..=1.0).contains(&centre)) || numbers.len() > 2 {
        return Err("a centre, the second number, lies from 0 to 1".to_owned());
    }
    match (name, numbers.first().copied()) {
        ("random", None) => Ok(RandomPlaces::Uniform),
        ("zipf", Some(theta)) if theta > 0.0 && theta < 10.0 && (theta - 1.0).abs() > 1e-9 => {
            Ok(RandomPlaces::Zipf(theta, centre))
        }
        ("zipf", _) => Err("zipf:THETA, above 0, below 10 and not 1".to_owned()),
        ("pareto", Some(h)) if h > 0.0 && h < 1.0 => Ok(RandomPlaces::Pareto(h, centre)),
        ("pareto", _) => Err("pareto:H, between 0 and 1".to_owned()),
        ("normal", Some(deviation)) if (0.0..=100.0).contains(&deviation) => {
            Ok(RandomPlaces::Normal(deviation, centre))
        }
        ("normal", _) => Err("normal:DEVIATION, from 0 to 100".to_owned()),
        _ => Err(
            "it is random, zipf:THETA, pareto:H, normal:DEVIATION, sequence:BLOCK,BLOCK,... or \
                  zoned:PERCENT/PERCENT:..."
                .to_owned(),
        ),
    }
}

fn zones_by_direction(text: &str) -> Result<[Vec<Zone>; DIRECTIONS], String> {
    let zones = three(text, |part| {
        let zone = |zone: &str| {
            let (requests, blocks) = zone.split_once('/').unwrap_or((zone, ""));
            let optional = |text: &str| Some(text).filter(|text| !text.is_empty()).map(percentage);
            Ok((optional(requests).transpose()?, optional(blocks).transpose()?))
        };
        let parts = part.split(':').map(zone).collect::<Result<Vec<_>, String>>()?;
        let requests = shared_rest(parts.iter().map(|(requests, _)| *requests))?;
        let blocks = shared_rest(parts.iter().map(|(_, blocks)| *blocks))?;
        let share = |percent: u64| percent as f64 / 100.0;
        let pairs = requests.into_iter().zip(blocks);
        Ok(pairs.map(|(r, b)| Zone { requests: share(r), blocks: share(b) }).collect::<Vec<_>>())
    })?;
    let whole = vec![Zone { requests: 1.0, blocks: 1.0 }];
    Ok(zones.map(|zones| zones.unwrap_or_else(|| whole.clone())))
}

/// Percentages that add up to 100; missing ones share the rest equally, and the last gets the
/// remainder.
pub(super) fn shared_rest(
    percents: impl Iterator<Item = Option<u64>> + Clone,
) -> Result<Vec<u64>, String> {
    let sum: u64 = percents.clone().flatten().sum();
    let missing = percents.clone().filter(Option::is_none).count() as u64;
    if sum > 100 || missing == 0 && sum < 100 {
        return Err(format!("the percentages add up to {sum}, not to 100"));
    }
    let mut left = 100 - sum;
    let mut to_share = missing;
    let shared = percents.map(|percent| {
        percent.unwrap_or_else(|| {
            let share = left / to_share;
            to_share -= 1;
            left -= share;
            share
        })
    });
    Ok(shared.collect())
}

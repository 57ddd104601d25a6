//! The distribution of random addresses: "uniform", "hot-cold(0.9, 0.1)", "zipf(0.99)", "zones(...)".
//!
//! A [`Locality`] is the config value; a [`Skew`] draws blocks from it. Every accepted distribution
//! can be sampled in bounded time, and its text is preserved.

use crate::permutation::Permutation;
use crate::streams;
use crate::zipf::Zipf;
use engine::{Random, Xoshiro256};
use options::{Invalid, NUMBER, Values};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// Distribution of random requests over the blocks of a footprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Locality(Shape);

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Uniform,
    /// Share of the requests and of the blocks; the other requests access the other blocks.
    HotCold(Zone),
    /// The exponent.
    Zipf(f64),
    /// Zones in block order.
    Zones(Vec<Zone>),
}

/// A share of requests and the share of blocks that they access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Zone {
    pub(crate) requests: f64,
    pub(crate) blocks: f64,
}

/// Tolerance of the sum of shares, for rounded decimal fractions.
const ROUNDING: f64 = 1e-6;

/// Maximum exponent: beyond it the first block gets all but a thousandth of the requests.
const LARGEST_THETA: f64 = 10.0;

impl Locality {
    /// Form of a value.
    pub const EXPECTED: &'static str = "\"uniform\"; \"hot-cold(R, F)\", share R of the requests \
         to share F of the blocks; \"zipf(THETA)\"; or \"zones(R/F, R/F, ...)\" with as many zones \
         as needed, in the order of addresses";

    /// Every block is equally likely.
    pub const UNIFORM: Locality = Locality(Shape::Uniform);

    /// Zipf's law with exponent `theta`, from 0 to 10.
    pub(crate) const fn zipf(theta: f64) -> Locality {
        Locality(Shape::Zipf(theta))
    }

    /// A sampler of `blocks` blocks, or `None` for a uniform one; `scatter` distributes hot blocks
    /// over the footprint.
    ///
    /// # Errors
    /// When a zone has no whole block; names `key`.
    pub(crate) fn skew(
        &self,
        key: &str,
        blocks: u64,
        scatter: bool,
        seed: u64,
    ) -> Result<Option<Skew>, Invalid> {
        let law = match &self.0 {
            Shape::Uniform => return Ok(None),
            Shape::Zipf(theta) => Law::Zipf(Zipf::new(blocks, *theta)),
            Shape::HotCold(hot) => Law::Zones(bands(key, &[*hot, hot.rest()], blocks)?),
            Shape::Zones(zones) => Law::Zones(bands(key, zones, blocks)?),
        };
        let mut keys = Xoshiro256::new(seed, streams::SCATTER);
        Ok(Some(Skew { law, scatter: scatter.then(|| Permutation::new(blocks, &mut keys)) }))
    }
}

impl Zone {
    fn rest(self) -> Zone {
        Zone { requests: 1.0 - self.requests, blocks: 1.0 - self.blocks }
    }
}

/// Sampler of blocks.
#[derive(Debug, Clone)]
pub(crate) struct Skew {
    law: Law,
    scatter: Option<Permutation>,
}

#[derive(Debug, Clone)]
enum Law {
    Zipf(Zipf),
    Zones(Vec<Band>),
}

/// A zone in blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band {
    /// Cumulative share of requests up to and including this band.
    until: f64,
    first: u64,
    blocks: u64,
}

impl Skew {
    /// Draws a block.
    pub(crate) fn block(&self, random: &mut Xoshiro256) -> u64 {
        let block = match &self.law {
            Law::Zipf(zipf) => zipf.rank(random),
            Law::Zones(bands) => band_block(bands, random),
        };
        self.scatter.as_ref().map_or(block, |scatter| scatter.apply(block))
    }
}

/// Draws a block from the bands.
pub(crate) fn band_block(bands: &[Band], random: &mut Xoshiro256) -> u64 {
    let share = random.unit();
    let band = bands.iter().find(|band| share < band.until).unwrap_or(&bands[bands.len() - 1]);
    band.first + random.below(band.blocks)
}

/// The zones as bands of `blocks` blocks, without zones that get no requests.
///
/// # Errors
/// When a zone with requests has no whole block; names `key`.
pub(crate) fn bands(key: &str, zones: &[Zone], blocks: u64) -> Result<Vec<Band>, Invalid> {
    let mut bands = Vec::new();
    let (mut until, mut end, mut first) = (0.0, 0.0, 0);
    for zone in zones {
        until += zone.requests;
        end += zone.blocks;
        let last = ((blocks as f64 * end).round() as u64).min(blocks);
        if zone.requests > 0.0 {
            if last == first {
                let share = zone.blocks;
                let problem =
                    format!("share {share} of a footprint of {blocks} blocks is no whole block");
                return Err(Invalid::new(&[key, "workload.footprint"], problem));
            }
            bands.push(Band { until, first, blocks: last - first });
        }
        first = last;
    }
    Ok(bands)
}

impl fmt::Display for Locality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Shape::Uniform => f.write_str("uniform"),
            Shape::HotCold(hot) => write!(f, "hot-cold({}, {})", hot.requests, hot.blocks),
            Shape::Zipf(theta) => write!(f, "zipf({theta})"),
            Shape::Zones(zones) => {
                let zones: Vec<String> =
                    zones.iter().map(|zone| format!("{}/{}", zone.requests, zone.blocks)).collect();
                write!(f, "zones({})", zones.join(", "))
            }
        }
    }
}

impl FromStr for Locality {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let not = |why: &str| format!("\"{text}\" is not {}: {why}", Self::EXPECTED);
        let trimmed = text.trim();
        if trimmed == "uniform" {
            return Ok(Self::UNIFORM);
        }
        let (name, rest) = trimmed.split_once('(').ok_or_else(|| not("the name is unknown"))?;
        let inner =
            rest.strip_suffix(')').ok_or_else(|| not("the closing parenthesis is missing"))?;
        let number = |part: &str| match part.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err(not(&format!("\"{}\" is no number from 0 up", part.trim()))),
        };
        let parts: Vec<&str> = inner.split(',').collect();
        match (name.trim(), &parts[..]) {
            ("zipf", [theta]) => match number(theta)? {
                theta if theta <= LARGEST_THETA => Ok(Locality(Shape::Zipf(theta))),
                _ => Err(not("the exponent is above 10")),
            },
            ("hot-cold", [requests, blocks]) => {
                let zone = Zone { requests: number(requests)?, blocks: number(blocks)? };
                let inside = zone.blocks > 0.0 && zone.blocks < 1.0 && zone.requests <= 1.0;
                inside.then_some(Locality(Shape::HotCold(zone))).ok_or_else(|| {
                    not("share F must lie between 0 and 1, and share R must not exceed 1")
                })
            }
            ("zones", parts) => {
                let zone = |part: &&str| {
                    let (requests, blocks) =
                        part.split_once('/').ok_or_else(|| not("a zone is written R/F"))?;
                    Ok(Zone { requests: number(requests)?, blocks: number(blocks)? })
                };
                let zones = parts.iter().map(zone).collect::<Result<Vec<_>, String>>()?;
                for (what, sum) in [
                    ("requests", zones.iter().map(|zone| zone.requests).sum::<f64>()),
                    ("blocks", zones.iter().map(|zone| zone.blocks).sum::<f64>()),
                ] {
                    if (sum - 1.0).abs() > ROUNDING {
                        return Err(not(&format!("the shares of the {what} add up to {sum}")));
                    }
                }
                Ok(Locality(Shape::Zones(zones)))
            }
            ("zipf" | "hot-cold", _) => Err(not(&format!("it has {} parameters", parts.len()))),
            _ => Err(not("the name is unknown")),
        }
    }
}

impl Serialize for Locality {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Locality {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Locality {
    fn values() -> Values {
        let number = format!(r"\s*{NUMBER}\s*");
        let zone = format!("{number}/{number}");
        Values::words_or(
            &["uniform"],
            format!(
                r"\s*(?:uniform|zipf\s*\({number}\)|hot-cold\s*\({number},{number}\)|zones\s*\({zone}(?:,{zone})*\))\s*"
            ),
        )
    }
}

impl options::Setting for Locality {
    options::leaf_body!(Self::EXPECTED, Self::values(), |value: &Self| value.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skew(text: &str, blocks: u64, scatter: bool) -> Skew {
        text.parse::<Locality>().unwrap().skew("k", blocks, scatter, 7).unwrap().unwrap()
    }

    fn counts(skew: &Skew, blocks: usize, draws: u32) -> Vec<u32> {
        let mut random = Xoshiro256::new(3, 0);
        let mut counts = vec![0; blocks];
        for _ in 0..draws {
            counts[skew.block(&mut random) as usize] += 1;
        }
        counts
    }

    #[test]
    fn every_form_is_read_and_written_back() {
        let rows = ["uniform", "hot-cold(0.9, 0.1)", "zipf(1.2)", "zones(0.5/0.05, 0.5/0.95)"];
        for text in rows {
            assert_eq!(text.parse::<Locality>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refusals_say_why_and_list_the_forms() {
        let rows = [
            ("normal(3)", "the name is unknown"),
            ("zipf", "the name is unknown"),
            ("zipf(1.2", "the closing parenthesis is missing"),
            ("zipf(-1)", "\"-1\" is no number from 0 up"),
            ("zipf(11)", "above 10"),
            ("zipf(1, 2)", "it has 2 parameters"),
            ("hot-cold(0.9)", "it has 1 parameters"),
            ("hot-cold(0.9, 0)", "share F must lie between 0 and 1"),
            ("hot-cold(1.1, 0.5)", "share R must not exceed 1"),
            ("zones(1)", "a zone is written R/F"),
            ("zones(0.5/0.5, 0.4/0.5)", "the shares of the requests add up to 0.9"),
            ("zones(0.5/0.5, 0.5/0.6)", "the shares of the blocks add up to 1.1"),
        ];
        for (text, why) in rows {
            let error = text.parse::<Locality>().unwrap_err();
            assert!(error.contains(why) && error.contains("zipf(THETA)"), "{error}");
        }
        let tiny = "hot-cold(0.9, 0.01)".parse::<Locality>().unwrap();
        let error = tiny.skew("workload.locality", 10, true, 1).unwrap_err();
        assert!(error.to_string().contains("0.01 of a footprint of 10 blocks"), "{error}");
    }

    #[test]
    fn hot_blocks_get_their_share_and_the_blocks_of_a_zone_are_alike() {
        let counts = counts(&skew("hot-cold(0.9, 0.1)", 1000, false), 1000, 1_000_000);
        let hot: u32 = counts[..100].iter().sum();
        assert!((899_000..901_000).contains(&hot), "{hot}");
        // 9,000 and 111 accesses per block are expected; the bounds are five deviations.
        assert!(counts[..100].iter().all(|count| (8_500..9_500).contains(count)));
        assert!(counts[100..].iter().all(|count| (55..170).contains(count)));
    }

    #[test]
    fn zones_lie_in_the_order_of_addresses() {
        let counts = counts(&skew("zones(0.2/0.8, 0/0.1, 0.8/0.1)", 100, false), 100, 100_000);
        let share = |range: std::ops::Range<usize>| counts[range].iter().sum::<u32>();
        assert!((19_500..20_500).contains(&share(0..80)));
        assert_eq!(share(80..90), 0);
        assert!((79_500..80_500).contains(&share(90..100)));
    }

    #[test]
    fn scattering_moves_blocks_and_keeps_their_frequencies() {
        let mut plain = counts(&skew("zipf(1.2)", 1000, false), 1000, 100_000);
        let mut scattered = counts(&skew("zipf(1.2)", 1000, true), 1000, 100_000);
        assert!(plain[0] > plain[10] && plain[10] > plain[300]);
        assert_ne!(plain, scattered);
        // The hottest tenth of the blocks is centred in the footprint, not at its start.
        let mut by_heat: Vec<usize> = (0..1000).collect();
        by_heat.sort_by_key(|block| std::cmp::Reverse(scattered[*block]));
        let mean = by_heat[..100].iter().sum::<usize>() / 100;
        assert!((400..600).contains(&mean), "{mean}");
        plain.sort_unstable();
        scattered.sort_unstable();
        assert_eq!(plain, scattered);
    }
}

//! Effects of time and wear on data, and reads of aged data: the options under `device.media`,
//! `device.ecc` and `device.retry`.

use options::{Duration, Maybe, Size, Values, choices, conditions, options, text_setting};
use std::fmt;
use std::str::FromStr;

choices! {
    /// Law of ageing.
    pub enum MediaModel {
        /// No ageing: every read succeeds at once.
        None = "none",
        /// TLC with charge traps: its references drift within days.
        Tlc3d = "tlc-3d",
        /// TLC of 72 layers by another source: its references never move, and errors grow with a power of time.
        Tlc72l = "tlc-72l",
        /// Planar MLC of 2x to 3x nm: four orders of magnitude fewer errors when new, and references that never move.
        Mlc2ynm = "mlc-2ynm",
        /// QLC of the kind: twice the drift, 2.5 times the errors. A guess.
        Qlc3d = "qlc-3d",
        /// A custom chip: its drift and errors are keys, with the defaults of `tlc-3d`.
        Custom = "custom",
    }

    /// Growth of level drift with time.
    pub enum DriftLaw {
        /// As a power of time, 0.4.
        Power = "power",
        /// With the logarithm of time.
        Log = "log",
    }

    /// First reference of a read in the table.
    pub enum Reference {
        /// The first entry.
        Table = "table",
        /// The block's last successful reference.
        Last = "last",
        /// The controller's estimate from age and wear.
        Model = "model",
        /// The block's and word line's levels at the last patrol (`device.scrub.period`).
        Calibrated = "calibrated",
    }

    /// Capability of hard decoding.
    pub enum EccKind {
        /// Pages up to a raw bit error rate.
        Threshold = "threshold",
        /// Each codeword up to a number of wrong bits, of which a page has by chance more or fewer.
        Bch = "bch",
    }
}

conditions! {
    Media:
    MODELLED = "where data age (device.media.model)", |c| c.model != MediaModel::None;
    DRIFTING = "where references drift (device.media.model other than \"tlc-72l\" and \"mlc-2ynm\")", |c| {
        !matches!(c.model, MediaModel::None | MediaModel::Tlc72l | MediaModel::Mlc2ynm)
    };
    CUSTOM = "with device.media.model = \"custom\"", |c| c.model == MediaModel::Custom;
    CUSTOM_POWER = "with device.media.model = \"custom\" and device.media.drift = \"power\"", |c| {
        c.model == MediaModel::Custom && c.drift == DriftLaw::Power
    };
}

conditions! {
    Ecc:
    BY_RATE = "with device.ecc.kind = \"threshold\"", |c| c.kind == EccKind::Threshold;
    BY_BITS = "with device.ecc.kind = \"bch\"", |c| c.kind == EccKind::Bch;
}

conditions! {
    Retry:
    BY_MODEL = "with device.retry.reference = \"model\"", |c| c.reference == Reference::Model;
}

options! {
    /// Ageing of data: retention, wear and reads. It has one field per key, ten of them for a
    /// custom chip.
    pub struct Media as MediaPartial {
        /// Law of ageing; with a model, reads are repeated with shifted references, and may fail.
        model: MediaModel = MediaModel::None,
        /// Celsius of the flash with power, and default of `run.age`.
        temperature: Celsius where MODELLED = Celsius::ROOM,
        /// Initial P/E cycles of every block, for ageing alone: wear and lifetime count from 0.
        cycles: u32 where MODELLED = 0,
        /// Activation energy of charge loss in eV (JESD218): how much faster data age where it is warmer. With 0 the
        /// temperature does not matter.
        activation: f64 where MODELLED = 1.1,
        /// Growth of level drift with time; the evidence does not tell which.
        drift: DriftLaw where DRIFTING = DriftLaw::Power,
        /// Variation of the drift between word lines, as the standard deviation of its logarithm. A guess.
        spread_layer: f64 as Ratio where DRIFTING = 0.2,
        /// Spread between blocks. A guess.
        spread_block: f64 as Ratio where DRIFTING = 0.15,
        /// Spread between pages. A guess.
        spread_page: f64 as Ratio where DRIFTING = 0.1,
        /// Variation of the error rate between pages, as the standard deviation of its logarithm. If not given,
        /// the widest with which the drive meets JESD218 for clients, or 0.1 where none does: one codeword beyond
        /// correction in 1e15 bits read, after a year at 30 C and its rated cycles.
        spread_errors: Option<f64> as Ratio where MODELLED = None,
        /// Steps of the retry table by which references drift in the first month at 30 C, without wear.
        drift_month: f64 where CUSTOM = 3.47,
        /// P/E cycles that double the drift.
        drift_cycles: f64 where CUSTOM = 1780.0,
        /// Exponent of time in the drift.
        drift_power: f64 where CUSTOM_POWER = 0.4,
        /// Raw bit error rate of a block that is programmed for the first time, at its best references.
        errors_new: f64 where CUSTOM = 1.48e-3,
        /// Error rate added by 1,000 P/E cycles.
        errors_wear: f64 where CUSTOM = 5.5e-4,
        /// Exponent of the cycles in that growth.
        errors_wear_power: f64 where CUSTOM = 2.05,
        /// Growth with time: this times the logarithm of 1 + hours at 30 C.
        errors_time: f64 where CUSTOM = 1.25e-4,
        /// Error rate added to a block of 1,000 P/E cycles by one read of each of its pages.
        errors_reads: f64 where CUSTOM = 3.65e-8,
        /// The power of these reads.
        errors_reads_power: f64 where CUSTOM = 1.71,
        /// Exponent of the cycles in the errors by reads.
        errors_reads_wear_power: f64 where CUSTOM = 0.33,
    }

    /// Error correction.
    pub struct Ecc as EccPartial {
        /// Capability of hard decoding: an error rate, or wrong bits of a codeword.
        kind: EccKind = EccKind::Threshold,
        /// Data of a codeword; its parity comes on top.
        codeword: Size where BY_BITS = Size::from_bytes(1024),
        /// Wrong bits of a codeword that are corrected.
        corrects: u32 where BY_BITS = 72,
        /// Raw bit error rate that hard decoding corrects.
        hard: f64 where BY_RATE = 8.8e-3,
        /// Soft decoding: raw bit error rates that its levels correct, each with the senses that it takes.
        soft: SoftLevels = SoftLevels::default(),
        /// Time to decode a page once more.
        decode: Duration = Duration::from_ns(20_000),
    }

    /// Reading with shifted references.
    pub struct Retry as RetryPartial {
        /// Entries of the table of references behind the first.
        steps: u32 = 40,
        /// First reference of a read in that table.
        reference: Reference = Reference::Table,
        /// Error of the controller's estimate, as the standard deviation of its logarithm.
        estimate_error: f64 as Ratio where BY_MODEL = 0.3,
        /// Time to search the best reference where the table ends; with `"none"` the page is then unreadable.
        search: Maybe = Maybe(Some(Duration::from_ns(10_000_000))),
        /// Sense for a retry while the last one is transferred and decoded.
        pipelined: bool = false,
        /// Distance from the best reference within which a new page can be read, in steps of the
        /// table.
        window: f64 = 0.5,
    }
}

/// A temperature in thousandths of a degree Celsius.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Celsius(i32);

impl Celsius {
    /// 30 degrees, at which the retention clock equals wall time.
    const ROOM: Celsius = Celsius(30_000);

    /// Specified temperature range of flash.
    const LOWEST: i32 = -40_000;
    const HIGHEST: i32 = 125_000;

    /// A temperature in whole degrees.
    pub const fn of_degrees(degrees: i32) -> Celsius {
        Celsius(degrees * 1000)
    }

    /// Value in degrees Celsius.
    pub fn celsius(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Syntax of the value, as a regular expression.
    pub fn pattern() -> String {
        format!(r"\s*{}\s*C\s*", options::NUMBER)
    }
}

impl FromStr for Celsius {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is not a temperature with its unit, such as \"40C\"");
        let number = text.trim().strip_suffix('C').ok_or_else(wrong)?.trim_end();
        let celsius: f64 = number.parse().map_err(|_| wrong())?;
        let thousandths = (celsius * 1000.0).round();
        if !(f64::from(Self::LOWEST)..=f64::from(Self::HIGHEST)).contains(&thousandths) {
            return Err(format!("\"{text}\" is not a temperature from -40C to 125C"));
        }
        Ok(Celsius(thousandths as i32))
    }
}

impl fmt::Display for Celsius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}C", self.celsius())
    }
}

text_setting!(Celsius: "a temperature with its unit, such as \"40C\"", Values::Pattern(Celsius::pattern()));

/// Maximum number of soft-decoding levels.
const MOST_LEVELS: usize = 8;

/// Raw bit error rates that each soft-decoding level corrects, ascending, and senses per level.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftLevels(Vec<(f64, u32)>);

impl SoftLevels {
    /// Levels: corrected error rate, and number of senses.
    pub fn levels(&self) -> &[(f64, u32)] {
        &self.0
    }
}

impl Default for SoftLevels {
    fn default() -> Self {
        SoftLevels(vec![(1.1e-2, 2), (1.4e-2, 6)])
    }
}

impl FromStr for SoftLevels {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(SoftLevels(Vec::new()));
        }
        let wrong = || {
            format!("\"{text}\" is not \"none\", or levels such as \"1.1e-2 in 2, 1.4e-2 in 6\"")
        };
        let level = |part: &str| {
            let (rate, senses) = part.split_once(" in ")?;
            Some((rate.trim().parse::<f64>().ok()?, senses.trim().parse::<u32>().ok()?))
        };
        let levels: Option<Vec<_>> = text.split(',').map(level).collect();
        let levels = levels.ok_or_else(wrong)?;
        let is_sound =
            |(rate, senses): &(f64, u32)| *rate > 0.0 && *rate < 0.5 && (1..=1000).contains(senses);
        if levels.len() > MOST_LEVELS || !levels.iter().all(is_sound) {
            return Err(format!(
                "\"{text}\": at most {MOST_LEVELS} levels, each an error rate between 0 and 0.5 in 1 to 1000 senses"
            ));
        }
        if levels.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!("\"{text}\": each level must correct more than the one before"));
        }
        Ok(SoftLevels(levels))
    }
}

impl fmt::Display for SoftLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (place, (rate, senses)) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{rate} in {senses}")?;
        }
        Ok(())
    }
}

text_setting!(
    SoftLevels: "\"none\", or levels such as \"1.1e-2 in 2, 1.4e-2 in 6\"",
    Values::words_or(&["none"], {
        let level = format!(r"\s*{}\s+in\s+[0-9]+\s*", options::NUMBER);
        format!("{level}(?:,{level})*")
    })
);

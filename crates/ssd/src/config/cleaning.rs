//! Garbage collection: its options, and the table of policies, which feeds the config words, the
//! listing and the dispatch of `clean/mod.rs`. The policies themselves are elsewhere.

use super::Every;
use super::applies::{
    BACKGROUND, BUFFERED, BURSTS, HOT_COLD, MAPS_PAGES, METERED, MOVES_PAGES, STREAMS, UNBUFFERED,
};
use super::today::{Pace, ReadOrder, Reclaim};
use options::{Size, Values, choices, conditions, options};
use std::fmt;
use std::str::FromStr;

/// The table: module in `clean`, variant, word and description of each policy. `$make` is the macro
/// that expands the rows.
macro_rules! cleaners {
    ($make:ident) => {
        $make! {
            greedy: Greedy = "greedy", "The block with the fewest valid pages.";
            random: Random = "random", "A random closed block with at least one invalid (superseded) page.";
            fifo: Fifo = "fifo", "The block opened longest ago (circular log).";
            windowed_greedy: WindowedGreedy = "windowed-greedy",
                "The block with the fewest valid pages among the oldest blocks.";
            d_choices: DChoices = "d-choices", "The block with the fewest valid pages of a few drawn at \
                random (d-choices).";
            cost_benefit: CostBenefit = "cost-benefit",
                "The block with the best ratio of reclaimed space times age to cost.";
            cat: Cat = "cat", "Cost, age, times (CAT): cost-benefit that also avoids worn blocks.";
        }
    };
}
pub(crate) use cleaners;

/// Makes the names of the policies.
macro_rules! names {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        /// Garbage collection policies, named as in the literature.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Policy {
            $(#[doc = $summary] $variant,)+
            /// A custom policy, supplied when the drive is built.
            Named(PolicyName),
        }

        impl options::Choice for Policy {
            const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, $summary)),+];
        }

        impl fmt::Display for Policy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Policy::$variant => $word,)+
                    Policy::Named(name) => name.as_str(),
                })
            }
        }

        impl FromStr for Policy {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Policy::$variant),)+
                    _ => PolicyName::new(text).map(Policy::Named).ok_or_else(|| unknown(text)),
                }
            }
        }

        options::text_setting!(
            Policy: concat!($($word, " | ",)+ "module:Class of your own"),
            Values::Either(vec![
                Values::words(<Policy as options::Choice>::WORDS),
                Values::Pattern(PolicyName::PATTERN.to_owned()),
            ])
        );
    };
}

cleaners!(names);

/// Name of a custom policy: `module:Class`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyName(String);

impl PolicyName {
    /// Syntax of the value, as a regular expression.
    const PATTERN: &str = r"[^:]*[^:\s][^:]*:[\s\S]*\S[\s\S]*";

    /// The name, if `text` is valid.
    pub fn new(text: &str) -> Option<Self> {
        let (module, class) = text.split_once(':')?;
        let complete = !module.trim().is_empty() && !class.trim().is_empty();
        complete.then(|| PolicyName(text.to_owned()))
    }

    /// Text in the configuration.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn unknown(text: &str) -> String {
    let words: Vec<&str> =
        <Policy as options::Choice>::WORDS.iter().map(|(word, _)| *word).collect();
    let hint = options::nearest(text, words.iter().copied())
        .map(|word| format!(" (did you mean \"{word}\"?)"))
        .unwrap_or_default();
    let list = words.join(", ");
    format!("\"{text}\" is not one of {list}{hint}; a policy of your own is written module:Class")
}

choices! {
    /// Priority of cleaning: it blocks its unit, or yields to requests.
    pub enum CleaningTime {
        /// A block is cleaned without interruption: its unit serves nothing else until the erase is done.
        Blocking = "blocking",
        /// Each page move and each erase is a separate operation that yields to requests.
        Interleaved = "interleaved",
    }

    /// Write frontiers of a domain, and which data go to which.
    pub enum Frontiers {
        /// `single` without a write buffer, `separate-moved` with one.
        Auto = "auto",
        /// One open block for all writes.
        Single = "single",
        /// Separate open blocks for host writes and for pages moved by cleaning.
        SeparateMoved = "separate-moved",
        /// Separate open blocks for hot and for cold pages.
        HotCold = "hot-cold",
    }

    /// Detection of hot and cold pages.
    pub enum Detector {
        /// By address: the start of the address space is hot (a hint of the host).
        Address = "address",
        /// By recent write frequency, counted in a hash table of page numbers.
        Writes = "writes",
        /// By recency: hot if rewritten before it was evicted from a table of page numbers.
        Recency = "recency",
    }

    /// Wear levelling: treatment of a victim more worn than the others.
    pub enum LevellingRule {
        /// No wear levelling: it is cleaned like any other.
        None = "none",
        /// The victim is skipped with a probability (rate limiting).
        RateLimit = "rate-limit",
        /// The victim receives cold data; if there are none, it is skipped with a probability.
        Migrate = "migrate",
        /// The victim receives the data of the least erased block, if it was erased much more often (Wu and Zwaenepoel
        /// 1994: their data are swapped).
        Swap = "swap",
    }

    /// Measure of the age of a block's data.
    pub enum Temperature {
        /// Since the block was opened.
        Opened = "opened",
        /// Mean age of its pages; moved pages keep their age.
        Aggregate = "aggregate",
    }

    /// Tie break between equally good victims.
    pub enum TieBreak {
        /// The highest block number.
        Highest = "highest",
        /// The lowest block number.
        Lowest = "lowest",
        /// A random one.
        Random = "random",
    }
}

impl LevellingRule {
    /// True if cold data are moved into worn blocks.
    pub fn moves_cold(self) -> bool {
        matches!(self, LevellingRule::Migrate | LevellingRule::Swap)
    }
}

impl Frontiers {
    /// Effective open blocks, on a drive with or without a write buffer.
    pub fn meant(self, buffered: bool) -> Frontiers {
        match self {
            Frontiers::Auto if buffered => Frontiers::SeparateMoved,
            Frontiers::Auto => Frontiers::Single,
            meant => meant,
        }
    }

    /// Number of open blocks of a domain, by default without a write buffer.
    pub fn count(self) -> u32 {
        match self.meant(false) {
            Frontiers::Auto | Frontiers::Single => 1,
            Frontiers::SeparateMoved | Frontiers::HotCold => 2,
        }
    }

    /// Number of open blocks for host pages, and equally for copies.
    pub(crate) fn of_each_class(self) -> u32 {
        if self == Frontiers::HotCold { 2 } else { 1 }
    }
}

conditions! {
    Cleaning:
    WINDOWED = "with device.cleaning.policy = \"windowed-greedy\"",
        |c| c.policy == Policy::WindowedGreedy;
    CHOICES = "with device.cleaning.policy = \"d-choices\"", |c| c.policy == Policy::DChoices;
    TIES = "to policies that compare blocks, all but random and fifo",
        |c| !matches!(c.policy, Policy::Random | Policy::Fifo);
}

conditions! {
    HotCold:
    BY_TABLE = "with the detector writes or recency", |c| c.detector != Detector::Address;
    BY_ADDRESS = "with the detector address", |c| c.detector == Detector::Address;
}

conditions! {
    Levelling:
    LIMITS_RATE = "with device.cleaning.levelling.rule = \"rate-limit\" or \"migrate\"",
        |c| matches!(c.rule, LevellingRule::RateLimit | LevellingRule::Migrate);
    MIGRATES = "with device.cleaning.levelling.rule = \"migrate\"",
        |c| c.rule == LevellingRule::Migrate;
    SWAPS = "with device.cleaning.levelling.rule = \"swap\"", |c| c.rule == LevellingRule::Swap;
    MOVES_COLD = "with device.cleaning.levelling.rule = \"migrate\" or \"swap\"", |c| c.rule.moves_cold();
}

options! {
    /// Parameters of the policy `windowed-greedy`.
    pub struct WindowedGreedy as WindowedGreedyPartial {
        /// Window: number of oldest blocks of a domain considered.
        window: u32 = 256,
    }

    /// Parameters of the policy `d-choices`.
    pub struct DChoices as DChoicesPartial {
        /// Number of blocks drawn at random.
        d: u32 = 10,
    }

    /// Detection of hot pages for the frontiers `hot-cold`.
    pub struct HotCold as HotColdPartial {
        /// Detection of hot and cold pages.
        detector: Detector = Detector::Writes,
        /// Maximum size of the detector's table in controller memory.
        memory: Size where BY_TABLE = Size::from_bytes(1 << 20),
        /// For the detector `address`: share of the address space, from its start, that counts as hot.
        hot_addresses: f64 as Ratio where BY_ADDRESS = 0.1,
    }

    /// Wear levelling around the cleaning policy (section 5 of the 2008 paper). *Life* is the
    /// erasures that a block has left; the mean is over its domain.
    pub struct Levelling as LevellingPartial {
        /// Wear levelling: treatment of a victim more worn than the others.
        rule: LevellingRule = LevellingRule::None,
        /// Rate limiting applies to victims whose remaining life is below (1 - this share) x the mean.
        age_variance: f64 as Ratio where LIMITS_RATE = 0.2,
        /// The probability of using a rate-limited victim falls from 1 there to 0 at this share of the mean.
        rate_limit_floor: f64 as Ratio where LIMITS_RATE = 0.0,
        /// Cold data are migrated into a victim whose remaining life is below this share of the mean.
        retirement_age: f64 as Ratio where MIGRATES = 0.85,
        /// Cold data are taken from blocks with at least this share of the mean remaining life.
        cold_life: f64 as Ratio where MIGRATES = 1.0,
        /// Measure of the age of data; the block with the oldest data is migrated.
        temperature: Temperature where MIGRATES = Temperature::Opened,
        /// Cold data are taken only from blocks that were not erased for at least this time, counted from the start of
        /// the run; with `"none"` from any block. Untimed writes take no time.
        cold_age: Every where MOVES_COLD = Every(None),
        /// Data are swapped when the victim was erased this much more often than the least erased block.
        swap_above: u32 where SWAPS = 100,
    }

    /// Cleaning (garbage collection): how superseded pages become writable again. It has as many fields as
    /// there are keys.
    pub struct Cleaning as CleaningPartial {
        /// Cleaning (garbage collection) policy: the rule that chooses the victim block.
        policy: Policy where MAPS_PAGES = Policy::Greedy,
        /// Cleaning threshold: cleaning starts when at most this share of the blocks of a domain is free,
        /// and in any case when one block is. If not given it follows from the spare factor S: 5 % as in the
        /// 2008 paper for S of 0.15 or more, and 0.05 x (S / 0.15)^2 below that.
        min_free: Option<f64> as Ratio where MAPS_PAGES = None,
        /// Order of cleaning and requests: cleaning blocks its unit, or yields.
        time: CleaningTime where UNBUFFERED = CleaningTime::Interleaved,
        /// Background cleaning: also clean while a unit is idle.
        background: bool where MOVES_PAGES = false,
        /// Background cleaning stops when more than this share of the blocks of a domain is free.
        background_free: f64 as Ratio where BACKGROUND = 0.1,
        /// Copy-back: move pages within their plane, without a bus transfer.
        copy_back: bool where MOVES_PAGES = false,
        /// Move pages directly to another package of the gang over the shared bus.
        stream: bool where STREAMS = false,
        /// Tie break between equally good victims.
        tie_break: TieBreak where TIES = TieBreak::Highest,
        /// Parameters of the policy `windowed-greedy`.
        windowed_greedy: WindowedGreedy where WINDOWED = WindowedGreedy::default(),
        /// Parameters of the policy `d-choices`.
        d_choices: DChoices where CHOICES = DChoices::default(),
        /// Write frontiers of a domain, and which data go to which.
        frontiers: Frontiers where MAPS_PAGES = Frontiers::Auto,
        /// Detection of hot pages for the frontiers `hot-cold`.
        hot_cold: HotCold where HOT_COLD = HotCold::default(),
        /// Wear levelling.
        levelling: Levelling where MAPS_PAGES = Levelling::default(),
        /// Unit of cleaning and erasing on a drive with a write buffer.
        reclaim: Reclaim where BUFFERED = Reclaim::Superblock,
        /// Sharing of the flash between host writes and cleaning, with a write buffer.
        pace: Pace where BUFFERED = Pace::Token,
        /// For the pace `burst`: groups of copies per burst.
        quantum: u32 where BURSTS = 80,
        /// For the pace `burst`: logical pages that the host may write during a burst.
        host_room: u32 where BURSTS = 128,
        /// Word-line reads of a victim's group that a die does without interruption.
        read_batch: u32 where BUFFERED = 3,
        /// Order of the reads waiting for a die.
        read_order: ReadOrder where BUFFERED = ReadOrder::Fifo,
        /// For the pace `token`: commands admitted at once.
        meter_depth: u32 where METERED = 2,
        /// For the pace `token`: writes are not metered while the host writes less than this share of the
        /// rate that cleaning leaves.
        meter_above: f64 as Ratio where METERED = 0.55,
    }
}

//! Cleaning: its keys, and the policies by name, of which the config word, the listing and the dispatch of
//! `clean/mod.rs` are made. What a policy does is no business of the configuration.

use super::today::{Pace, ReadOrder, Reclaim};
use options::{Size, Values, choices, options};
use std::fmt;
use std::str::FromStr;

/// The table: each policy's module in `clean`, its variant, its word and its meaning. `$make` is the
/// macro that makes something of the rows.
macro_rules! cleaners {
    ($make:ident) => {
        $make! {
            greedy: Greedy = "greedy", "The block with the fewest valid pages.";
            random: Random = "random", "Any closed block that has a superseded page.";
            fifo: Fifo = "fifo", "The block opened longest ago: a circular log.";
            windowed_greedy: WindowedGreedy = "windowed-greedy",
                "The block with the fewest valid pages among the oldest.";
            d_choices: DChoices = "d-choices", "The emptiest of a few blocks drawn at random.";
            cost_benefit: CostBenefit = "cost-benefit",
                "The block with the most space to gain, weighted by age, for its cost.";
            cat: Cat = "cat", "Cost, age and times: cost-benefit that also spares worn blocks.";
        }
    };
}
pub(in crate::ssd) use cleaners;

/// Makes the names of the policies.
macro_rules! names {
    ($($module:ident: $variant:ident = $word:literal, $summary:literal;)+) => {
        /// The cleaning policies, by the names of the literature.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Policy {
            $(#[doc = $summary] $variant,)+
            /// One from outside this table, which is supplied when the drive is built.
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

/// The name of a policy from outside the table: `module:Class`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyName(String);

impl PolicyName {
    /// How one is written, as a regular expression.
    const PATTERN: &str = r"[^:]*[^:\s][^:]*:[\s\S]*\S[\s\S]*";

    /// The name, unless `text` is none.
    pub fn new(text: &str) -> Option<Self> {
        let (module, class) = text.split_once(':')?;
        let complete = !module.trim().is_empty() && !class.trim().is_empty();
        complete.then(|| PolicyName(text.to_owned()))
    }

    /// As the configuration has it.
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
    /// How cleaning takes its time.
    pub enum CleaningTime {
        /// A block is cleaned in one go: its unit serves nothing else until the erase is done.
        Blocking = "blocking",
        /// Each move and each erase is an operation of its own that yields to requests.
        Interleaved = "interleaved",
    }

    /// How many blocks of a domain are open at a time, and what goes to which.
    pub enum Frontiers {
        /// One takes everything.
        Single = "single",
        /// One takes what the host writes, one what cleaning moves.
        SeparateMoved = "separate-moved",
        /// One takes hot pages, one cold ones.
        HotCold = "hot-cold",
    }

    /// How hot pages are told from cold ones.
    pub enum Detector {
        /// The first of the addresses are hot: a hint of the host.
        Address = "address",
        /// What was written often of late is hot: counters in which hashes of page numbers collide.
        Writes = "writes",
        /// What was written again before others took its place in a table of page numbers is hot.
        Recency = "recency",
    }

    /// What becomes of a victim that is more worn than the others.
    pub enum LevellingRule {
        /// It is cleaned as any other.
        None = "none",
        /// It is passed over by chance.
        RateLimit = "rate-limit",
        /// Cold data is moved into it; where there is none, it is passed over by chance.
        Migrate = "migrate",
    }

    /// How old the data of a block is.
    pub enum Temperature {
        /// As old as the block's opening.
        Opened = "opened",
        /// The mean over its pages, where moved pages keep the age they had.
        Aggregate = "aggregate",
    }

    /// Which of several equally good victims is cleaned.
    pub enum TieBreak {
        /// The one with the highest block number.
        Highest = "highest",
        /// The one with the lowest block number.
        Lowest = "lowest",
        /// Any of them.
        Random = "random",
    }
}

impl Frontiers {
    /// Frontiers of a domain.
    pub fn count(self) -> u32 {
        match self {
            Frontiers::Single => 1,
            Frontiers::SeparateMoved | Frontiers::HotCold => 2,
        }
    }
}

options! {
    /// Parameters of the policy `windowed-greedy`.
    pub struct WindowedGreedy as WindowedGreedyPartial {
        /// How many of the oldest blocks of a domain are looked at.
        window: u32 = 256,
    }

    /// Parameters of the policy `d-choices`.
    pub struct DChoices as DChoicesPartial {
        /// How many blocks are drawn.
        d: u32 = 10,
    }

    /// Which pages are hot, for the frontiers `hot-cold`.
    pub struct HotCold as HotColdPartial {
        /// How hot pages are told from cold ones.
        detector: Detector = Detector::Writes,
        /// What the detector's table takes of the controller's memory, at most.
        memory: Size = Size::from_bytes(1 << 20),
        /// Share of the addresses that are hot, from the first, to the detector `address`.
        hot_addresses: f64 = 0.1,
    }

    /// Wear levelling around the cleaning policy (section 5 of the 2008 paper). *Life* is the
    /// erasures that a block has left; the mean is over its domain.
    pub struct Levelling as LevellingPartial {
        /// What becomes of a victim that is more worn than the others.
        rule: LevellingRule = LevellingRule::None,
        /// A victim whose life lies below 1 - this share of the mean may be passed over.
        age_variance: f64 = 0.2,
        /// The chance that it is used falls from 1 there to 0 at this share of the mean.
        rate_limit_floor: f64 = 0.0,
        /// Cold data is moved into a victim whose life lies below this share of the mean.
        retirement_age: f64 = 0.85,
        /// Cold data is taken from blocks that have at least this share of the mean life.
        cold_life: f64 = 1.0,
        /// Of those, the block with the oldest data is taken; how old data is.
        temperature: Temperature = Temperature::Opened,
    }

    /// Cleaning (garbage collection): how superseded pages become writable again. It has as many fields as
    /// there are keys.
    pub struct Cleaning as CleaningPartial {
        /// The rule that chooses the victim.
        policy: Policy = Policy::Greedy,
        /// Cleaning starts when at most this share of the blocks of a domain is erased, and in any
        /// case when one block is. When not given it is derived from the spare factor S: the 5 % of
        /// the 2008 paper where S is 0.15 or more, and 0.05 x (S / 0.15)^2 below that.
        min_free: Option<f64> = None,
        /// Whether cleaning holds its unit or yields to requests.
        time: CleaningTime = CleaningTime::Interleaved,
        /// Also clean when a unit has nothing else to do, until an arrival.
        background: bool = false,
        /// Cleaning in the background ends when more than this share of the blocks of a domain is
        /// erased.
        background_free: f64 = 0.1,
        /// Move pages inside their plane, without crossing the bus.
        copy_back: bool = false,
        /// Move pages to another package of the gang, directly from one to the other over the bus
        /// that they share.
        stream: bool = false,
        /// Which of several equally good victims is cleaned.
        tie_break: TieBreak = TieBreak::Highest,
        /// Parameters of the policy `windowed-greedy`.
        windowed_greedy: WindowedGreedy = WindowedGreedy::default(),
        /// Parameters of the policy `d-choices`.
        d_choices: DChoices = DChoices::default(),
        /// How many blocks of a domain are open at a time, and what goes to which.
        frontiers: Frontiers = Frontiers::Single,
        /// Which pages are hot, for the frontiers `hot-cold`.
        hot_cold: HotCold = HotCold::default(),
        /// Wear levelling.
        levelling: Levelling = Levelling::default(),
        /// What is cleaned and erased together by a drive with a write buffer.
        reclaim: Reclaim = Reclaim::Superblock,
        /// How host writes and cleaning share the flash behind a write buffer.
        pace: Pace = Pace::Token,
        /// Groups of copies that the pace `burst` pays for at a time.
        quantum: u32 = 80,
        /// Logical pages that the host may write during a burst.
        host_room: u32 = 128,
        /// Word-line reads of a victim's group that a die does in one go.
        read_batch: u32 = 3,
        /// Which of the reads that wait for a die goes first.
        read_order: ReadOrder = ReadOrder::Fifo,
        /// Commands that the meter of the pace `token` lets through at once.
        meter_depth: u32 = 2,
        /// That meter is open while the host writes less than this share of the rate that cleaning
        /// leaves.
        meter_above: f64 = 0.55,
    }
}

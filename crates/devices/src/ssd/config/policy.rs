//! Cleaning policies by name: the table from which the config word, the listing and the dispatch of
//! `clean/mod.rs` are made. What a policy does is no business of the configuration.

use options::Values;
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

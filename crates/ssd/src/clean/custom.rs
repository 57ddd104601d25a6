//! Policies from outside the table: an object that the caller hands in, asked once per victim.
//!
//! A policy from outside may do anything, so its answers are checked: an answer that breaks a rule, or
//! no answer, is a failure. The drive then continues with greedy, and its state stays consistent, until
//! its caller reads [`Custom::failure`] and ends the run.

use super::{Action, AgeOrder, VictimIndex};
use crate::config::Policy;
use crate::ids::{Block, BlockState};
use options::Invalid;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks that a policy may clean in a row without gaining a page, as a multiple of the blocks of a
/// domain: a circular log needs 1, and a fair draw misses the only block that pays in 32 rounds once
/// in 10^13 times.
const FRUITLESS_ROUNDS: u32 = 32;

/// View of an external policy on a domain, without copying.
///
/// The arrays are indexed by the number of a block of the whole drive; those of the domain start at
/// `first_block` and number `blocks`. They are shared: references that a policy keeps do not
/// change, and the drive continues with a copy.
#[derive(Debug)]
pub struct DomainState {
    /// Number of the domain.
    pub domain: u32,
    /// The domain's first block.
    pub first_block: Block,
    /// Blocks of the domain.
    pub blocks: u32,
    /// Data pages of a block.
    pub data_pages: u32,
    /// Erased blocks of the domain.
    pub free: u32,
    /// True without room for writes, if cleaning some block pays: resting would end in a
    /// standstill.
    pub urgent: bool,
    /// Valid pages of each block.
    pub valid: Arc<Vec<u32>>,
    /// Use of each block.
    pub state: Arc<Vec<BlockState>>,
    /// Ascending number of each block's opening.
    pub sequence: Arc<Vec<u64>>,
    /// Erasures of each block.
    pub erases: Arc<Vec<u32>>,
    /// The closed blocks by number of valid pages, counted from the first of the domain.
    pub index: Arc<VictimIndex>,
    /// The closed blocks by age.
    pub order: Arc<AgeOrder>,
    /// Number of opened blocks: the clock in which ages are measured.
    pub opened: u64,
    /// A number from 0 to below 1, drawn for this step from the drive's randomness.
    pub random: f64,
}

/// Unchecked action of an external policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// No cleaning now.
    Rest,
    /// Clean a block, numbered within the domain.
    Clean(i64),
}

/// A policy from outside the table.
pub trait Cleaner: Send {
    /// The policy's decision for a domain.
    ///
    /// # Errors
    /// Why there is none, in one sentence.
    fn step(&mut self, pool: &DomainState) -> Result<Answer, String>;
}

/// A custom policy, and its failure. Clones share it: drives that are built with it call the same
/// object, and their caller checks its [`failure`](Custom::failure).
#[derive(Clone)]
pub struct Custom(Arc<Mutex<Judged>>);

struct Judged {
    cleaner: Box<dyn Cleaner>,
    /// Consecutive fruitless victims by domain: blocks cleaned in a row that had no superseded
    /// page.
    fruitless: Vec<u32>,
    failure: Option<String>,
}

impl Custom {
    /// A custom policy before its first call.
    pub fn new(cleaner: Box<dyn Cleaner>) -> Custom {
        Custom(Arc::new(Mutex::new(Judged { cleaner, fruitless: Vec::new(), failure: None })))
    }

    /// Placeholder in a device built for inspection: it fails when it is asked.
    pub fn absent() -> Custom {
        struct Absent;
        impl Cleaner for Absent {
            fn step(&mut self, _: &DomainState) -> Result<Answer, String> {
                Err("it was not handed in before the run".to_owned())
            }
        }
        Custom::new(Box::new(Absent))
    }

    /// Error of the policy that drives have replaced, with the state of the pool then.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// The policy's decision; `None` once it has failed.
    pub(crate) fn step(&self, pool: &DomainState) -> Option<Action> {
        let judged = &mut *self.lock();
        if judged.failure.is_some() {
            return None;
        }
        let outcome = judged.cleaner.step(pool).and_then(|answer| judged.judge(pool, answer));
        outcome.map_err(|problem| judged.failure = Some(format!("{problem}\n{pool}"))).ok()
    }

    fn lock(&self) -> MutexGuard<'_, Judged> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("failure", &self.failure()).finish_non_exhaustive()
    }
}

/// Live objects, handed in when a device is built: what a configuration, which is data, can only name.
/// The devices of an array share them.
#[derive(Debug, Clone, Default)]
pub struct Supplied {
    /// The cleaning policy from outside the table.
    pub policy: Option<Custom>,
}

impl Supplied {
    /// Why a device ignores a supplied object.
    pub fn failure(&self) -> Option<String> {
        self.policy.as_ref().and_then(Custom::failure)
    }
}

impl Supplied {
    /// The supplied policy, if the configuration names one.
    pub(crate) fn policy_for(&self, named: &Policy) -> Result<Option<Custom>, Invalid> {
        match (named, &self.policy) {
            (Policy::Named(_), None) => {
                let problem = "a policy that is not one of ssdlab's is handed in when the drive is \
                               built, and none was";
                Err(Invalid::new(&["device.cleaning.policy"], problem))
            }
            (Policy::Named(_), Some(policy)) => Ok(Some(policy.clone())),
            _ => Ok(None),
        }
    }
}

impl Judged {
    /// The rules that every answer must keep.
    fn judge(&mut self, pool: &DomainState, answer: Answer) -> Result<Action, String> {
        let Answer::Clean(number) = answer else {
            let standstill = "it rests, and the writes that wait will never find room: when \
                              view.urgent is true, some block has superseded pages and must be cleaned";
            return if pool.urgent { Err(standstill.to_owned()) } else { Ok(Action::Rest) };
        };
        let Some(relative) = u32::try_from(number).ok().filter(|number| *number < pool.blocks)
        else {
            let last = pool.blocks - 1;
            return Err(format!(
                "it chose block {number}, and the blocks of a domain are 0 to {last}"
            ));
        };
        let victim = Block(pool.first_block.0 + relative);
        let why = match pool.state[victim.at()] {
            BlockState::Closed => None,
            BlockState::Open => Some("open: it is still being filled"),
            BlockState::Free => Some("free: it is erased already"),
            BlockState::Victim => Some("being cleaned already"),
            BlockState::Filling => Some("being filled with cold data"),
            BlockState::Retired => Some("worn out"),
            BlockState::PassedOver => Some("passed over by wear levelling"),
        };
        if let Some(why) = why {
            return Err(format!(
                "it chose block {number}, which is {why}; only closed blocks may be cleaned"
            ));
        }
        let domain = pool.domain as usize;
        memory::grow(&mut self.fruitless, domain + 1, 0);
        let fruitless = &mut self.fruitless[domain];
        *fruitless = if pool.valid(relative) < pool.data_pages { 0 } else { *fruitless + 1 };
        if *fruitless > FRUITLESS_ROUNDS.saturating_mul(pool.blocks) {
            return Err(format!(
                "it makes no progress: the last {fruitless} blocks that it chose in this domain had \
                 no superseded page, so that cleaning them gained nothing, while others have some"
            ));
        }
        Ok(Action::Clean { victim })
    }
}

impl DomainState {
    fn valid(&self, relative: u32) -> u32 {
        self.valid[(self.first_block.0 + relative) as usize]
    }

    fn state(&self, relative: u32) -> BlockState {
        self.state[(self.first_block.0 + relative) as usize]
    }
}

/// The state of the pool, for debugging.
impl fmt::Display for DomainState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first_block.at();
        let numbers = first..first + self.blocks as usize;
        let in_state = |state| (0..self.blocks).filter(move |n| self.state(*n) == state);
        let closed = || in_state(BlockState::Closed);
        write!(
            f,
            "State of domain {}: {} blocks of {} data pages; {} free, {} open, {} closed, {} being cleaned.",
            self.domain,
            self.blocks,
            self.data_pages,
            in_state(BlockState::Free).count(),
            in_state(BlockState::Open).count(),
            closed().count(),
            in_state(BlockState::Victim).count(),
        )?;
        if let Some(emptiest) = closed().min_by_key(|n| self.valid(*n)) {
            let pays = closed().filter(|n| self.valid(*n) < self.data_pages).count();
            let total: u64 = closed().map(|n| u64::from(self.valid(n))).sum();
            write!(
                f,
                "\nClosed blocks: {pays} have superseded pages; {:.2} valid pages on average, fewest \
                 {} in block {emptiest}.",
                total as f64 / closed().count() as f64,
                self.valid(emptiest),
            )?;
        }
        if let Some(open) = in_state(BlockState::Open).next() {
            write!(f, "\nOpen is block {open}.")?;
        }
        let erases = &self.erases[numbers];
        let (least, most) = (erases.iter().min(), erases.iter().max());
        write!(
            f,
            "\nErasures of a block: {} to {}. Blocks opened so far: {}.",
            least.unwrap_or(&0),
            most.unwrap_or(&0),
            self.opened
        )
    }
}

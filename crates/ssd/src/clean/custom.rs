//! Custom policies: an object supplied by the caller, called once per victim.
//!
//! A custom policy may do anything, so each decision is checked: an invalid decision, or none, is a
//! failure. The drive then continues with greedy, in a consistent state, until its caller reads
//! [`Custom::failure`] and ends the run.

use super::{Action, AgeOrder, VictimIndex};
use crate::config::Policy;
use crate::ids::{Block, BlockState};
use options::Invalid;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of consecutive cleanings without a gained page, as a multiple of a domain's
/// blocks. A circular log needs 1; random picks miss the only useful block in 32 rounds once in
/// 10^13 times.
const FRUITLESS_ROUNDS: u32 = 32;

/// View of a domain for a custom policy, without copying.
///
/// Arrays are indexed by block number on the whole drive; the domain's blocks are the `blocks`
/// entries from `first_block`. Arrays are shared: those that a policy keeps do not change, and the
/// drive continues with a copy.
#[derive(Debug)]
pub struct DomainState {
    /// Number of the domain.
    pub domain: u32,
    /// The domain's first block.
    pub first_block: Block,
    /// Blocks of the domain.
    pub blocks: u32,
    /// Data pages per block.
    pub data_pages: u32,
    /// Number of erased blocks in the domain.
    pub free: u32,
    /// True if there is no room for writes and some block is worth cleaning, so that resting would
    /// deadlock.
    pub urgent: bool,
    /// Valid pages of each block.
    pub valid: Arc<Vec<u32>>,
    /// State of each block.
    pub state: Arc<Vec<BlockState>>,
    /// Opening sequence number of each block.
    pub sequence: Arc<Vec<u64>>,
    /// Erases of each block.
    pub erases: Arc<Vec<u32>>,
    /// Closed blocks by number of valid pages, numbered from the domain's first block.
    pub index: Arc<VictimIndex>,
    /// Closed blocks by age.
    pub order: Arc<AgeOrder>,
    /// Number of blocks opened so far: the clock of ages.
    pub opened: u64,
    /// A random number in [0, 1) for this step.
    pub random: f64,
}

/// Unchecked decision of a custom policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// No cleaning now.
    Rest,
    /// Clean a block, numbered within the domain.
    Clean(i64),
}

/// A custom policy.
pub trait Cleaner: Send {
    /// The policy's decision for a domain.
    ///
    /// # Errors
    /// The reason for the lack of a decision, in one sentence.
    fn step(&mut self, pool: &DomainState) -> Result<Answer, String>;
}

/// A custom policy, and its failure. Clones share both: the drives of an array call the same
/// object, and their caller checks its [`failure`](Custom::failure).
#[derive(Clone)]
pub struct Custom(Arc<Mutex<Judged>>);

struct Judged {
    cleaner: Box<dyn Cleaner>,
    /// Consecutive fruitless victims by domain: cleaned blocks without superseded pages.
    fruitless: Vec<u32>,
    failure: Option<String>,
}

impl Custom {
    /// A custom policy before its first call.
    pub fn new(cleaner: Box<dyn Cleaner>) -> Custom {
        Custom(Arc::new(Mutex::new(Judged { cleaner, fruitless: Vec::new(), failure: None })))
    }

    /// Placeholder in a device built for inspection; it fails when called.
    pub fn absent() -> Custom {
        struct Absent;
        impl Cleaner for Absent {
            fn step(&mut self, _: &DomainState) -> Result<Answer, String> {
                Err("it was not handed in before the run".to_owned())
            }
        }
        Custom::new(Box::new(Absent))
    }

    /// Error of the failed policy, with the state of the domain at that time.
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

/// Objects supplied when a device is built; a configuration contains only their names. Devices of
/// an array share them.
#[derive(Debug, Clone, Default)]
pub struct Supplied {
    /// The custom garbage collection policy.
    pub policy: Option<Custom>,
}

impl Supplied {
    /// Error of a supplied object that the device no longer uses.
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
    /// Checks the rules that every decision must obey.
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

/// State of the domain, for debugging.
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

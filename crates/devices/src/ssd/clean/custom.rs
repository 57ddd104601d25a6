//! Policies from outside the table: an object that the caller hands in, asked once per victim.
//!
//! Such a policy may do anything, so it is judged: an answer that breaks a rule, or none at all, is
//! a failure. The drive then goes on with greedy, and its state stays sound, until whoever runs it
//! looks at [`Custom::failure`] and ends the run.

use super::Action;
use crate::ssd::ids::Block;
use crate::ssd::ids::BlockState;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks that a policy may clean in a row without gaining a page, as a multiple of the blocks of a
/// domain: a circular log needs 1, and a fair draw misses the only block that pays in 32 rounds once
/// in 10^13 times.
const FRUITLESS_ROUNDS: u32 = 32;

/// What a policy from outside sees of a domain, without copying.
///
/// The arrays are indexed by the number of a block of the whole drive; those of the domain are
/// `first_block` and the `blocks` from there. They are shared: what a policy keeps of them stays as it
/// was, and the drive goes on with a copy.
#[derive(Debug)]
pub struct Pool {
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
    /// The domain has no room left for writes, and some block pays: resting would end in a standstill.
    pub urgent: bool,
    /// Valid pages of each block.
    pub valid: Arc<Vec<u16>>,
    /// Use of each block.
    pub state: Arc<Vec<BlockState>>,
    /// Ascending number of each block's opening.
    pub sequence: Arc<Vec<u64>>,
    /// Erasures of each block.
    pub erases: Arc<Vec<u32>>,
    /// Blocks opened so far: the clock in which ages are measured.
    pub opened: u64,
    /// A number from 0 to below 1, drawn for this step from the drive's randomness.
    pub random: f64,
}

/// What a policy from outside wants done, not yet judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Nothing now.
    Rest,
    /// Clean this block of the domain, counted from its first.
    Clean(i64),
}

/// A policy from outside the table.
pub trait Cleaner: Send {
    /// The policy's decision for a domain.
    ///
    /// # Errors
    /// Why there is none, in one sentence.
    fn step(&mut self, pool: &Pool) -> Result<Answer, String>;
}

/// A policy from outside the table: its name, and itself once it was handed in. Clones share it.
#[derive(Clone)]
pub struct Custom {
    name: Arc<str>,
    judged: Arc<Mutex<Judged>>,
}

#[derive(Default)]
struct Judged {
    cleaner: Option<Box<dyn Cleaner>>,
    /// Of each domain: blocks cleaned in a row that had no superseded page.
    fruitless: Vec<u32>,
    failure: Option<String>,
}

impl Custom {
    /// The policy of that name, `module:Class` by custom; `None` when this is no such name.
    pub fn named(name: &str) -> Option<Custom> {
        let (module, class) = name.split_once(':')?;
        let complete = !module.trim().is_empty() && !class.trim().is_empty();
        complete.then(|| Custom { name: name.into(), judged: Arc::default() })
    }

    /// What it was called in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the name its policy, before a drive is used.
    pub fn hand_in(&self, cleaner: Box<dyn Cleaner>) {
        *self.lock() = Judged { cleaner: Some(cleaner), ..Judged::default() };
    }

    /// Why drives go on without the policy, with the state of the pool at that time.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// The policy's decision; `None` once it has failed, as it does if it was never handed in.
    pub(in crate::ssd) fn step(&self, pool: &Pool) -> Option<Action> {
        let judged = &mut *self.lock();
        if judged.failure.is_some() {
            return None;
        }
        let answer = match &mut judged.cleaner {
            Some(cleaner) => cleaner.step(pool),
            None => Err("it was not handed in before the run".to_owned()),
        };
        let outcome = answer.and_then(|answer| judged.judge(pool, answer));
        outcome.map_err(|problem| judged.failure = Some(format!("{problem}\n{pool}"))).ok()
    }

    fn lock(&self) -> MutexGuard<'_, Judged> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Custom {}

impl Judged {
    /// The rules that every answer must keep.
    fn judge(&mut self, pool: &Pool, answer: Answer) -> Result<Action, String> {
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
            BlockState::Victim => Some("being cleaned already, or passed over by wear levelling"),
            BlockState::Filling => Some("being filled with cold data"),
            BlockState::Retired => Some("worn out"),
        };
        if let Some(why) = why {
            return Err(format!(
                "it chose block {number}, which is {why}; only closed blocks may be cleaned"
            ));
        }
        let domain = pool.domain as usize;
        self.fruitless.resize(self.fruitless.len().max(domain + 1), 0);
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

impl Pool {
    fn valid(&self, relative: u32) -> u32 {
        u32::from(self.valid[(self.first_block.0 + relative) as usize])
    }

    fn state(&self, relative: u32) -> BlockState {
        self.state[(self.first_block.0 + relative) as usize]
    }
}

/// The state of the pool, for whoever looks for the mistake.
impl fmt::Display for Pool {
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

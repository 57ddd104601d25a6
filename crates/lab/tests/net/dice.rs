//! Random draws of values.

use engine::{Random, Xoshiro256};

/// A random generator.
pub struct Dice(Xoshiro256);

impl Dice {
    /// A generator for experiment number `seed`.
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256::new(seed, 77))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// One of several values.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// True with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        self.0.unit() < share
    }

    pub(super) fn text(&mut self, of: &[&str]) -> String {
        format!("\"{}\"", self.pick(of))
    }

    pub(super) fn number(&mut self, of: &[f64]) -> String {
        format!("{:?}", self.pick(of))
    }

    pub(super) fn whole(&mut self, of: &[u64]) -> String {
        self.pick(of).to_string()
    }

    pub(super) fn share(&mut self) -> String {
        let share = (self.0.unit() * 1000.0).round() / 1000.0;
        let choices = [0.0, 1.0, 0.5, 0.9, share, share];
        self.number(&choices)
    }
}

//! A policy on one drive, and what it came to.

use ::placement::{Ended, Isolation, Measured, Rule, Shape};

/// What a policy came to on one drive.
pub struct Row {
    pub policy: String,
    pub utilisation: f64,
    pub isolation: Isolation,
    pub shape: Shape,
    pub rule: Rule,
    pub found: Result<Measured, Ended>,
}

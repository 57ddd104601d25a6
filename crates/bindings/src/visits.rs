//! How often a simulation without the interpreter's lock visits Python.

use std::time::{Duration, Instant};

/// How much wall time passes between two visits to Python: short enough for Ctrl-C to feel
/// immediate, long enough to cost nothing. It never reaches the results.
pub(crate) const VISIT_INTERVAL: Duration = Duration::from_millis(100);

/// Now, by the wall.
#[expect(clippy::disallowed_methods, reason = "paces the visits to Python; no result sees it")]
pub(crate) fn wall_clock() -> Instant {
    Instant::now()
}

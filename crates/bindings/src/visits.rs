//! Intervals at which a simulation without the interpreter's lock calls Python.

use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Wall time between two checks for signals; it leaves time to stop within a tenth of a second. It
/// never affects results.
pub(crate) const SIGNALS_INTERVAL: Duration = Duration::from_millis(25);
/// Wall time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Time of the last call of Python.
pub(crate) struct Visits {
    signals: Instant,
    progress: Instant,
}

impl Visits {
    /// Starts the intervals.
    pub(crate) fn new() -> Visits {
        Visits { signals: wall_clock(), progress: wall_clock() }
    }

    /// Checks for signals and reports progress, each after its interval.
    pub(crate) fn visit(&mut self, tell: impl FnOnce(Python<'_>) -> PyResult<()>) -> PyResult<()> {
        if self.signals.elapsed() < SIGNALS_INTERVAL {
            return Ok(());
        }
        let tells = self.progress.elapsed() >= PROGRESS_INTERVAL;
        let visit = Python::attach(|py| {
            py.check_signals()?;
            if tells { tell(py) } else { Ok(()) }
        });
        self.signals = wall_clock();
        if tells {
            self.progress = self.signals;
        }
        visit
    }
}

/// Current wall time.
#[expect(clippy::disallowed_methods, reason = "paces the visits to Python; no result sees it")]
fn wall_clock() -> Instant {
    Instant::now()
}

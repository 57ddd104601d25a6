//! Interval at which a simulation without the interpreter's lock visits Python.

use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Wall time between two checks for signals: the rest of a tenth of a second is left for shutdown.
/// It never reaches the results.
pub(crate) const SIGNALS_INTERVAL: Duration = Duration::from_millis(25);
/// And between two words of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// When Python was visited last.
pub(crate) struct Visits {
    signals: Instant,
    progress: Instant,
}

impl Visits {
    /// Starts the interval of visits.
    pub(crate) fn new() -> Visits {
        Visits { signals: wall_clock(), progress: wall_clock() }
    }

    /// Looks at signals if it is time to, and tells how far it is if it is time for that too.
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

/// Now, by the wall.
#[expect(clippy::disallowed_methods, reason = "paces the visits to Python; no result sees it")]
fn wall_clock() -> Instant {
    Instant::now()
}

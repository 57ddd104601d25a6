//! The Monte Carlo of arrays over years.

use crate::errors::{InputError, detached};
use crate::visits::Visits;
use lab::{ReliabilitySettings, RunError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// Lets groups of members live through their mission and returns what they lost as JSON text.
///
/// `progress(done, groups)` is called about ten times a second; what it raises, and Ctrl-C, ends it.
#[pyfunction]
#[pyo3(signature = (*, members, tolerated, member_bytes, life, repair, repairs_together, defects, scrub,
    defect_bytes, years, groups, seed, progress = None))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command")]
pub(crate) fn reliability(
    py: Python<'_>,
    members: u32,
    tolerated: u32,
    member_bytes: u64,
    life: String,
    repair: String,
    repairs_together: bool,
    defects: Option<String>,
    scrub: Option<String>,
    defect_bytes: u64,
    years: f64,
    groups: u64,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let progress = progress.map(Bound::unbind);
    let settings = ReliabilitySettings {
        members,
        tolerated,
        member_bytes,
        life,
        repair,
        repairs_together,
        defects,
        scrub,
        defect_bytes,
        years,
        groups,
        seed,
    };
    let mut raised = None;
    let outcome = detached(py, || {
        let mut visits = Visits::new();
        lab::reliability(&settings, &mut |done| {
            let tell = |py: Python<'_>| match &progress {
                Some(progress) => progress.call1(py, (done, groups)).map(drop),
                None => Ok(()),
            };
            match visits.visit(tell) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    })?;
    match outcome {
        Ok(found) => Ok(found.to_json()),
        Err(RunError::Interrupted { .. }) => {
            Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
        }
        Err(error) => Err(InputError::new_err(error.to_string())),
    }
}

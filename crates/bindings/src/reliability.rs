//! Monte Carlo simulation of arrays over years.

use crate::errors::{InputError, detached};
use crate::layers::{PyLayer, experiment};
use crate::visits::Visits;
use lab::{FleetSettings, ReliabilitySettings, RunError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// Simulates the mission of redundancy groups and returns their losses as JSON text.
///
/// `progress(done, groups)` is called about ten times a second; its exceptions and Ctrl-C end the
/// simulation.
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
    watched(py, progress.as_ref(), groups, |visit| {
        lab::reliability(&settings, visit).map(|it| it.to_json())
    })
}

/// Simulates years of service of the drives of `layers` and returns the outcome as JSON text.
///
/// `progress(done, drives)` is called about ten times a second; its exceptions and Ctrl-C end the
/// simulation.
#[pyfunction]
#[pyo3(signature = (layers, *, drives, years, bad_blocks, bad_blocks_shape, seed, progress = None))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the command")]
pub(crate) fn fleet(
    py: Python<'_>,
    layers: Vec<PyLayer>,
    drives: u64,
    years: f64,
    bad_blocks: f64,
    bad_blocks_shape: f64,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let progress = progress.map(Bound::unbind);
    let asked = FleetSettings { drives, years, bad_blocks, bad_blocks_shape, seed };
    watched(py, progress.as_ref(), drives, |visit| {
        let experiment = experiment(layers).map_err(RunError::Input)?;
        lab::fleet(&experiment, &asked, visit).map(|it| it.to_string())
    })
}

/// Result of a run that reports progress and can be ended.
fn watched(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    all: u64,
    run: impl FnOnce(&mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<String, RunError> + Send,
) -> PyResult<String> {
    let mut raised = None;
    let outcome = detached(py, || {
        let mut visits = Visits::new();
        run(&mut |done| {
            let tell = |py: Python<'_>| match progress {
                Some(progress) => progress.call1(py, (done, all)).map(drop),
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
        Ok(found) => Ok(found),
        Err(RunError::Interrupted { .. }) => {
            Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
        }
        Err(error) => Err(InputError::new_err(error.to_string())),
    }
}

//! Runs of experiments, optionally with a garbage collection policy of the user.

use crate::cleaner::{PythonCleaner, Raised, is_final, put_raised, take_raised};
use crate::errors::{CheckError, InputError, PolicyError, detached, plain_error};
use crate::layers::{PyLayer, experiment};
use crate::visits::Visits;
use devices::ssd::clean::Cleaner;
use devices::ssd::conformance;
use lab::{CacheSettings, Progress, RunError, RunSettings};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// Runs the experiment of `layers` and returns the results as JSON text. A layer is source, TOML
/// text and permission to name code; priority ascends.
///
/// `progress(phase, done, expected, simulated_ns)` is called about ten times a second. Its
/// exceptions, and `KeyboardInterrupt`, end the run and propagate; the exception's attribute
/// `requests` holds the number of completed requests.
///
/// `requests` names a Parquet file for a record of every request. `threads` is the maximum number
/// of threads; it does not change results.
///
/// If the layers name a custom policy, `cleaner` is that policy; by default `ssdlab.cleaners.load`
/// loads it by name.
#[pyfunction]
#[pyo3(signature = (layers, check = false, progress = None, requests = None, cleaner = None, threads = 1))]
pub(crate) fn run(
    py: Python<'_>,
    layers: Vec<PyLayer>,
    check: bool,
    progress: Option<Bound<'_, PyAny>>,
    requests: Option<String>,
    cleaner: Option<Bound<'_, PyAny>>,
    threads: u32,
) -> PyResult<String> {
    let progress = progress.map(Bound::unbind);
    let cleaner = cleaner.map(Bound::unbind);
    let mut raised = None;
    let by_policy = Raised::default();
    let outcome = detached(py, || {
        let experiment = experiment(layers).map_err(RunError::Input)?;
        let supplied = match &cleaner {
            Some(object) => {
                experiment.supply_policy(|name| hand_in(name, Some(object), &by_policy))
            }
            None => experiment.load_policy(|name| hand_in(name, None, &by_policy)),
        }?;
        let mut visits = Visits::new();
        let cache = CacheSettings::of_user()?;
        let settings = RunSettings { check, requests, threads, cache };
        lab::run_with(&experiment, &supplied, &settings, &mut |now| match visits
            .visit(|py| tell(py, now, progress.as_ref()))
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        })
    })?;
    tell_notices(py)?;
    outcome.map_err(|error| match error {
        RunError::Input(message) => {
            let cause = take_raised(&by_policy);
            cause.filter(|it| is_final(py, it)).unwrap_or_else(|| InputError::new_err(message))
        }
        error @ (RunError::System(_) | RunError::Unwritten { .. }) => plain_error(error),
        RunError::Check(message) => CheckError::new_err(message),
        RunError::Policy { problem, requests } => {
            completed(py, policy_error(py, problem, &by_policy), requests)
        }
        RunError::Interrupted { requests } => {
            let error = raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()));
            completed(py, error, requests)
        }
    })
}

/// Reports cache problems on standard error; they never end a run.
fn tell_notices(py: Python<'_>) -> PyResult<()> {
    let notices = lab::take_notices();
    if notices.is_empty() {
        return Ok(());
    }
    let stderr = py.import("sys")?.getattr("stderr")?;
    if stderr.is_none() {
        return Ok(());
    }
    notices
        .iter()
        .try_for_each(|it| stderr.call_method1("write", (format!("ssdlab: {it}\n"),)).map(|_| ()))
}

/// Stores the number of completed requests in an exception.
fn completed(py: Python<'_>, error: PyErr, requests: u64) -> PyErr {
    // An exception class with slots may reject the attribute; the exception matters more.
    let _ = error.value(py).setattr("requests", requests);
    error
}

/// The exception for a policy's failure, with the policy's exception as its cause. An exception
/// that must end the program is passed on unchanged.
fn policy_error(py: Python<'_>, problem: String, raised: &Raised) -> PyErr {
    match take_raised(raised) {
        Some(error) if is_final(py, &error) => error,
        cause => {
            let error = PolicyError::new_err(problem);
            error.set_cause(py, cause);
            error
        }
    }
}

/// The named policy, or an error message.
pub(crate) fn hand_in(
    name: &str,
    cleaner: Option<&Py<PyAny>>,
    raised: &Raised,
) -> Result<Box<dyn Cleaner>, String> {
    let made = Python::attach(|py| {
        let object = match cleaner {
            Some(object) => object.bind(py).clone(),
            None => py.import("ssdlab.cleaners")?.call_method1("load", (name,))?,
        };
        PythonCleaner::new(&object, raised)
    });
    let boxed = |cleaner| -> Box<dyn Cleaner> { Box::new(cleaner) };
    made.map(boxed).map_err(|error| {
        let problem = Python::attach(|py| error.value(py).to_string());
        put_raised(raised, error);
        problem
    })
}

/// Runs the conformance suite on policies made by `make()`. Returns the name of each check, with a
/// message if it fails; and an exception of the policy, if any.
#[pyfunction]
pub(crate) fn check_cleaner(py: Python<'_>, make: Bound<'_, PyAny>) -> PyResult<Checks> {
    let make = make.unbind();
    let raised = Raised::default();
    let checks = detached(py, || {
        conformance(&mut || {
            Python::attach(|py| {
                let object = make.bind(py).call0()?;
                Ok::<_, PyErr>(Box::new(PythonCleaner::new(&object, &raised)?) as Box<dyn Cleaner>)
            })
        })
    })??;
    let checks = checks.into_iter().map(|check| (check.shows.to_owned(), check.problem));
    let raised = take_raised(&raised);
    match raised {
        Some(error) if is_final(py, &error) => Err(error),
        raised => Ok((checks.collect(), raised.map(|error| error.into_value(py).into_any()))),
    }
}

/// Checks with their problems, and an exception.
pub(crate) type Checks = (Vec<(String, Option<String>)>, Option<Py<PyAny>>);

fn tell(py: Python<'_>, now: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    if let Some(progress) = progress {
        progress.call1(py, (now.phase, now.done, now.expected, now.simulated_ns))?;
    }
    Ok(())
}

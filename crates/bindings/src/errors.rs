//! Exceptions raised in Python.

use lab::RunError;
use memory::NoMemory;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

pyo3::create_exception!(
    ssdlab,
    InputError,
    PyValueError,
    "The input is wrong: the message names the source, the key and the allowed values."
);
pyo3::create_exception!(
    ssdlab,
    CheckError,
    PyRuntimeError,
    "The audit behind `check=True` found a broken invariant: a defect of ssdlab, not of the input."
);
pyo3::create_exception!(
    ssdlab,
    PolicyError,
    PyRuntimeError,
    "The cleaning policy broke a rule or raised an exception: the message says which, and the state \
     of the pool it was asked about."
);
pyo3::create_exception!(
    ssdlab,
    InternalError,
    PyRuntimeError,
    "ssdlab itself has failed: the message says how to report it."
);

/// Runs `work` without the interpreter's lock; a panic in it becomes an exception that reports a
/// bug.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| {
        if let Some(none) = panic.downcast_ref::<NoMemory>() {
            return InputError::new_err(lab::no_memory(none));
        }
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        InternalError::new_err(format!(
            "internal error: {text}. This is a defect of ssdlab {}, not of your input: please report it with \
             what `ssdlab run --show` prints for the same options, and the lines above this one",
            env!("CARGO_PKG_VERSION")
        ))
    })
}

/// The exception for a device that the caller steps, without a count of requests.
pub(crate) fn plain_error(error: RunError) -> PyErr {
    match error {
        RunError::Input(message) => InputError::new_err(message),
        RunError::Check(message) => CheckError::new_err(message),
        RunError::Policy { problem, .. } => PolicyError::new_err(problem),
        RunError::System(message) => PyOSError::new_err(message),
        RunError::Unwritten { problem, results } => unwritten(problem, results),
        RunError::Interrupted { .. } => PyKeyboardInterrupt::new_err(()),
    }
}

/// Exception of a completed run whose output cannot be written: an `OSError` with the results as an
/// attribute.
fn unwritten(problem: String, results: String) -> PyErr {
    let error = PyOSError::new_err(problem);
    Python::attach(|py| {
        // An `OSError` accepts attributes; if not, the exception matters more.
        let _ = error.value(py).setattr("results", results);
    });
    error
}

/// Panics like a simulation, to test the handling of panics.
#[pyfunction]
pub(crate) fn panic(py: Python<'_>, text: &str) -> PyResult<()> {
    detached(py, || panic!("{text}"))
}

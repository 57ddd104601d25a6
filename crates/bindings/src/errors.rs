//! The exceptions that Python sees.

use pyo3::exceptions::{PyRuntimeError, PyValueError};

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

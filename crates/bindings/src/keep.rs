//! Data retention: closed forms.

use crate::errors::{InputError, detached};
use crate::layers::{PyLayer, experiment};
use lab::Keeping;
use pyo3::prelude::*;

/// Data losses on the drive of `layers`, after an age such as "1y at 40C" and some P/E cycles, as
/// JSON text.
#[pyfunction]
pub(crate) fn keep(
    py: Python<'_>,
    layers: Vec<PyLayer>,
    age: String,
    cycles: f64,
    data_bytes: u64,
) -> PyResult<String> {
    let asked = Keeping { age, cycles, data_bytes };
    detached(py, || {
        let experiment = experiment(layers)?;
        lab::keep(&experiment, &asked).map(|it| it.to_string()).map_err(|error| error.to_string())
    })?
    .map_err(InputError::new_err)
}

/// Number of P/E cycles up to which the drive of `layers` retains data as a class of JESD218
/// demands, as JSON text.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python hands it over")]
pub(crate) fn retention(
    py: Python<'_>,
    layers: Vec<PyLayer>,
    class_name: String,
) -> PyResult<String> {
    detached(py, || {
        let experiment = experiment(layers)?;
        lab::retention(&experiment, &class_name)
            .map(|it| it.to_string())
            .map_err(|error| error.to_string())
    })?
    .map_err(InputError::new_err)
}

/// Results of the closed forms for which published values exist, as JSON text.
#[pyfunction]
pub(crate) fn media_forms() -> String {
    lab::media_forms().to_string()
}

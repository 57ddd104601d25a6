//! Configuration layers, the resulting experiment, and the available choices.

use crate::errors::{InputError, detached};
use crate::visits::Visits;
use lab::{Experiment, Layer, RunError};
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// The experiment made of `layers`, complete and re-runnable, as TOML text.
#[pyfunction]
pub(crate) fn resolve(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<String> {
    detached(py, || experiment(layers).map(|it| it.to_toml()))?.map_err(InputError::new_err)
}

/// The experiment made of `layers`, complete, as JSON text.
#[pyfunction]
pub(crate) fn resolve_json(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<String> {
    detached(py, || experiment(layers).map(|it| it.to_json().to_string()))?
        .map_err(InputError::new_err)
}

/// Capacity of the device of the experiment made of `layers`, in bytes.
#[pyfunction]
pub(crate) fn capacity_bytes(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<u64> {
    let mut raised = None;
    let capacity = detached(py, || {
        let mut visits = Visits::new();
        experiment(layers).map_err(RunError::Input)?.capacity_bytes(&mut || match visits
            .visit(|_| Ok(()))
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        })
    })?;
    capacity.map_err(|error| raised.unwrap_or_else(|| InputError::new_err(error.to_string())))
}

/// Raises `InputError` if the experiment of `layers` would load code named only by layers without
/// permission.
#[pyfunction]
pub(crate) fn permit_code(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<()> {
    detached(py, || experiment(layers)?.permit_code().map_err(|error| error.to_string()))?
        .map_err(InputError::new_err)
}

/// Raises `InputError` if the device of the experiment contradicts itself; does not build it.
#[pyfunction]
pub(crate) fn check_device(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<()> {
    detached(py, || experiment(layers)?.check_device().map_err(|error| error.to_string()))?
        .map_err(InputError::new_err)
}

/// The layer (source, TOML text, permission to name code) of `--set KEY=VALUE`.
#[pyfunction]
pub(crate) fn set_layer(assignment: &str) -> PyResult<(String, String, bool)> {
    lab::set_layer(assignment).map(fields).map_err(input_error)
}

/// The single layer of several `--set KEY=VALUE`, in any order.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands over lists")]
pub(crate) fn set_layers(assignments: Vec<String>) -> PyResult<(String, String, bool)> {
    lab::set_layers(&assignments).map(fields).map_err(input_error)
}

/// A single layer made of `layers` from `set_layer`, in any order.
#[pyfunction]
pub(crate) fn peers(layers: Vec<PyLayer>) -> PyResult<(String, String, bool)> {
    let layers: Vec<Layer> = layers.into_iter().map(Layer::from).collect();
    lab::peers(&layers).map(fields).map_err(input_error)
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn input_error(error: lab::InputError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The layer (source, TOML text, permission to name code) of a built-in device or workload, or
/// None.
#[pyfunction]
pub(crate) fn preset_layer(section: &str, name: &str) -> Option<(String, String, bool)> {
    lab::preset_layer(section, name).map(fields)
}

/// The file of a built-in device or workload with its comments, or None.
#[pyfunction]
pub(crate) fn preset_text(section: &str, name: &str) -> Option<&'static str> {
    lab::preset_text(section, name)
}

/// The message for a name that is neither a preset nor a file, with the valid choices.
#[pyfunction]
pub(crate) fn unknown_preset(section: &str, name: &str) -> String {
    lab::unknown_preset(section, name).to_string()
}

/// Names and one-line summaries of a category, or None for an unknown category.
#[pyfunction]
pub(crate) fn list(what: &str) -> Option<Vec<(String, String)>> {
    lab::list(what)
}

/// The categories of `list`.
#[pyfunction]
pub(crate) fn list_categories() -> Vec<&'static str> {
    lab::list_categories().to_vec()
}

/// The JSON Schema of experiment files, as JSON text.
#[pyfunction]
pub(crate) fn experiment_schema() -> String {
    format!("{:#}", lab::schema())
}

pub(crate) fn experiment(layers: Vec<PyLayer>) -> Result<Experiment, String> {
    let layers: Vec<Layer> = layers.into_iter().map(Layer::from).collect();
    Experiment::from_layers(&layers).map_err(|error| error.to_string())
}

fn fields(layer: Layer) -> (String, String, bool) {
    (layer.source, layer.text, layer.code)
}

/// A layer: source, TOML text, and optional permission to name code.
#[derive(FromPyObject)]
pub(crate) enum PyLayer {
    Said(String, String, bool),
    Data(String, String),
}

impl From<PyLayer> for Layer {
    fn from(layer: PyLayer) -> Self {
        let (source, text, code) = match layer {
            PyLayer::Said(source, text, code) => (source, text, code),
            PyLayer::Data(source, text) => (source, text, false),
        };
        Layer { code, ..Layer::new(source, text) }
    }
}

//! The cache of prepared drives: what it holds.

use lab::CacheSettings;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The cache folder, whether or not it is in use; None where the environment names none.
#[pyfunction]
pub(crate) fn cache_folder() -> Option<PathBuf> {
    CacheSettings::folder_of_user()
}

/// The bound of the cache in bytes; None where it is switched off.
#[pyfunction]
pub(crate) fn cache_bound() -> PyResult<Option<u64>> {
    let settings = CacheSettings::of_user();
    let settings = settings.map_err(|error| crate::errors::InputError::new_err(error.0))?;
    Ok(settings.map(|it| it.most_bytes))
}

/// The entries of the cache in a folder as a JSON list, the one that was used last first.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python hands it over")]
pub(crate) fn cache_entries(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    crate::errors::detached(py, || lab::cache_json(&folder))
}

/// Makes room in the cache for a converted trace of that size that is written already, by removing what was not used
/// for longest: whether there can be any.
#[pyfunction]
pub(crate) fn cache_make_room(bytes: u64) -> PyResult<bool> {
    let settings = CacheSettings::of_user();
    let settings = settings.map_err(|error| crate::errors::InputError::new_err(error.0))?;
    Ok(settings.is_some_and(|it| lab::cache_make_room(&it, bytes)))
}

/// Removes all entries of the cache in a folder: how many there were, and their bytes.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python hands it over")]
pub(crate) fn cache_clear(folder: PathBuf) -> PyResult<(u64, u64)> {
    Ok(lab::cache_clear(&folder)?)
}

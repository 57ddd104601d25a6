//! The cache of prepared drives: its content.

use lab::CacheSettings;
use pyo3::prelude::*;
use std::path::PathBuf;

/// The cache folder, enabled or not; None if the environment names none.
#[pyfunction]
pub(crate) fn cache_folder() -> Option<PathBuf> {
    CacheSettings::folder_of_user()
}

/// The size limit of the cache in bytes; None if it is disabled.
#[pyfunction]
pub(crate) fn cache_bound() -> PyResult<Option<u64>> {
    let settings = CacheSettings::of_user();
    let settings = settings.map_err(|error| crate::errors::InputError::new_err(error.0))?;
    Ok(settings.map(|it| it.most_bytes))
}

/// The cache entries in a folder as a JSON list, most recently used first.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python hands it over")]
pub(crate) fn cache_entries(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    crate::errors::detached(py, || lab::cache_json(&folder))
}

/// Makes room for a converted trace of that size, already written, by removing the least recently
/// used entries. Returns False if the cache cannot hold it.
#[pyfunction]
pub(crate) fn cache_make_room(bytes: u64) -> PyResult<bool> {
    let settings = CacheSettings::of_user();
    let settings = settings.map_err(|error| crate::errors::InputError::new_err(error.0))?;
    Ok(settings.is_some_and(|it| lab::cache_make_room(&it, bytes)))
}

/// Removes all cache entries in a folder. Returns their number and their bytes.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "as Python hands it over")]
pub(crate) fn cache_clear(folder: PathBuf) -> PyResult<(u64, u64)> {
    Ok(lab::cache_clear(&folder)?)
}

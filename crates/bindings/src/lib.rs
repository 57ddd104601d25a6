//! `ssdlab._core`: the Python extension module, the only crate that knows Python.
//!
//! A simulation never holds the interpreter's lock, Ctrl-C ends it within about a tenth of a
//! second, and every user error is an `ssdlab.InputError`. There is no logic here: `python/ssdlab`
//! prepares the arguments, and `lab` implements the functions.

mod cache;
mod cleaner;
mod errors;
mod keep;
mod layers;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live;
mod placement;
mod reliability;
mod run;
mod stepped;
mod tables;
mod traces;
mod view;
mod visits;

/// Out of memory, the process ends with a message instead of a crash.
#[global_allocator]
static ALLOCATOR: memory::LastResort = memory::LastResort;

#[pyo3::pymodule]
mod _core {
    use devices::ssd::ids::BlockState;
    use lab::Column;
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::PyList;

    #[pymodule_export]
    use super::cache::{cache_bound, cache_clear, cache_entries, cache_folder, cache_make_room};
    #[pymodule_export]
    use super::cleaner::{Clean, Rest, View};
    #[pymodule_export]
    use super::errors::{CheckError, InputError, InternalError, PolicyError, panic};
    #[pymodule_export]
    use super::keep::{keep, media_forms, retention};
    #[pymodule_export]
    use super::layers::{
        capacity_bytes, check_device, experiment_schema, list, list_categories, peers, permit_code,
        preset_layer, preset_text, resolve, resolve_json, set_layer, set_layers, unknown_preset,
    };
    #[cfg(all(feature = "live", target_os = "linux"))]
    #[pymodule_export]
    use super::live::{LiveDevice, LiveEntry, LiveNamespaces};
    #[pymodule_export]
    use super::placement::{
        PlacementTrace, cache_amplification, permutation_passes, stream_amplification,
    };
    #[pymodule_export]
    use super::reliability::{fleet, reliability};
    #[pymodule_export]
    use super::run::{check_cleaner, run};
    #[pymodule_export]
    use super::stepped::{DriveAnswer, DriveHandle};
    #[pymodule_export]
    use super::tables::{counters, latency_parts, operations, request_kinds, synonym, synonyms};
    #[pymodule_export]
    use super::traces::{
        known_as, read_decompressed, trace_convert, trace_head, trace_info, trace_response_times,
        trace_services,
    };
    #[pymodule_export]
    use super::view::ViewedRun;

    /// The version of the engine, which is the version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a Python name")]
    const version: &str = env!("CARGO_PKG_VERSION");

    /// The schema version of results that this version writes and reads.
    #[pymodule_export]
    const SCHEMA: u32 = lab::SCHEMA;

    /// Block states in `View.states`: the block is erased.
    #[pymodule_export]
    const FREE: u8 = BlockState::Free as u8;
    /// The block is open.
    #[pymodule_export]
    const OPEN: u8 = BlockState::Open as u8;
    /// The block is full and may be cleaned.
    #[pymodule_export]
    const CLOSED: u8 = BlockState::Closed as u8;
    /// The block is being cleaned.
    #[pymodule_export]
    const VICTIM: u8 = BlockState::Victim as u8;
    /// The block is worn and receives cold data.
    #[pymodule_export]
    const FILLING: u8 = BlockState::Filling as u8;
    /// The block is worn out.
    #[pymodule_export]
    const RETIRED: u8 = BlockState::Retired as u8;
    /// The block is full, and wear levelling skips it.
    #[pymodule_export]
    const PASSED_OVER: u8 = BlockState::PassedOver as u8;

    /// Writes a Parquet file with the given columns: name, type (`bool`, `int`, `float` or `str`),
    /// and a list of values or None, or a function that gives one.
    #[pyfunction]
    fn to_parquet(
        py: Python<'_>,
        columns: Vec<(String, String, Bound<'_, PyAny>)>,
    ) -> PyResult<Vec<u8>> {
        let (mut types, mut given) = (Vec::new(), Vec::new());
        for (name, kind, values) in columns {
            types.push((name, column(&kind, &PyList::empty(py))?));
            given.push((kind, values));
        }
        let values = |index: usize| {
            let (kind, values): &(String, Bound<'_, PyAny>) = &given[index];
            let found = if values.is_callable() { values.call0() } else { Ok(values.clone()) };
            found.and_then(|it| column(kind, &it)).map_err(|error| error.to_string())
        };
        lab::to_parquet(&types, values).map_err(PyValueError::new_err)
    }

    /// A column of a type.
    fn column(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<Column> {
        Ok(match kind {
            "bool" => Column::Bools(values.extract()?),
            "int" => Column::Integers(values.extract()?),
            "float" => Column::Numbers(values.extract()?),
            "str" => Column::Texts(values.extract()?),
            _ => return Err(PyValueError::new_err(format!("no columns of {kind}"))),
        })
    }
}

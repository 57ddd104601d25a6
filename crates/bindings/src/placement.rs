//! Placement studies for Python: a trace that is read once.

use std::cell::RefCell;
use std::ops::ControlFlow;

use ::placement::published::{CacheLoad, permutation};
use ::placement::three_streams::{Given, Over, ThreeStreams};
use ::placement::{Isolation, TooFew, Zones};
use lab::{PlacementLoad, TraceError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors::{InputError, detached};
use crate::traces::watched;
use crate::visits::Visits;

/// The writes of a trace.
#[pyclass(frozen, module = "ssdlab._core")]
pub struct PlacementTrace {
    load: PlacementLoad,
}

#[pymethods]
impl PlacementTrace {
    /// Reads the trace at `path`; `options` and `progress` as for `trace_info`.
    #[new]
    #[pyo3(signature = (path, options, progress = None))]
    fn new(
        py: Python<'_>,
        path: &str,
        options: &str,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PlacementTrace> {
        let load = watched(py, progress, |watch| PlacementLoad::read(path, options, watch))?;
        Ok(PlacementTrace { load })
    }

    /// Facts of the trace, as JSON text.
    fn facts(&self) -> String {
        self.load.facts()
    }

    /// Number of writes and trims.
    fn __len__(&self) -> usize {
        self.load.count()
    }

    /// Byte offset, length (negative for a trim), device and FUA flag of up to `most` requests from
    /// `start`.
    fn requests(&self, start: usize, most: usize) -> Vec<(u64, i64, u32, bool)> {
        self.load.requests(start, most)
    }

    /// Bytes written until the next overwrite of each write's pages; -1 for never.
    fn next_overwrites(&self, py: Python<'_>) -> PyResult<Vec<i64>> {
        detached(py, || self.load.next_overwrites())
    }

    /// Studies policies; returns JSON text. `settings` is JSON text, `own` holds the handles of
    /// policy "own". `progress(requests)` is called about ten times a second; its exceptions and
    /// Ctrl-C end the study.
    #[pyo3(signature = (settings, own = None, progress = None))]
    fn study(
        &self,
        py: Python<'_>,
        settings: &str,
        own: Option<&[u8]>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let progress = progress.map(Bound::unbind);
        let mut raised = None;
        let outcome = detached(py, || {
            let mut visits = Visits::new();
            self.load.study(settings, own, &mut |requests| {
                let visit = visits.visit(|py| {
                    if let Some(progress) = &progress {
                        progress.call1(py, (requests,))?;
                    }
                    Ok(())
                });
                visit.map_or_else(
                    |error| {
                        raised = Some(error);
                        ControlFlow::Break(())
                    },
                    ControlFlow::Continue,
                )
            })
        })?;
        outcome.map_err(|error| failed(error, raised))
    }

    /// Studies a host log on zones; returns JSON text, a list of one row. `streams` holds the
    /// stream of each request; `victim(valid, full_at, full, zone_pages, now)` returns the zone to
    /// clean.
    fn study_log(
        &self,
        settings: &str,
        streams: &[u8],
        victim: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        let raised = RefCell::new(None);
        let choose = |zones: &Zones<'_>| {
            let (valid, full_at, full) = (zones.valid, zones.full_at, zones.full);
            let asked = victim.call1((valid, full_at, full, zones.zone_pages, zones.now));
            match asked.and_then(|chosen| chosen.extract::<u32>()) {
                Ok(zone) => Some(zone),
                Err(error) => {
                    *raised.borrow_mut() = Some(error);
                    None
                }
            }
        };
        let found = self.load.study_log(settings, streams, Box::new(choose), &|_| false);
        found.map_err(|error| failed(error, raised.take()))
    }
}

/// The exception of a study that ends early.
fn failed(error: TraceError, raised: Option<PyErr>) -> PyErr {
    match error {
        TraceError::Interrupted { .. } => {
            raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
        TraceError::Input(message) | TraceError::Output(message) => InputError::new_err(message),
    }
}

/// Write amplification of each pass, and by tenth of a pass, of a stream that writes every page
/// once per pass in a new random order. The drive has `units` units of `unit_pages` pages; data
/// fill the share `use_of`.
#[pyfunction]
pub(crate) fn permutation_passes(
    py: Python<'_>,
    use_of: f64,
    unit_pages: u32,
    units: u32,
    passes: u32,
    seed: u64,
) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let found = detached(py, || permutation(use_of, (unit_pages, units), passes, seed))?;
    let found = found.map_err(few)?;
    Ok((found.passes, found.tenths))
}

/// Write amplification of a cache of small and large objects, and of each drive write before the
/// measurement. `load` holds the used share of the flash and of the capacity, the share of small
/// objects in space and in bytes, and the drive writes before and during the measurement.
#[pyfunction]
pub(crate) fn cache_amplification(
    py: Python<'_>,
    load: (f64, f64, f64, f64, f64, f64),
    placed: bool,
    unit_pages: u32,
    units: u32,
    seed: u64,
) -> PyResult<(f64, Vec<f64>)> {
    let (use_of, utilisation, small, share, before, counted) = load;
    let load = CacheLoad {
        use_of,
        utilisation,
        small,
        share,
        placed,
        isolation: Isolation::Initial,
        region: 1,
        drive_writes: (before, counted),
    };
    let found = detached(py, || load.run((unit_pages, units), seed))?;
    let (account, curve) = found.map_err(few)?;
    Ok((account.dlwa(), curve))
}

/// Write amplification of three streams, one of which overwrites the addresses of another. `load`
/// holds the used share of the flash, the shares of pages of the sequential and the overwriting
/// stream, and the drive writes before and during the measurement. `over` is uniform, zoned or
/// zipf; `given` is none, shared or each.
#[pyfunction]
pub(crate) fn stream_amplification(
    py: Python<'_>,
    load: (f64, f64, f64, f64, f64),
    over: &str,
    given: &str,
    unit_pages: u32,
    units: u32,
    seed: u64,
) -> PyResult<f64> {
    let (use_of, in_order, overwritten, before, counted) = load;
    let over = match over {
        "zoned" => Over::Zoned,
        "zipf" => Over::Zipf,
        "uniform" => Over::Uniform,
        _ => return Err(unknown(over, "uniform, zoned, zipf")),
    };
    let given = match given {
        "each" => Given::Each,
        "shared" => Given::Shared,
        "none" => Given::None,
        _ => return Err(unknown(given, "none, shared, each")),
    };
    let load = ThreeStreams {
        use_of,
        shares: (in_order, overwritten),
        over,
        given,
        isolation: Isolation::Initial,
        drive_writes: (before, counted),
    };
    let found = detached(py, || load.run((unit_pages, units), seed))?;
    found.map(|account| account.dlwa()).map_err(few)
}

fn unknown(word: &str, words: &str) -> PyErr {
    InputError::new_err(format!("{word:?} is not one of {words}"))
}

fn few(error: TooFew) -> PyErr {
    InputError::new_err(error.to_string())
}

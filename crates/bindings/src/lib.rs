//! `ssdlab._core`: the laboratory as a Python extension module, and the only room that knows Python.
//!
//! It promises that a simulation never holds the interpreter's lock, that Ctrl-C ends it within
//! about a tenth of a second, and that every mistake of the user arrives as `ssdlab.InputError`.
//! It leaves out logic: arguments are put in order by `python/ssdlab`, meaning is given to them by
//! `lab`.

mod cleaner;
mod errors;
mod tables;
mod traces;
mod visits;

#[pyo3::pymodule]
mod _core {
    use std::ops::ControlFlow;
    use std::sync::{Mutex, PoisonError};

    use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
    use pyo3::prelude::*;

    use devices::ssd::clean::Cleaner;
    use devices::ssd::conformance;
    use devices::ssd::ids::BlockState;
    use lab::{
        Column, Experiment, Layer, Live, LiveAddress, LiveSettings, Progress, RunError, RunSettings,
    };

    #[pymodule_export]
    use super::cleaner::{Clean, Rest, View};
    use super::cleaner::{PythonCleaner, Raised, is_final, put_raised, take_raised};
    #[pymodule_export]
    use super::errors::{CheckError, InputError, PolicyError};
    #[pymodule_export]
    use super::tables::{counters, latency_parts, operations, request_kinds};
    #[pymodule_export]
    use super::traces::{read_decompressed, trace_convert, trace_head, trace_info, trace_services};
    use super::visits::{VISIT_INTERVAL, wall_clock};

    /// The version of the engine, which is the version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a Python name")]
    const version: &str = env!("CARGO_PKG_VERSION");

    /// The schema of results that this version writes and reads.
    #[pymodule_export]
    const SCHEMA: u32 = lab::SCHEMA;

    /// What a block is used for, as numbers in `View.states`: it is erased.
    #[pymodule_export]
    const FREE: u8 = BlockState::Free as u8;
    /// It is being filled.
    #[pymodule_export]
    const OPEN: u8 = BlockState::Open as u8;
    /// It is full and may be cleaned.
    #[pymodule_export]
    const CLOSED: u8 = BlockState::Closed as u8;
    /// It is being cleaned.
    #[pymodule_export]
    const VICTIM: u8 = BlockState::Victim as u8;
    /// It is worn and being filled with cold data.
    #[pymodule_export]
    const FILLING: u8 = BlockState::Filling as u8;
    /// It is worn out.
    #[pymodule_export]
    const RETIRED: u8 = BlockState::Retired as u8;
    /// It is full, and wear levelling passes it over.
    #[pymodule_export]
    const PASSED_OVER: u8 = BlockState::PassedOver as u8;

    /// Runs the experiment made of `layers` (source, TOML text and whether it may name code, from
    /// lowest to highest priority) and returns the results as JSON text.
    ///
    /// `progress(phase, done, expected, simulated_ns)` is called about ten times a second. What it
    /// raises, and a `KeyboardInterrupt`, ends the run and is passed on, with the number of
    /// requests completed so far in the exception's attribute `requests`.
    ///
    /// `requests` names a Parquet file for the record of every request.
    ///
    /// Where the layers name a cleaning policy of the user's, it is `cleaner`, or else what
    /// `ssdlab.cleaners.load` makes of the name.
    #[pyfunction]
    #[pyo3(signature = (layers, check = false, progress = None, requests = None, cleaner = None))]
    fn run(
        py: Python<'_>,
        layers: Vec<PyLayer>,
        check: bool,
        progress: Option<Bound<'_, PyAny>>,
        requests: Option<String>,
        cleaner: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let progress = progress.map(Bound::unbind);
        let cleaner = cleaner.map(Bound::unbind);
        let mut raised = None;
        let by_policy = Raised::default();
        let outcome = py.detach(|| {
            let experiment = experiment(layers).map_err(RunError::Input)?;
            let supplied = match &cleaner {
                Some(object) => {
                    experiment.supply_policy(|name| hand_in(name, Some(object), &by_policy))
                }
                None => experiment.load_policy(|name| hand_in(name, None, &by_policy)),
            }?;
            let mut visited = wall_clock();
            lab::run_with(&experiment, &supplied, &RunSettings { check, requests }, &mut |now| {
                if visited.elapsed() < VISIT_INTERVAL {
                    return ControlFlow::Continue(());
                }
                match Python::attach(|py| visit(py, now, progress.as_ref())) {
                    Ok(()) => {
                        visited = wall_clock();
                        ControlFlow::Continue(())
                    }
                    Err(error) => {
                        raised = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })
        });
        outcome.map_err(|error| match error {
            RunError::Input(message) => {
                let cause = take_raised(&by_policy);
                cause.filter(|it| is_final(py, it)).unwrap_or_else(|| InputError::new_err(message))
            }
            RunError::Output(message) | RunError::System(message) => PyOSError::new_err(message),
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

    /// Notes in an exception how many requests had completed.
    fn completed(py: Python<'_>, error: PyErr, requests: u64) -> PyErr {
        // An exception class with slots may refuse the attribute; the exception counts.
        let _ = error.value(py).setattr("requests", requests);
        error
    }

    /// The exception for a policy's failure: what it raised is the cause, or the exception itself
    /// where that is meant to end the program.
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

    /// The policy of that name, or what is wrong with it.
    fn hand_in(
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

    /// Runs the conformance suite on policies made by `make()`: for each check what it shows, and
    /// what is wrong, if anything is. What a policy raised is the second value.
    #[pyfunction]
    fn check_cleaner(py: Python<'_>, make: Bound<'_, PyAny>) -> PyResult<Checks> {
        let make = make.unbind();
        let raised = Raised::default();
        let checks = py.detach(|| {
            conformance(&mut || {
                Python::attach(|py| {
                    let object = make.bind(py).call0()?;
                    Ok::<_, PyErr>(
                        Box::new(PythonCleaner::new(&object, &raised)?) as Box<dyn Cleaner>
                    )
                })
            })
        })?;
        let checks = checks.into_iter().map(|check| (check.shows.to_owned(), check.problem));
        let raised = take_raised(&raised);
        match raised {
            Some(error) if is_final(py, &error) => Err(error),
            raised => Ok((checks.collect(), raised.map(|error| error.into_value(py).into_any()))),
        }
    }

    /// Whether each check passed, and an exception.
    type Checks = (Vec<(String, Option<String>)>, Option<Py<PyAny>>);

    /// The experiment made of `layers`, complete and re-runnable, as TOML text.
    #[pyfunction]
    fn resolve(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<String> {
        py.detach(|| experiment(layers).map(|it| it.to_toml())).map_err(InputError::new_err)
    }

    /// The experiment made of `layers`, complete, as JSON text.
    #[pyfunction]
    fn resolve_json(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<String> {
        py.detach(|| experiment(layers).map(|it| it.to_json().to_string()))
            .map_err(InputError::new_err)
    }

    /// What the device of the experiment made of `layers` offers to the host, in bytes.
    #[pyfunction]
    fn capacity_bytes(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<u64> {
        py.detach(|| experiment(layers)?.capacity_bytes().map_err(|error| error.to_string()))
            .map_err(InputError::new_err)
    }

    /// A Parquet file with these columns: name, `bool`, `int`, `float` or `str`, and a list of such
    /// values or None.
    #[pyfunction]
    fn to_parquet(
        py: Python<'_>,
        columns: Vec<(String, String, Bound<'_, PyAny>)>,
    ) -> PyResult<Vec<u8>> {
        let columns = columns
            .into_iter()
            .map(|(name, kind, values)| {
                let column = match kind.as_str() {
                    "bool" => Column::Bools(values.extract()?),
                    "int" => Column::Integers(values.extract()?),
                    "float" => Column::Numbers(values.extract()?),
                    "str" => Column::Texts(values.extract()?),
                    _ => return Err(PyValueError::new_err(format!("no columns of {kind}"))),
                };
                Ok((name, column))
            })
            .collect::<PyResult<Vec<_>>>()?;
        py.detach(|| lab::to_parquet(&columns)).map_err(PyValueError::new_err)
    }

    /// Raises `InputError` if the experiment made of `layers` would load code that only a layer
    /// names which may not.
    #[pyfunction]
    fn permit_code(py: Python<'_>, layers: Vec<PyLayer>) -> PyResult<()> {
        py.detach(|| experiment(layers)?.permit_code().map_err(|error| error.to_string()))
            .map_err(InputError::new_err)
    }

    /// The layer (source, TOML text, whether it may name code) that stands for `--set KEY=VALUE`.
    #[pyfunction]
    fn set_layer(assignment: &str) -> PyResult<(String, String, bool)> {
        lab::set_layer(assignment).map(fields).map_err(input_error)
    }

    /// The one layer that stands for several `--set KEY=VALUE`, whose order says nothing.
    #[pyfunction]
    #[expect(clippy::needless_pass_by_value, reason = "Python hands over lists")]
    fn set_layers(assignments: Vec<String>) -> PyResult<(String, String, bool)> {
        lab::set_layers(&assignments).map(fields).map_err(input_error)
    }

    /// The one layer of `layers`, each made by `set_layer`, whose order says nothing.
    #[pyfunction]
    fn peers(layers: Vec<PyLayer>) -> PyResult<(String, String, bool)> {
        let layers: Vec<Layer> = layers.into_iter().map(Layer::from).collect();
        lab::peers(&layers).map(fields).map_err(input_error)
    }

    #[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
    fn input_error(error: lab::InputError) -> PyErr {
        InputError::new_err(error.to_string())
    }

    /// The layer (source, TOML text, whether it may name code) of a built-in device or workload, or
    /// None.
    #[pyfunction]
    fn preset_layer(section: &str, name: &str) -> Option<(String, String, bool)> {
        lab::preset_layer(section, name).map(fields)
    }

    /// The message for a name that is neither a preset nor a file: it lists the valid choices.
    #[pyfunction]
    fn unknown_preset(section: &str, name: &str) -> String {
        lab::unknown_preset(section, name).to_string()
    }

    /// Names and one-line summaries of everything in a category, or None for an unknown category.
    #[pyfunction]
    fn list(what: &str) -> Option<Vec<(String, String)>> {
        lab::list(what)
    }

    /// The categories that `list` knows.
    #[pyfunction]
    fn list_categories() -> Vec<&'static str> {
        lab::list_categories().to_vec()
    }

    /// A device that is served to clients of NBD by threads of its own.
    #[pyclass(frozen)]
    struct LiveDevice {
        /// Until it has ended.
        live: Mutex<Option<Live>>,
        #[pyo3(get)]
        uri: String,
        #[pyo3(get)]
        size_bytes: u64,
        #[pyo3(get)]
        warnings: Vec<String>,
    }

    #[pymethods]
    impl LiveDevice {
        /// Serves the device of the experiment made of `layers`, and returns once clients can come.
        /// Exactly one of `socket` and `port` is given. Ctrl-C ends the preparations.
        #[new]
        #[pyo3(signature = (layers, *, socket, port, host, allow_remote, size, backing, record,
                            time_scale, realtime))]
        #[expect(clippy::too_many_arguments, reason = "they are keywords")]
        fn new(
            py: Python<'_>,
            layers: Vec<PyLayer>,
            socket: Option<std::path::PathBuf>,
            port: Option<u16>,
            host: String,
            allow_remote: bool,
            size: Option<String>,
            backing: Option<std::path::PathBuf>,
            record: Option<String>,
            time_scale: f64,
            realtime: bool,
        ) -> PyResult<Self> {
            let address = match (socket, port) {
                (Some(path), None) => LiveAddress::Socket(path),
                (None, Some(port)) => LiveAddress::Port { port, host, allow_remote },
                _ => return Err(InputError::new_err("either a socket or a port is needed")),
            };
            let settings = LiveSettings { address, size, backing, record, time_scale, realtime };
            let live = py.detach(|| {
                let experiment = experiment(layers).map_err(RunError::Input)?;
                let supplied =
                    experiment.load_policy(|name| hand_in(name, None, &Raised::default()))?;
                Live::start(experiment, supplied, settings)
            });
            let live = live.map_err(live_error)?;
            let (live, ready) = py.detach(|| {
                loop {
                    match live.ready(VISIT_INTERVAL) {
                        Ok(Some(ready)) => return Ok((live, ready)),
                        Ok(None) => {
                            if let Some(raised) = Python::attach(|py| py.check_signals().err()) {
                                let _ = live.finish();
                                return Err(raised);
                            }
                        }
                        Err(_) => {
                            return Err(live.finish().err().map_or_else(
                                || PyOSError::new_err("the server ended at once"),
                                live_error,
                            ));
                        }
                    }
                }
            })?;
            Ok(LiveDevice {
                live: Mutex::new(Some(live)),
                uri: ready.uri,
                size_bytes: ready.size_bytes,
                warnings: ready.warnings,
            })
        }

        /// Requests, bytes, sum of latencies (ns), write amplification and share of late requests
        /// so far, or None when it has ended.
        fn status(&self) -> Option<(u64, u64, u64, Option<f64>, f64)> {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            let now = live.as_ref()?.status();
            Some((now.requests, now.bytes, now.latency_ns, now.write_amplification, now.late_share))
        }

        /// Answers what was asked, ends, and returns the results as JSON text; None when it has
        /// ended before.
        fn stop(&self, py: Python<'_>) -> PyResult<Option<String>> {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(live) = live else { return Ok(None) };
            py.detach(|| live.finish()).map(Some).map_err(live_error)
        }
    }

    fn live_error(error: RunError) -> PyErr {
        match error {
            RunError::Input(message) => InputError::new_err(message),
            RunError::Check(message) => CheckError::new_err(message),
            RunError::Policy { problem, .. } => PolicyError::new_err(problem),
            RunError::Output(message) | RunError::System(message) => PyOSError::new_err(message),
            RunError::Interrupted { .. } => PyKeyboardInterrupt::new_err(()),
        }
    }

    fn experiment(layers: Vec<PyLayer>) -> Result<Experiment, String> {
        let layers: Vec<Layer> = layers.into_iter().map(Layer::from).collect();
        Experiment::from_layers(&layers).map_err(|error| error.to_string())
    }

    fn fields(layer: Layer) -> (String, String, bool) {
        (layer.source, layer.text, layer.code)
    }

    /// A layer: source, TOML text and, if it is said, whether it may name code.
    #[derive(FromPyObject)]
    enum PyLayer {
        Said(String, String, bool),
        Data(String, String),
    }

    impl From<PyLayer> for Layer {
        fn from(layer: PyLayer) -> Self {
            let (source, text, code) = match layer {
                PyLayer::Said(source, text, code) => (source, text, code),
                PyLayer::Data(source, text) => (source, text, false),
            };
            Layer { source, text, code }
        }
    }

    fn visit(py: Python<'_>, now: &Progress, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(py, (now.phase, now.done, now.expected, now.simulated_ns))?;
        }
        Ok(())
    }
}

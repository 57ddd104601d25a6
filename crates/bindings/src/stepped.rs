//! A drive stepped by a Python program.

use crate::cleaner::Raised;
use crate::errors::{InputError, detached, plain_error};
use crate::layers::{PyLayer, experiment};
use crate::run::hand_in;
use crate::visits::Visits;
use devices::latency::LATENCY_PARTS;
use lab::{CacheSettings, Completion, HostRequest, Op, RunError, Status, StepError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A stepped drive with one owner.
#[pyclass(frozen)]
pub(crate) struct DriveHandle {
    drive: Mutex<lab::SteppedDrive>,
    #[pyo3(get)]
    capacity_bytes: u64,
}

/// Completion of a request.
#[pyclass(frozen)]
pub(crate) struct DriveAnswer(Completion);

impl DriveHandle {
    fn of(drive: lab::SteppedDrive) -> DriveHandle {
        DriveHandle { capacity_bytes: drive.capacity_bytes(), drive: Mutex::new(drive) }
    }

    /// Never blocks: the lock's holder may wait for the interpreter.
    fn drive(&self) -> PyResult<MutexGuard<'_, lab::SteppedDrive>> {
        match self.drive.try_lock() {
            Ok(drive) => Ok(drive),
            Err(TryLockError::Poisoned(_)) => {
                Err(InputError::new_err("the drive has failed before: make another"))
            }
            Err(TryLockError::WouldBlock) => {
                Err(InputError::new_err("the drive is at work in another thread: it has one owner"))
            }
        }
    }

    /// Calls `work` on the drive without the interpreter's lock, then `give` with its result.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(
            &mut lab::SteppedDrive,
            &mut dyn FnMut() -> ControlFlow<()>,
        ) -> Result<T, StepError>
        + Send,
    ) -> PyResult<T> {
        let mut raised = None;
        let done = detached(py, || {
            let mut drive = self.drive()?;
            let mut visits = Visits::new();
            let done = work(&mut drive, &mut || match visits.visit(|_| Ok(())) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            });
            Ok::<_, PyErr>(done)
        })??;
        done.map_err(|error| match error {
            StepError::Interrupted => raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
            other => step_error(other),
        })
    }

    fn step(
        &self,
        py: Python<'_>,
        to_ns: Option<u64>,
        is_to_answer: bool,
    ) -> PyResult<Vec<Completion>> {
        self.work(py, |drive, tick| {
            match to_ns {
                _ if is_to_answer => drive.advance_to_answer(to_ns, tick).map(|_| ())?,
                Some(to) => drive.advance(to, tick).map(|_| ())?,
                None => drive.answer_all(tick).map(|_| ())?,
            }
            Ok(drive.take_answers())
        })
    }
}

#[pymethods]
impl DriveHandle {
    /// Prepares the device of the experiment made of `layers`.
    #[new]
    fn new(py: Python<'_>, layers: Vec<PyLayer>, threads: u32) -> PyResult<Self> {
        let mut raised = None;
        let made = detached(py, || {
            let experiment = experiment(layers).map_err(RunError::Input)?;
            let supplied =
                experiment.load_policy(|name| hand_in(name, None, &Raised::default()))?;
            let mut visits = Visits::new();
            let cache = CacheSettings::of_user()?;
            lab::SteppedDrive::new(experiment, supplied, threads, cache.as_ref(), &mut |_, _, _| {
                match visits.visit(|_| Ok(())) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        raised = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })
        })?;
        let drive = made.map_err(|error| raised.unwrap_or_else(|| plain_error(error)))?;
        Ok(DriveHandle::of(drive))
    }

    /// Current time, ns.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.drive()?.now())
    }

    /// Number of outstanding requests.
    #[getter]
    fn outstanding(&self) -> PyResult<u64> {
        Ok(self.drive()?.outstanding())
    }

    /// Submits a request, by default now. Returns its tag.
    #[expect(clippy::too_many_arguments, reason = "the fields of a request")]
    fn submit(
        &self,
        at_ns: Option<u64>,
        op: &str,
        offset: u64,
        bytes: u64,
        handle: Option<u8>,
        queue: u16,
        fua: bool,
    ) -> PyResult<u64> {
        let mut drive = self.drive()?;
        let at = at_ns.unwrap_or_else(|| drive.now());
        let op = drive.op(op).map_err(step_error)?;
        drive.submit(at, HostRequest { op, offset, bytes, handle, queue, fua }).map_err(step_error)
    }

    /// Submits many requests; returns the tag of the first. Columns are bytes of native numbers:
    /// times, offsets and lengths of 64 bits, handles (255: none) and indexes into `ops` of 8 bits,
    /// queues of 16 bits.
    #[expect(clippy::too_many_arguments, reason = "the fields of requests")]
    fn submit_many(
        &self,
        at_ns: &[u8],
        ops: Vec<String>,
        op: &[u8],
        offset: &[u8],
        bytes: &[u8],
        handle: &[u8],
        queue: &[u8],
    ) -> PyResult<u64> {
        let mut drive = self.drive()?;
        let ops = ops.into_iter().map(|op| drive.op(&op)).collect::<Result<Vec<_>, _>>();
        let ops = ops.map_err(step_error)?;
        let words = |column: &[u8]| {
            column.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect::<Vec<_>>()
        };
        let (at_ns, offset, bytes) = (words(at_ns), words(offset), words(bytes));
        let queue = queue.as_chunks().0.iter().map(|word| u16::from_ne_bytes(*word));
        let rows = at_ns.into_iter().zip(op).zip(offset).zip(bytes).zip(handle).zip(queue);
        let asked = rows.map(|(((((at, op), offset), bytes), handle), queue)| {
            let op = ops.get(usize::from(*op)).copied().unwrap_or(Op::Flush);
            let handle = Some(*handle).filter(|it| *it != u8::MAX);
            (at, HostRequest { op, offset, bytes, handle, queue, fua: false })
        });
        drive
            .submit_many(asked)
            .map_err(|(row, error)| InputError::new_err(format!("request {row}: {error}")))
    }

    /// Time of the next event, ns.
    fn next_event(&self) -> PyResult<Option<u64>> {
        Ok(self.drive()?.next_event())
    }

    /// Advances to a time, or until all requests are complete. Returns the completions.
    fn advance(&self, py: Python<'_>, to_ns: Option<u64>) -> PyResult<Vec<DriveAnswer>> {
        Ok(self.step(py, to_ns, false)?.into_iter().map(DriveAnswer).collect())
    }

    /// Advances likewise, to the next completion at most. Returns the completions.
    fn advance_to_answer(&self, py: Python<'_>, to_ns: Option<u64>) -> PyResult<Vec<DriveAnswer>> {
        Ok(self.step(py, to_ns, true)?.into_iter().map(DriveAnswer).collect())
    }

    /// Advances, and returns columns: name, values as bytes of native numbers, and words. With
    /// words the values are 8-bit indexes into them; with None they are 64-bit numbers.
    fn advance_columns<'py>(
        &self,
        py: Python<'py>,
        to_ns: Option<u64>,
    ) -> PyResult<Vec<ColumnOf<'py>>> {
        let answers = self.step(py, to_ns, false)?;
        let numbers = |of: &dyn Fn(&Completion) -> u64| {
            PyBytes::new_with(py, answers.len() * 8, |room| {
                let rows = room.as_chunks_mut().0.iter_mut().zip(&answers);
                rows.for_each(|(word, answer)| *word = of(answer).to_ne_bytes());
                Ok(())
            })
        };
        let places = |of: &dyn Fn(&Completion) -> u8| {
            PyBytes::new(py, &answers.iter().map(of).collect::<Vec<_>>())
        };
        let ops = Op::ALL.map(Op::name).to_vec();
        let statuses = Status::ALL.map(Status::name).to_vec();
        // Columns of a record of requests.
        let mut columns = vec![
            ("tag".to_owned(), numbers(&|it| it.request.id)?, None),
            ("arrival_ns".to_owned(), numbers(&|it| it.submitted)?, None),
            ("op".to_owned(), places(&|it| it.request.op as u8), Some(ops)),
            ("offset_bytes".to_owned(), numbers(&|it| it.request.lba.0 * lab::SECTOR_BYTES)?, None),
            ("size_bytes".to_owned(), numbers(&|it| it.request.bytes())?, None),
            ("end_ns".to_owned(), numbers(&|it| it.at)?, None),
        ];
        for row in LATENCY_PARTS {
            columns.push((format!("{}_ns", row.key), numbers(&|it| it.breakdown[row.part])?, None));
        }
        columns.push(("status".to_owned(), places(&|it| it.status as u8), Some(statuses)));
        Ok(columns)
    }

    /// The results so far, as JSON text.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        self.work(py, |drive, _| Ok(drive.report().to_string()))
    }

    /// Writes the state of the idle drive to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.work(py, move |drive, tick| drive.save(&path, tick))
    }

    /// Writes the write buffer to the flash.
    fn shut_down(&self) -> PyResult<()> {
        self.drive()?.shut_down().map_err(step_error)
    }

    /// A clone of the idle drive.
    #[pyo3(name = "clone")]
    fn cloned(&self, py: Python<'_>) -> PyResult<DriveHandle> {
        self.work(py, |drive, _| drive.try_clone()).map(DriveHandle::of)
    }
}

/// A column: name, bytes of values, and the words that the values index.
type ColumnOf<'py> = (String, Bound<'py, PyBytes>, Option<Vec<&'static str>>);

#[pymethods]
impl DriveAnswer {
    /// The tag of the request.
    #[getter]
    fn tag(&self) -> u64 {
        self.0.request.id
    }

    /// Completion time, s.
    #[getter]
    fn at(&self) -> f64 {
        self.0.at as f64 / 1e9
    }

    /// Completion time, ns.
    #[getter]
    fn at_ns(&self) -> u64 {
        self.0.at
    }

    /// Latency, s.
    #[getter]
    fn latency(&self) -> f64 {
        self.0.latency() as f64 / 1e9
    }

    /// Latency, ns.
    #[getter]
    fn latency_ns(&self) -> u64 {
        self.0.latency()
    }

    /// Status of the request: "ok", or the error.
    #[getter]
    fn status(&self) -> &'static str {
        self.0.status.name()
    }

    /// The operation.
    #[getter]
    fn op(&self) -> &'static str {
        self.0.request.op.name()
    }

    /// Start in bytes; of an append, the address written.
    #[getter]
    fn offset(&self) -> u64 {
        self.0.request.lba.0 * lab::SECTOR_BYTES
    }

    /// Length, bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.request.bytes()
    }

    /// Latency by part, ns; parts without time are left out.
    #[getter]
    fn parts_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        for row in LATENCY_PARTS {
            let time = self.0.breakdown[row.part];
            if time > 0 {
                parts.set_item(row.key, time)?;
            }
        }
        Ok(parts)
    }

    fn __repr__(&self) -> String {
        let Completion { request, at, status, .. } = &self.0;
        let (op, latency) = (request.op.name(), self.0.latency());
        let (tag, status) = (request.id, status.name());
        format!("<{op} {tag}: {status} at {at} ns after {latency} ns>")
    }
}

fn step_error(error: StepError) -> PyErr {
    match error {
        StepError::Run(error) => plain_error(error),
        other => InputError::new_err(other.to_string()),
    }
}

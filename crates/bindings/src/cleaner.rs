//! Cleaning policies written in Python: what they see, what they answer, and the way between.
//!
//! The arrays of a [`View`] are the drive's own memory, lent through `NumPy`'s array interface. Each
//! array keeps its memory alive, and the drive never writes to memory that Python still holds (see
//! [`DomainState`]), so that nothing which a policy does with an array can harm the process.

use devices::ssd::clean::{Answer, Cleaner, DomainState};
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// The answer that cleans block `block` of the domain.
#[pyclass(frozen, eq, hash, module = "ssdlab")]
#[derive(PartialEq, Eq, Hash)]
pub struct Clean {
    /// The block, counted from the first of the domain.
    #[pyo3(get)]
    block: i64,
}

#[pymethods]
impl Clean {
    #[new]
    fn new(block: &Bound<'_, PyAny>) -> PyResult<Self> {
        let block = block.extract().map_err(|error: PyErr| {
            let problem = format!("Clean takes the number of a block, not {block:?}");
            if error.is_instance_of::<PyTypeError>(block.py()) {
                PyTypeError::new_err(problem)
            } else {
                PyValueError::new_err(problem)
            }
        })?;
        Ok(Clean { block })
    }

    fn __repr__(&self) -> String {
        format!("Clean({})", self.block)
    }
}

/// The answer that cleans nothing now.
#[pyclass(frozen, eq, hash, module = "ssdlab")]
#[derive(PartialEq, Eq, Hash)]
pub struct Rest;

#[pymethods]
impl Rest {
    #[new]
    fn new() -> Self {
        Rest
    }

    #[expect(clippy::unused_self, reason = "the signature is Python's")]
    fn __repr__(&self) -> &'static str {
        "Rest()"
    }
}

/// Memory that `NumPy` may read for as long as this object lives.
#[pyclass(frozen, module = "ssdlab")]
struct Lent {
    _owner: Arc<dyn Any + Send + Sync>,
    address: usize,
    count: u32,
    typestr: &'static str,
}

#[pymethods]
impl Lent {
    /// The protocol of <https://numpy.org/doc/stable/reference/arrays.interface.html>.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.count,))?;
        interface.set_item("typestr", self.typestr)?;
        let read_only = true;
        interface.set_item("data", (self.address, read_only))?;
        Ok(interface)
    }
}

/// Type strings of `NumPy` for unsigned and signed numbers in this machine's order of bytes.
const NUMBERS: [&str; 3] =
    if cfg!(target_endian = "little") { ["<u4", "<u8", "<i8"] } else { [">u4", ">u8", ">i8"] };

/// What a cleaning policy sees of the domain in which it must choose a block.
///
/// It can be used until `step` returns; an array that is kept stays as it was.
#[pyclass(module = "ssdlab")]
pub struct View {
    /// Number of the domain on the drive.
    #[pyo3(get)]
    domain: u32,
    /// Data pages of a block.
    #[pyo3(get)]
    pages: u32,
    /// Erased blocks of the domain.
    #[pyo3(get)]
    free: u32,
    /// Whether some block must be cleaned now because no room is left.
    #[pyo3(get)]
    urgent: bool,
    /// Blocks opened so far on the drive: the clock of `opened`.
    #[pyo3(get)]
    clock: u64,
    /// A number from 0 to below 1, drawn for this step from the run's seed.
    #[pyo3(get)]
    random: f64,
    /// Gone when the step is over.
    pool: Option<Shared>,
    /// The zero-copy arrays that were asked for.
    arrays: [Option<Py<PyAny>>; 4],
}

/// The arrays of a pool, and the part of them that is the domain's.
struct Shared {
    valid: Arc<Vec<u32>>,
    erases: Arc<Vec<u32>>,
    opened: Arc<Vec<u64>>,
    states: Arc<Vec<devices::ssd::ids::BlockState>>,
    first: usize,
    blocks: u32,
}

impl View {
    fn of(pool: &DomainState) -> Self {
        View {
            domain: pool.domain,
            pages: pool.data_pages,
            free: pool.free,
            urgent: pool.urgent,
            clock: pool.opened,
            random: pool.random,
            pool: Some(Shared {
                valid: Arc::clone(&pool.valid),
                erases: Arc::clone(&pool.erases),
                opened: Arc::clone(&pool.sequence),
                states: Arc::clone(&pool.state),
                first: pool.first_block.at(),
                blocks: pool.blocks,
            }),
            arrays: Default::default(),
        }
    }

    fn shared(&self) -> PyResult<&Shared> {
        self.pool.as_ref().ok_or_else(|| {
            PyValueError::new_err("a view ends with its step; keep what you need of it, not itself")
        })
    }

    /// The zero-copy array at `place`, made when it is first asked for.
    fn array(
        &mut self,
        py: Python<'_>,
        place: usize,
        lend: impl FnOnce(&Shared) -> Lent,
    ) -> PyResult<Py<PyAny>> {
        if let Some(array) = &self.arrays[place] {
            return Ok(array.clone_ref(py));
        }
        let array = as_array(py, lend(self.shared()?))?;
        self.arrays[place] = Some(array.clone_ref(py));
        Ok(array)
    }

    /// Gives back everything that the policy does not hold itself.
    fn end(&mut self) {
        self.pool = None;
        self.arrays = Default::default();
    }
}

#[pymethods]
impl View {
    /// Valid pages of each block.
    #[getter]
    fn valid(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 0, |shared| shared.lend(&shared.valid, NUMBERS[0]))
    }

    /// Erasures of each block.
    #[getter]
    fn erases(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 1, |shared| shared.lend(&shared.erases, NUMBERS[0]))
    }

    /// When each block was opened, by the `clock`.
    #[getter]
    fn opened(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 2, |shared| shared.lend(&shared.opened, NUMBERS[1]))
    }

    /// What each block is used for.
    #[getter]
    fn states(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 3, |shared| shared.lend(&shared.states, "|u1"))
    }

    /// The blocks that may be cleaned and have superseded pages; never empty.
    #[getter]
    fn candidates(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        let range = shared.first..shared.first + shared.blocks as usize;
        let (states, valid) = (&shared.states[range.clone()], &shared.valid[range]);
        let pays = |block: &i64| {
            let at = *block as usize;
            states[at] == devices::ssd::ids::BlockState::Closed && valid[at] < self.pages
        };
        owned(py, (0..i64::from(shared.blocks)).filter(pays).collect(), NUMBERS[2])
    }

    /// Blocks opened since each block was, itself counted.
    #[getter]
    fn ages(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        let opened = &shared.opened[shared.first..shared.first + shared.blocks as usize];
        let age = |opened: &u64| (self.clock - opened + 1).cast_signed();
        owned(py, opened.iter().map(age).collect(), NUMBERS[2])
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.shared()?.blocks as usize)
    }
}

impl Shared {
    fn lend<T: Send + Sync + 'static>(&self, all: &Arc<Vec<T>>, typestr: &'static str) -> Lent {
        let owner = Arc::clone(all);
        let address = owner[self.first..].as_ptr() as usize;
        Lent { _owner: owner, address, count: self.blocks, typestr }
    }
}

/// An array of numbers made for it.
fn owned(py: Python<'_>, numbers: Vec<i64>, typestr: &'static str) -> PyResult<Py<PyAny>> {
    let (address, count) = (numbers.as_ptr() as usize, numbers.len() as u32);
    as_array(py, Lent { _owner: Arc::new(numbers), address, count, typestr })
}

fn as_array(py: Python<'_>, lent: Lent) -> PyResult<Py<PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    AS_ARRAY.import(py, "numpy", "asarray")?.call1((lent,)).map(Bound::unbind)
}

/// What a policy raised, for whoever runs the drive.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Keeps what was raised first: what came later is its consequence.
pub fn put_raised(raised: &Raised, error: PyErr) {
    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

/// Takes what was raised.
pub fn take_raised(raised: &Raised) -> Option<PyErr> {
    raised.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Whether an exception is meant to end the program, as Ctrl-C is.
pub fn is_final(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// A policy that is a Python object with a method `step`.
pub struct PythonCleaner {
    step: Py<PyAny>,
    raised: Raised,
}

impl PythonCleaner {
    /// The policy `object`; what it raises goes to `raised`.
    pub fn new(object: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Self> {
        let step = object.getattr("step")?.unbind();
        Ok(PythonCleaner { step, raised: Arc::clone(raised) })
    }

    fn ask(&self, py: Python<'_>, pool: &DomainState) -> PyResult<Result<Answer, String>> {
        let view = Bound::new(py, View::of(pool))?;
        let answer = self.step.bind(py).call1((&view,));
        if let Ok(mut view) = view.try_borrow_mut() {
            view.end();
        }
        let answer = answer?;
        if let Ok(clean) = answer.cast::<Clean>() {
            return Ok(Ok(Answer::Clean(clean.get().block)));
        }
        if answer.is_instance_of::<Rest>() {
            return Ok(Ok(Answer::Rest));
        }
        let answer = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
        Ok(Err(format!("it answered {answer}; an answer is ssdlab.Clean(block) or ssdlab.Rest()")))
    }
}

impl Cleaner for PythonCleaner {
    fn step(&mut self, pool: &DomainState) -> Result<Answer, String> {
        Python::attach(|py| {
            self.ask(py, pool).unwrap_or_else(|error| {
                let problem = format!("it raised {error}");
                put_raised(&self.raised, error);
                Err(problem)
            })
        })
    }
}

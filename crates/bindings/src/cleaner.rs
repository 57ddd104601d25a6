//! Garbage collection policies written in Python: their view, their decision, and the transfer of
//! both.
//!
//! The arrays of a [`View`] are the drive's own memory, lent through `NumPy`'s array interface.
//! Each array keeps its memory alive, and the drive never writes to memory that Python still holds
//! (see [`DomainState`]). No use of an array by a policy can therefore harm the process. An array
//! that the policy has released is reused in the next step, so the cost of a step does not depend
//! on its size.

use devices::ssd::clean::{AgeOrder, Answer, Cleaner, DomainState, VictimIndex};
use devices::ssd::ids::BlockState;
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The decision to clean block `block` of the domain.
#[pyclass(frozen, eq, hash, module = "ssdlab")]
#[derive(PartialEq, Eq, Hash)]
pub struct Clean {
    /// The block, counted from the domain's first block.
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

/// The decision to clean nothing.
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

/// Memory that `NumPy` may read for as long as this object lives and has an owner.
#[pyclass(frozen, module = "ssdlab")]
struct Lent {
    /// Owner of the memory; without an owner only this code can reach the object.
    owner: Mutex<Option<Owner>>,
    address: usize,
    count: u32,
    typestr: &'static str,
}

type Owner = Arc<dyn Any + Send + Sync>;

impl Lent {
    fn set_owner(&self, owner: Option<Owner>) {
        *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = owner;
    }
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

/// A `NumPy` array over lent memory.
///
/// Creating one takes a microsecond, so it is reused in later steps as long as its memory does not
/// move. Between steps the drive writes to that memory, which is sound only if nothing else can
/// read it. If the policy keeps a reference into an array, the array keeps its memory and is not
/// reused.
struct Array {
    lent: Py<Lent>,
    numpy: Py<PyAny>,
    /// True if the policy read it in this step.
    shown: bool,
}

impl Array {
    fn new(py: Python<'_>, lent: Lent) -> PyResult<Array> {
        static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let lent = Py::new(py, lent)?;
        let numpy = AS_ARRAY.import(py, "numpy", "asarray")?.call1((&lent,))?.unbind();
        Ok(Array { lent, numpy, shown: true })
    }

    fn is_over(&self, address: usize, count: u32) -> bool {
        let lent = self.lent.get();
        lent.address == address && lent.count == count
    }

    /// Takes the memory back at the end of a step. Returns false if the policy holds the array, a
    /// view or weak reference of it, or its buffer.
    fn take_back(&mut self, py: Python<'_>) -> bool {
        if !std::mem::take(&mut self.shown) {
            return true;
        }
        // The array refers to its buffer, and this code to both.
        let ours = references(py, &self.numpy) == 1 && references(py, &self.lent) == 2;
        if ours && weak_references(py, &self.numpy) == Some(0) {
            self.lent.get().set_owner(None);
            return true;
        }
        false
    }
}

#[expect(deprecated, reason = "its replacement needs unsafe code")]
fn references<T>(py: Python<'_>, object: &Py<T>) -> isize {
    object.get_refcnt(py)
}

fn weak_references(py: Python<'_>, object: &Py<PyAny>) -> Option<usize> {
    static COUNT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let count = COUNT.import(py, "weakref", "getweakrefcount").ok()?;
    count.call1((object,)).ok()?.extract().ok()
}

/// The arrays of a domain.
type Arrays = [Option<Array>; 4];

/// `NumPy` type strings of unsigned and signed numbers in native byte order.
const NUMBERS: [&str; 3] =
    if cfg!(target_endian = "little") { ["<u4", "<u8", "<i8"] } else { [">u4", ">u8", ">i8"] };

/// View of the domain in which a policy must choose a block.
///
/// It is valid until `step` returns; an array that the policy keeps does not change.
#[pyclass(module = "ssdlab")]
pub struct View {
    /// Number of the domain.
    #[pyo3(get)]
    domain: u32,
    /// Data pages of a block.
    #[pyo3(get)]
    pages: u32,
    /// Number of erased blocks in the domain.
    #[pyo3(get)]
    free: u32,
    /// True if a block must be cleaned now because there is no room.
    #[pyo3(get)]
    urgent: bool,
    /// Number of blocks opened so far on the drive: the clock of `opened`.
    #[pyo3(get)]
    clock: u64,
    /// A number in [0, 1), drawn for this step from the run's seed.
    #[pyo3(get)]
    random: f64,
    /// Dropped after the step.
    pool: Option<Shared>,
    /// Zero-copy arrays of this and earlier steps.
    arrays: Arrays,
}

/// Arrays of a pool, and the domain's range in them.
struct Shared {
    valid: Arc<Vec<u32>>,
    erases: Arc<Vec<u32>>,
    opened: Arc<Vec<u64>>,
    states: Arc<Vec<BlockState>>,
    index: Arc<VictimIndex>,
    order: Arc<AgeOrder>,
    domain: u32,
    first: usize,
    blocks: u32,
}

impl View {
    fn of(pool: &DomainState, arrays: Arrays) -> Self {
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
                index: Arc::clone(&pool.index),
                order: Arc::clone(&pool.order),
                domain: pool.domain,
                first: pool.first_block.at(),
                blocks: pool.blocks,
            }),
            arrays,
        }
    }

    fn shared(&self) -> PyResult<&Shared> {
        self.pool.as_ref().ok_or_else(|| {
            PyValueError::new_err(
                "a view is only valid during its step; copy the values that you need",
            )
        })
    }

    /// The zero-copy array at `place`, over the domain's part of a shared array.
    fn array<T: Send + Sync + 'static>(
        &mut self,
        py: Python<'_>,
        place: usize,
        typestr: &'static str,
        which: impl FnOnce(&Shared) -> &Arc<Vec<T>>,
    ) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        let (all, count) = (which(shared), shared.blocks);
        let address = all[shared.first..].as_ptr() as usize;
        let owner = || Some(Arc::clone(all) as Owner);
        let known = self.arrays[place].as_ref().filter(|array| array.is_over(address, count));
        if let Some(array) = known {
            if !array.shown {
                array.lent.get().set_owner(owner());
            }
        } else {
            let owner = Mutex::new(owner());
            let array = Array::new(py, Lent { owner, address, count, typestr })?;
            self.arrays[place] = Some(array);
        }
        let array = self.arrays[place].as_mut().expect("it is there or was made");
        array.shown = true;
        Ok(array.numpy.clone_ref(py))
    }

    /// Releases everything that the policy does not hold. Returns the arrays for the next step;
    /// `None` if the policy keeps part of one, after which the drive continues with a copy.
    fn end(&mut self, py: Python<'_>) -> Option<Arrays> {
        self.pool = None;
        let mut arrays = std::mem::take(&mut self.arrays);
        let mut kept = false;
        for array in arrays.iter_mut().flatten() {
            kept |= !array.take_back(py);
        }
        (!kept).then_some(arrays)
    }

    /// Numbers of at most `count` blocks as an array.
    fn first_of(
        py: Python<'_>,
        blocks: impl Iterator<Item = u32>,
        count: usize,
    ) -> PyResult<Py<PyAny>> {
        owned(py, blocks.take(count).map(i64::from).collect())
    }
}

#[pymethods]
impl View {
    /// Number of valid pages of each block.
    #[getter]
    fn valid(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 0, NUMBERS[0], |shared| &shared.valid)
    }

    /// Number of erases of each block.
    #[getter]
    fn erases(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 1, NUMBERS[0], |shared| &shared.erases)
    }

    /// Time at which each block was opened, by `clock`.
    #[getter]
    fn opened(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 2, NUMBERS[1], |shared| &shared.opened)
    }

    /// State of each block.
    #[getter]
    fn states(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.array(py, 3, "|u1", |shared| &shared.states)
    }

    /// Blocks that may be cleaned and have superseded pages; at least one.
    #[getter]
    fn candidates(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        let (states, valid) = (shared.part(&shared.states), shared.part(&shared.valid));
        let pays = |(_, (state, valid)): &(i64, (&BlockState, &u32))| {
            **state == BlockState::Closed && **valid < self.pages
        };
        let blocks = (0..).zip(states.iter().zip(valid)).filter(pays);
        owned(py, blocks.map(|(block, _)| block).collect())
    }

    /// The candidate with the fewest valid pages; ties go to the lowest number.
    #[getter]
    fn emptiest(&self) -> PyResult<u32> {
        let shared = self.shared()?;
        let first = shared.index.emptiest_first(shared.domain).next();
        first.ok_or_else(|| PyValueError::new_err("no block has superseded pages"))
    }

    /// Numbers of at most `count` candidates, fewest valid pages first; ties in numerical order.
    fn emptiest_first(&self, py: Python<'_>, count: usize) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        Self::first_of(py, shared.index.emptiest_first(shared.domain), count)
    }

    /// Numbers of at most `count` candidates, oldest first.
    fn oldest_first(&self, py: Python<'_>, count: usize) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        let blocks = shared.order.iter(shared.domain);
        let pays = blocks.filter(|block| shared.valid[*block as usize] < self.pages);
        Self::first_of(py, pays.map(|block| block - shared.first as u32), count)
    }

    /// Number of blocks opened since each block was, including itself.
    #[getter]
    fn ages(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let shared = self.shared()?;
        let age = |opened: &u64| (self.clock - opened + 1).cast_signed();
        owned(py, shared.part(&shared.opened).iter().map(age).collect())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.shared()?.blocks as usize)
    }
}

impl Shared {
    /// The domain's part of an array.
    fn part<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        &all[self.first..][..self.blocks as usize]
    }
}

/// A new array of numbers.
fn owned(py: Python<'_>, numbers: Vec<i64>) -> PyResult<Py<PyAny>> {
    let (address, count) = (numbers.as_ptr() as usize, numbers.len() as u32);
    let owner = Mutex::new(Some(Arc::new(numbers) as Owner));
    Ok(Array::new(py, Lent { owner, address, count, typestr: NUMBERS[2] })?.numpy)
}

/// The exception that a policy raised, for the caller of the drive.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Stores the first exception; later ones are consequences.
pub(crate) fn put_raised(raised: &Raised, error: PyErr) {
    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

/// Takes the exception.
pub(crate) fn take_raised(raised: &Raised) -> Option<PyErr> {
    raised.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// True for exceptions that must end the program, such as Ctrl-C.
pub(crate) fn is_final(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

/// A policy that is a Python object with a method `step`.
pub(crate) struct PythonCleaner {
    step: Py<PyAny>,
    raised: Raised,
    /// Arrays of each domain seen so far, by the address of its array of valid pages.
    arrays: HashMap<usize, Arrays>,
}

impl PythonCleaner {
    /// The policy `object`; its exceptions go to `raised`.
    pub(crate) fn new(object: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Self> {
        let step = object.getattr("step")?.unbind();
        Ok(PythonCleaner { step, raised: Arc::clone(raised), arrays: HashMap::new() })
    }

    fn ask(&mut self, py: Python<'_>, pool: &DomainState) -> PyResult<Result<Answer, String>> {
        let place = pool.valid[pool.first_block.at()..].as_ptr() as usize;
        let arrays = self.arrays.remove(&place).unwrap_or_default();
        let view = Bound::new(py, View::of(pool, arrays))?;
        let answer = self.step.bind(py).call1((&view,));
        if let Ok(mut view) = view.try_borrow_mut() {
            view.end(py).map(|arrays| self.arrays.insert(place, arrays));
        }
        let answer = answer?;
        if let Ok(clean) = answer.cast::<Clean>() {
            return Ok(Ok(Answer::Clean(clean.get().block)));
        }
        if answer.is_instance_of::<Rest>() {
            return Ok(Ok(Answer::Rest));
        }
        let answer = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
        Ok(Err(format!("it returned {answer}; expected ssdlab.Clean(block) or ssdlab.Rest()")))
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

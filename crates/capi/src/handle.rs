//! A drive handle for C, with its last message and the memory lent to the caller.

use devices::latency::LATENCY_PARTS;
use lab::{
    CacheSettings, Completion, Experiment, HostRequest, Layer, Op, RunError, StepError,
    SteppedDrive, Supplied,
};
use memory::NoMemory;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Result code of a call: 0, or the kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum CCode {
    /// Success.
    Ok = 0,
    /// A device, a setting or a file is wrong.
    Input = 1,
    /// A time is in the past, or beyond 500 years.
    Time = 2,
    /// An offset or length is not a multiple of 512 bytes, or the range exceeds the capacity.
    Range = 3,
    /// The drive does not support the operation.
    Operation = 4,
    /// Saving needs an idle drive, and shutting down one without outstanding requests.
    AtWork = 5,
    /// The device has no state to save or clone, or one that a file does not keep.
    Stateless = 6,
    /// The system refused memory or a file operation.
    System = 7,
    /// The library failed, and the drive is unusable.
    Internal = 8,
    /// A pointer is null, or a text is not UTF-8.
    Argument = 9,
}

/// An error: its code and its message.
pub type CRefusal = (CCode, String);

/// Capacity of a completion for latency parts.
pub const PARTS: usize = 16;

/// A request, with fields in the order of the header.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CRequest {
    /// First byte, a multiple of 512.
    pub offset: u64,
    /// Length in bytes, a multiple of 512.
    pub bytes: u64,
    /// The operation.
    pub op: u8,
    /// The placement handle, 255 for none.
    pub handle: u8,
    /// The submission queue.
    pub queue: u16,
    /// 1 for a write that is durable on completion.
    pub fua: u8,
    /// Reserved.
    pub reserved: [u8; 3],
}

/// A completion, with fields in the order of the header.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CAnswer {
    /// The tag of the request.
    pub tag: u64,
    /// Completion time, ns.
    pub at_ns: u64,
    /// Latency, ns.
    pub latency_ns: u64,
    /// 0, or the number of the status.
    pub status: u32,
    /// Reserved.
    pub reserved: u32,
    /// Latency by part, ns.
    pub parts_ns: [u64; PARTS],
}

const _: () = assert!(LATENCY_PARTS.len() <= PARTS);

impl From<&Completion> for CAnswer {
    #[inline]
    fn from(it: &Completion) -> CAnswer {
        let mut parts_ns = [0; PARTS];
        parts_ns[..LATENCY_PARTS.len()].copy_from_slice(it.breakdown.parts());
        CAnswer {
            tag: it.request.id,
            at_ns: it.at,
            latency_ns: it.latency(),
            status: it.status as u32,
            reserved: 0,
            parts_ns,
        }
    }
}

/// A drive, or the message of its failure.
#[derive(Default)]
pub struct CDrive {
    drive: Option<SteppedDrive>,
    message: CString,
    report: CString,
    answers: Vec<CAnswer>,
}

fn further() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A C string, without inner zeros.
pub fn text(words: &str) -> CString {
    CString::new(words.replace('\0', " ")).unwrap_or_default()
}

fn run_refusal(error: &RunError) -> CRefusal {
    let code = match error {
        RunError::Check(_) => CCode::Internal,
        RunError::System(_) | RunError::Unwritten { .. } => CCode::System,
        RunError::Input(_) | RunError::Policy { .. } | RunError::Interrupted { .. } => CCode::Input,
    };
    (code, error.to_string())
}

fn refusal(error: &StepError) -> CRefusal {
    let code = match error {
        StepError::Past(..) | StepError::Late(_) => CCode::Time,
        StepError::Unaligned(..) | StepError::Empty(_) | StepError::Beyond(..) => CCode::Range,
        StepError::Unknown(..) => CCode::Operation,
        StepError::AtWork => CCode::AtWork,
        StepError::Stateless(_) | StepError::Partial(_) => CCode::Stateless,
        StepError::Interrupted => CCode::Internal,
        StepError::Run(error) => return run_refusal(error),
    };
    (code, error.to_string())
}

/// Runs `work`; a panic becomes an error.
#[inline]
pub fn guarded<T>(work: impl FnOnce() -> Result<T, CRefusal>) -> Result<T, CRefusal> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(caught(&*panic)))
}

/// The error of a panic.
#[cold]
fn caught(panic: &(dyn std::any::Any + Send)) -> CRefusal {
    if let Some(none) = panic.downcast_ref::<NoMemory>() {
        return (CCode::System, lab::no_memory(none));
    }
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    let version = env!("CARGO_PKG_VERSION");
    let problem =
        format!("internal error: {words}. This is a defect of ssdlab {version}: please report it");
    (CCode::Internal, problem)
}

/// A device by name or TOML file, with settings that override it.
fn experiment(device: Option<&str>, settings: &[&str]) -> Result<Experiment, CRefusal> {
    let input = |problem: String| (CCode::Input, problem);
    let mut layers = Vec::new();
    if let Some(device) = device {
        let layer = lab::preset_layer("device", device).map_or_else(
            || {
                let is_file = Path::new(device).is_file();
                let unknown = || lab::unknown_preset("device", device).to_string();
                #[expect(clippy::disallowed_methods, reason = "the caller names a file")]
                let read = || std::fs::read_to_string(device).map_err(|e| format!("{device}: {e}"));
                let text = if is_file { read() } else { Err(unknown()) };
                text.map(|text| Layer::new(device, text))
            },
            Ok,
        );
        layers.push(layer.map_err(input)?);
    }
    // The last setting of a key wins.
    for setting in settings {
        layers.push(lab::set_layer(setting).map_err(|error| input(error.to_string()))?);
    }
    Experiment::from_layers(&layers).map_err(|error| input(error.to_string()))
}

impl CDrive {
    /// Prepares a drive.
    pub fn open(device: Option<&str>, settings: &[&str]) -> Result<CDrive, CRefusal> {
        let experiment = experiment(device, settings)?;
        let cache = CacheSettings::of_user().map_err(|error| (CCode::Input, error.to_string()))?;
        let (none, cache) = (Supplied::default(), cache.as_ref());
        let drive = SteppedDrive::new(experiment, none, 1, cache, &mut |_, _, _| further());
        let drive = drive.map_err(|error| run_refusal(&error))?;
        Ok(CDrive { drive: Some(drive), ..CDrive::default() })
    }

    /// The drive, unless it has failed.
    pub fn drive(&self) -> Option<&SteppedDrive> {
        self.drive.as_ref()
    }

    /// Calls `work` with the drive and stores its message. After a failure of the library the drive
    /// is gone.
    #[inline]
    pub fn work<T>(
        &mut self,
        work: impl FnOnce(&mut SteppedDrive) -> Result<T, StepError>,
    ) -> Result<T, CCode> {
        let drive = &mut self.drive;
        let done = guarded(|| match drive {
            Some(drive) => work(drive).map_err(|error| refusal(&error)),
            None => Err((CCode::Internal, "the drive has failed before: close it".to_owned())),
        });
        done.map_err(|(code, problem)| {
            self.drive.take_if(|_| code == CCode::Internal);
            self.message = text(&problem);
            code
        })
    }

    /// The last message.
    pub fn message(&self) -> &CString {
        &self.message
    }

    /// Submits a request.
    #[inline]
    pub fn submit(&mut self, at: u64, asked: &CRequest) -> Result<u64, CCode> {
        let CRequest { offset, bytes, op, handle, queue, fua, .. } = *asked;
        self.work(|drive| {
            let op = match Op::ALL.get(usize::from(op)) {
                Some(op) => *op,
                None => drive.op(&op.to_string())?,
            };
            let (handle, fua) = (Some(handle), fua != 0);
            drive.submit(at, HostRequest { op, offset, bytes, handle, queue, fua })
        })
    }

    /// Advances to a time, or until all requests are complete; to the next completion at most if
    /// `is_to_answer`.
    #[inline]
    pub fn advance(&mut self, to: Option<u64>, is_to_answer: bool) -> Result<&[CAnswer], CCode> {
        let mut answers = std::mem::take(&mut self.answers);
        answers.clear();
        self.work(|drive| {
            let done = match to {
                _ if is_to_answer => drive.advance_to_answer(to, &mut further)?,
                Some(to) => drive.advance(to, &mut further)?,
                None => drive.answer_all(&mut further)?,
            };
            answers.extend(done.iter().map(CAnswer::from));
            Ok(())
        })?;
        self.answers = answers;
        Ok(&self.answers)
    }

    /// The results so far, as JSON.
    pub fn report(&mut self) -> Result<&CString, CCode> {
        self.report = text(&self.work(|drive| Ok(drive.report().to_string()))?);
        Ok(&self.report)
    }

    /// Writes the drive's state to a file.
    pub fn save(&mut self, path: &str) -> Result<(), CCode> {
        self.work(|drive| drive.save(Path::new(path), &mut further))
    }

    /// Writes the write buffer to the flash.
    pub fn shut_down(&mut self) -> Result<(), CCode> {
        self.work(SteppedDrive::shut_down)
    }

    /// A clone of the drive.
    pub fn cloned(&mut self) -> Result<CDrive, CCode> {
        self.work(|it| it.try_clone()).map(|it| CDrive { drive: Some(it), ..CDrive::default() })
    }
}

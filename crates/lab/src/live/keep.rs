//! Storage of a live device's drive state beside its data, so that it keeps its age when served
//! again.
//!
//! `FILE.drive` is stored beside the backing file `FILE`. It identifies that file by its size, and
//! by the inode or the time of the last change, at least one of which must match. After a killed
//! server the data may be newer than the drive state; a file with other data is refused.

use crate::config::RunConfig;
use crate::error::{RunError, reason};
use crate::snapshot;
use devices::{Instruction, Model, Tick, ssd};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between saves of an idle drive that has changed.
const EVERY: Duration = Duration::from_secs(30);
/// Header of the state, which identifies the backing file. The magic number includes the header's
/// length.
const MAGIC: &[u8; 16] = b"ssdlab live 001\n";
const HEAD_BYTES: usize = 16 + 5 * 8;

/// Storage of a drive's state.
pub(super) struct Keeper {
    path: PathBuf,
    backing: Option<PathBuf>,
    last: Instant,
    /// Completed requests at the last save.
    requests: u64,
    /// A save in progress.
    writing: Option<JoinHandle<Result<(), String>>>,
}

impl Keeper {
    /// Storage for a device with state; `None` without a path for the state.
    pub(super) fn new(run: &RunConfig, backing: Option<&Path>, device: &dyn Model) -> Option<Self> {
        let beside = |backing: &Path| {
            let mut name = backing.as_os_str().to_owned();
            name.push(".drive");
            PathBuf::from(name)
        };
        let path = run.save_drive.as_ref().map(PathBuf::from).or_else(|| backing.map(beside))?;
        device.save()?;
        #[expect(clippy::disallowed_methods, reason = "a live device runs on the wall clock")]
        let last = Instant::now();
        // A drive path named by the user is not tied to a backing file.
        let backing = backing.filter(|_| run.save_drive.is_none()).map(Path::to_owned);
        Some(Keeper { path, backing, last, requests: 0, writing: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Restores the drive saved beside the backing file; returns false if there is none. `tick` may
    /// end it.
    pub(super) fn find(&self, device: &mut dyn Model, tick: Tick<'_>) -> Result<bool, RunError> {
        let Some(backing) = self.backing.as_ref().filter(|_| self.path.exists()) else {
            return Ok(false);
        };
        let name = self.path.display();
        let refuse = |problem: String| {
            RunError::Input(format!(
                "{name}: {problem}; give the backing file that belongs to it, or move it away to begin \
                 with a drive that is new"
            ))
        };
        let head = snapshot::load_behind::<HEAD_BYTES>(device, &self.path, tick).map_err(refuse)?;
        let ours = head_of(backing).map_err(|error| refuse(error.to_string()))?;
        let word = |head: &[u8; HEAD_BYTES], number: usize| {
            head[16 + 8 * number..24 + 8 * number].to_vec()
        };
        let same = |number| word(&head, number) == word(&ours, number);
        let belongs = same(0) && (same(1) && same(2) || same(3) && same(4));
        if head[..16] != *MAGIC || !belongs {
            let backing = backing.display();
            return Err(refuse(format!("it belongs to other data than those in {backing}")));
        }
        Ok(true)
    }

    /// True if the next save is due.
    pub(super) fn is_due(&mut self, requests: u64) -> bool {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            // A failed save is retried, and becomes an error at the end.
            let _ = self.settle();
        }
        self.writing.is_none() && self.requests != requests && self.last.elapsed() > EVERY
    }

    /// Waits for the save in progress.
    fn settle(&mut self) -> Result<(), String> {
        self.writing.take().map_or(Ok(()), |thread| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Saves an idle drive in a separate thread.
    pub(super) fn save_aside(&mut self, device: &dyn Model, requests: u64) {
        let Some(state) = device.save() else { return };
        #[expect(clippy::disallowed_methods, reason = "a live device runs on the wall clock")]
        let now = Instant::now();
        (self.last, self.requests) = (now, requests);
        let (path, backing) = (self.path.clone(), self.backing.clone());
        let thread = std::thread::Builder::new().name("keep".to_owned());
        self.writing = thread.spawn(move || write(&state, &path, backing.as_deref())).ok();
    }

    /// Saves the idle drive and waits until it is written.
    pub(super) fn save(&mut self, device: &dyn Model, requests: u64) -> Result<(), String> {
        self.save_aside(device, requests);
        self.settle()
    }

    /// Saves the drive after its last request; garbage collection may still be in progress.
    pub(super) fn finish(&mut self, device: &mut dyn Model) -> Result<(), String> {
        // Garbage collection that never ends would be a defect of this program.
        const MOST_EVENTS: u64 = 100_000_000;
        let (mut now, mut is_shut_down, mut answers) = (0, false, Vec::new());
        for _ in 0..MOST_EVENTS {
            if let Some(at) = device.next_event() {
                device.advance(at, &mut answers);
                answers.clear();
                now = at;
            } else if is_shut_down {
                break;
            } else {
                device.instruct(now, Instruction::ShutDown)?;
                is_shut_down = true;
            }
        }
        let name = self.path.display().to_string();
        let system = |problem: String| format!("{name}: not saved: {problem}");
        if !device.condition().rests {
            return Err(system("the drive does not become idle".to_owned()));
        }
        self.settle().and_then(|()| self.save(&*device, 0)).map_err(system)
    }
}

/// Saves of a live device's state are never interrupted.
fn to_the_end() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn write(state: &ssd::Snapshot, path: &Path, backing: Option<&Path>) -> Result<(), String> {
    let done = match backing {
        Some(backing) => synced(backing)
            .and_then(|()| head_of(backing))
            .and_then(|head| snapshot::save(state, path, &head, &mut to_the_end)),
        None => snapshot::save(state, path, &[], &mut to_the_end),
    };
    match done {
        Ok(None) => Ok(()),
        Ok(Some(moved)) => Err(moved),
        Err(error) => Err(format!("cannot be written: {}", reason(&error))),
    }
}

/// Makes the data durable before the drive state that refers to them: otherwise a power cut may
/// leave a state newer than its data.
fn synced(backing: &Path) -> std::io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the lab opens files")]
    let file = std::fs::File::open(backing)?;
    file.sync_data()
}

/// Identity of a backing file: size, last change, and the file itself.
fn head_of(backing: &Path) -> std::io::Result<[u8; HEAD_BYTES]> {
    let facts = std::fs::metadata(backing)?;
    let mut head = [0; HEAD_BYTES];
    head[..16].copy_from_slice(MAGIC);
    let words = [
        facts.size(),
        facts.mtime().cast_unsigned(),
        facts.mtime_nsec().cast_unsigned(),
        facts.dev(),
        facts.ino(),
    ];
    for (place, word) in head[16..].chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    Ok(head)
}

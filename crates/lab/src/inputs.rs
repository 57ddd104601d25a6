//! Sources of input: files by their paths, and standard input as "-".

use crate::error::{InputError, reason};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use workloads::Inputs;

/// Files by path, and standard input as "-".
pub(crate) fn inputs() -> Inputs {
    counting_inputs(&Arc::default())
}

/// `inputs` for repeatable files; `once` is set when a non-repeatable one was requested.
pub(crate) fn repeatable_inputs(once: &Arc<AtomicBool>) -> Inputs {
    let all = inputs();
    let check = |once: Arc<AtomicBool>| {
        move |path: &str| {
            if !is_repeatable(path) {
                once.store(true, Ordering::Relaxed);
                return Err(io::Error::new(io::ErrorKind::Unsupported, "it is read only once"));
            }
            Ok(())
        }
    };
    let (open, open_seekable) = (all.open, all.open_seekable);
    let (first, second) = (check(Arc::clone(once)), check(Arc::clone(once)));
    Inputs {
        open: Arc::new(move |path| first(path).and_then(|()| open(path))),
        open_seekable: Arc::new(move |path| second(path).and_then(|()| open_seekable(path))),
        is_repeatable: all.is_repeatable,
        threads: all.threads,
    }
}

/// False for standard input and pipes.
fn is_repeatable(path: &str) -> bool {
    path != "-" && !Path::new(path).metadata().is_ok_and(|it| !it.is_file())
}

/// `inputs` that record the names of opened files.
pub fn noting_inputs(all: Inputs, opened: &Opened) -> Inputs {
    let (open, open_seekable) = (all.open, all.open_seekable);
    let (first, second) = (Arc::clone(opened), Arc::clone(opened));
    let note = |opened: &Opened, name: &str| {
        opened.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    };
    Inputs {
        open: Arc::new(move |path| {
            note(&first, path);
            open(path)
        }),
        open_seekable: Arc::new(move |path| {
            note(&second, path);
            open_seekable(path)
        }),
        is_repeatable: all.is_repeatable,
        threads: all.threads,
    }
}

/// Names of the inputs that a run has opened or tried to open.
pub type Opened = Arc<Mutex<BTreeSet<String>>>;

/// A hash of the content of the file at `path`, or `None` if it does not exist.
pub fn content_hash(path: &str) -> io::Result<Option<String>> {
    let mut file = match file(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(&mut file)?;
    Ok(Some(hasher.finalize().to_hex().to_string()))
}

/// [`inputs`] that add the number of bytes read to `read`.
pub(crate) fn counting_inputs(read: &Arc<AtomicU64>) -> Inputs {
    let (streams, files) = (Arc::clone(read), Arc::clone(read));
    Inputs {
        open: Arc::new(move |path| {
            let read = Arc::clone(&streams);
            Ok(match path {
                "-" => Box::new(Counting { input: io::stdin(), read }) as Box<dyn Read + Send>,
                _ => Box::new(Counting { input: file(path)?, read }),
            })
        }),
        open_seekable: Arc::new(move |path| match path {
            "-" => Err(io::Error::new(io::ErrorKind::Unsupported, "it is standard input")),
            _ => Ok(Box::new(Counting { input: file(path)?, read: Arc::clone(&files) })),
        }),
        is_repeatable: Arc::new(is_repeatable),
        threads: std::thread::available_parallelism().map_or(1, NonZero::get),
    }
}

/// Maximum content read into memory, bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Content of the file `path`, decompressed if needed.
///
/// # Errors
/// When it cannot be read or exceeds 1 GiB.
pub fn read_decompressed(path: &str) -> Result<Vec<u8>, InputError> {
    let refuse =
        |error: &io::Error| InputError(format!("{path}: cannot be read: {}", reason(error)));
    let input = file(path).map_err(|error| refuse(&error))?;
    let content = workloads::decompressed(Box::new(input)).map_err(|error| refuse(&error))?;
    let mut bytes = Vec::new();
    content.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refuse(&error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(InputError(format!(
            "{path}: larger than 1 GiB, the limit for a file that is read into memory"
        )));
    }
    Ok(bytes)
}

/// The text of a file, limited to the maximum size of a script.
pub fn text(path: &str) -> io::Result<String> {
    const MOST: u64 = 16 << 20;
    let mut text = String::new();
    let read = file(path)?.take(MOST + 1).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(io::Error::new(error.kind(), "it is not text"))
        }
        Err(error) => Err(error),
        Ok(read) if read as u64 > MOST => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 16 MiB"))
        }
        Ok(_) => Ok(text),
    }
}

/// Opens a file; a named pipe only if a program writes to it.
#[expect(clippy::disallowed_methods, reason = "the lab is where files are opened")]
pub fn file(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    #[cfg(unix)]
    if std::fs::metadata(path)
        .is_ok_and(|it| std::os::unix::fs::FileTypeExt::is_fifo(&it.file_type()))
    {
        return pipe(path);
    }
    File::open(path)
}

/// Maximum wait for the writer of a named pipe.
#[cfg(unix)]
const MOST_WAITED: std::time::Duration = std::time::Duration::from_secs(10);

/// Opens a named pipe with a writer: without one, the system would wait forever.
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    reason = "the lab opens files, and waits on the clock for a pipe"
)]
fn pipe(path: &Path) -> io::Result<File> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let name = path.to_owned();
    let thread = std::thread::spawn(move || sender.send(File::open(name)).is_ok());
    if let Ok(opened) = receiver.recv_timeout(MOST_WAITED) {
        return opened;
    }
    // Opening the other end releases the waiting thread, and the file it opens is closed.
    let other_end = std::fs::OpenOptions::new().read(true).write(true).open(path);
    let _ = other_end.map(|end| (thread.join(), end));
    let problem = "it is a named pipe, and no program writes to it";
    Err(io::Error::new(io::ErrorKind::TimedOut, problem))
}

/// An input that counts its bytes.
struct Counting<T> {
    input: T,
    read: Arc<AtomicU64>,
}

impl<T: Read> Read for Counting<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl<T: Seek> Seek for Counting<T> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.input.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_only_once_is_not_repeated() {
        let opened = |path: &str| {
            let once = Arc::default();
            let inputs = repeatable_inputs(&once);
            let [stream, file] =
                [(inputs.open)(path).is_ok(), (inputs.open_seekable)(path).is_ok()];
            assert_eq!(stream, file, "{path}");
            (stream, once.load(Ordering::Relaxed))
        };
        assert_eq!(opened("-"), (false, true));
        assert_eq!(opened("/dev/null"), (false, true));
        assert_eq!(opened(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")), (true, false));
        assert_eq!(opened("no such file"), (false, false));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_to_which_nobody_writes_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let error = file(path.to_str().unwrap()).unwrap_err();
        assert!(error.to_string().contains("no program writes to it"), "{error}");
    }
}

//! Locking: of several processes that need the same state, one prepares it while the others wait.

use devices::Tick;
use std::ops::ControlFlow;
use std::path::Path;

/// Lock for the preparation of a state, released when its process ends.
pub struct Turn {
    #[cfg_attr(not(unix), expect(dead_code, reason = "held, not read"))]
    file: std::fs::File,
    path: std::path::PathBuf,
    waited: bool,
}

impl Turn {
    /// True if another process held the lock, and may have stored the state.
    pub fn was_waited_for(&self) -> bool {
        self.waited
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A process waiting for the file then finds the state, or prepares it.
        let _ = std::fs::remove_file(&self.path);
        #[cfg(unix)]
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

/// Waits for the lock to prepare a state; `None` if the system cannot lock files, so that each
/// process prepares the state itself.
pub fn wait(folder: &Path, name: &str, tick: Tick<'_>) -> ControlFlow<(), Option<Turn>> {
    let path = folder.join(format!("{name}.lock"));
    if std::fs::create_dir_all(folder).is_err() {
        return ControlFlow::Continue(None);
    }
    locked(&path, tick)
}

#[cfg(not(unix))]
fn locked(_: &Path, _: Tick<'_>) -> ControlFlow<(), Option<Turn>> {
    ControlFlow::Continue(None)
}

#[cfg(unix)]
fn locked(path: &Path, tick: Tick<'_>) -> ControlFlow<(), Option<Turn>> {
    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;
    use std::time::Duration;

    /// Time between two attempts.
    const PAUSE: Duration = Duration::from_millis(10);
    let options = std::fs::OpenOptions::new().write(true).create(true).truncate(false).to_owned();
    if path.exists() && !path.is_file() {
        // Reading from a pipe would block.
        return ControlFlow::Continue(None);
    }
    let Ok(file) = options.open(path) else { return ControlFlow::Continue(None) };
    let mut waited = false;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                waited = true;
                tick()?;
                #[expect(clippy::disallowed_methods, reason = "it waits for another process")]
                std::thread::sleep(PAUSE);
            }
            Err(_) => return ControlFlow::Continue(None),
        }
    }
    ControlFlow::Continue(Some(Turn { file, path: path.to_owned(), waited }))
}

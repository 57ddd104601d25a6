//! Taking turns: among processes that need the same state, one prepares it and the others wait.

use devices::Tick;
use std::ops::ControlFlow;
use std::path::Path;

/// Lock for the preparation of a state; a process that ends gives it back.
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
        // A process that waits for the file finds the state, or prepares it.
        let _ = std::fs::remove_file(&self.path);
        #[cfg(unix)]
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

/// Waits for the turn to prepare a state; none where the system cannot lock files, and whoever wants the state
/// prepares it.
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

    /// Between two attempts.
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

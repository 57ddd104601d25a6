//! The folder of a file: syncing it makes a new file name durable.

use std::fs::File;
use std::io;
use std::io::ErrorKind::{InvalidInput, Unsupported};
use std::path::Path;

/// The folder of a file.
fn of(path: &Path) -> &Path {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes the name of a file durable: otherwise a power cut may restore the previous file of that
/// name. If the folder cannot be opened or synced, nothing more can be done.
pub(crate) fn sync_of(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    #[expect(clippy::disallowed_methods, reason = "the lab opens files")]
    let Ok(folder) = File::open(of(path)) else { return Ok(()) };
    match folder.sync_all() {
        Err(error) if matches!(error.kind(), InvalidInput | Unsupported) => Ok(()),
        done => done,
    }
}

//! The folder of a file: a name that is given there is durable when the folder is synced.

use std::fs::File;
use std::io;
use std::io::ErrorKind::{InvalidInput, Unsupported};
use std::path::Path;

/// The folder of a file.
fn of(path: &Path) -> &Path {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes the name of a file durable: without it a power cut may bring the file back that had it before.
/// Where a folder cannot be opened or synced, there is no better way.
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

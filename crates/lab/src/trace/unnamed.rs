//! A file that has its name only when it is whole, and another place where there is no room for it.
//!
//! A run takes hours, and a full disk shows at its end. So where a write fails, what there is of the file
//! goes to the folder for temporary files, and the rest after it. A file of somebody else that has come
//! in the meantime is not replaced either.

use crate::error::reason;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir, TempPath};

/// What became of a file that could not be written where it was asked.
#[derive(Debug)]
pub(crate) struct Moved {
    why: io::Error,
    place: PathBuf,
}

impl Moved {
    /// The message about a file that was to be `target`.
    pub(crate) fn told(&self, target: &str) -> String {
        let (why, place) = (reason(&self.why), self.place.display());
        format!("{target}: cannot be written: {why}; it is in {place} instead")
    }
}

/// A file that is being written.
pub(super) struct Unnamed {
    pub(super) file: File,
    temporary: TempPath,
    path: PathBuf,
    /// Whether a file of that name was there before, which may be replaced.
    is_replaced: bool,
    moved: Option<(io::Error, TempDir)>,
}

impl Unnamed {
    /// Begins a file that will be called `path`, in the same directory.
    pub(super) fn beside(path: PathBuf) -> io::Result<Self> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let (file, temporary) = file_in(directory.unwrap_or(Path::new(".")))?;
        let is_replaced = fs::symlink_metadata(&path).is_ok();
        Ok(Unnamed { file, temporary, path, is_replaced, moved: None })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(error) if error.kind() != ErrorKind::Interrupted && self.moved.is_none() => {
                self.go_elsewhere(error)?;
                self.file.write(bytes)
            }
            written => written,
        }
    }

    /// Completes the file and gives it its name.
    pub(super) fn finish(mut self) -> io::Result<Option<Moved>> {
        if let Err(error) = self.file.sync_all() {
            if self.moved.is_some() {
                return Err(error);
            }
            self.go_elsewhere(error)?;
            self.file.sync_all()?;
        }
        if self.is_replaced || self.moved.is_some() {
            self.temporary.persist(&self.path).map_err(|error| error.error)?;
        } else if let Err(error) = self.temporary.persist_noclobber(&self.path) {
            self.temporary = error.path;
            self.go_elsewhere(error.error)?;
            self.temporary.persist(&self.path).map_err(|error| error.error)?;
        }
        let Some((why, folder)) = self.moved else { return Ok(None) };
        let _ = folder.keep();
        Ok(Some(Moved { why, place: self.path }))
    }

    /// Continues in a new folder for temporary files; fails with `why` where that has no room either.
    fn go_elsewhere(&mut self, why: io::Error) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or(OsStr::new("output")).to_owned();
        for place in [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()] {
            let Ok(folder) = tempfile::Builder::new().prefix("ssdlab-").tempdir_in(place) else {
                continue;
            };
            let Ok((mut file, temporary)) = file_in(folder.path()) else { continue };
            if self.copy_to(&mut file).is_err() {
                continue;
            }
            (self.file, self.temporary) = (file, temporary);
            self.path = folder.path().join(name);
            self.moved = Some((why, folder));
            return Ok(());
        }
        Err(why)
    }

    fn copy_to(&mut self, other: &mut File) -> io::Result<()> {
        let written = self.file.stream_position()?;
        self.file.rewind()?;
        let copied = io::copy(&mut (&self.file).take(written), other);
        self.file.seek(io::SeekFrom::Start(written))?;
        if copied? < written {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn file_in(directory: &Path) -> io::Result<(File, TempPath)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask decides.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file: NamedTempFile = builder.tempfile_in(directory)?;
    Ok(file.into_parts())
}

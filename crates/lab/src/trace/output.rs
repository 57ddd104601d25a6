//! The output file of a trace: compressed according to its extension, and written atomically.

use super::{writable, writable_named};
use crate::error::reason;
use crate::folder;
use flate2::write::GzEncoder;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir, TempPath};
use workloads::Format;

/// Compression of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// The name of standard output.
const STANDARD_OUTPUT: &str = "-";
/// Extensions that differ from the format's name.
const EXTENSIONS: [(&str, &str); 2] = [("csv", "msr"), ("iolog", "fio")];
/// Default level of the zstd library.
const ZSTD_LEVEL: i32 = 3;

/// Format and compression of a file with this name, unless the format is `named`.
pub(crate) fn target_format(
    target: &str,
    named: Option<&str>,
) -> Result<(&'static Format, Compression), String> {
    let (rest, compression) = match Path::new(target).extension().and_then(|word| word.to_str()) {
        Some("gz") => (&target[..target.len() - 3], Compression::Gzip),
        Some("zst") => (&target[..target.len() - 4], Compression::Zstd),
        Some(word @ ("xz" | "bz2")) => {
            return Err(format!("{target}: .{word} can be read but not written; use .gz or .zst"));
        }
        _ => (target, Compression::None),
    };
    let format = if let Some(name) = named {
        writable_named(name).map_err(|problem| format!("--to: {problem}"))?
    } else {
        let word = Path::new(rest).extension().and_then(|word| word.to_str()).unwrap_or_default();
        let word = EXTENSIONS.iter().find(|(known, _)| *known == word).map_or(word, |row| row.1);
        writable().find(|format| format.name == word).ok_or_else(|| {
            let names = writable().map(|format| format.name).collect::<Vec<_>>().join(", ");
            format!("{target}: no trace format has this extension; use --to: {names}")
        })?
    };
    if format.name == "parquet" && compression != Compression::None {
        return Err(format!("{target}: Parquet is already compressed; remove the extension"));
    }
    Ok((format, compression))
}

/// Destination of the output.
enum Place {
    /// An output without atomic replacement: standard output, a pipe, a device.
    Stream(Box<dyn Write + Send>),
    /// A file that gets its name when complete.
    File(Unnamed),
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::Stream(stream) => stream.write(bytes),
            Place::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::Stream(stream) => stream.flush(),
            Place::File(file) => file.file.flush(),
        }
    }
}

enum Encoder {
    Plain(BufWriter<Place>),
    Gzip(GzEncoder<BufWriter<Place>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Place>>),
}

/// An output that gets its name on [`finish`](Output::finish), and is otherwise removed.
pub(crate) struct Output {
    encoder: Encoder,
}

impl Output {
    /// Creates a file beside `target`.
    pub(crate) fn create(target: &str, compression: Compression) -> io::Result<Self> {
        if target == STANDARD_OUTPUT {
            return Self::encoded(Place::Stream(Box::new(io::stdout())), compression);
        }
        Self::encoded(place(Path::new(target))?, compression)
    }

    /// Creates an uncompressed file beside `target`.
    pub(crate) fn create_file(target: &Path) -> io::Result<Self> {
        Self::encoded(place(target)?, Compression::None)
    }

    fn encoded(place: Place, compression: Compression) -> io::Result<Self> {
        let place = BufWriter::with_capacity(1 << 16, place);
        let encoder = match compression {
            Compression::None => Encoder::Plain(place),
            Compression::Gzip => {
                Encoder::Gzip(GzEncoder::new(place, flate2::Compression::default()))
            }
            Compression::Zstd => {
                Encoder::Zstd(zstd::stream::write::Encoder::new(place, ZSTD_LEVEL)?)
            }
        };
        Ok(Output { encoder })
    }

    /// Completes the file and names it; returns a message, without the name, if it had to be stored
    /// elsewhere.
    pub(crate) fn finish(self) -> io::Result<Option<String>> {
        let place = match self.encoder {
            Encoder::Plain(place) => place,
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
        };
        match place.into_inner()? {
            Place::Stream(mut stream) => stream.flush().map(|()| None),
            Place::File(file) => file.finish(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Encoder::Plain(encoder) => encoder.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Plain(encoder) => encoder.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstd(encoder) => encoder.flush(),
        }
    }
}

fn place(target: &Path) -> io::Result<Place> {
    // A symbolic link is kept; its target is replaced.
    let path = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let special = fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
    if special {
        let file = fs::OpenOptions::new().write(true).open(&path)?;
        return Ok(Place::Stream(Box::new(file)));
    }
    Unnamed::beside(path).map(Place::File)
}

/// A file being written.
///
/// A run may take hours, and a full disk is often noticed at its end. After a write error, the data
/// written so far are moved to the temporary folder, and the rest is written there. A file of
/// another program that appeared in the meantime is not overwritten.
struct Unnamed {
    file: File,
    temporary: TempPath,
    path: PathBuf,
    /// True if a file of that name existed at the start and may be replaced.
    is_replaced: bool,
    moved: Option<(io::Error, TempDir)>,
}

impl Unnamed {
    /// Creates a file to be named `path`, in the same directory.
    fn beside(path: PathBuf) -> io::Result<Self> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let (file, temporary) = file_in(directory.unwrap_or(Path::new(".")))?;
        let is_replaced = fs::symlink_metadata(&path).is_ok();
        Ok(Unnamed { file, temporary, path, is_replaced, moved: None })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(error) if error.kind() != ErrorKind::Interrupted && self.moved.is_none() => {
                self.go_elsewhere(error)?;
                self.file.write(bytes)
            }
            written => written,
        }
    }

    /// Completes the file and names it.
    fn finish(mut self) -> io::Result<Option<String>> {
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
            // Some file systems cannot rename without replacing (FAT, some network file systems).
            let is_unable =
                error.error.kind() != io::ErrorKind::AlreadyExists && !self.path.exists();
            let left = if is_unable {
                self.temporary.persist(&self.path).err().map(|error| error.path)
            } else {
                Some(self.temporary)
            };
            if let Some(temporary) = left {
                self.temporary = temporary;
                self.go_elsewhere(error.error)?;
                self.temporary.persist(&self.path).map_err(|error| error.error)?;
            }
        }
        folder::sync_of(&self.path)?;
        let Some((why, folder)) = self.moved else { return Ok(None) };
        let _ = folder.keep();
        let (why, place) = (reason(&why), self.path.display());
        Ok(Some(format!("cannot be written: {why}; it is in {place} instead")))
    }

    /// Continues in a new temporary folder; fails with `why` if that is also full.
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
        // Permissions of a new file: the umask decides.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file: NamedTempFile = builder.tempfile_in(directory)?;
    Ok(file.into_parts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_says_format_and_compression() {
        let rows = [
            ("a.parquet", None, Ok(("parquet", Compression::None))),
            ("a.csv.gz", None, Ok(("msr", Compression::Gzip))),
            ("a.b.disksim.zst", None, Ok(("disksim", Compression::Zstd))),
            ("a.iolog", None, Ok(("fio", Compression::None))),
            ("a", Some("mqsim"), Ok(("mqsim", Compression::None))),
            ("a.csv.zst", Some("mqsim"), Ok(("mqsim", Compression::Zstd))),
            ("-", Some("fio"), Ok(("fio", Compression::None))),
            ("-", None, Err("no trace format has this extension; use --to: disksim")),
            ("a.zst", None, Err("no trace format has this extension")),
            ("a.disksim.xz", None, Err(".xz can be read but not written")),
            ("a.parquet.gz", None, Err("Parquet is already compressed")),
            ("a", Some("spc"), Err("--to: format spc can be read but not written; choose one of")),
            ("a", Some("nonesuch"), Err("unknown format \"nonesuch\"")),
        ];
        for (target, named, expected) in rows {
            let found = target_format(target, named).map(|(format, how)| (format.name, how));
            match (found, expected) {
                (Err(found), Err(part)) => assert!(found.contains(part), "{target}: {found}"),
                (found, expected) => assert_eq!(found, expected.map_err(str::to_owned)),
            }
        }
    }
}

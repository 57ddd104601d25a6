//! Drives in files: the state of a device, saved once and loaded by any number of runs.
//!
//! A file begins with a line that identifies it and states the format version. The state follows in
//! postcard's encoding, compressed by Zstandard with a checksum of the content.

use crate::config::RunConfig;
use crate::error::{RunError, reason};
use crate::inputs;
use crate::trace::output::Output;
use devices::ssd::Snapshot;
use devices::{Instruction, Model, Tick};
use postcard::de_flavors::io::io::IOReader;
use serde::de::DeserializeSeed;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

const MAGIC: &[u8] = b"ssdlab drive\n";
/// 3: tables of page numbers leave out what was never written, and a page number may have 40 bits.
const VERSION: u32 = 4;
/// Maximum size of the texts in a state (keys and values), bytes.
const TEXTS: usize = 1 << 20;
/// Maximum bytes read from the state of a different drive, to check if the file is corrupt.
const MOST_OF_ANOTHER: u64 = 1 << 32;
/// Zstandard's fastest regular level: stamps and maps of random writes hardly compress.
const LEVEL: i32 = 1;
/// Bytes of a state between two calls of `tick`: a few milliseconds of work.
const ASK_AFTER: usize = 1 << 19;

/// Restores the experiment's saved drive, if any. `tick` is called at intervals and may end it.
pub(crate) fn load_drive(
    run: &RunConfig,
    device: &mut dyn Model,
    tick: Tick<'_>,
) -> Result<(), RunError> {
    refuse_foreign(run)?;
    let Some(path) = &run.load_drive else { return Ok(()) };
    let mut ended = false;
    let loaded = load(device, path, &mut noting(tick, &mut ended));
    if ended {
        return Err(RunError::Interrupted { requests: 0 });
    }
    loaded.map_err(|problem| RunError::Input(format!("run.load_drive = \"{path}\": {problem}")))?;
    for instruction in [Instruction::ResetCounts, Instruction::BeginLoad] {
        device.instruct(0, instruction).expect("counts can begin");
    }
    Ok(())
}

/// Calls `tick`, and records a stop.
fn noting<'a>(tick: Tick<'a>, ended: &'a mut bool) -> impl FnMut() -> ControlFlow<()> + 'a {
    move || {
        let flow = tick();
        *ended |= flow.is_break();
        flow
    }
}

/// Refuses to overwrite a file that is not a saved drive.
fn refuse_foreign(run: &RunConfig) -> Result<(), RunError> {
    let Some(path) = &run.save_drive else { return Ok(()) };
    check_place(Path::new(path))
        .map_err(|problem| RunError::Input(format!("run.save_drive = \"{path}\": {problem}")))
}

/// Checks that a drive may be saved at `path`: the file does not exist, or is a saved drive.
///
/// # Errors
/// The reason for a refusal.
#[expect(clippy::disallowed_methods, reason = "the lab opens files")]
pub(crate) fn check_place(path: &Path) -> Result<(), &'static str> {
    let Ok(facts) = std::fs::metadata(path) else { return Ok(()) };
    if !facts.is_file() || facts.len() == 0 {
        return Ok(());
    }
    let mut head = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && head == *MAGIC {
        return Ok(());
    }
    Err(
        "this file is there already, and is no drive that ssdlab saved; choose another name, or remove it",
    )
}

/// Saves the drive, if a file is named; returns a message if it could not be saved there. `tick` is
/// called at intervals and may end it.
pub(crate) fn save_drive(
    run: &RunConfig,
    device: &dyn Model,
    tick: Tick<'_>,
) -> Result<Option<String>, RunError> {
    let Some(path) = &run.save_drive else { return Ok(None) };
    let key = format!("run.save_drive = \"{path}\"");
    let Some(snapshot) = device.save() else {
        return Err(RunError::Input(format!("{key}: this device has no state to save")));
    };
    let mut ended = false;
    let saved = save(&snapshot, Path::new(path), &[], &mut noting(tick, &mut ended));
    if ended {
        return Err(RunError::Interrupted { requests: 0 });
    }
    match saved {
        Ok(moved) => Ok(moved.map(|moved| format!("{key}: {moved}"))),
        Err(error) => {
            let problem = format!("{key}: cannot be written: {}", reason(&error));
            match error.kind() {
                ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::IsADirectory => {
                    Err(RunError::Input(problem))
                }
                _ => Ok(Some(problem)),
            }
        }
    }
}

/// Writes a state to `path` atomically, after the caller's header; returns a message with the
/// location if it had to be stored elsewhere.
pub(crate) fn save(
    snapshot: &Snapshot,
    path: &Path,
    head: &[u8],
    tick: Tick<'_>,
) -> std::io::Result<Option<String>> {
    let mut output = Output::create_file(path)?;
    output.write_all(head)?;
    output.write_all(MAGIC)?;
    output.write_all(&VERSION.to_le_bytes())?;
    let mut encoder = zstd::Encoder::new(output, LEVEL)?;
    encoder.include_checksum(true)?;
    let writer = Asking { inner: &mut encoder, tick, left: ASK_AFTER };
    let mut told = Told { writer, failed: None };
    if let Err(error) = postcard::to_io(snapshot, &mut told) {
        return Err(told.failed.unwrap_or_else(|| std::io::Error::other(error)));
    }
    encoder.finish()?.finish()
}

/// A reader or writer of a state that calls `tick` at intervals of bytes, and fails if told to
/// stop.
struct Asking<'a, T> {
    inner: T,
    tick: Tick<'a>,
    left: usize,
}

impl<T> Asking<'_, T> {
    fn done(&mut self, bytes: usize) -> std::io::Result<usize> {
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Ok(bytes);
        }
        self.left = ASK_AFTER;
        match (self.tick)() {
            ControlFlow::Continue(()) => Ok(bytes),
            ControlFlow::Break(()) => Err(std::io::Error::other("it was ended")),
        }
    }
}

impl<R: Read> Read for Asking<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.done(read)
    }
}

impl<W: Write> Write for Asking<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.done(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// A writer that stores its error, which the encoder drops.
struct Told<W> {
    writer: W,
    failed: Option<std::io::Error>,
}

impl<W: Write> Told<W> {
    fn keep<T>(&mut self, result: std::io::Result<T>) -> std::io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            self.failed = Some(error);
            kind.into()
        })
    }
}

impl<W: Write> Write for Told<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.writer.write(bytes);
        self.keep(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let flushed = self.writer.flush();
        self.keep(flushed)
    }
}

/// Restores `device` from the file at `path`, after a header, which is returned.
pub(crate) fn load_behind<const HEAD: usize>(
    device: &mut dyn Model,
    path: &Path,
    tick: Tick<'_>,
) -> Result<[u8; HEAD], String> {
    let file =
        inputs::file(path).map_err(|error| format!("cannot be opened: {}", reason(&error)))?;
    let mut file = BufReader::new(file);
    let mut head = [0; HEAD];
    file.read_exact(&mut head).map_err(|_| "not a drive saved by ssdlab".to_owned())?;
    load_from(device, file, tick)?;
    Ok(head)
}

/// Restores `device` from the file at `path`.
fn load(device: &mut dyn Model, path: &str, tick: Tick<'_>) -> Result<(), String> {
    let file = inputs::file(Path::new(path));
    let file = file.map_err(|error| format!("cannot be opened: {}", reason(&error)))?;
    load_from(device, BufReader::new(file), tick)
}

fn load_from(
    device: &mut dyn Model,
    mut file: BufReader<File>,
    tick: Tick<'_>,
) -> Result<(), String> {
    let damaged = |error: &dyn Display| format!("it is damaged or cut short: {error}");
    let mut head = [0; MAGIC.len() + 4];
    let whole = file.read_exact(&mut head).is_ok();
    if !whole || !head.starts_with(MAGIC) {
        return Err("not a drive saved by ssdlab".to_owned());
    }
    let version = head[MAGIC.len()..].try_into().map_or(0, u32::from_le_bytes);
    if version != VERSION {
        return Err(format!(
            "it has version {version}, and this ssdlab reads version {VERSION}: prepare the drive \
             again, and save it with this one"
        ));
    }
    let decoder = zstd::Decoder::with_buffer(file).map_err(|error| damaged(&error))?;
    let decoder = Asking { inner: decoder, tick, left: ASK_AFTER };
    let mut texts = vec![0; TEXTS];
    // A few bytes of a compressed file may expand to any size. So sizes are limited: first for the
    // texts, then, once they match, by the device's own size.
    let reader = BufReader::new(decoder).take(TEXTS as u64);
    let read = postcard::from_io::<Vec<(String, String)>, _>((reader, &mut texts));
    let (shape, (mut rest, _)) = read.map_err(|error| damaged(&error))?;
    let room = match device.room(&shape) {
        Ok(room) => room,
        // Corruption is reported first, even if other errors exist; the checksum comes last in the
        // file.
        Err(problem) => {
            rest.set_limit(MOST_OF_ANOTHER);
            let read = std::io::copy(&mut rest, &mut std::io::sink());
            return Err(read.map_or_else(|error| damaged(&error), |_| problem));
        }
    };
    rest.set_limit(room.bytes());
    let mut rest = postcard::Deserializer::from_flavor(IOReader::new(rest, &mut texts));
    let read = room.of_shape(shape).deserialize(&mut rest);
    let rest = rest.finalize().map_err(|error| damaged(&error));
    let snapshot = match (read, &rest) {
        (Err(_), Ok((rest, _))) if rest.limit() == 0 => Err(format!(
            "it is longer than {} bytes, the most for a drive of this configuration",
            room.bytes()
        )),
        // The library discards the device's message.
        (Err(postcard::Error::SerdeDeCustom), _) => {
            Err(damaged(&"its tables do not fit the configuration of the drive"))
        }
        (read, _) => read.map_err(|error| damaged(&error)),
    }?;
    let (mut rest, _) = rest?;
    rest.set_limit(1);
    match rest.read(&mut [0]) {
        Ok(0) => device.restore(snapshot),
        Ok(_) => Err(damaged(&"more data follow the state")),
        Err(error) => Err(damaged(&error)),
    }
}

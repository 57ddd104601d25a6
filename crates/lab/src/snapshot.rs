//! Drives in files: the state of a device, saved once and loaded by any number of runs.
//!
//! A file begins with a line that says what it is, and the version of what follows: the state in
//! postcard's encoding, compressed by Zstandard, whose frame carries a checksum of the content.

use crate::config::RunConfig;
use crate::error::RunError;
use devices::ssd::Snapshot;
use devices::{Model, Persist};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use tempfile::NamedTempFile;

const MAGIC: &[u8] = b"ssdlab drive\n";
/// 3: tables of page numbers leave out what was never written, and a page number may have 40 bits.
const VERSION: u32 = 3;
/// The texts of a state, keys and their values, have room in this many bytes.
const TEXTS: usize = 1 << 20;
/// Zstandard's fastest ordinary level: the stamps and the map of random writes hardly compress.
const LEVEL: i32 = 1;

/// Restores the saved drive that the experiment names, if it names one.
pub(crate) fn load_drive(run: &RunConfig, device: &mut dyn Model) -> Result<(), RunError> {
    let Some(path) = &run.load_drive else { return Ok(()) };
    load(device, path)
        .map_err(|problem| RunError::Input(format!("run.load_drive = \"{path}\": {problem}")))?;
    device.reset_counts();
    Ok(())
}

/// Saves the drive, if the experiment says where.
pub(crate) fn save_drive(run: &RunConfig, device: &dyn Persist) -> Result<(), RunError> {
    let Some(path) = &run.save_drive else { return Ok(()) };
    let key = format!("run.save_drive = \"{path}\"");
    let Some(snapshot) = device.save() else {
        return Err(RunError::Input(format!("{key}: this device has no state to save")));
    };
    save(&snapshot, Path::new(path), &[])
        .map_err(|error| RunError::Input(format!("{key}: cannot be written: {error}")))
}

/// Writes a state to `path`, whole or not at all, behind a head of the caller's.
pub(crate) fn save(snapshot: &Snapshot, path: &Path, head: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    let mut writer = BufWriter::new(file.as_file());
    writer.write_all(head)?;
    writer.write_all(MAGIC)?;
    writer.write_all(&VERSION.to_le_bytes())?;
    let mut encoder = zstd::Encoder::new(writer, LEVEL)?;
    encoder.include_checksum(true)?;
    let mut encoder = postcard::to_io(snapshot, encoder).map_err(std::io::Error::other)?;
    encoder.flush()?;
    encoder.finish()?.flush()?;
    file.as_file().sync_data()?;
    file.persist(path)?;
    Ok(())
}

/// Restores `device` from the file at `path`, behind a head, which is returned.
#[expect(clippy::disallowed_methods, reason = "the lab opens files")]
pub(crate) fn load_behind<const HEAD: usize>(
    device: &mut dyn Persist,
    path: &Path,
) -> Result<[u8; HEAD], String> {
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let mut file = BufReader::new(file);
    let mut head = [0; HEAD];
    file.read_exact(&mut head).map_err(|_| "not a drive saved by ssdlab".to_owned())?;
    load_from(device, file)?;
    Ok(head)
}

/// Restores `device` from the file at `path`.
#[expect(clippy::disallowed_methods, reason = "the lab opens files")]
fn load(device: &mut dyn Persist, path: &str) -> Result<(), String> {
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    load_from(device, BufReader::new(file))
}

fn load_from(device: &mut dyn Persist, mut file: BufReader<File>) -> Result<(), String> {
    let damaged = |error: &dyn Display| format!("it is damaged or cut short: {error}");
    let mut head = [0; MAGIC.len() + 4];
    let whole = file.read_exact(&mut head).is_ok();
    if !whole || !head.starts_with(MAGIC) {
        return Err("not a drive saved by ssdlab".to_owned());
    }
    let version = head[MAGIC.len()..].try_into().map_or(0, u32::from_le_bytes);
    if version != VERSION {
        return Err(format!(
            "it is of version {version}, and this ssdlab reads version {VERSION}: prepare the drive \
             again, and save it with this one"
        ));
    }
    let decoder = zstd::Decoder::with_buffer(file).map_err(|error| damaged(&error))?;
    let mut texts = vec![0; TEXTS];
    let read = postcard::from_io::<Snapshot, _>((BufReader::new(decoder), &mut texts));
    let (snapshot, (mut rest, _)) = read.map_err(|error| damaged(&error))?;
    // The checksum comes last.
    match rest.read(&mut [0]) {
        Ok(0) => device.restore(snapshot),
        Ok(_) => Err(damaged(&"something follows the state")),
        Err(error) => Err(damaged(&error)),
    }
}

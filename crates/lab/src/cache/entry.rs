//! A file with one prepared state: written atomically, and checked when read.
//!
//! The head describes the state and how it settled. The state follows in the encoding of a saved
//! drive, and is validated as carefully, except for its page tables. These are stored as in memory,
//! because reading a state must be faster than preparing it. All parts have checksums. Numbers are
//! little-endian.

use crate::config::Steady;
use crate::error::reason;
use crate::steady::{Prepared, Rounds};
use devices::ssd::PageTable;
use devices::{Model, Tick, ssd};
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const MAGIC: &[u8; 16] = b"ssdlab state 01\n";
/// Maximum size of a head, bytes.
const MOST_HEAD: u64 = 1 << 24;
/// Maximum size of a drive's state besides its tables, bytes: a few numbers per block.
const MOST_REST: u64 = 1 << 34;
const SUM_BYTES: usize = 16;
/// Maximum pages of drives that are audited page by page.
const MOST_AUDITED: u64 = 1 << 22;
/// Number of values above which reading uses two threads.
const WORTH_THREADS: u64 = 1 << 24;

/// Description of a stored state, read before the state itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Cache key.
    pub key: String,
    /// Title of the first experiment that needed it.
    pub title: String,
    pub capacity_bytes: u64,
    pub precondition: String,
    /// Duration of the preparation, s.
    pub seconds: f64,
    settled: Option<Settled>,
}

/// How the drive settled; values derived from the rounds are recomputed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Settled {
    rounds: Vec<f64>,
    is_own_load: bool,
    because: Option<String>,
    capacities_written: f64,
}

impl Head {
    pub fn new(
        key: &str,
        title: &str,
        (capacity_bytes, precondition, seconds): (u64, String, f64),
        prepared: Option<&Prepared>,
    ) -> Head {
        let settled = prepared.map(|it| Settled {
            rounds: it.state.rounds().to_vec(),
            is_own_load: it.is_own_load(),
            because: it.because.as_deref().map(str::to_owned),
            capacities_written: it.capacities_written,
        });
        let (key, title) = (key.to_owned(), title.to_owned());
        Head { key, title, capacity_bytes, precondition, seconds, settled }
    }

    /// How the drive settled, under the rules of the run.
    pub fn prepared(&self, rules: &Steady) -> Option<Prepared> {
        self.settled.as_ref().map(|it| {
            let mut rounds = if it.is_own_load {
                Rounds::of_workload(rules)
            } else {
                Rounds::new(rules, "write_amplification")
            };
            it.rounds.iter().for_each(|figure| rounds.add(*figure));
            let because = it.because.clone().map(Into::into);
            Prepared::of(&rounds, it.is_own_load, because, it.capacities_written)
        })
    }
}

/// Writes a part of a file with its length and checksum.
fn write_part(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    file.write_all(&(bytes.len() as u64).to_le_bytes())?;
    file.write_all(&blake3::hash(bytes).as_bytes()[..SUM_BYTES])?;
    file.write_all(bytes)
}

/// Reads a length-prefixed part of limited size.
fn read_part(file: &mut impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut fixed = [0; 8 + SUM_BYTES];
    file.read_exact(&mut fixed).map_err(|error| damaged(&error))?;
    let (length, sum) = fixed.split_at(8);
    let length = length.try_into().map_or(0, u64::from_le_bytes);
    if length > most {
        return Err(damaged(&format!("a part of {length} bytes")));
    }
    let mut bytes = Vec::new();
    // Memory grows with the file's actual content, regardless of the stored length.
    file.take(length).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    if bytes.len() as u64 != length || blake3::hash(&bytes).as_bytes()[..SUM_BYTES] != *sum {
        return Err(damaged(&"a sum is wrong"));
    }
    Ok(bytes)
}

fn damaged(problem: &dyn std::fmt::Display) -> String {
    format!("it is damaged or cut short: {problem}")
}

/// Writes an entry: its head, the state without its tables, the offset of the tables, and the
/// tables.
pub fn write(
    file: &File,
    head: &Head,
    (state, tables): (&ssd::Snapshot, &[PageTable]),
    tick: Tick<'_>,
) -> io::Result<()> {
    let mut file = io::BufWriter::with_capacity(1 << 20, file);
    let bytes = |value: Result<Vec<u8>, postcard::Error>| value.map_err(io::Error::other);
    file.write_all(MAGIC)?;
    write_part(&mut file, &bytes(postcard::to_stdvec(head))?)?;
    write_part(&mut file, &bytes(postcard::to_stdvec(state))?)?;
    let listed = file.stream_position()?;
    let mut list = vec![Listed::default(); tables.len()];
    file.write_all(&list_bytes(0, &list))?;
    let mut room = Vec::new();
    for (table, listed) in tables.iter().zip(&mut list) {
        *listed =
            Listed { begin: file.stream_position()?, length: table.len(), wide: table.is_wide() };
        for piece in 0..PageTable::pieces(table.len()) {
            if tick().is_break() {
                return Err(io::Error::other("it was ended"));
            }
            let bytes = table.piece(piece, &mut room);
            file.write_all(&(bytes.len() as u32).to_le_bytes())?;
            file.write_all(&crc32fast::hash(bytes).to_le_bytes())?;
            file.write_all(bytes)?;
        }
    }
    let end = file.stream_position()?;
    file.seek(SeekFrom::Start(listed))?;
    file.write_all(&list_bytes(end, &list))?;
    file.flush()
}

/// Position and properties of a table in the file.
#[derive(Debug, Clone, Copy, Default)]
struct Listed {
    begin: u64,
    length: u64,
    wide: bool,
}

const LISTED_BYTES: usize = 8 + 8 + 1;

/// The list of tables as a part, with the end of the file.
fn list_bytes(end: u64, list: &[Listed]) -> Vec<u8> {
    let mut bytes = end.to_le_bytes().to_vec();
    for listed in list {
        bytes.extend_from_slice(&listed.begin.to_le_bytes());
        bytes.extend_from_slice(&listed.length.to_le_bytes());
        bytes.push(u8::from(listed.wide));
    }
    let mut part = Vec::new();
    write_part(&mut part, &bytes).expect("memory takes all bytes");
    part
}

fn list_of(bytes: &[u8]) -> Option<(u64, Vec<Listed>)> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let (end, each) = bytes.split_at_checked(8)?;
    let of = |it: &[u8]| Listed {
        begin: number(&it[..8]),
        length: number(&it[8..16]),
        wide: it[16] != 0,
    };
    Some((number(end), each.chunks_exact(LISTED_BYTES).map(of).collect()))
}

/// Reads the head of an entry; the state follows.
pub fn head(path: &Path) -> Result<(Head, BufReader<File>), String> {
    let mut file = BufReader::new(open(path)?);
    let mut magic = [0; MAGIC.len()];
    file.read_exact(&mut magic).map_err(|error| damaged(&error))?;
    if magic != *MAGIC {
        return Err(damaged(&"it is no prepared drive"));
    }
    let head = read_part(&mut file, MOST_HEAD)?;
    let head = postcard::from_bytes(&head).map_err(|error| damaged(&error))?;
    Ok((head, file))
}

fn open(path: &Path) -> Result<File, String> {
    if !path.is_file() {
        // Writing to a pipe would block.
        return Err("it is no file".to_owned());
    }
    #[expect(clippy::disallowed_methods, reason = "the lab opens files")]
    File::open(path).map_err(|error| format!("it cannot be opened: {}", reason(&error)))
}

/// Restores a device from the data after the header.
pub fn restore(
    device: &mut dyn Model,
    path: &Path,
    mut file: BufReader<File>,
    tick: Tick<'_>,
) -> Result<(), String> {
    let rest = read_part(&mut file, MOST_REST)?;
    let (shape, rest) = postcard::take_from_bytes(&rest).map_err(|error| damaged(&error))?;
    let shape: Vec<(String, String)> = shape;
    let room = device.room(&shape)?;
    let mut rest = postcard::Deserializer::from_bytes(rest);
    let read = room.of_shape(shape).deserialize(&mut rest);
    let mut state = read.map_err(|error| damaged(&error))?;
    let list = list_of(&read_part(&mut file, MOST_HEAD)?);
    let (end, list) = list.ok_or_else(|| damaged(&"no list of tables"))?;
    let length = file.get_ref().metadata().map_or(0, |it| it.len());
    if length != end {
        return Err(damaged(&format!("it has {length} bytes of {end}")));
    }
    drop(file);
    let mut tables = Vec::new();
    let ends = list.iter().skip(1).map(|next| next.begin).chain([end]);
    for (listed, end) in list.iter().zip(ends) {
        let mut table = PageTable::blank(&room, listed.length, listed.wide)?;
        // A nearly full table is allocated at its full size, although its content is unchecked.
        if end.saturating_sub(listed.begin) / 3 >= listed.length {
            table.expect_all();
        }
        tables.push((*listed, table));
    }
    read_tables(path, &mut tables, tick)?;
    state.return_tables(tables.into_iter().map(|(_, table)| table).collect())?;
    let pages = device.facts().pages;
    device.restore_state(state)?;
    // For a large drive, auditing every page takes longer than preparing a small one.
    if pages <= MOST_AUDITED { device.audit() } else { Ok(()) }
}

/// Reads tables, large ones on two threads.
fn read_tables(
    path: &Path,
    tables: &mut [(Listed, PageTable)],
    tick: Tick<'_>,
) -> Result<(), String> {
    let is_ended = AtomicBool::new(false);
    let all: u64 = tables.iter().map(|(listed, _)| listed.length).sum();
    let half = tables.len() / 2;
    if all < WORTH_THREADS || half == 0 {
        return tables.iter_mut().try_for_each(|it| read_table(path, it, tick));
    }
    // Each drive has the map first, then the stamps of equal size, then the program order if
    // stored.
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for (number, table) in tables.iter_mut().enumerate() {
        if number % 3 == 0 { here.push(table) } else { there.push(table) }
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut proceed = || {
                if is_ended.load(Ordering::Relaxed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            there.into_iter().try_for_each(|it| read_table(path, it, &mut proceed))
        });
        let read = here.into_iter().try_for_each(|it| read_table(path, it, tick));
        is_ended.store(read.is_err(), Ordering::Relaxed);
        let there = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read.and(there)
    })
}

fn read_table(
    path: &Path,
    (listed, table): &mut (Listed, PageTable),
    tick: Tick<'_>,
) -> Result<(), String> {
    let mut file = open(path)?;
    file.seek(SeekFrom::Start(listed.begin)).map_err(|error| damaged(&error))?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut room = vec![0; PageTable::longest_piece()];
    for piece in 0..PageTable::pieces(listed.length) {
        if tick().is_break() {
            return Err("it was ended".to_owned());
        }
        let mut fixed = [0; 8];
        file.read_exact(&mut fixed).map_err(|error| damaged(&error))?;
        let (length, sum) = fixed.split_at(4);
        let length = length.try_into().map_or(0, u32::from_le_bytes) as usize;
        let Some(bytes) = room.get_mut(..length) else {
            return Err(damaged(&format!("a piece of {length} bytes")));
        };
        file.read_exact(bytes).map_err(|error| damaged(&error))?;
        if crc32fast::hash(bytes).to_le_bytes() != *sum || !table.set_piece(piece, bytes) {
            return Err(damaged(&"a sum is wrong"));
        }
    }
    Ok(())
}

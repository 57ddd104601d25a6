//! The files of one blktrace trace: siblings by number, or the members of a tar.
//!
//! The user names only the first file. Siblings end at the first missing number. A first pass finds
//! the members of a tar; each is then read through its own open file, so memory does not grow with
//! the tar. Standard input cannot be read this way.

use super::decompress::{Input, decompress};
use super::head::HEAD_BYTES;
use super::inputs::{Inputs, STANDARD_INPUT, reason};
use super::source::{Opening, u32_at};
use crate::error::BuildError;
use std::io::{self, Cursor, ErrorKind, Read};

/// The format with sibling files.
pub(crate) const FORMAT: &str = "blktrace";

/// Magic number of an event: `BLK_IO_TRACE_MAGIC`, whose low byte is the version, here 7.
pub(crate) const MAGIC: u32 = 0x6561_7400 | 7;

/// Text before the processor's number in a file's name.
const INFIX: &str = ".blktrace.";

/// Maximum number of processors, which bounds the number of opened files.
const FILES_LIMIT: usize = 4096;

/// Byte order if the bytes begin with an event; true for big-endian.
pub(crate) fn byte_order(bytes: &[u8]) -> Option<bool> {
    [false, true].into_iter().find(|big| bytes.len() >= 4 && u32_at(bytes, 0, *big) == MAGIC)
}

/// Parts of `name` before and after its number, if it is the first file of a trace.
pub(crate) fn prefix(name: &str) -> Option<(&str, &str)> {
    let (before, after) = name.rsplit_once(INFIX)?;
    let rest = after.strip_prefix('0')?;
    let whole = rest.is_empty() || rest.starts_with('.');
    whole.then(|| (&name[..before.len() + INFIX.len()], rest))
}

/// Opens `name` or, if it does not exist, the first file of the blktrace with that name; returns
/// the name opened.
pub(crate) fn open_first(inputs: &Inputs, name: &str) -> io::Result<(Input, String)> {
    match (inputs.open)(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let first = format!("{name}{INFIX}0");
            (inputs.open)(&first).map(|input| (input, first)).map_err(|_| error)
        }
        found => found.map(|input| (input, name.to_owned())),
    }
}

/// Every input of the trace with a copy of its beginning.
pub(crate) fn all(opening: Opening<'_>) -> Result<Vec<(Input, Vec<u8>)>, BuildError> {
    let Opening { name, inputs, input, head, .. } = opening;
    let failed = |name: &str, error: &io::Error| {
        BuildError::Input(format!("trace {name} cannot be read: {}", reason(error)))
    };
    if tar_holds_events(head.bytes) {
        if name == STANDARD_INPUT {
            let problem = "a tar is read several times over, which standard input does not allow: \
                           name the file, or give one processor's events";
            return Err(BuildError::Input(problem.to_owned()));
        }
        return members(inputs, name, input).map_err(|error| failed(name, &error));
    }
    let (before, after) = prefix(name).unwrap_or_default();
    let mut found = vec![begun(input).map_err(|error| failed(name, &error))?];
    while found.len() < FILES_LIMIT && !before.is_empty() {
        let sibling = format!("{before}{}{after}", found.len());
        match (inputs.open)(&sibling) {
            Ok(input) => {
                let begun = decompress(input).and_then(begun);
                found.push(begun.map_err(|error| failed(&sibling, &error))?);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            Err(error) => return Err(failed(&sibling, &error)),
        }
    }
    Ok(found)
}

/// Copies the beginning of an input.
fn begun(mut input: Input) -> io::Result<(Input, Vec<u8>)> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok((Box::new(Cursor::new(head.clone()).chain(input)), head))
}

const BLOCK: usize = 512;

/// The header of a tar member (POSIX ustar): the size of its content, and true for a plain file.
struct Member {
    bytes: u64,
    file: bool,
}

impl Member {
    /// Parses a header; `None` if the block is not a header.
    fn parse(block: &[u8; BLOCK]) -> Option<Self> {
        if &block[257..262] != b"ustar" {
            return None;
        }
        // The checksum of the header, in which the checksum's own bytes count as blanks.
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        let field: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
        if octal(&block[148..156])? != sum - field + 8 * u64::from(b' ') {
            return None;
        }
        Some(Member { bytes: octal(&block[124..136])?, file: matches!(block[156], b'0' | 0) })
    }

    /// Padded length of the content, bytes.
    fn padded(&self) -> u64 {
        self.bytes.next_multiple_of(BLOCK as u64)
    }
}

/// Octal digits that end with a blank or NUL.
fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

/// True if the bytes begin a tar with a file that begins with blktrace's magic number.
pub(crate) fn tar_holds_events(head: &[u8]) -> bool {
    let mut rest = head;
    while let Some(block) = rest.first_chunk::<BLOCK>() {
        let Some(member) = Member::parse(block) else { return false };
        rest = &rest[BLOCK..];
        if member.file && byte_order(rest).is_some() {
            return true;
        }
        let Ok(padded) = usize::try_from(member.padded()) else { return false };
        rest = rest.get(padded..).unwrap_or_default();
    }
    false
}

/// Every file of the tar `name` that contains events.
fn members(inputs: &Inputs, name: &str, mut tar: Input) -> io::Result<Vec<(Input, Vec<u8>)>> {
    let mut places = Vec::new();
    let mut at: u64 = 0;
    let mut block = [0; BLOCK];
    while tar.read_exact(&mut block).is_ok() && places.len() < FILES_LIMIT {
        at += BLOCK as u64;
        let Some(member) = Member::parse(&block) else { break };
        if member.file && member.bytes > 0 {
            places.push((at, member.bytes));
        }
        let passed = io::copy(&mut tar.by_ref().take(member.padded()), &mut io::sink())?;
        if passed < member.padded() {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the tar ends within a file"));
        }
        at = at.saturating_add(passed);
    }
    let mut found = Vec::new();
    for (place, bytes) in places {
        let mut again = decompress((inputs.open)(name)?)?;
        io::copy(&mut again.by_ref().take(place), &mut io::sink())?;
        let (input, head) = begun(Box::new(again.take(bytes)))?;
        if byte_order(&head).is_some() {
            found.push((input, head));
        }
    }
    Ok(found)
}

/// A tar of these files.
#[cfg(test)]
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in files {
        let mut block = [0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[156] = b'0';
        block[257..263].copy_from_slice(b"ustar\0");
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(block);
        out.extend(*content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

//! A batch of requests, with notes on skipped or changed ones: the output of readers.
//!
//! A batch is filled, consumed and refilled, so reading allocates nothing in the long run. It
//! stores for each request its source position and the preceding omissions and changes, so
//! consumers of single requests see no difference.

use crate::record::Record;
use engine::{Time, WorkloadError};
use memchr::{memchr, memchr_iter};

/// Requests read together.
#[derive(Default)]
pub(crate) struct Batch {
    /// Requests in file order.
    pub(crate) records: Vec<Record>,
    /// Offset of each record's line in `text`, or the record number in a binary file.
    marks: Vec<u64>,
    /// The response time of each record, ns; 0 where the file does not state it.
    pub(crate) responses: Vec<Time>,
    /// Notes on omissions and changes.
    pub(crate) notes: Notes,
    /// Lines of the requests, followed by unread bytes after `filled`.
    pub(crate) text: Vec<u8>,
    /// Bytes of `text` that were read.
    pub(crate) filled: usize,
    /// True if the marks are offsets in `text`.
    pub(crate) is_text: bool,
    /// Lines of the file before `text`.
    pub(crate) lines_before: u64,
    /// Lines or binary records of the file up to the end of the batch.
    pub(crate) number: u64,
    /// Reason for the end, in the last batch: `Ok` at the end of the trace.
    pub(crate) end: Option<Result<(), WorkloadError>>,
}

impl Batch {
    /// Removes the requests.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.marks.clear();
        self.responses.clear();
        self.notes.clear();
        self.end = None;
    }

    /// Drops the remaining requests and ends the trace.
    pub(crate) fn give_up(&mut self) {
        self.clear();
        self.end = Some(Ok(()));
    }

    /// Adds a request with its source position.
    #[inline]
    pub(crate) fn push(&mut self, record: Record, mark: u64) {
        self.records.push(record);
        self.marks.push(mark);
    }

    /// Counts an event that precedes or concerns the next request.
    pub(crate) fn note(&mut self, what: &'static str) {
        self.notes.add_before(self.records.len(), what);
    }

    /// The number of the line or binary record of a request.
    pub(crate) fn number_of(&self, index: usize) -> u64 {
        let mark = self.marks[index];
        if !self.is_text {
            return mark;
        }
        let ends = memchr_iter(b'\n', &self.text[..mark as usize]).count();
        self.lines_before + ends as u64 + 1
    }

    /// Line of a request, without its end.
    pub(crate) fn line_of(&self, index: usize) -> &[u8] {
        let rest = &self.text[self.marks[index] as usize..self.filled];
        &rest[..memchr(b'\n', rest).unwrap_or(rest.len())]
    }
}

/// Omissions and changes, in order.
#[derive(Default)]
pub(crate) struct Notes(Vec<Note>);

/// Count of an event, and the index of the request that it precedes or concerns.
struct Note {
    before: usize,
    count: u64,
    what: &'static str,
}

impl Notes {
    /// Counts an event about the request at this position.
    pub(crate) fn add_before(&mut self, before: usize, what: &'static str) {
        // Any number of lines may precede a request, but of few kinds.
        let mut same_place = self.0.iter_mut().rev().take_while(|note| note.before == before);
        match same_place.find(|note| std::ptr::eq(note.what, what) || note.what == what) {
            Some(note) => note.count += 1,
            None => self.0.push(Note { before, count: 1, what }),
        }
    }

    /// Adds the counts of the first `given` requests.
    pub(crate) fn count_into(&self, counted: &mut Counted, given: usize) {
        for note in self.0.iter().take_while(|note| note.before < given) {
            counted.add_many(note.what, note.count);
        }
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Number of omissions and changes, by reason.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted(Vec<(&'static str, u64)>);

impl Counted {
    /// Adds `more` to the count of `what`.
    pub(crate) fn add_many(&mut self, what: &'static str, more: u64) {
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(*known, what) || *known == what) {
            Some((_, count)) => *count += more,
            None => self.0.push((what, more)),
        }
    }

    /// All counts, in order of first occurrence.
    pub(crate) fn all(&self) -> &[(&'static str, u64)] {
        &self.0
    }

    /// Adds other counts.
    pub(crate) fn merge(&mut self, other: &Counted) {
        for &(what, count) in &other.0 {
            self.add_many(what, count);
        }
    }
}

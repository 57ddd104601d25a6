//! Output to a host: completions and data, in order, from any thread.
//!
//! The server writes replies on its own thread at their completion time. If the socket is full, at
//! most one PDU of data is buffered, and the rest is fetched when the host receives. An unread
//! queue therefore takes little memory.

use super::command::{Status, completion};
use super::logs::Errors;
use super::wire::{MOST_IN_PDU, Terms};
use crate::control::Control;
use crate::listen::ClientStream;
use crate::local::LocalClient;
use crate::protocol::Refusal;
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffered bytes, excluding data, above which no more input is read.
const MOST_WORDS: usize = 64 << 10;
/// Maximum size of a reused buffer.
const KEPT_BYTES: usize = 256 << 10;

/// A read with unsent data.
#[derive(Clone)]
pub struct Reading {
    pub id: u16,
    pub client: LocalClient,
    pub offset: u64,
    pub length: u32,
    /// Bytes of data already sent.
    pub done: u32,
}

enum Item {
    Words(Vec<u8>),
    Reading(Reading),
}

struct State {
    stream: ClientStream,
    terms: Terms,
    /// Buffered output, and the number of bytes already sent.
    words: Vec<u8>,
    sent: usize,
    /// Output behind it, and its total bytes.
    queue: VecDeque<Item>,
    queued: usize,
    /// True while data of the first read are being fetched.
    fetches: bool,
    closed: bool,
    /// True if the connection closes after the buffered bytes.
    leaves: bool,
    /// Head, size and number of the submission queue.
    head: u16,
    size: u16,
    number: u16,
    errors: Option<Arc<Mutex<Errors>>>,
}

/// Output channel to a host.
pub struct Output {
    state: Mutex<State>,
    /// Number of commands without completion, and true if the target waits for the next completion.
    outstanding: AtomicU32,
    is_awaited: AtomicBool,
    /// Handle that wakes the target's thread.
    bell: Control,
}

/// Poll state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    pub reads: bool,
    pub writes: bool,
    pub is_over: bool,
}

impl Output {
    pub fn new(stream: ClientStream, bell: &Control) -> Self {
        let state = State {
            stream,
            terms: Terms::default(),
            words: Vec::new(),
            sent: 0,
            queue: VecDeque::new(),
            queued: 0,
            fetches: false,
            closed: false,
            leaves: false,
            head: 0,
            size: 1,
            number: 0,
            errors: None,
        };
        Output {
            state: Mutex::new(state),
            outstanding: AtomicU32::new(0),
            is_awaited: AtomicBool::new(false),
            bell: bell.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the negotiated transport options.
    pub fn agree(&self, terms: Terms) {
        self.lock().terms = terms;
    }

    /// Assigns the queue's number and size, and its error log.
    pub fn connect(&self, number: u16, size: u16, errors: Arc<Mutex<Errors>>) {
        let mut state = self.lock();
        (state.number, state.size, state.errors) = (number, size, Some(errors));
        state.head = 1 % size;
    }

    /// Counts a new command. Returns the number of outstanding ones.
    pub fn take(&self) -> u32 {
        let mut state = self.lock();
        state.head = (state.head + 1) % state.size;
        drop(state);
        self.outstanding.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Poll state of the connection: data to send, or room for more input.
    pub fn readiness(&self) -> Readiness {
        let state = self.lock();
        let waits = state.words.len() - state.sent + state.queued;
        Readiness {
            reads: !state.closed && !state.leaves && waits < MOST_WORDS,
            writes: !state.closed && state.sent < state.words.len(),
            is_over: state.closed || state.leaves && state.is_idle(),
        }
    }

    /// Sends bytes of the transport.
    pub fn say(&self, bytes: &[u8]) {
        self.lock().push(bytes);
    }

    /// Tells the host to send the data of a command.
    pub fn ready(&self, id: u16, transfer: u16, length: u32) {
        let mut state = self.lock();
        let mut words = Vec::new();
        state.terms.ready(id, transfer, length, &mut words);
        state.push(&words);
    }

    /// Completes a command.
    pub fn complete(&self, id: u16, result: u64, status: Status) {
        let mut state = self.lock();
        let mut words = Vec::new();
        state.end(id, result, status, &mut words);
        state.push(&words);
        let is_stuck = !state.is_idle();
        drop(state);
        self.outstanding.fetch_sub(1, Ordering::Relaxed);
        if self.is_awaited.swap(false, Ordering::Relaxed) || is_stuck {
            self.bell.wake();
        }
    }

    /// Wakes the target at the next completion.
    pub fn await_an_end(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Completes a command with the given data.
    pub fn complete_with(&self, id: u16, data: &[u8]) {
        let mut state = self.lock();
        let mut words = Vec::new();
        let mut offset = 0;
        for piece in data.chunks(MOST_IN_PDU as usize) {
            let last = offset as usize + piece.len() == data.len();
            state.terms.data(id, offset, piece, last, &mut words);
            offset += piece.len() as u32;
        }
        state.end(id, 0, Status::SUCCESS, &mut words);
        state.push(&words);
        drop(state);
        self.outstanding.fetch_sub(1, Ordering::Relaxed);
    }

    /// Completes a read whose data are complete. The rest that the socket does not accept is
    /// fetched again later.
    pub fn deliver(&self, mut reading: Reading, data: &[u8]) {
        let mut state = self.lock();
        if !state.is_idle() {
            state.queue.push_back(Item::Reading(reading));
            return;
        }
        while !state.closed && reading.done < reading.length {
            let from = reading.done as usize;
            let piece = &data[from..data.len().min(from + MOST_IN_PDU as usize)];
            self.send(&mut state, &mut reading, piece);
            if !state.is_idle() {
                break;
            }
        }
        if reading.done < reading.length {
            state.queue.push_front(Item::Reading(reading));
        }
        let waits = !state.is_idle();
        drop(state);
        if waits {
            self.bell.wake();
        }
    }

    /// Sends a piece of a read's data; the completion follows the last piece.
    fn send(&self, state: &mut State, reading: &mut Reading, piece: &[u8]) {
        let at = reading.done;
        reading.done += piece.len() as u32;
        let last = reading.done == reading.length;
        let mut words = std::mem::take(&mut state.words);
        state.terms.data(reading.id, at, piece, last, &mut words);
        if last {
            state.end(reading.id, 0, Status::SUCCESS, &mut words);
            self.outstanding.fetch_sub(1, Ordering::Relaxed);
        }
        state.words = words;
        state.flush();
    }

    /// Sends buffered output as far as the socket accepts it. Returns a read whose next data must
    /// be [fetched](Output::fetch).
    pub fn drain(&self) -> Option<Reading> {
        let mut state = self.lock();
        state.flush();
        while !state.closed && !state.fetches && state.words.is_empty() {
            match state.queue.pop_front()? {
                Item::Words(words) => {
                    state.queued -= words.len();
                    state.words = words;
                    state.flush();
                }
                Item::Reading(reading) => {
                    state.fetches = true;
                    return Some(reading);
                }
            }
        }
        None
    }

    /// Fetches and sends the next data of a read.
    pub fn fetch(self: &Arc<Self>, mut reading: Reading) {
        let output = Arc::clone(self);
        let length = (reading.length - reading.done).min(MOST_IN_PDU);
        let (client, at) = (reading.client.clone(), reading.offset + u64::from(reading.done));
        client.peek(
            at,
            length,
            Box::new(move |outcome: Result<&[u8], Refusal>| {
                let mut state = output.lock();
                state.fetches = false;
                match outcome {
                    Ok(data) => output.send(&mut state, &mut reading, data),
                    // The host has received part of the data, so a status is no longer possible.
                    Err(_) => state.close(),
                }
                if reading.done < reading.length {
                    state.queue.push_front(Item::Reading(reading));
                }
                drop(state);
                output.bell.wake();
            }),
        );
    }

    /// Closes the connection once all output is sent.
    pub fn leave(&self) {
        self.lock().leaves = true;
    }

    /// Closes the connection now.
    pub fn close(&self) {
        self.lock().close();
        self.bell.wake();
    }

    /// Wakes the target's thread.
    pub fn ring(&self) {
        self.bell.wake();
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.words.is_empty() && self.queue.is_empty() && !self.fetches
    }

    /// Appends the completion of a command.
    fn end(&mut self, id: u16, result: u64, status: Status, words: &mut Vec<u8>) {
        if let (false, Some(errors)) = (status == Status::SUCCESS, &self.errors) {
            let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
            errors.note(self.number, id, status);
        }
        let entry = completion(id, result, self.head, self.number, status);
        self.terms.response(&entry, words);
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.closed || self.leaves {
            return;
        }
        if self.queue.is_empty() && !self.fetches {
            self.words.extend_from_slice(bytes);
            return self.flush();
        }
        self.queued += bytes.len();
        match self.queue.back_mut() {
            Some(Item::Words(last)) => last.extend_from_slice(bytes),
            _ => self.queue.push_back(Item::Words(bytes.to_vec())),
        }
    }

    fn flush(&mut self) {
        while self.sent < self.words.len() && !self.closed {
            match self.stream.write(&self.words[self.sent..]) {
                Ok(0) => return self.close(),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return self.close(),
            }
        }
        self.sent = 0;
        if self.words.capacity() > KEPT_BYTES {
            self.words = Vec::new();
        } else {
            self.words.clear();
        }
    }

    fn close(&mut self) {
        self.closed = true;
        self.stream.shut();
        (self.words, self.sent, self.queued) = (Vec::new(), 0, 0);
        self.queue.clear();
    }
}

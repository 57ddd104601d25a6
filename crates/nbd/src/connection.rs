//! One client: its socket, what came in and was not read yet, what waits to go out.

use crate::listen::ClientStream;
use crate::protocol::{Conversation, Event};
use std::io::{self, ErrorKind, Read, Write};

/// Bytes taken from a socket at once.
const INPUT_BYTES: usize = 256 << 10;
/// Requests of a connection that are served together; more wait in its socket.
const MOST_OUTSTANDING: u32 = 512;
/// Bytes that wait for a client to take them, above which nothing more is read from it.
const MOST_OUTPUT_BYTES: usize = 64 << 20;

pub(crate) struct Connection {
    pub(crate) stream: ClientStream,
    pub(crate) conversation: Conversation,
    /// Tells this connection from others that had its place.
    pub(crate) serial: u64,
    input: Vec<u8>,
    /// The part of the input that is yet to be read.
    unread: std::ops::Range<usize>,
    pub(crate) output: Vec<u8>,
    written: usize,
    /// Requests not answered yet.
    pub(crate) outstanding: u32,
    /// The request whose data are coming.
    pub(crate) writing: Option<u32>,
    /// The client takes its leave: nothing more is read, what it asked is answered.
    pub(crate) leaving: bool,
}

/// What became of a read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Open,
    /// The client is gone.
    Gone,
}

impl Connection {
    pub(crate) fn new(stream: ClientStream, export_bytes: u64, serial: u64) -> io::Result<Self> {
        stream.prepare()?;
        let mut output = Vec::new();
        let conversation = Conversation::new(export_bytes, &mut output);
        Ok(Connection {
            stream,
            conversation,
            serial,
            input: vec![0; INPUT_BYTES],
            unread: 0..0,
            output,
            written: 0,
            outstanding: 0,
            writing: None,
            leaving: false,
        })
    }

    /// Whether more may be asked now.
    pub(crate) fn has_room(&self) -> bool {
        !self.leaving
            && self.outstanding < MOST_OUTSTANDING
            && self.output.len() - self.written < MOST_OUTPUT_BYTES
    }

    /// Whether something waits to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.written < self.output.len()
    }

    /// What came in and was not consumed.
    pub(crate) fn input(&self) -> &[u8] {
        &self.input[self.unread.clone()]
    }

    /// The next step of the protocol on the input; the bytes that it consumed.
    pub(crate) fn step(&mut self) -> (std::ops::Range<usize>, Event) {
        let (count, event) =
            self.conversation.next(&self.input[self.unread.clone()], &mut self.output);
        let consumed = self.unread.start..self.unread.start + count;
        self.unread.start += count;
        (consumed, event)
    }

    /// Some bytes of the input.
    pub(crate) fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.input[range]
    }

    /// Takes what has arrived, as far as there is room for it.
    pub(crate) fn fill(&mut self) -> Flow {
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start > 0 {
            self.input.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        match self.stream.read(&mut self.input[self.unread.end..]) {
            Ok(0) if self.unread.end < self.input.len() => Flow::Gone,
            Ok(count) => {
                self.unread.end += count;
                Flow::Open
            }
            Err(error) if again(&error) => Flow::Open,
            Err(_) => Flow::Gone,
        }
    }

    /// Sends what the client takes now.
    pub(crate) fn send(&mut self) -> Flow {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Flow::Open,
                Err(_) => return Flow::Gone,
            }
        }
        self.output.clear();
        self.written = 0;
        Flow::Open
    }
}

fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

//! State of one client: its socket, unread input, replies to be sent, and its limits.

use crate::guest::Stay;
use crate::listen::ClientStream;
use crate::protocol::{Conversation, Event};
use crate::replies::Replies;
use crate::room::{Load, Room};
use crate::store::Store;
use std::io::{self, ErrorKind, Read, Write};

/// Size of one socket read.
const INPUT_BYTES: usize = 256 << 10;
/// Maximum number of outstanding requests of a client; more wait in its socket.
pub(crate) const MOST_OUTSTANDING: usize = 512;
/// Maximum bytes of outstanding requests and waiting replies of a client.
pub(crate) const MOST_BYTES: u64 = 64 << 20;
/// A client; its fields are what the parts of the server store about it between turns.
#[expect(clippy::struct_excessive_bools, reason = "each says another thing of the client")]
pub(crate) struct Connection {
    pub(crate) stream: ClientStream,
    pub(crate) conversation: Conversation,
    /// Its registration at the listener.
    pub(crate) guest: Option<Stay>,
    /// Distinguishes successive connections at one place.
    pub(crate) serial: u64,
    /// Time of the connection, and whether it has sent a request.
    pub(crate) since: u64,
    pub(crate) has_asked: bool,
    /// Time of the last message.
    pub(crate) heard: u64,
    /// True after the first message.
    has_spoken: bool,
    input: Vec<u8>,
    /// The part of the input that is yet to be read.
    unread: std::ops::Range<usize>,
    /// Replies made by the protocol itself.
    words: Vec<u8>,
    pub(crate) replies: Replies,
    /// Outstanding requests and their bytes.
    pub(crate) outstanding: Load,
    /// The request whose data are coming.
    pub(crate) writing: Option<u32>,
    /// The client disconnects: nothing more is read, but its requests are answered.
    pub(crate) leaving: bool,
    /// True if requests wait because of its limits.
    pub(crate) held_back: bool,
    /// The socket did not accept the last stretch completely; it reports when it can take more.
    pub(crate) clogged: bool,
}

/// Outcome of a read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Open,
    /// The client has disconnected.
    Gone,
}

impl Connection {
    pub(crate) fn new(
        stream: ClientStream,
        conversation: impl FnOnce(&mut Vec<u8>) -> Conversation,
        since: u64,
    ) -> io::Result<Self> {
        stream.prepare()?;
        let mut words = Vec::new();
        let conversation = conversation(&mut words);
        let mut replies = Replies::default();
        replies.say(&words);
        words.clear();
        Ok(Connection {
            stream,
            conversation,
            guest: None,
            serial: 0,
            since,
            has_asked: false,
            heard: since,
            has_spoken: false,
            input: vec![0; INPUT_BYTES],
            unread: 0..0,
            words,
            replies,
            outstanding: Load::default(),
            writing: None,
            leaving: false,
            held_back: false,
            clogged: false,
        })
    }

    /// True if the client may send more requests, with so much room in the device.
    pub(crate) fn has_room(&self, room: Room) -> bool {
        let own = self.outstanding;
        !self.leaving
            && self.replies.len() + (own.requests as usize) < MOST_OUTSTANDING
            && self.replies.bytes() + own.bytes < MOST_BYTES
            // The rest of a begun write is always read.
            && (self.writing.is_some() || room.admits(own, self.wanted()))
    }

    /// Bytes of the next request, if its header has arrived.
    fn wanted(&self) -> u32 {
        self.conversation.wanted(&self.input[self.unread.clone()])
    }

    /// True with output to send.
    pub(crate) fn has_output(&self) -> bool {
        !self.replies.is_empty()
    }

    /// The next step of the protocol on the input; the bytes that it consumed.
    pub(crate) fn step(&mut self) -> (std::ops::Range<usize>, Event) {
        let (count, event) =
            self.conversation.next(&self.input[self.unread.clone()], &mut self.words);
        if !self.words.is_empty() {
            self.replies.say(&self.words);
            self.words.clear();
        }
        let consumed = self.unread.start..self.unread.start + count;
        self.unread.start += count;
        (consumed, event)
    }

    /// Some bytes of the input.
    pub(crate) fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.input[range]
    }

    /// True after the client's first message.
    pub(crate) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Unread input bytes.
    pub(crate) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Reads arrived data into the free space.
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
                self.has_spoken |= count > 0;
                self.unread.end += count;
                Flow::Open
            }
            Err(error) if again(&error) => Flow::Open,
            Err(_) => Flow::Gone,
        }
    }

    /// Sends a stretch of the waiting replies, made in `buffer`, as far as the socket accepts it.
    pub(crate) fn send(&mut self, store: &Store, buffer: &mut Vec<u8>) -> Flow {
        if self.replies.make(store, buffer).is_err() {
            return Flow::Gone;
        }
        match self.stream.write(buffer) {
            Ok(count) => {
                self.clogged = count < buffer.len();
                self.replies.sent(count);
                Flow::Open
            }
            Err(error) if again(&error) => {
                self.clogged = error.kind() == ErrorKind::WouldBlock;
                Flow::Open
            }
            Err(_) => Flow::Gone,
        }
    }
}

fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

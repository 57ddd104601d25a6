//! The control socket: one line in, one line out. Only the server's user may connect.
//!
//! The server answers one line at a time, from each connection in turn, and then pauses for as long
//! as the answer took. A flood of lines therefore delays neither other connections nor the device's
//! clients.

use crate::error::{Error, reason};
use crate::listen::{Address, ClientStream, Listener};
use rustix::event::PollFlags;
use std::fs::{Permissions, set_permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Maximum number of connections, and maximum length of a line.
const MOST_CLIENTS: usize = 8;
const MOST_BYTES: usize = 4096;
/// A connection silent for this time may be replaced by a new one, ns.
const SILENT_NS: u64 = 10_000_000_000;
const FULL: &[u8] =
    b"{\"error\":\"8 programs are connected to the control socket already, which is the maximum\"}\n";

/// A control socket with its connections. Dropping it removes its path.
#[derive(Debug)]
pub struct Orders {
    listener: Listener,
    clients: Vec<Orderer>,
    /// Connection whose line is answered next.
    turn: usize,
    /// Earliest time of the next answer, ns.
    rests_until: u64,
}

/// A connection to the control socket.
#[derive(Debug)]
struct Orderer {
    stream: ClientStream,
    heard: Vec<u8>,
    /// Unsent part of an answer; nothing more is read until it is sent.
    owed: Vec<u8>,
    /// Time of acceptance or of the last data.
    since: u64,
}

impl Orderer {
    fn has_line(&self) -> bool {
        self.heard.contains(&b'\n')
    }

    /// The events to poll for.
    fn wanted(&self) -> PollFlags {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::OUT, !self.owed.is_empty());
        wanted.set(PollFlags::IN, self.owed.is_empty() && !self.has_line());
        wanted
    }

    /// Sends pending answers and reads up to one line. Returns true while the connection is open.
    fn attend(&mut self, now: u64) -> bool {
        while !self.owed.is_empty() {
            match self.stream.write(&self.owed) {
                Ok(count) => drop(self.owed.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        let mut piece = [0; 1024];
        while !self.has_line() {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(count) => self.heard.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            self.since = now;
            if self.heard.len() > MOST_BYTES {
                return false;
            }
        }
        true
    }
}

impl Orders {
    /// Starts listening.
    ///
    /// # Errors
    /// When the path is in use or not available.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let listener = Listener::new(&Address::Unix(path.to_owned()))?;
        set_permissions(path, Permissions::from_mode(0o600)).map_err(|error| {
            Error::Input(format!("control socket {}: {}", path.display(), reason(&error)))
        })?;
        Ok(Orders { listener, clients: Vec::new(), turn: 0, rests_until: 0 })
    }

    /// Descriptors to poll, with their events.
    pub(crate) fn fds(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let clients = self.clients.iter().map(|it| (it.stream.as_fd(), it.wanted()));
        std::iter::once((self.listener.as_fd(), PollFlags::IN)).chain(clients)
    }

    /// Earliest time at which a complete line may be answered, if any.
    pub(crate) fn due(&self) -> Option<u64> {
        let waits = self.clients.iter().any(|it| it.owed.is_empty() && it.has_line());
        waits.then_some(self.rests_until)
    }

    /// Accepts connections, reads lines, and sends pending answers.
    pub(crate) fn attend(&mut self, now: u64) {
        while let Ok(mut stream) = self.listener.accept() {
            if stream.prepare().is_err() {
                continue;
            }
            if self.clients.len() >= MOST_CLIENTS {
                let silent = |it: &Orderer| it.since + SILENT_NS <= now;
                let Some(leaves) = self.clients.iter().position(silent) else {
                    // On failure the program only sees its connection closed.
                    let _ = stream.write(FULL);
                    continue;
                };
                self.clients.remove(leaves);
            }
            self.clients.push(Orderer { stream, heard: Vec::new(), owed: Vec::new(), since: now });
        }
        self.clients.retain_mut(|it| it.attend(now));
    }

    /// The next line to answer, with the number of its connection.
    pub(crate) fn next(&mut self, now: u64) -> Option<(usize, String)> {
        if now < self.rests_until {
            return None;
        }
        let count = self.clients.len();
        let mut turns = (0..count).map(|number| (self.turn + number) % count);
        let place = turns.find(|place| {
            let it = &self.clients[*place];
            it.owed.is_empty() && it.has_line()
        })?;
        self.turn = (place + 1) % count;
        let heard = &mut self.clients[place].heard;
        let end = heard.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = heard.drain(..=end).collect();
        Some((place, String::from_utf8_lossy(&line[..end]).into_owned()))
    }

    /// Sends the answer to the connection at `place`; computing it took from `began` to `now`.
    pub(crate) fn answer(&mut self, place: usize, words: &str, (began, now): (u64, u64)) {
        self.rests_until = now + now.saturating_sub(began);
        let it = &mut self.clients[place];
        it.owed.extend_from_slice(words.as_bytes());
        it.owed.push(b'\n');
        if !it.attend(now) {
            self.clients.remove(place);
        }
    }
}

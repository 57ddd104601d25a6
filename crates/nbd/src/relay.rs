//! TLS in front of a server without TLS: a thread copies between the client's socket and a socket
//! pair, whose other end the server takes for the client.
//!
//! Each direction has a bounded buffer: no more is read from one side before the other has accepted
//! it.

use crate::listen::ClientStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum bytes copied at once.
const PIECE_BYTES: usize = 64 << 10;
/// Stack size of a thread; small, because stacks may be locked in memory.
const STACK_BYTES: usize = 256 << 10;
/// Time limit for delivery of the last replies.
const FAREWELL: Duration = Duration::from_secs(2);

/// Starts TLS on a non-blocking socket. Returns the server's end, and the thread, which ends when
/// either side disconnects.
///
/// # Errors
/// When the system gives no sockets or thread.
pub(crate) fn begin(
    outer: ClientStream,
    config: &Arc<ServerConfig>,
) -> io::Result<(ClientStream, JoinHandle<()>)> {
    let mut session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    // The session gets one bounded piece at a time.
    session.set_buffer_limit(None);
    let (near, far) = UnixStream::pair()?;
    far.set_nonblocking(true)?;
    let relay = Relay {
        outer,
        inner: far,
        session,
        piece: vec![0; PIECE_BYTES],
        inward: 0..0,
        has_ended: false,
        until: None,
    };
    let thread = std::thread::Builder::new().name("tls".to_owned()).stack_size(STACK_BYTES);
    let thread = thread.spawn(move || relay.run())?;
    Ok((ClientStream::Unix(near), thread))
}

struct Relay {
    outer: ClientStream,
    inner: UnixStream,
    session: ServerConnection,
    piece: Vec<u8>,
    /// Part of the piece not yet passed to the server.
    inward: std::ops::Range<usize>,
    /// True once the server's output is fully read.
    has_ended: bool,
    /// Deadline for the last output, once the server has disconnected.
    until: Option<Instant>,
}

impl Relay {
    fn run(mut self) {
        // Both sides are disconnected in any case.
        while self.turn().is_ok() {}
        let _ = self.session.write_tls(&mut self.outer);
        self.outer.shut();
    }

    /// Copies available data, or waits for data.
    ///
    /// # Errors
    /// When both directions have ended.
    fn turn(&mut self) -> io::Result<()> {
        let (mut can_out, mut can_in) = (true, true);
        loop {
            let mut moved = false;
            if can_out && self.session.wants_write() {
                can_out = passed(self.session.write_tls(&mut self.outer))?.is_some();
                moved |= can_out;
            }
            if can_in && !self.inward.is_empty() {
                match passed(self.inner.write(&self.piece[self.inward.clone()])) {
                    Ok(taken) => {
                        self.inward.start += taken.unwrap_or(0);
                        can_in = taken.is_some();
                    }
                    // The server accepts no more input, but may still have output.
                    Err(_) => self.hang_up(),
                }
                moved |= can_in;
            }
            if self.inward.is_empty() && self.until.is_none() {
                moved |= self.hear()?;
            }
            if self.inward.is_empty() && self.takes_words() {
                moved |= self.answer()?;
            }
            if !moved {
                break;
            }
        }
        self.wait()
    }

    /// True if server output may be read: the handshake is complete and earlier output is sent.
    fn takes_words(&self) -> bool {
        !self.session.is_handshaking() && !self.session.wants_write() && !self.has_ended
    }

    /// Notes that the server disconnected: its last output is sent, and no more input is read.
    fn hang_up(&mut self) {
        self.inward = 0..0;
        if self.until.is_none() {
            self.until = Some(Instant::now() + FAREWELL);
        }
    }

    /// Copies input from the client. Returns true if there was any.
    fn hear(&mut self) -> io::Result<bool> {
        match passed(self.session.reader().read(&mut self.piece))? {
            // The client has closed the connection.
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(count) => {
                self.inward = 0..count;
                return Ok(true);
            }
            None => {}
        }
        match passed(self.session.read_tls(&mut self.outer))? {
            Some(0) => Err(ErrorKind::UnexpectedEof.into()),
            Some(_) => self.session.process_new_packets().map_err(io::Error::other).map(|_| true),
            None => Ok(false),
        }
    }

    /// Copies output of the server. Returns true if there was any.
    fn answer(&mut self) -> io::Result<bool> {
        match passed(self.inner.read(&mut self.piece))? {
            Some(0) => {
                self.session.send_close_notify();
                self.has_ended = true;
                self.hang_up();
                Ok(true)
            }
            Some(count) => self.session.writer().write_all(&self.piece[..count]).map(|()| true),
            None => Ok(false),
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        let is_idle = self.inward.is_empty();
        let mut outer = PollFlags::empty();
        outer.set(PollFlags::IN, is_idle && self.until.is_none());
        outer.set(PollFlags::OUT, self.session.wants_write());
        let mut inner = PollFlags::empty();
        inner.set(PollFlags::IN, is_idle && self.takes_words());
        inner.set(PollFlags::OUT, !is_idle);
        let mut timeout = None;
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.has_ended && !self.session.wants_write() {
                return Err(ErrorKind::TimedOut.into());
            }
            timeout = Some(Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            });
        }
        let mut fds = [PollFd::new(&self.outer, outer), PollFd::new(&self.inner, inner)];
        // A disconnected server socket is no longer polled.
        let count = if self.until.is_some() && inner.is_empty() { 1 } else { 2 };
        match poll(&mut fds[..count], timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let is_gone = |fd: &PollFd<'_>, wanted: PollFlags| {
            fd.revents().intersects(gone) && !fd.revents().intersects(wanted)
        };
        let (client_gone, server_gone) = (is_gone(&fds[0], outer), is_gone(&fds[1], inner));
        if client_gone || server_gone && self.session.is_handshaking() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if server_gone {
            self.hang_up();
        }
        Ok(())
    }
}

/// Transferred bytes; `None` if the call would block.
fn passed(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

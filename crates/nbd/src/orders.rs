//! The control socket: one line in, one line out. Only the user of the server may use it.

use crate::error::{Error, reason};
use crate::listen::{Address, Listener};
use std::fs::{Permissions, set_permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Maximum number of connections, and maximum length of a line.
const MOST_CLIENTS: usize = 8;
const MOST_BYTES: usize = 4096;

/// A control socket and its connections. Its path is removed when it is dropped.
#[derive(Debug)]
pub struct Orders {
    listener: Listener,
    clients: Vec<(crate::listen::ClientStream, Vec<u8>)>,
}

impl Orders {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the path is in use or not available.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let listener = Listener::new(&Address::Unix(path.to_owned()))?;
        set_permissions(path, Permissions::from_mode(0o600)).map_err(|error| {
            Error::Input(format!("control socket {}: {}", path.display(), reason(&error)))
        })?;
        Ok(Orders { listener, clients: Vec::new() })
    }

    /// What may become readable.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let clients = self.clients.iter().map(|(stream, _)| stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(clients)
    }

    /// Takes whole lines that have come, and says to each what `answer` makes of it.
    pub(crate) fn hear(&mut self, mut answer: impl FnMut(&str) -> String) {
        while let Ok(stream) = self.listener.accept() {
            // One more than there is room for finds that nobody listens.
            if self.clients.len() < MOST_CLIENTS && stream.prepare().is_ok() {
                self.clients.push((stream, Vec::new()));
            }
        }
        self.clients.retain_mut(|(stream, heard)| {
            let mut piece = [0; 1024];
            loop {
                match stream.read(&mut piece) {
                    Ok(0) => return false,
                    Ok(count) => heard.extend_from_slice(&piece[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => return false,
                }
                while let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = heard.drain(..=end).collect();
                    let mut words = answer(&String::from_utf8_lossy(&line[..end]));
                    words.push('\n');
                    // Who does not read his answers gets no more of them.
                    if stream.write_all(words.as_bytes()).is_err() {
                        return false;
                    }
                }
                if heard.len() > MOST_BYTES {
                    return false;
                }
            }
            true
        });
    }
}

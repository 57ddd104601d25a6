//! Listening sockets and accepted streams.

use crate::error::{Error, reason};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

/// Address of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket with this path.
    Unix(PathBuf),
    /// A TCP port; 0 takes any free one.
    Tcp(IpAddr, u16),
}

/// A listening socket. Dropping it removes a Unix socket's path.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    path: Option<PathBuf>,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Starts listening; clients wait until the server accepts them. Replaces the socket of a dead
    /// server.
    ///
    /// # Errors
    /// When the address is in use or not available.
    pub fn new(address: &Address) -> Result<Self, Error> {
        match address {
            Address::Unix(path) => {
                let name = path.display();
                let refuse = |problem: &str| Error::Input(format!("socket {name}: {problem}"));
                if let Ok(found) = fs::symlink_metadata(path) {
                    if !found.file_type().is_socket() {
                        return Err(refuse("a file that is not a socket has this name"));
                    }
                    match UnixStream::connect(path) {
                        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                            let _ = fs::remove_file(path);
                        }
                        _ => return Err(refuse("in use: another server listens there")),
                    }
                }
                let socket = UnixListener::bind(path)
                    .map_err(|error| refuse(&format!("cannot be made: {}", reason(&error))))?;
                Ok(Listener { socket: Socket::Unix(socket), path: Some(path.clone()) })
            }
            Address::Tcp(host, port) => {
                let socket = TcpListener::bind(SocketAddr::new(*host, *port)).map_err(|error| {
                    Error::Input(format!("port {port} of {host}: {}", reason(&error)))
                })?;
                Ok(Listener { socket: Socket::Tcp(socket), path: None })
            }
        }
        .and_then(|listener| {
            let done = match &listener.socket {
                Socket::Unix(socket) => socket.set_nonblocking(true),
                Socket::Tcp(socket) => socket.set_nonblocking(true),
            };
            done.map(|()| listener).map_err(|error| Error::System(reason(&error)))
        })
    }

    /// Checks that [`new`](Listener::new) would succeed now, before a long preparation.
    ///
    /// # Errors
    /// As [`new`](Listener::new).
    pub fn check(address: &Address) -> Result<(), Error> {
        Listener::new(address).map(drop)
    }

    /// URI for clients, in the syntax of libnbd and QEMU.
    pub fn uri(&self) -> String {
        self.uri_of("", false)
    }

    /// The URI of an export, with TLS or without.
    pub fn uri_of(&self, name: &str, is_secure: bool) -> String {
        let scheme = if is_secure { "nbds" } else { "nbd" };
        let name = escaped(name.as_bytes(), false);
        match &self.socket {
            Socket::Unix(_) => {
                let path = self.path.as_deref().unwrap_or_else(|| "".as_ref());
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let path = escaped(path.as_os_str().as_encoded_bytes(), true);
                format!("{scheme}+unix:///{name}?socket={path}")
            }
            Socket::Tcp(socket) => {
                let address = socket.local_addr().map_or(String::new(), |it| it.to_string());
                let slash = if name.is_empty() { "" } else { "/" };
                format!("{scheme}://{address}{slash}{name}")
            }
        }
    }

    /// Address and port of an `NVMe` target on this socket, as URI and in parts.
    pub fn target(&self) -> (String, (String, String)) {
        match &self.socket {
            Socket::Unix(_) => {
                let path = self.path.as_deref().unwrap_or_else(|| "".as_ref());
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let path = path.display().to_string();
                (format!("unix://{path}"), (path, String::new()))
            }
            Socket::Tcp(socket) => socket.local_addr().map_or_else(
                |_| (String::new(), (String::new(), String::new())),
                |it| (format!("tcp://{it}"), (it.ip().to_string(), it.port().to_string())),
            ),
        }
    }

    /// True for TCP, which has another latency than a Unix socket.
    pub fn is_tcp(&self) -> bool {
        matches!(self.socket, Socket::Tcp(_))
    }

    /// Another handle to a Unix socket.
    pub(crate) fn unix(&self) -> Option<io::Result<UnixListener>> {
        match &self.socket {
            Socket::Unix(socket) => Some(socket.try_clone()),
            Socket::Tcp(_) => None,
        }
    }

    /// A waiting client, if any.
    pub(crate) fn accept(&self) -> io::Result<ClientStream> {
        match &self.socket {
            Socket::Unix(socket) => socket.accept().map(|(stream, _)| ClientStream::Unix(stream)),
            Socket::Tcp(socket) => socket.accept().map(|(stream, _)| ClientStream::Tcp(stream)),
        }
    }
}

/// URI-escaped text; a path keeps its slashes.
fn escaped(text: &[u8], is_path: bool) -> String {
    let mut out = String::new();
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                out.push(char::from(*byte));
            }
            b'/' if is_path => out.push('/'),
            other => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// A connection's socket.
#[derive(Debug)]
pub enum ClientStream {
    /// A Unix socket.
    Unix(UnixStream),
    /// A TCP socket.
    Tcp(TcpStream),
}

impl ClientStream {
    /// Makes the stream non-blocking and disables Nagle's algorithm.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        match self {
            ClientStream::Unix(stream) => stream.set_nonblocking(true),
            ClientStream::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)
            }
        }
    }

    /// A second handle to the stream.
    pub(crate) fn handle(&self) -> io::Result<Self> {
        match self {
            ClientStream::Unix(stream) => stream.try_clone().map(ClientStream::Unix),
            ClientStream::Tcp(stream) => stream.try_clone().map(ClientStream::Tcp),
        }
    }

    /// Shuts the stream down for all handles.
    pub(crate) fn shut(&self) {
        // The stream may already be closed.
        let _ = match self {
            ClientStream::Unix(stream) => stream.shutdown(Shutdown::Both),
            ClientStream::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// When no server listens at the address.
    pub fn connect(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Unix(path) => ClientStream::Unix(UnixStream::connect(path)?),
            Address::Tcp(host, port) => {
                let stream = TcpStream::connect(SocketAddr::new(*host, *port))?;
                stream.set_nodelay(true)?;
                ClientStream::Tcp(stream)
            }
        })
    }

    /// Both ends of a TCP connection or Unix socket pair.
    pub(crate) fn pair(tcp: bool) -> io::Result<(ClientStream, ClientStream)> {
        if !tcp {
            let (one, other) = UnixStream::pair()?;
            return Ok((ClientStream::Unix(one), ClientStream::Unix(other)));
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        let (other, _) = listener.accept()?;
        one.set_nodelay(true)?;
        Ok((ClientStream::Tcp(one), ClientStream::Tcp(other)))
    }
}

impl Read for ClientStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            ClientStream::Unix(stream) => stream.read(buffer),
            ClientStream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for ClientStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ClientStream::Unix(stream) => stream.write(bytes),
            ClientStream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for ClientStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            ClientStream::Unix(stream) => stream.as_fd(),
            ClientStream::Tcp(stream) => stream.as_fd(),
        }
    }
}

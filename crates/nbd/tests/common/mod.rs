//! Shared by the tests: a short client, a device, and a server around it.

#![allow(dead_code, reason = "a benchmark uses a part")]

use devices::Model;
use devices::law::{LawConfig, Pattern};
use engine::{Completion, Request, Time};
use nbd::{
    Address, Control, Export, Listener, Overhead, Punctuality, Scale, Server, Setup, Store, Witness,
};
use options::Duration;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const WRITE_ZEROES: u16 = 6;
pub const FUA: u16 = 1;

/// A client with one outstanding request at a time.
pub struct Client(pub UnixStream);

impl Client {
    /// Connects and chooses the export.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut stream = UnixStream::connect(path)?;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0")?;
        stream.read_exact(&mut greeting[..10])?;
        Ok(Client(stream))
    }

    pub fn send(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        data: &[u8],
    ) -> io::Result<()> {
        self.0.write_all(&message(command, flags, 7, offset, length, data))
    }

    /// Error of the next reply; without an error also reads its data.
    pub fn answer(&mut self, data: &mut [u8]) -> io::Result<u32> {
        let mut header = [0; 16];
        self.0.read_exact(&mut header)?;
        assert_eq!(header[..4], 0x6744_6698u32.to_be_bytes());
        let error = u32::from_be_bytes(header[4..8].try_into().expect("four bytes"));
        if error == 0 {
            self.0.read_exact(data)?;
        }
        Ok(error)
    }

    pub fn read(&mut self, offset: u64, length: u32) -> io::Result<Vec<u8>> {
        let mut data = vec![0; length as usize];
        self.send(READ, 0, offset, length, &[])?;
        assert_eq!(self.answer(&mut data)?, 0);
        Ok(data)
    }

    pub fn write(&mut self, flags: u16, offset: u64, data: &[u8]) -> io::Result<()> {
        self.send(WRITE, flags, offset, data.len() as u32, data)?;
        assert_eq!(self.answer(&mut [])?, 0);
        Ok(())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.send(FLUSH, 0, 0, 0, &[])?;
        assert_eq!(self.answer(&mut [])?, 0);
        Ok(())
    }
}

/// A request in wire format.
pub fn message(
    command: u16,
    flags: u16,
    cookie: u64,
    offset: u64,
    length: u32,
    data: &[u8],
) -> Vec<u8> {
    let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(cookie.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(data);
    bytes
}

/// A linear device of constant latency.
pub fn device(ns: Time) -> Box<dyn Model> {
    use devices::DeviceKind;
    let mut config = LawConfig::default();
    for pattern in [
        &mut config.random_read,
        &mut config.random_write,
        &mut config.sequential_read,
        &mut config.sequential_write,
    ] {
        *pattern = Pattern::line(ns, 0);
    }
    config.build(0).expect("it is valid")
}

/// A small and fast drive that wears out after a few thousand writes.
pub fn mortal() -> Box<dyn Model> {
    use devices::DeviceKind;
    let mut config = devices::ssd::SsdConfig {
        channels: 1,
        dies_per_package: 1,
        planes_per_die: 1,
        blocks_per_plane: 32,
        pages_per_block: 16,
        ..devices::ssd::SsdConfig::default()
    };
    config.wear.rated_cycles = 3;
    config.timing.program = Duration::from_ns(20_000);
    config.timing.erase = Duration::from_ns(50_000);
    config.build(0).expect("it is valid")
}

/// Requests and completions that a server observed.
#[derive(Default)]
pub struct Seen {
    pub submitted: Vec<(Time, Request, bool)>,
    pub completed: Vec<(Completion, Option<Time>)>,
}

impl Witness<dyn Model> for Seen {
    fn submitted(&mut self, at: Time, request: &Request, fua: bool) {
        self.submitted.push((at, *request, fua));
    }

    fn completed(&mut self, _: &Completion) {}

    fn delivered(&mut self, completion: &Completion, measured: Time) {
        self.completed.push((*completion, Some(measured)));
    }

    fn idle(&mut self, _: &mut (dyn Model + 'static), _: Time, _: &Punctuality) {}
}

/// Serves a device at `path` while `clients` run. Returns the observed requests.
pub fn serve(
    mut device: Box<dyn Model>,
    store: Store,
    export_bytes: u64,
    path: &Path,
    clients: impl FnOnce() + Send,
) -> (Seen, Punctuality) {
    let listener = Listener::new(&Address::Unix(path.to_owned())).expect("a socket");
    let control = Control::new().expect("a descriptor");
    let mut seen = Seen::default();
    let overhead = Overhead::none();
    let scale = Scale::new(1.0).expect("a scale");
    let export = Export { bytes: export_bytes, read_only: false };
    let setup = Setup { store, export, scale, overhead, orders: None, recording: None };
    let mut server = Server::new(&mut *device, &mut seen, setup, &control).expect("a server");
    let punctuality = std::thread::scope(|scope| {
        let clients = scope.spawn(|| {
            // A client's failed assertion must still stop the server.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(clients));
            control.stop();
            outcome
        });
        let punctuality = server.run(Some(&listener));
        if let Err(panic) = clients.join().expect("it was caught") {
            std::panic::resume_unwind(panic);
        }
        punctuality
    });
    drop(server);
    (seen, punctuality)
}

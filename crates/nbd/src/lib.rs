//! The live device: a simulated device that any program can use as a block device, over NBD.
//!
//! This is the only room with sockets and a wall clock. It takes an [`engine::Device`], tells it the
//! time and hands it requests, as the run loop does in a simulation, and answers each client at the
//! instant that the device says. It changes nothing of what a device decides.
//!
//! One thread does all of it ([`Server::run`]): a device is one state machine, so whoever waits for
//! its next event must also hear of every request; several spinning threads would only delay each
//! other. Only making a backing file durable, which may take long, has a thread of its own.
//!
//! [`Timing`] says how well the instants were met, and whether to believe latencies seen by clients.

mod clock;
mod connection;
mod control;
mod floor;
mod listen;
mod pending;
mod protocol;
mod server;
mod store;
mod syncer;
mod timing;

pub use clock::{Scale, realtime};
pub use control::Control;
pub use floor::Floor;
pub use listen::{Address, Listener};
pub use protocol::{Asked, Command, Event, MOST_DATA_BYTES, Refusal, Session};
pub use server::{Server, Setup, Witness};
pub use store::Store;
pub use timing::{Timing, Verdict};

use std::fmt;
use std::io;

/// Why there is no live device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// What the user asked for cannot be had.
    Input(String),
    /// The system refuses what any server needs.
    System(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(problem) | Error::System(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for Error {}

/// What the system says, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

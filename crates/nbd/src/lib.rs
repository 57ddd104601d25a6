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
//! [`Punctuality`] says how well the instants were met, and whether to believe latencies seen by clients.

mod answer;
mod answering;
mod asking;
mod attached;
mod chunks;
mod clients;
mod clock;
mod connection;
mod control;
mod disk_file;
mod error;
mod floor;
mod hearing;
mod listen;
mod local;
mod measure;
mod mount;
mod orders;
mod patience;
mod pending;
mod protocol;
mod punctuality;
mod recording;
mod replies;
mod server;
mod setup;
mod store;
mod syncer;
mod vhost;
mod virtio_disk;
mod waiting;

pub use clock::{Scale, realtime};
pub use control::Control;
pub use error::Error;
pub use floor::Floor;
pub use listen::{Address, Listener};
pub use local::{LocalClient, Reply, Wanted};
pub use mount::Mount;
pub use orders::Orders;
pub use protocol::{Asked, Command, Conversation, Event, Export, MOST_DATA_BYTES, Refusal};
pub use punctuality::{Punctuality, Verdict};
pub use recording::Recording;
pub use server::Server;
pub use setup::{Setup, Witness};
pub use store::Store;
pub use vhost::VhostUser;

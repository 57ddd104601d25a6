//! The live device: a simulated device that any program can use as a block device, over NBD or NVMe/TCP, as the
//! disk of a virtual machine (vhost-user), or as a file (FUSE).
//!
//! This is the only crate with sockets and a wall clock. It passes time and requests to an [`engine::Device`], as
//! the run loop does in a simulation, and replies to each client at the completion time of the model. It never
//! changes a decision of the device.
//!
//! A device is one state machine, so one thread per server ([`Server::run`]) waits for its next
//! event and receives every request; more spinning threads only delay each other. Other threads
//! sync a backing file (`syncer.rs`), negotiate for several servers at one socket (`door.rs`), and
//! carry TLS (`relay.rs`). Clients without a socket submit through a bounded queue (`local.rs`:
//! `mount.rs`, `vhost.rs`, `nvme/`).
//!
//! Client limits are in `room.rs`, control commands in `orders.rs`, recordings for crash tests in
//! `recording.rs`. [`Punctuality`] reports the timing accuracy, and tells if the latencies that
//! clients see are valid.

mod answer;
mod answering;
mod asking;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod attached;
mod catalogue;
mod chunks;
mod clients;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod clock;
mod connection;
mod control;
mod crowd;
mod disk_file;
mod door;
mod entrance;
mod error;
mod guest;
mod health;
mod hearing;
mod listen;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod local;
mod measure;
mod mount;
mod negotiation;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod nvme;
mod orders;
mod overhead;
mod patience;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod pending;
mod placement;
mod protocol;
mod punctuality;
mod recording;
mod relay;
mod replies;
mod room;
mod server;
mod setup;
mod store;
mod syncer;
mod tls;
mod vhost;
mod virtio_disk;
mod waiting;
mod wanted;
#[expect(unreachable_pub, reason = "items are marked pub where pub(crate) would do")]
mod zones;
mod zoning;

pub use catalogue::{Catalogue, Export, Offer, Security};
pub use clock::{Scale, realtime};
pub use control::Control;
pub use door::{Door, Relays};
pub use entrance::{Arrivals, Entrance, Passage, passage};
pub use error::Error;
pub use health::{Health, Served};
pub use listen::{Address, Listener};
pub use local::{LocalClient, Reply, Wanted};
pub use mount::Mount;
pub use nvme::{Namespace, NvmeTarget};
pub use orders::Orders;
pub use overhead::Overhead;
pub use placement::{Naming, Placement, PlacementEvent, PlacementHandle};
pub use protocol::{Asked, Command, Conversation, Event, MOST_DATA_BYTES, Refusal};
pub use punctuality::{Punctuality, Verdict};
pub use recording::Recording;
pub use server::Server;
pub use setup::{Setup, Witness};
pub use store::Store;
pub use tls::Tls;
pub use vhost::VhostUser;
pub use zones::{ZoneLimits, ZoneList, ZoneQuery, ZoneSeen, ZonesAltered};

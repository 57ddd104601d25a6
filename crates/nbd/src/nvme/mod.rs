//! The device as an `NVMe` drive on the network: a target of NVMe/TCP, without NBD.
//!
//! Devices are the namespaces of one subsystem. One thread reads the commands of hosts
//! (`target.rs`; a connection is a queue, `link.rs`), and passes them to the servers of the
//! namespaces as requests of clients within the process (`local.rs`), with their limits, faults,
//! recordings and verdicts. It never blocks on a server: at the limits of a client the command
//! waits in its queue. The server writes the reply when it is due; data that the host does not take
//! wait, at most one PDU of them (`output.rs`). `wire.rs` is the transport, a state machine from
//! bytes to events; `controller.rs` has the admin commands, `requests.rs` the I/O commands,
//! `host.rs` a small initiator.

#[cfg(test)]
mod codes_tests;
mod command;
mod controller;
mod copying;
mod host;
mod identify;
mod limits;
mod link;
mod logs;
mod namespaces;
mod output;
mod owed;
mod placement;
mod requests;
mod target;
#[cfg(test)]
mod tests;
mod wire;
mod zones;

pub use host::{NvmeHost, NvmeTerms};
pub use limits::{QUEUES_IN_ALL, SUBSYSTEM_NAME};
pub use namespaces::Namespace;
pub use target::NvmeTarget;

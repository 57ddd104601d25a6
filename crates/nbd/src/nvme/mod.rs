//! The device as an `NVMe` drive on the network: a target of NVMe/TCP, without NBD.
//!
//! Devices are the namespaces of one subsystem. A thread reads what hosts ask (`target.rs`; a connection
//! is a queue, `link.rs`), and hands it to the servers of the namespaces as requests of clients within the
//! process (`local.rs`): with their limits, faults, recordings and verdicts. The server writes the reply
//! when it is due (`output.rs`). `wire.rs` is the transport, `controller.rs` has the admin commands,
//! `requests.rs` those of I/O queues, `host.rs` is a small initiator.

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

//! The device as an `NVMe` drive on the network: an NVMe/TCP target, without NBD.
//!
//! Devices are namespaces of one subsystem. One thread reads the hosts' commands (`target.rs`; each
//! connection is a queue, `link.rs`). It passes them to the namespaces' servers as requests of
//! local clients (`local.rs`), with the same limits, faults, recordings and verdicts. It never
//! blocks on a server: at a client's limits the command waits in its queue. The server writes each
//! reply at its completion time; at most one PDU of unsent data per connection is buffered
//! (`output.rs`). `wire.rs` is the transport, a state machine from bytes to events. `controller.rs`
//! has the admin commands, `requests.rs` the I/O commands, `host.rs` a small initiator.

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

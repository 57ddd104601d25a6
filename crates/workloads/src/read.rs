//! Building blocks for reading traces: inputs, the beginning of a file, lines, fields, binary records.
//!
//! Formats are built from these; this module knows no format. `records.rs` reads whole traces, from
//! file name to records.

pub(crate) mod batch;
pub(crate) mod block_events;
pub(crate) mod clock;
pub(crate) mod columns;
pub(crate) mod decompress;
pub(crate) mod faults;
pub(crate) mod fields;
pub(crate) mod head;
pub(crate) mod inputs;
pub(crate) mod lines;
pub(crate) mod names;
pub(crate) mod plain;
pub(crate) mod reading;
pub(crate) mod resolve;
pub(crate) mod roles;
pub(crate) mod scsi;
pub(crate) mod siblings;
pub(crate) mod source;
pub(crate) mod stated;
pub(crate) mod words;

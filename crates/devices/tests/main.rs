//! The tests of the devices: one module for each question. `cargo test -p devices theory::` runs one.

mod account;
mod array;
mod buffered;
mod common;
mod conformance;
mod custom;
mod ended;
mod ftl;
mod health;
mod large;
mod options;
mod options_laws;
mod parallelism;
mod policies;
mod pools;
mod probe;
mod queueing;
mod rebuild;
mod regression;
mod side_by_side;
mod smoke;
mod snapshot;
mod suite;
mod theory;
mod timeline;
mod wear;

//! The tests of the live device between clients: one module for each question. `cargo test -p ssdlab-nbd kill::` runs one.

#![allow(unreachable_pub, reason = "nothing outside can reach into a test program")]

mod common;
mod door;
mod kill;
mod local;
mod server;

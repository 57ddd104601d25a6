//! The tests of the devices: one module for each question. `cargo test -p ssdlab-devices theory::` runs one.

#![allow(unreachable_pub, reason = "nothing outside can reach into a test program")]

mod account;
mod array;
mod array_cleaning;
mod array_unlike;
mod bad_blocks;
mod block_buffer;
mod buffered;
mod cache;
mod common;
mod conformance;
mod control_line;
mod copy_on_write;
mod copy_on_write_buffered;
mod custom;
mod diff_raid;
mod disk;
mod ended;
mod energy;
mod fdp;
mod ftl;
mod health;
mod hole;
mod in_order;
mod large;
mod log_blocks;
mod look;
mod map;
mod media;
mod one_drive;
mod options;
mod options_laws;
mod pair_commands;
mod parallelism;
#[cfg(feature = "planted")]
mod planted;
mod policies;
mod pools;
mod probe;
mod queue_classes;
mod queueing;
mod raid;
mod raid_keys;
mod rebuild;
mod regression;
mod side_by_side;
mod smoke;
mod snapshot;
mod suite;
mod theory;
mod thermal;
mod timeline;
mod wear;
mod zoned;

//! The tests of the lab: one module for each subject. `cargo test -p ssdlab-lab laws::` runs one.

#![allow(unreachable_pub, reason = "nothing outside can reach into a test program")]

mod ablation;
mod applications;
mod by_time;
mod cache;
mod classes;
mod commands;
mod common;
#[path = "../../devices/tests/common/depth.rs"]
mod depth;
mod digests;
mod ended;
mod experiment;
mod features;
mod in_force;
mod instructions;
mod large;
mod laws;
#[path = "../benches/loads/mod.rs"]
mod loads;
mod net;
mod original_arrays;
mod original_simulator;
mod peers;
mod preparation;
mod reference;
mod requests;
mod sampled;
mod scale;
mod snapshot;
mod speed;
mod steady;
mod stepped;
mod streams;
mod threads;
mod traces;
mod warm_up;
mod warnings;

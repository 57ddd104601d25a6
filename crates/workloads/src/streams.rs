//! Which of the seed's independent random streams serves which purpose of a workload.
//!
//! Workloads keep to the numbers from 16 up, so that none shares its draws with a device that
//! takes the low ones from the same seed. The numbers decide results: they never change.

/// What the next request of a closed loop is: its direction and whether it jumps.
pub(crate) const CLOSED_DECISIONS: u64 = 16;

/// Where a jumping request of a closed loop goes.
pub(crate) const CLOSED_POSITIONS: u64 = 17;

/// Every draw of the open generator, whose order is part of its definition.
pub(crate) const OPEN: u64 = 18;

//! Dies: the operation of each now, its waiting work, and the ends of operations.
//!
//! A machine: it receives reads, programs and erases, and reports their ends. It knows planes,
//! registers, buses and suspension, but no logical page. The caller passes the state of the rest of
//! the drive that matters to a die as a [`Sight`].
//!
//! There are two machines, one for each executor. Without a write buffer, `units.rs` and `lanes.rs` run fused operations
//! (read, program, move, copy-back, merge, erase), one event each where nothing can interfere. With one, `dies.rs` loads,
//! senses and programs plane by plane.
//!
//! Buses are reserved late: an operation holds its unit throughout, but takes the bus only when it reaches the
//! stage that needs it. Operations reach a bus in order of time, so first come first served needs no queue, and the
//! start is `max(now, free_at)`. When a read suspends a program, the end event of the program is cancelled, and the
//! program resumes with its remaining time; at most `suspend.limit` reads pass a waiting program.

mod batch;
mod buses;
mod costs;
mod dies;
mod halts;
mod lanes;
mod operation;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod units;

pub(crate) use batch::Batch;
pub use buses::Cargo;
pub(crate) use costs::Costs;
pub(crate) use costs::SLC_ROW;
pub use dies::HostRead;
pub(crate) use dies::{Dies, Ended, Sight};
pub use lanes::{Lanes, StageEnd};
pub use operation::{Cached, CellTimes, CostTable, FlashOp, OpKind, Plan, PlanId, Stage};
pub(crate) use rows::{Place, Row, Rows};
pub(crate) use state::{Job, ReadFor};
pub(crate) use units::{Reached, UnitEnd, Units, Work, op};

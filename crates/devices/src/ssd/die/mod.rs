//! Dies: what each does now, what waits for it, and when it ends.
//!
//! This is a machine beside others: it is told what to read, program and erase, and answers with what has
//! ended. It knows planes, registers, buses and suspension, but no logical page, and asks nobody: what of the
//! rest of the drive matters to a die, the caller shows it in a [`Sight`].

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

pub(in crate::ssd) use batch::Batch;
pub use buses::Cargo;
pub(in crate::ssd) use costs::Costs;
pub(in crate::ssd) use costs::SLC_ROW;
pub use dies::HostRead;
pub(in crate::ssd) use dies::{Dies, Ended, Operation, Sight};
pub use lanes::{Lanes, StageEnd};
pub use operation::{Cached, CellTimes, CostTable, FlashOp, OpKind, Plan, PlanId, Stage};
pub(in crate::ssd) use rows::{Place, Row, Rows};
pub(in crate::ssd) use state::{Job, Owner};
pub(in crate::ssd) use units::{Reached, UnitEnd, Units, Work, op};

//! The flash back end's hardware: the cell arrays, the operations and their costs, lanes and buses.

mod array;
mod damage;
mod effort;
mod lanes;
mod operation;
mod pairs;
mod ratings;

pub use array::Flash;
pub(in crate::ssd) use array::FlashState;
pub use damage::{Damage, Loose, Reading, Short, Torn};
pub use effort::Effort;
pub use lanes::{Finished, Lanes, StageEnd};
pub(in crate::ssd) use operation::copies_for_summary;
pub use operation::{Cached, CellTimes, CostTable, FlashOp, OpKind, Plan, PlanId, Stage};
pub use pairs::lower_of;
pub use ratings::Ratings;

//! Parts of every device: the traits that the lab knows, the host link, the slots of requests, and
//! what reports share.

pub mod building;
pub mod commands;
mod device_kind;
pub mod energy;
#[macro_use]
pub mod kit;
pub mod latency;
mod looks;
mod model;
#[macro_use]
mod report_tree;
mod together;
mod wear_map;

pub use building::{Tick, Unbuilt};
pub use device_kind::DeviceKind;
pub use energy::EnergyReport;
pub use kit::arbitration::{QueueAccount, QueueClass};
pub use kit::memory::MOST_MEMORY;
pub use looks::{BlockLook, DriveLook, Looks, UNKNOWN_STREAM, UNREADABLE};
pub use model::{CleaningNow, Condition, Constants, Division, Instruction, Model};
pub use report_tree::{Field, Formula, Report, counted};
pub use together::{Job, Run, Writes};
pub use wear_map::{MOST_CELLS, WearCell, WearMap};

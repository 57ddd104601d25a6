//! The flash back end's hardware: the cell arrays, the operations and their costs, lanes and buses.

mod array;
mod damage;
mod effort;
mod pairs;
mod ratings;

pub use array::Flash;
pub(crate) use array::FlashState;
pub use damage::{Damage, Loose, Reading, Short, Torn};
pub use effort::Effort;
pub(crate) use pairs::lower_in;
pub use pairs::lower_of;
pub use ratings::Ratings;

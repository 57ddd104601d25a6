//! What time and wear do to data: a clock of retention, the drift of levels, errors, and what a read makes of them.
//!
//! Physics alone: nothing here knows the map or what a controller remembers. [`law`](Law) has the equations,
//! [`ladder`](Ladder) what a read does, [`Media`] the state of a drive, 20 bytes a block and none per page: what a page
//! is like follows from a hash that stays the same until its block is erased, so that a page which fails goes on
//! failing, whoever reads it and in whatever order.

mod age;
mod cell;
mod code;
mod failing;
mod forms;
mod frailty;
mod ladder;
mod law;
mod lines;
mod losses;
mod normal;
mod place;
pub mod planted;
mod proof;
mod report;
mod resumed;
mod spread;
mod state;
mod tally;

pub use age::{AGE_EXPECTED, Age};
pub use code::hard_rate;
pub use failing::{Fleet, Lived};
pub use forms::{Aged, Forecast, Retries};
pub use frailty::Draws;
pub use ladder::{Ladder, Outcome, Rebuilt};
pub use law::{Law, MONTH, REFERENCE, YEAR, acceleration, days_at_fixed_references};
pub use lines::Lines;
pub use losses::Losses;
pub use normal::{chance_above, exceeded_with};
pub use place::{FlashPage, Found, Written};
pub use report::MediaReport;
pub use spread::{CODEWORD_BITS, SpreadOrigin, UBER, allowed, chance_lost, of_rating, widest};
pub use state::{Media, MediaState};

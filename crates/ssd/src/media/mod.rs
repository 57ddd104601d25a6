//! Retention, wear and read errors: a clock of retention, the drift of levels, and the steps of a read. Off by
//! default.
//!
//! Physics alone: nothing here knows the map or the memory of a controller. [`law`](Law) has the equations,
//! [`ladder`](Ladder) the steps of a read, [`Media`] the state of a drive, 20 bytes a block and none per page. The
//! error rate of a page follows from a hash of its place and the erasures of its block, so a failing page keeps
//! failing, whoever reads it and in whatever order. The flash owns this state, since it survives power cuts.
//!
//! `failing.rs` has dies and pages that fail, `losses.rs` the pages known to be lost, `forms.rs` the closed forms
//! of losses; for a drive that is simulated in part, these are over its own word lines (`lines.rs`). A controller
//! learns of old data only by reading: `patrol.rs` chooses the blocks, `wire/care.rs` acts, `ftl/caring.rs` moves
//! the data.

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
pub use report::{MediaReport, uber};
pub use spread::{CODEWORD_BITS, SpreadOrigin, UBER, allowed, chance_lost, of_rating, widest};
pub use state::{Media, MediaState};

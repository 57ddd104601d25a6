//! Retention, wear and read errors: retention clock, drift of levels, and steps of a read. Disabled
//! by default.
//!
//! This is physics only: it knows neither the map nor the controller's memory. [`law`](Law) has the
//! equations, [`ladder`](Ladder) the read steps, [`Media`] a drive's state: 20 bytes per block,
//! none per page. A page's error rate follows from a hash of its location and its block's erases. A
//! failing page therefore keeps failing, in any order of reads. The flash owns this state, because
//! it survives power cuts.
//!
//! `failing.rs` has dies and pages that fail, `losses.rs` the pages known to be lost, `forms.rs` the closed forms
//! of losses; for a drive that is simulated in part, these are over its own word lines (`lines.rs`). A controller
//! learns of old data only by reading: `patrol.rs` chooses the blocks, `executor/refresh.rs` acts, `ftl/refresh.rs` moves
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

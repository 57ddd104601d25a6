//! The wire between the machines of a drive: what one of them says is handed to the next, until all is said.
//!
//! The machines are the front (`front/`), the queues and the write buffer (`cache/`), dies (`die/`) and
//! relocations (`mover/`); beside them stand the FTL, which decides where pages go and has no time, and the
//! flash. No machine calls another. What follows from a message is put on a stack of what is [`Due`](super::due::Due) and taken from
//! there: nothing here calls itself, so nothing has to be kept from doing so.

mod aged;
mod ageing;
mod blocks;
mod buffer;
mod care;
mod due;
mod heat;
mod map;
mod own;
mod placement;
mod requests;
mod snapshots;
mod units;

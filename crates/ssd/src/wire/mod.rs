//! Features between the front and the [executor](super::executor): `blocks.rs`, `map.rs`,
//! `snapshots.rs` and `placement.rs` have one each, `own.rs` has operations of the whole drive.

mod blocks;
mod map;
mod own;
mod placement;
mod snapshots;

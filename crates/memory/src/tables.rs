//! Large tables: if memory is insufficient, the work is abandoned and the process continues.

use crate::refusable;
use std::alloc::{Layout, alloc_zeroed};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reason to abandon the work: a table exceeded the memory, or the [allowance](allow), in bytes.
///
/// It is the payload of a panic. No invariant is broken, so nothing is printed; the caller that
/// started the work catches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory {
    /// Size of the table.
    pub bytes: u64,
}

/// Remaining allowance for tables in total; dropping a table does not increase it.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Minimum size of counted tables.
const COUNTED: u64 = 1 << 10;
/// Minimum size of tables whose allocation is checked.
const LARGE: usize = 1 << 20;

/// Limits the total size of tables created from now on.
pub fn allow(bytes: u64) {
    LEFT.store(bytes, Ordering::Relaxed);
}

/// Removes the limit on tables.
pub fn allow_all() {
    allow(u64::MAX);
}

#[cold]
fn give_up(bytes: u64) -> ! {
    resume_unwind(Box::new(NoMemory { bytes }))
}

/// Abandons the work if the allowance does not cover `bytes`, which will be written.
fn count(bytes: usize) {
    let bytes = bytes as u64;
    if bytes < COUNTED {
        return;
    }
    let left = LEFT.load(Ordering::Relaxed);
    if bytes > left {
        give_up(bytes);
    }
    if left != u64::MAX {
        LEFT.store(left - bytes, Ordering::Relaxed);
    }
}

/// Types whose values may be all zero bytes.
pub trait Zeroed: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! zeroed {
    ($($number:ty)+) => { $(impl sealed::Sealed for $number {} impl Zeroed for $number {})+ };
}
zeroed!(bool u8 u16 u32 u64 usize i32 i64 f32);

/// A zeroed table, in memory that the system allocates when it is written.
///
/// # Panics
/// With [`NoMemory`].
#[allow(unsafe_code)]
pub fn zeroed<T: Zeroed>(length: usize) -> Vec<T> {
    let Ok(layout) = Layout::array::<T>(length) else { give_up(u64::MAX) };
    if layout.size() == 0 {
        return Vec::new();
    }
    // SAFETY: the layout has a nonzero size.
    let start = refusable(|| unsafe { alloc_zeroed(layout) });
    if start.is_null() {
        give_up(layout.size() as u64);
    }
    // SAFETY: the layout is an array of `length` entries, which may be all zeros by the sealed
    // trait `Zeroed`.
    unsafe {
        let mut table = Vec::from_raw_parts(start.cast(), 0, length);
        table.set_len(length);
        table
    }
}

/// A table with the same value everywhere.
///
/// # Panics
/// With [`NoMemory`].
pub fn filled<T: Clone>(value: T, length: usize) -> Vec<T> {
    let bytes = length.saturating_mul(size_of::<T>());
    if bytes >= LARGE {
        drop(with_capacity::<T>(length));
    } else {
        count(bytes);
    }
    // Zeroed memory is allocated when it is written.
    vec![value; length]
}

/// An empty table with room for `length` values.
///
/// # Panics
/// With [`NoMemory`].
pub fn with_capacity<T>(length: usize) -> Vec<T> {
    let bytes = length.saturating_mul(size_of::<T>());
    count(bytes);
    let mut table = Vec::new();
    if refusable(|| table.try_reserve_exact(length)).is_err() {
        give_up(bytes as u64);
    }
    table
}

/// Extends a table to a minimum length with copies of a value.
///
/// # Panics
/// With [`NoMemory`].
#[inline]
pub fn grow<T: Clone>(table: &mut Vec<T>, length: usize, value: T) {
    if length > table.len() {
        lengthen(table, length, value);
    }
}

#[inline(never)]
fn lengthen<T: Clone>(table: &mut Vec<T>, length: usize, value: T) {
    let before = table.capacity();
    if refusable(|| table.try_reserve(length - table.len())).is_err() {
        give_up(length.saturating_mul(size_of::<T>()) as u64);
    }
    count((table.capacity() - before) * size_of::<T>());
    table.resize(length, value);
}

/// A table of `length` values made from their index.
///
/// # Panics
/// With [`NoMemory`].
pub fn made<T>(length: usize, make: impl FnMut(usize) -> T) -> Vec<T> {
    let mut table = with_capacity(length);
    table.extend((0..length).map(make));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    /// Runs `work`, and returns the failed allocation if it was abandoned, without a panic message.
    fn given_up<T>(work: impl FnOnce() -> T + std::panic::UnwindSafe) -> Option<NoMemory> {
        let panic = catch_unwind(work).err()?;
        Some(*panic.downcast_ref::<NoMemory>().expect("nothing else goes wrong"))
    }

    #[test]
    fn tables_are_as_they_are_asked_for() {
        assert_eq!(zeroed::<u32>(1000), [0; 1000]);
        assert_eq!(zeroed::<u64>(0), []);
        assert_eq!(filled((1, 'a'), 3), [(1, 'a'); 3]);
        assert_eq!(made(4, |place| place * place), [0, 1, 4, 9]);
        let mut table = vec![1];
        grow(&mut table, 3, 7);
        grow(&mut table, 2, 8);
        assert_eq!(table, [1, 7, 7]);
    }

    #[test]
    fn what_does_not_go_into_memory_is_given_up() {
        let too_much = 1 << 60;
        assert_eq!(given_up(|| zeroed::<u8>(too_much)), Some(NoMemory { bytes: 1 << 60 }));
        assert_eq!(given_up(|| filled(1u8, too_much)), Some(NoMemory { bytes: 1 << 60 }));
        assert_eq!(given_up(|| zeroed::<u64>(usize::MAX)), Some(NoMemory { bytes: u64::MAX }));
        assert!(given_up(|| grow(&mut vec![0u64], too_much, 1)).is_some());
        assert!(given_up(|| made(too_much, |place| place)).is_some());
        assert!(given_up(|| zeroed::<u8>(1 << 20)).is_none(), "the next one is made");
    }
}

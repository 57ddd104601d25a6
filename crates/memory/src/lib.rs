//! The memory of the engine: large tables, prefetch and large pages.
//!
//! Devices create [tables] only here, so that a failed allocation does not end the process. The
//! crate gives the machine two hints that never change a result: prefetching a table entry, and
//! large pages for randomly accessed tables. All `unsafe` code of the engine is here; each use
//! states why it is sound.

mod last_resort;
mod tables;

pub use last_resort::LastResort;
pub use tables::{NoMemory, allow, allow_all, filled, grow, made, with_capacity, zeroed};

use std::cell::Cell;

thread_local! {
    /// True while an allocation may fail.
    static MAY_BE_REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, which handles failed allocations.
fn refusable<T>(work: impl FnOnce() -> T) -> T {
    let before = MAY_BE_REFUSED.replace(true);
    let done = work();
    MAY_BE_REFUSED.set(before);
    done
}

/// Prefetches a table entry into the cache. Has no effect beyond the table's end, or on machines
/// without the instruction.
#[inline]
#[allow(unsafe_code)]
pub fn prefetch<T>(table: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = table.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: for the language a prefetch neither reads nor writes, and it never faults. Every
        // x86-64 processor has it, and the pointer refers to a live entry anyway.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, index);
}

/// Sizes of tables that gain from large pages. Smaller tables fit in the cache; larger ones are
/// often touched only in part, so large pages would waste memory.
const WORTH_IT: std::ops::Range<usize> = 8 << 20..1 << 29;

/// Requests large pages for a table before its first write; has no effect where unsupported or not
/// worthwhile.
///
/// Random accesses to a table usually walk the page table; with large pages they rarely do. The
/// price is memory: touching one entry takes 2 MB.
pub fn prefer_large_pages<T>(table: &mut [T]) {
    if size_of_val(table) < WORTH_IT.end {
        large_pages_where_full(table);
    }
}

/// Requests large pages for a table of any size that will be mostly written.
#[allow(unsafe_code)]
pub fn large_pages_where_full<T>(table: &mut [T]) {
    let bytes = size_of_val(table);
    if bytes < WORTH_IT.start {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::mm::{Advice, madvise};
        const LARGE: usize = 2 << 20;
        // Only whole large pages inside the table; neighbouring memory belongs to others.
        let start = table.as_mut_ptr() as usize;
        let first = start.next_multiple_of(LARGE);
        let len = (start + bytes).saturating_sub(first) / LARGE * LARGE;
        if len == 0 {
            return;
        }
        // SAFETY: the range lies within a live table that is borrowed for the call, and this advice never
        // changes what the memory holds.
        let _ = unsafe { madvise(first as *mut _, len, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_change_nothing() {
        let mut table = vec![0u32; 16 << 20];
        prefer_large_pages(&mut table);
        table[5_000_000] = 7;
        for index in [0, 5_000_000, table.len() - 1, table.len(), usize::MAX] {
            prefetch(&table, index);
        }
        assert_eq!(table.iter().filter(|entry| **entry != 0).count(), 1);
        prefer_large_pages::<u64>(&mut []);
        prefer_large_pages(&mut table[..3]);
        large_pages_where_full(&mut table);
        assert_eq!(table[5_000_000], 7);
    }

    /// On systems that report large pages and grant them on request.
    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "what the system did, only the system can say")]
    fn a_large_table_is_backed_by_large_pages_where_the_system_has_them() {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if !setting.is_ok_and(|it| it.contains("[madvise]") || it.contains("[always]")) {
            return;
        }
        let mut table = vec![0u8; 64 << 20];
        prefer_large_pages(&mut table);
        table.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        let address = table.as_ptr() as usize + (32 << 20);
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        if !maps.contains("VmFlags:") {
            return;
        }
        let mut inside = false;
        let advised = maps.lines().any(|line| {
            if let Some((from, rest)) = line.split_once('-')
                && let (Ok(from), Some(Ok(to))) = (
                    usize::from_str_radix(from, 16),
                    rest.split(' ').next().map(|to| usize::from_str_radix(to, 16)),
                )
            {
                inside = (from..to).contains(&address);
            }
            inside && line.starts_with("VmFlags:") && line.split(' ').any(|flag| flag == "hg")
        });
        assert!(advised, "the kernel was told");
    }
}

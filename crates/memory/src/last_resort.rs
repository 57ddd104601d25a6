//! Last resort when memory is exhausted: one line and exit status 2 instead of an abort.
//!
//! Device tables do not come here, because their allocation may fail ([`tables`](crate::tables)).
//! This covers the many small allocations of a run and of libraries.

use crate::MAY_BE_REFUSED;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::{self, Write};

/// Exit status for input that needs too much memory.
const WRONG_INPUT: i32 = 2;

/// The system's allocator, which ends the process with a message when memory is exhausted.
#[derive(Debug)]
pub struct LastResort;

#[allow(unsafe_code)]
// SAFETY: every call goes to the system allocator, with the same arguments.
unsafe impl GlobalAlloc for LastResort {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are the same.
        found(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are the same.
        found(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's obligations are the same.
        found(unsafe { System.realloc(start, layout, size) }, size)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's obligations are the same.
        unsafe { System.dealloc(start, layout) }
    }
}

#[inline]
fn found(start: *mut u8, bytes: usize) -> *mut u8 {
    if start.is_null() && !MAY_BE_REFUSED.try_with(Cell::get).unwrap_or(true) {
        end(bytes);
    }
    start
}

/// A line of text on the stack.
struct StackText {
    text: [u8; 160],
    length: usize,
}

impl Write for StackText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.length + part.len();
        self.text.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(part.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cold]
#[allow(unsafe_code)]
fn end(bytes: usize) -> ! {
    let mut line = StackText { text: [0; 160], length: 0 };
    let mib = bytes.div_ceil(1 << 20);
    let _ = writeln!(
        line,
        "ssdlab: there is no memory for {mib} MiB more; a larger device.scale or less to keep of the run takes less"
    );
    #[cfg(unix)]
    // SAFETY: the text is valid for its length; `_exit` runs no exit handlers.
    unsafe {
        libc::write(2, line.text.as_ptr().cast(), line.length);
        libc::_exit(WRONG_INPUT)
    }
    #[cfg(not(unix))]
    std::process::exit(WRONG_INPUT)
}

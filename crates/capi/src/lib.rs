//! `libssdlab`: a drive stepped by C programs; `include/ssdlab.h` documents each function.
//!
//! The functions here dereference the caller's pointers; the rest is safe Rust (`handle.rs`). None
//! panics: a panic becomes an error. There are no threads and no global state; each handle has one
//! owner at a time.

#![expect(unsafe_code, reason = "the boundary to C: every function follows pointers of the caller")]

mod handle;

use devices::latency::LATENCY_PARTS;
use handle::{CAnswer, CCode, CDrive, CRequest, guarded, text};
use lab::{Op, Status};
use std::ffi::{CStr, CString, c_char};
use std::ptr::null;

/// Version of the ABI, which rises when programs must be recompiled.
const ABI: u32 = 1;
/// No time: there is no event, or the call advances until all requests are complete.
const NEVER: u64 = u64::MAX;

/// A string of the caller.
///
/// # Safety
/// The pointer is null or a zero-terminated string that does not change for `'a`.
unsafe fn words<'a>(text: *const c_char) -> Result<&'a str, CCode> {
    if text.is_null() {
        return Err(CCode::Argument);
    }
    // SAFETY: the caller promises a zero-terminated string.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| CCode::Argument)
}

/// Result code of an outcome.
fn number(done: Result<(), CCode>) -> i32 {
    done.err().unwrap_or(CCode::Ok) as i32
}

/// The ABI version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_abi() -> u32 {
    ABI
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn ssdlab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Prepares a drive.
///
/// # Safety
/// `device` is null or a string, `settings` has `count` strings, `out` points to a pointer, and
/// `message` is null or has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_open(
    device: *const c_char,
    settings: *const *const c_char,
    count: usize,
    out: *mut *mut CDrive,
    message: *mut c_char,
    room: usize,
) -> i32 {
    if out.is_null() || settings.is_null() && count > 0 {
        return CCode::Argument as i32;
    }
    let opened = guarded(|| {
        let refused = |code| (code, "a text is null or not UTF-8".to_owned());
        // SAFETY: the caller promises a string.
        let named = (!device.is_null()).then(|| unsafe { words(device) });
        let named = named.transpose().map_err(refused)?;
        // SAFETY: the caller promises `count` pointers to strings.
        let stated = (0..count).map(|number| unsafe { words(*settings.add(number)) });
        let stated = stated.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        CDrive::open(named, &stated)
    });
    let (handle, code, problem) = match opened {
        Ok(handle) => (Box::into_raw(Box::new(handle)), CCode::Ok, CString::default()),
        Err((code, problem)) => (std::ptr::null_mut(), code, text(&problem)),
    };
    // SAFETY: the pointer is not null, and the caller promises that it is writable.
    unsafe { out.write(handle) };
    if !message.is_null() && room > 0 {
        // SAFETY: the caller promises `room` bytes.
        unsafe { put(problem.to_str().unwrap_or_default(), message, room) };
    }
    code as i32
}

/// Closes a drive and sets the pointer to null, so that later calls find no drive.
///
/// # Safety
/// `drive` is null, or points to a pointer that is null or an open drive without copies of the
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_close(drive: *mut *mut CDrive) {
    // SAFETY: the caller promises a valid pointer or null.
    let Some(place) = (unsafe { drive.as_mut() }) else { return };
    let closed = std::mem::replace(place, std::ptr::null_mut());
    if !closed.is_null() {
        // SAFETY: `Box::into_raw` made the pointer, and the caller gives it up.
        let handle = unsafe { Box::from_raw(closed) };
        let _ = guarded(|| {
            drop(handle);
            Ok(())
        });
    }
}

/// Message of the last failed call.
///
/// # Safety
/// `drive` is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_message(drive: *const CDrive) -> *const c_char {
    // SAFETY: the caller promises an open drive.
    let handle = unsafe { drive.as_ref() };
    let none = c"no drive: the pointer is null, as after ssdlab_close";
    handle.map_or(none.as_ptr(), |handle| handle.message().as_ptr())
}

/// Capacity of the drive in bytes; 0 without a drive.
///
/// # Safety
/// `drive` is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_capacity_bytes(drive: *const CDrive) -> u64 {
    // SAFETY: the caller promises an open drive.
    let drive = unsafe { drive.as_ref() }.and_then(CDrive::drive);
    drive.map_or(0, lab::SteppedDrive::capacity_bytes)
}

/// Current time of the drive, ns.
///
/// # Safety
/// `drive` is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_now_ns(drive: *const CDrive) -> u64 {
    // SAFETY: the caller promises an open drive.
    let drive = unsafe { drive.as_ref() }.and_then(CDrive::drive);
    drive.map_or(0, lab::SteppedDrive::now)
}

/// Time of the next event, ns; `NEVER` without one.
///
/// # Safety
/// `drive` is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_next_event_ns(drive: *const CDrive) -> u64 {
    // SAFETY: the caller promises an open drive.
    let drive = unsafe { drive.as_ref() }.and_then(CDrive::drive);
    drive.and_then(lab::SteppedDrive::next_event).unwrap_or(NEVER)
}

/// Submits a request, and stores its tag.
///
/// # Safety
/// `drive` is null or an open drive, `request` is valid, and `tag` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_submit(
    drive: *mut CDrive,
    at_ns: u64,
    request: *const CRequest,
    tag: *mut u64,
) -> i32 {
    // SAFETY: both are null or as the caller promises.
    let (handle, asked) = unsafe { (drive.as_mut(), request.as_ref()) };
    let (Some(handle), Some(asked)) = (handle, asked) else { return CCode::Argument as i32 };
    number(handle.submit(at_ns, asked).map(|id| {
        if !tag.is_null() {
            // SAFETY: the pointer is not null, and the caller promises that it is writable.
            unsafe { tag.write(id) };
        }
    }))
}

/// Advances the drive, and returns completions.
///
/// # Safety
/// `drive` is null or an open drive; `answers` and `count` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_advance(
    drive: *mut CDrive,
    to_ns: u64,
    answers: *mut *const CAnswer,
    count: *mut usize,
) -> i32 {
    // SAFETY: the caller promises the same.
    unsafe { step(drive, to_ns, false, answers, count) }
}

/// Advances the drive to the next completion at most, and returns completions.
///
/// # Safety
/// `drive` is null or an open drive; `answers` and `count` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_advance_to_answer(
    drive: *mut CDrive,
    to_ns: u64,
    answers: *mut *const CAnswer,
    count: *mut usize,
) -> i32 {
    // SAFETY: the caller promises the same.
    unsafe { step(drive, to_ns, true, answers, count) }
}

/// Advances the drive.
///
/// # Safety
/// `drive` is null or an open drive; `answers` and `count` are null or writable.
unsafe fn step(
    drive: *mut CDrive,
    to_ns: u64,
    is_to_answer: bool,
    answers: *mut *const CAnswer,
    count: *mut usize,
) -> i32 {
    // SAFETY: it is null or an open drive.
    let Some(handle) = (unsafe { drive.as_mut() }) else { return CCode::Argument as i32 };
    if answers.is_null() || count.is_null() {
        return CCode::Argument as i32;
    }
    let done = handle.advance((to_ns != NEVER).then_some(to_ns), is_to_answer);
    let (first, length) = done.map_or((null(), 0), |these| (these.as_ptr(), these.len()));
    // SAFETY: neither pointer is null, and the caller promises that both are writable.
    unsafe {
        answers.write(first);
        count.write(length);
    }
    number(done.map(|_| ()))
}

/// Results so far as JSON; null on failure.
///
/// # Safety
/// `drive` is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_report(drive: *mut CDrive) -> *const c_char {
    // SAFETY: the caller promises an open drive.
    let handle = unsafe { drive.as_mut() };
    handle.and_then(|it| it.report().ok()).map_or(null(), |report| report.as_ptr())
}

/// Writes the drive's write buffer to the flash.
///
/// # Safety
/// `drive` is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_shut_down(drive: *mut CDrive) -> i32 {
    // SAFETY: the caller promises an open drive.
    let handle = unsafe { drive.as_mut() };
    handle.map_or(CCode::Argument as i32, |handle| number(handle.shut_down()))
}

/// Writes the drive's state to a file.
///
/// # Safety
/// `drive` is null or an open drive, and `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_save(drive: *mut CDrive, path: *const c_char) -> i32 {
    // SAFETY: both are null or as the caller promises.
    let (handle, path) = unsafe { (drive.as_mut(), words(path)) };
    let (Some(handle), Ok(path)) = (handle, path) else { return CCode::Argument as i32 };
    number(handle.save(path))
}

/// A clone of the drive.
///
/// # Safety
/// `drive` is null or an open drive, and `out` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_clone(drive: *mut CDrive, out: *mut *mut CDrive) -> i32 {
    // SAFETY: it is null or an open drive.
    let Some(handle) = (unsafe { drive.as_mut() }) else { return CCode::Argument as i32 };
    if out.is_null() {
        return CCode::Argument as i32;
    }
    let made = handle.cloned().map(|it| Box::into_raw(Box::new(it)));
    // SAFETY: the pointer is not null, and the caller promises that it is writable.
    unsafe { out.write(*made.as_ref().unwrap_or(&std::ptr::null_mut())) };
    number(made.map(|_| ()))
}

/// Name of an operation, a status or a latency part, by number.
///
/// # Safety
/// `name` has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_name(
    table: u32,
    number: u32,
    name: *mut c_char,
    room: usize,
) -> i32 {
    let tables = [
        Op::ALL.map(Op::name).to_vec(),
        Status::ALL.map(Status::name).to_vec(),
        LATENCY_PARTS.iter().map(|part| part.key).collect(),
    ];
    let found = tables.get(table as usize).and_then(|names| names.get(number as usize)).copied();
    let Some(found) = found.filter(|it| it.len() < room && !name.is_null()) else {
        return CCode::Argument as i32;
    };
    // SAFETY: the caller promises `room` bytes, which do not overlap the library's memory.
    unsafe { put(found, name, room) };
    CCode::Ok as i32
}

/// Writes a zero-terminated string, truncated to the buffer.
///
/// # Safety
/// `place` has `room` bytes, at least one.
unsafe fn put(text: &str, place: *mut c_char, room: usize) {
    let length = (0..room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    // SAFETY: `length` bytes and a zero fit into the promised buffer, which does not overlap the
    // library's memory.
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr().cast(), length);
        place.add(length).write(0);
    }
}

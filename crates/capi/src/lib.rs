//! `libssdlab`: a drive that programs in C step; `include/ssdlab.h` says how each function is used.
//!
//! The functions here follow the pointers of the caller; the rest is safe Rust (`handle.rs`). None panics: a panic
//! within becomes an error. There is no thread and no state beside the handles, each of which has one owner at a time.

#![expect(unsafe_code, reason = "the boundary to C: every function follows pointers of the caller")]

mod handle;

use devices::latency::LATENCY_PARTS;
use handle::{CAnswer, CCode, CDrive, CRequest, guarded, text};
use lab::{Op, Status};
use std::ffi::{CStr, CString, c_char};
use std::ptr::null;

/// The version of this boundary, which rises when a program must be compiled anew.
const ABI: u32 = 1;
/// No time: there is no event, or time is to pass until everything is answered.
const NEVER: u64 = u64::MAX;

/// A text of the caller.
///
/// # Safety
/// It is null or a text that ends with a zero, and stays as it is for `'a`.
unsafe fn words<'a>(text: *const c_char) -> Result<&'a str, CCode> {
    if text.is_null() {
        return Err(CCode::Argument);
    }
    // SAFETY: the caller promises a text that ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| CCode::Argument)
}

/// The number of an outcome.
fn number(done: Result<(), CCode>) -> i32 {
    done.err().unwrap_or(CCode::Ok) as i32
}

/// The version of the boundary that the library has.
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
/// `device` is null or a text, `settings` has `count` texts, `out` has room for a pointer and `message` for `room`
/// bytes; `message` may be null.
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
        // SAFETY: each text is one of the caller's.
        let named = (!device.is_null()).then(|| unsafe { words(device) });
        let named = named.transpose().map_err(refused)?;
        // SAFETY: there are `count` pointers, each to a text.
        let stated = (0..count).map(|number| unsafe { words(*settings.add(number)) });
        let stated = stated.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        CDrive::open(named, &stated)
    });
    let (handle, code, problem) = match opened {
        Ok(handle) => (Box::into_raw(Box::new(handle)), CCode::Ok, CString::default()),
        Err((code, problem)) => (std::ptr::null_mut(), code, text(&problem)),
    };
    // SAFETY: it is not null, and the caller promises room.
    unsafe { out.write(handle) };
    if !message.is_null() && room > 0 {
        // SAFETY: the caller promises room for as many bytes.
        unsafe { put(problem.to_str().unwrap_or_default(), message, room) };
    }
    code as i32
}

/// Ends a drive, whose pointer is null then: no call finds a drive that is closed.
///
/// # Safety
/// It is null, or the place of a pointer that is null or an open drive, of which there is no copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_close(drive: *mut *mut CDrive) {
    // SAFETY: the caller promises a place, or null.
    let Some(place) = (unsafe { drive.as_mut() }) else { return };
    let closed = std::mem::replace(place, std::ptr::null_mut());
    if !closed.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and the caller gives it up.
        let handle = unsafe { Box::from_raw(closed) };
        let _ = guarded(|| {
            drop(handle);
            Ok(())
        });
    }
}

/// The message of the last call that failed.
///
/// # Safety
/// It is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_message(drive: *const CDrive) -> *const c_char {
    // SAFETY: the caller promises an open drive.
    let handle = unsafe { drive.as_ref() };
    let none = c"no drive: the pointer is null, as after ssdlab_close";
    handle.map_or(none.as_ptr(), |handle| handle.message().as_ptr())
}

/// The bytes that the drive offers; 0 of none.
///
/// # Safety
/// It is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_capacity_bytes(drive: *const CDrive) -> u64 {
    // SAFETY: the caller promises an open drive.
    let drive = unsafe { drive.as_ref() }.and_then(CDrive::drive);
    drive.map_or(0, lab::SteppedDrive::capacity_bytes)
}

/// The present of the drive, ns.
///
/// # Safety
/// It is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_now_ns(drive: *const CDrive) -> u64 {
    // SAFETY: the caller promises an open drive.
    let drive = unsafe { drive.as_ref() }.and_then(CDrive::drive);
    drive.map_or(0, lab::SteppedDrive::now)
}

/// Time of the next event, ns, or never.
///
/// # Safety
/// It is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_next_event_ns(drive: *const CDrive) -> u64 {
    // SAFETY: the caller promises an open drive.
    let drive = unsafe { drive.as_ref() }.and_then(CDrive::drive);
    drive.and_then(lab::SteppedDrive::next_event).unwrap_or(NEVER)
}

/// Hands over a request; its tag.
///
/// # Safety
/// `drive` is null or an open drive, `request` a request, and `tag` null or room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_submit(
    drive: *mut CDrive,
    at_ns: u64,
    request: *const CRequest,
    tag: *mut u64,
) -> i32 {
    // SAFETY: both are null or what the caller promises.
    let (handle, asked) = unsafe { (drive.as_mut(), request.as_ref()) };
    let (Some(handle), Some(asked)) = (handle, asked) else { return CCode::Argument as i32 };
    number(handle.submit(at_ns, asked).map(|id| {
        if !tag.is_null() {
            // SAFETY: it is not null, and the caller promises room.
            unsafe { tag.write(id) };
        }
    }))
}

/// Lets time pass; the answers.
///
/// # Safety
/// `drive` is null or an open drive, `answers` and `count` have room for a pointer and a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_advance(
    drive: *mut CDrive,
    to_ns: u64,
    answers: *mut *const CAnswer,
    count: *mut usize,
) -> i32 {
    // SAFETY: it is null or an open drive.
    let Some(handle) = (unsafe { drive.as_mut() }) else { return CCode::Argument as i32 };
    if answers.is_null() || count.is_null() {
        return CCode::Argument as i32;
    }
    let done = handle.advance((to_ns != NEVER).then_some(to_ns));
    let (first, length) = done.map_or((null(), 0), |these| (these.as_ptr(), these.len()));
    // SAFETY: neither is null, and the caller promises room.
    unsafe {
        answers.write(first);
        count.write(length);
    }
    number(done.map(|_| ()))
}

/// The results so far, as JSON; null where that fails.
///
/// # Safety
/// It is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_report(drive: *mut CDrive) -> *const c_char {
    // SAFETY: the caller promises an open drive.
    let handle = unsafe { drive.as_mut() };
    handle.and_then(|it| it.report().ok()).map_or(null(), |report| report.as_ptr())
}

/// The write buffer of the drive is to be written to the flash.
///
/// # Safety
/// It is null or an open drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_shut_down(drive: *mut CDrive) -> i32 {
    // SAFETY: the caller promises an open drive.
    let handle = unsafe { drive.as_mut() };
    handle.map_or(CCode::Argument as i32, |handle| number(handle.shut_down()))
}

/// Writes the drive to a file.
///
/// # Safety
/// `drive` is null or an open drive, and `path` null or a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_save(drive: *mut CDrive, path: *const c_char) -> i32 {
    // SAFETY: both are null or what the caller promises.
    let (handle, path) = unsafe { (drive.as_mut(), words(path)) };
    let (Some(handle), Ok(path)) = (handle, path) else { return CCode::Argument as i32 };
    number(handle.save(path))
}

/// A clone of the drive.
///
/// # Safety
/// `drive` is null or an open drive, and `out` has room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssdlab_clone(drive: *mut CDrive, out: *mut *mut CDrive) -> i32 {
    // SAFETY: it is null or an open drive.
    let Some(handle) = (unsafe { drive.as_mut() }) else { return CCode::Argument as i32 };
    if out.is_null() {
        return CCode::Argument as i32;
    }
    let made = handle.cloned().map(|it| Box::into_raw(Box::new(it)));
    // SAFETY: it is not null, and the caller promises room.
    unsafe { out.write(*made.as_ref().unwrap_or(&std::ptr::null_mut())) };
    number(made.map(|_| ()))
}

/// The name behind a number: of an operation, a status or a part of a latency.
///
/// # Safety
/// `name` has room for `room` bytes.
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
    // SAFETY: the caller promises room for the name and a zero, and it is no memory of ours.
    unsafe { put(found, name, room) };
    CCode::Ok as i32
}

/// Writes a text and a zero, as much of the text as there is room for.
///
/// # Safety
/// There is room for that many bytes, at least one.
unsafe fn put(text: &str, place: *mut c_char, room: usize) {
    let length = (0..room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    // SAFETY: `length` and a zero fit into the room that the caller promises, which is no memory of ours.
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr().cast(), length);
        place.add(length).write(0);
    }
}

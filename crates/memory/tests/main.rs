//! Out of memory a process ends with one line and exit status 2; a failed device table leaves the
//! process running.
#![cfg(target_os = "linux")]

use memory::{LastResort, NoMemory};
use std::env;
use std::hint::black_box;
use std::panic::catch_unwind;
use std::process::{Command, Output};

#[global_allocator]
static ALLOCATOR: LastResort = LastResort;

/// The task of a child.
const CHILD: &str = "SSDLAB_LAST_RESORT";
/// Address space of a child, KiB: enough for the program but not for a table of `TABLE` bytes.
const LIMIT_KIB: usize = 256 << 10;
const TABLE: usize = 300 << 20;

/// Runs this program again as a process with limited address space, for one task.
fn child(what: &str) -> Output {
    let shell = format!(
        "ulimit -v {LIMIT_KIB}; exec \"$0\" --exact is_a_child --ignored --nocapture --test-threads=1"
    );
    Command::new("sh")
        .args(["-c", &shell])
        .arg(env::current_exe().unwrap())
        .env(CHILD, what)
        .output()
        .unwrap()
}

#[test]
#[ignore = "a process that other tests start"]
fn is_a_child() {
    match env::var(CHILD).as_deref() {
        Err(_) => {} // run with all that are ignored
        Ok("one") => drop(black_box(vec![1_u8; TABLE])),
        Ok("zeroes") => drop(black_box(vec![0_u64; TABLE / 8])),
        Ok("grows") => {
            let mut all: Vec<u64> = Vec::new();
            while all.len() < TABLE / 8 {
                all.push(all.len() as u64);
            }
            drop(black_box(all));
        }
        Ok("many") => {
            drop(black_box((0..TABLE >> 12).map(|_| vec![1_u8; 4096]).collect::<Vec<_>>()));
        }
        Ok("refused") => {
            let refused = catch_unwind(|| memory::zeroed::<u64>(TABLE / 8)).unwrap_err();
            assert_eq!(refused.downcast_ref::<NoMemory>().unwrap().bytes, TABLE as u64);
            drop(black_box(vec![1_u8; 1 << 20]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_process_without_memory_ends_with_a_line() {
    for what in ["one", "zeroes", "grows", "many"] {
        let done = child(what);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{what}: {done:?}");
        assert!(said.starts_with("ssdlab: there is no memory for "), "{what}: {said}");
        assert_eq!(said.lines().count(), 1, "{what}: {said}");
    }
}

#[test]
fn a_table_that_may_be_refused_ends_no_process() {
    let done = child("refused");
    assert!(done.status.success(), "{done:?}");
}

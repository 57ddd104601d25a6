//! The fingerprint of the engine: a hash of all sources that affect a prepared drive, so that a
//! changed engine never reuses states of another version.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates on which a prepared state depends.
const ROOMS: [&str; 11] = [
    "engine",
    "options",
    "memory",
    "ssd",
    "array",
    "cache_device",
    "disk",
    "service_law",
    "devices",
    "workloads",
    "lab",
];

fn main() {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let rooms = own.parent().expect("a crate lies in a folder").to_owned();
    let mut files = Vec::new();
    for room in ROOMS {
        let room = rooms.join(room);
        files.push(room.join("Cargo.toml"));
        collect(&room.join("src"), &mut files);
    }
    collect(&own.join("presets"), &mut files);
    files.push(rooms.join("../Cargo.lock"));
    files.sort();
    let mut hash = Fnv::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&rooms).unwrap_or(&file).to_string_lossy().into_owned();
        // Missing files, as in a package of a single crate, have no effect.
        let content = fs::read(&file).unwrap_or_default();
        hash.add(name.as_bytes());
        hash.add(&content);
    }
    println!("cargo::rustc-env=SSDLAB_ENGINE={:032x}", hash.0);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// FNV-1a with 128 bits: it distinguishes versions of the sources, and need not resist forgery.
struct Fnv(u128);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 ^= u128::from(*byte);
            self.0 = self.0.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}

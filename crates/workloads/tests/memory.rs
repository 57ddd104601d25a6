//! Reading a trace needs constant memory for any length. This is a separate program, so that no
//! other tests share its memory.

use std::io::Read;
use workloads::{Inputs, ReadOptions, Records};

/// A file of lines generated on demand.
struct Lines(u64, u64, Vec<u8>);

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.2.len() < buffer.len() && self.0 < self.1 {
            let number = self.0;
            let line = format!("{}.{:03} 0 {} 8 1\n", number / 100, number % 1000, number * 8);
            self.2.extend(line.bytes());
            self.0 += 1;
        }
        let length = self.2.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.2[..length]);
        self.2.drain(..length);
        Ok(length)
    }
}

fn read(lines: u64, threads: usize) {
    let inputs = Inputs::streams(move |_| Ok(Box::new(Lines(0, lines, Vec::new()))));
    let inputs = inputs.with_threads(threads);
    let mut records = Records::open(&inputs, "t", None, &ReadOptions::default()).unwrap();
    let mut found = 0;
    while records.next_record().unwrap().is_some() {
        found += 1;
    }
    assert_eq!(found, lines);
}

/// Peak memory of this process, KiB, if the system reports it; per-processor accounting can make a
/// later value slightly smaller.
fn peak_kib() -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "asks the system, not for a trace")]
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_trace() {
    let Some(before) = peak_kib() else { return };
    for threads in [1, 2] {
        read(100_000, threads);
        let short = peak_kib().unwrap();
        assert!(short.saturating_sub(before) < 8 << 10, "{before} KiB, then {short} KiB");
        read(1_000_000, threads);
        let long = peak_kib().unwrap();
        // A heap used by two threads may reach its size late.
        assert!(
            long.saturating_sub(short) < 512,
            "{short} KiB, then {long} KiB with ten times the lines"
        );
    }
}

//! Commands used for a job's writes and trims: `write_mode`, `writefua`, `sync` and `num_range`.

use engine::Op;

/// Maximum ranges of a trim, as in an `NVMe` command.
const MOST_RANGES: u64 = 256;

/// Commands that a job issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    write: Op,
    writefua: bool,
    sync: bool,
    ranges: u64,
}

impl Default for Sent {
    fn default() -> Self {
        Sent { write: Op::Write, writefua: false, sync: false, ranges: 1 }
    }
}

impl Sent {
    pub fn write_mode(&mut self, text: &str) -> Result<(), String> {
        self.write = match text {
            "write" => Op::Write,
            "uncor" => Op::Uncorrectable,
            "zeroes" => Op::Zeroes,
            "verify" => Op::Verify,
            _ => return Err("it is one of write, uncor, zeroes, verify".to_owned()),
        };
        Ok(())
    }

    pub fn sync(&mut self, text: &str) -> Result<(), String> {
        self.sync = match text {
            "none" | "0" => false,
            "sync" | "dsync" | "1" => true,
            _ => return Err("it is one of none, sync, dsync, 0, 1".to_owned()),
        };
        Ok(())
    }

    pub fn writefua(&mut self, is_on: bool) {
        self.writefua = is_on;
    }

    pub fn ranges(&mut self, count: u64) -> Result<(), String> {
        if count > MOST_RANGES {
            return Err(format!("a trim has at most {MOST_RANGES} ranges"));
        }
        self.ranges = count;
        Ok(())
    }

    /// Operation of the `number`th request of its direction, from 1. A trim command is a number of
    /// ranges followed by the trim.
    pub fn becomes(&self, op: Op, number: u64) -> Op {
        match op {
            Op::Write => self.write,
            Op::Trim if !number.is_multiple_of(self.ranges) => Op::Range,
            _ => op,
        }
    }

    /// True if writes are durable on completion.
    pub fn fua(&self) -> bool {
        (self.writefua || self.sync) && self.write == Op::Write
    }

    /// True if multi-step commands are issued.
    pub fn has_steps(&self) -> bool {
        self.write != Op::Write || self.ranges > 1
    }
}

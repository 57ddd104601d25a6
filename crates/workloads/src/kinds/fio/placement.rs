//! Placement handles of a job: `fdp=1` or `dataplacement=fdp|streams` with the handles in `plids`,
//! or the lifetime from `write_hint`.

use super::units::count;
use crate::streams;
use engine::{Handle, Random, Xoshiro256};

/// Maximum number of handles in a job, as in fio.
const MOST: usize = 128;

/// Lifetimes of `write_hint`, shortest first, in Linux's order (`RWH_WRITE_LIFE_SHORT` to
/// `RWH_WRITE_LIFE_EXTREME`). Each has its own handle, from 1 on; data without a lifetime use
/// handle 0.
const LIFETIMES: [&str; 4] = ["short", "medium", "long", "extreme"];

/// Placement options of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    is_on: bool,
    /// Streams are counted from 1, and stream 1 is handle 0, as in `NVMe`.
    of_streams: bool,
    handles: Vec<u8>,
    is_random: bool,
    /// Handle of the write hint.
    lifetime: Option<u8>,
}

impl Placement {
    /// `write_hint`.
    pub fn hint(&mut self, text: &str) -> Result<(), String> {
        let place = LIFETIMES.iter().position(|it| *it == text);
        if place.is_none() && !["none", "not-set"].contains(&text) {
            return Err(format!("the lifetimes are none, {}", LIFETIMES.join(", ")));
        }
        self.lifetime = place.map(|place| place as u8 + 1);
        Ok(())
    }

    /// `fdp`.
    pub fn turn(&mut self, on: bool) {
        self.is_on = on;
    }

    /// `dataplacement`.
    pub fn kind(&mut self, text: &str) -> Result<(), String> {
        self.is_on = match text {
            "none" => false,
            "fdp" | "streams" => true,
            _ => return Err("the kinds of placement are none, fdp and streams".to_owned()),
        };
        self.of_streams = text == "streams";
        Ok(())
    }

    /// `plids` or `fdp_pli`: numbers separated by commas.
    pub fn list(&mut self, text: &str) -> Result<(), String> {
        let numbers: Result<Vec<u64>, String> =
            text.split(',').map(|number| count(number.trim(), 0)).collect();
        let numbers = numbers?;
        if let Some(large) = numbers.iter().find(|it| **it > u64::from(Handle::LARGEST)) {
            return Err(format!("{large} is no handle; they are 0 to {}", Handle::LARGEST));
        }
        if numbers.len() > MOST {
            return Err(format!("{} handles are too many; at most {MOST}", numbers.len()));
        }
        self.handles = numbers.into_iter().map(|it| it as u8).collect();
        Ok(())
    }

    /// `plid_select` or `fdp_pli_select`.
    pub fn select(&mut self, text: &str) -> Result<(), String> {
        self.is_random = match text {
            "random" => true,
            "roundrobin" => false,
            "scheme" => {
                return Err(
                    "files of schemes are not read; use device.fdp.place = \"address(...)\""
                        .to_owned(),
                );
            }
            _ => return Err("handles are selected by random or roundrobin".to_owned()),
        };
        Ok(())
    }

    /// Refuses placement without handles.
    pub fn check(&self) -> Result<(), String> {
        if self.is_on && self.handles.is_empty() {
            return Err("fdp without plids uses all handles of a drive, which a job does not know; list them, such as \
                        plids=0,1,2"
                .to_owned());
        }
        if self.is_on && self.lifetime.is_some() {
            return Err(
                "fdp and write_hint both name the handle of a write; keep one of them".to_owned()
            );
        }
        if self.is_on && self.of_streams && self.handles.contains(&0) {
            return Err("streams are numbered from 1, and plids has 0".to_owned());
        }
        Ok(())
    }
}

/// Placement state of a running job.
pub struct Placing {
    handles: Vec<u8>,
    next: usize,
    /// Random source, for random selection.
    random: Option<Xoshiro256>,
}

impl Placing {
    /// State for a clone of a job, with its own random stream.
    pub fn new(placement: &Placement, seed: u64) -> Placing {
        let of_lifetime = || placement.lifetime.into_iter().collect();
        let mut handles = if placement.is_on { placement.handles.clone() } else { of_lifetime() };
        if placement.of_streams {
            for handle in &mut handles {
                *handle = handle.saturating_sub(1);
            }
        }
        let random = placement.is_random.then(|| Xoshiro256::new(seed, streams::FIO_HANDLES));
        Placing { handles, next: 0, random }
    }

    /// The handle of the next write.
    pub fn next(&mut self) -> Handle {
        if self.handles.is_empty() {
            return Handle::NONE;
        }
        let count = self.handles.len();
        let at = if let Some(random) = &mut self.random {
            random.below(count as u64) as usize
        } else {
            let at = self.next;
            self.next = (at + 1) % count;
            at
        };
        Handle::new(self.handles[at].into())
    }
}

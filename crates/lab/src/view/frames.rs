//! Binary snapshots of a run: a frame has a JSON header, followed by the map cells that have
//! changed since the previous frame.
//!
//! Its layout, with little-endian numbers: length of the rest (4 bytes), length of the header (4
//! bytes), the header, and the changed cells in the encoding of `cells.rs`.

use super::cells::{Cell, Layout};
use devices::ssd::ids::BlockState;
use devices::{Looks, Model};
use engine::{Completion, Op, Time};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Number of recent requests over which percentiles are computed.
const WINDOW: usize = 10_000;
/// A percentile is shown only if at least this many requests are slower.
const SLOWER: usize = 10;
/// Number of requests listed individually per frame: the last ones, and the slowest.
const TOLD: usize = 8;

/// Reason for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The requested time was reached.
    Instant,
    /// A request with at least the requested latency completed.
    Slow,
    /// No request reached the requested latency.
    NoneSlow,
    /// The run is over.
    End,
}

/// Collects the content of frames.
#[derive(Default)]
pub(super) struct Frames {
    looks: Looks,
    layout: Option<Layout>,
    shown: Vec<Cell>,
    /// The latencies of the last requests, oldest first.
    window: VecDeque<Time>,
    sorted: Vec<Time>,
    told: VecDeque<Completion>,
    slowest: Option<Completion>,
    answered: [u64; 4],
    failed: u64,
    outstanding: u64,
}

fn place(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write | Op::Append => 1,
        Op::Trim => 2,
        // Operations that move no data.
        _ => 3,
    }
}

impl Frames {
    pub(super) fn submitted(&mut self) {
        self.outstanding += 1;
    }

    pub(super) fn completed(&mut self, completion: &Completion) {
        self.outstanding -= 1;
        if !completion.status.is_ok() {
            self.failed += 1;
            return;
        }
        self.answered[place(completion.request.op)] += 1;
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(completion.latency());
        if self.told.len() == TOLD {
            self.told.pop_front();
        }
        self.told.push_back(*completion);
        if self.slowest.is_none_or(|slowest| slowest.latency() < completion.latency()) {
            self.slowest = Some(*completion);
        }
    }

    /// Adds a frame, and starts the next one.
    pub(super) fn write(&mut self, device: &dyn Model, at: Time, what: What, bytes: &mut Vec<u8>) {
        self.looks.clear();
        device.blocks(&mut self.looks);
        let mut head = self.head(device, at, what);
        let is_new = |layout: &Layout| layout.drives != self.looks.drives.len();
        let whole = self.layout.as_ref().is_none_or(is_new);
        if whole {
            self.shown.clear();
        }
        let made = self.layout.take().filter(|_| !whole);
        let layout = &*self.layout.insert(made.unwrap_or_else(|| Layout::new(&self.looks)));
        if whole {
            head.insert("shape".to_owned(), layout.shape.clone());
        }
        let head = Value::Object(head).to_string();
        let start = bytes.len();
        bytes.extend([0; 4]);
        bytes.extend((head.len() as u32).to_le_bytes());
        bytes.extend(head.as_bytes());
        let mut next = 0;
        for (number, blocks) in layout.cells.iter().enumerate() {
            let cell = Cell::of(&self.looks.blocks[blocks.clone()]);
            match self.shown.get_mut(number) {
                Some(shown) if *shown == cell => continue,
                Some(shown) => *shown = cell,
                None => self.shown.push(cell),
            }
            cell.write(number - next, bytes);
            next = number + 1;
        }
        let length = (bytes.len() - start - 4) as u32;
        bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.told.clear();
        self.slowest = None;
        self.failed = 0;
        self.answered = [0; 4];
    }

    fn head(&mut self, device: &dyn Model, at: Time, what: What) -> Map<String, Value> {
        let mut told: Vec<_> = self.told.iter().copied().collect();
        if let Some(slowest) = self.slowest.filter(|it| !told.contains(it)) {
            told[0] = slowest;
        }
        let free = self.looks.blocks.iter().filter(|block| block.state == BlockState::Free).count();
        let mut head = Map::new();
        let mut add = |key: &str, value: Value| {
            head.insert(key.to_owned(), value);
        };
        add("t", json!(at));
        add("n", json!(self.answered));
        add("p", json!(self.percentiles()));
        add("q", json!(self.outstanding));
        add("free", json!(free));
        add("r", json!(told.iter().map(request).collect::<Vec<_>>()));
        if let Some(slowest) = self.slowest {
            add("max", json!(slowest.latency()));
        }
        if let Some(figures) = device.followed() {
            add("f", json!(figures.0));
        }
        if self.failed > 0 {
            add("failed", json!(self.failed));
        }
        match what {
            What::Instant => {}
            What::Slow => add("slow", json!(true)),
            What::NoneSlow => add("slow", json!(false)),
            What::End => add("end", json!(true)),
        }
        head
    }

    /// The median, p99 and p99.9 of the last requests; `None` if there are too few.
    fn percentiles(&mut self) -> [Option<Time>; 3] {
        self.sorted.clear();
        self.sorted.extend(&self.window);
        let all = self.sorted.len();
        // In descending order, so each percentile partitions only the remainder.
        let mut below = &mut self.sorted[..];
        let mut of = |share: f64| {
            let rank = (share * all as f64).ceil() as usize;
            if rank + SLOWER > all || rank == 0 {
                return None;
            }
            let (lower, value, _) = std::mem::take(&mut below).select_nth_unstable(rank - 1);
            below = lower;
            Some(*value)
        };
        let [highest, high, median] = [of(0.999), of(0.99), of(0.5)];
        [median, high, highest]
    }
}

/// Completion time, operation, address, latency, and largest latency part.
fn request(it: &Completion) -> Value {
    let parts = it.breakdown.parts().iter().enumerate();
    let (part, most) = parts.max_by_key(|(_, time)| **time).expect("a latency has parts");
    let request = &it.request;
    json!([it.at, place(request.op), request.lba.0, request.sectors, it.latency(), part, most])
}

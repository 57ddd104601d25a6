//! Placement policies: they choose the handle of each write of a load before the replay.

use crate::load::{Load, PAGE_BYTES, Write};

/// Number of address slices at which the policy by address may place its borders.
const SLICES: usize = 128;
/// Lifetime steps per factor of two. The last step stands for pages that are never rewritten.
const STEPS_PER_OCTAVE: f64 = 4.0;
const NEVER: u8 = u8::MAX;
/// Lifetime of pages that are never rewritten.
pub const ALWAYS: u32 = u32::MAX;
/// Maximum number of requests sampled for the borders between lifetimes.
const SAMPLED: usize = 1 << 20;
/// Maximum number of pages examined per request.
const LOOKED_AT: u32 = 8;
/// The last lifetime has the weight 1 / `SHARE_OF_LAST` in the learned one.
const SHARE_OF_LAST: u32 = 4;

/// Placement policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// One handle for all writes: no placement.
    None,
    /// By address: borders between address ranges with different write rates, learned from the
    /// first half of the load.
    Address,
    /// By request size.
    Size,
    /// By hints in the trace: device number, or forced unit access.
    Hint,
    /// By the handles in the trace.
    Column,
    /// By past overwrite intervals of the pages; borders are learned from the first half of the
    /// load.
    Lifetime,
    /// By time to the next overwrite of the pages: a bound that needs future knowledge.
    Clairvoyant,
}

/// All policies, in the order of reports.
pub const ALL: [Policy; 7] = [
    Policy::None,
    Policy::Address,
    Policy::Size,
    Policy::Hint,
    Policy::Column,
    Policy::Lifetime,
    Policy::Clairvoyant,
];

impl Policy {
    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Policy::None => "none",
            Policy::Address => "address",
            Policy::Size => "size",
            Policy::Hint => "hint",
            Policy::Column => "column",
            Policy::Lifetime => "lifetime",
            Policy::Clairvoyant => "clairvoyant",
        }
    }

    /// Handle of each write, with the rule; `None` if the policy makes no difference for this load.
    pub fn classes(self, load: &Load, handles: u8) -> Option<Classes> {
        let classes = match self {
            Policy::None => Classes { of: vec![0; load.len()], rule: Rule::One, handles: 1 },
            Policy::Address => by_address(load, handles),
            Policy::Size => by_size(load, handles),
            Policy::Hint => by_hint(load, handles),
            Policy::Column => by_column(load, handles),
            Policy::Lifetime => learned(load, handles),
            Policy::Clairvoyant => clairvoyant(load, handles),
        };
        (self == Policy::None || classes.handles > 1).then_some(classes)
    }
}

/// Handles of the writes of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// Handle by request.
    pub of: Vec<u8>,
    /// Rule that maps writes to handles.
    pub rule: Rule,
    /// Number of handles used.
    pub handles: u8,
}

/// Rule that maps writes to handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// One handle.
    One,
    /// First page (rank among touched pages) of each handle but the first.
    Borders(Vec<u32>),
    /// Maximum request size, in bytes, of each handle but the last.
    Sizes(Vec<u64>),
    /// Device number in the trace, by handle.
    Devices(Vec<u32>),
    /// Forced unit access or not.
    Fua,
    /// Handle in the trace, by handle.
    Named(Vec<u8>),
    /// Maximum lifetime, in pages written in between, of each handle but the last.
    Lifetimes(Vec<u64>),
}

/// Renumbers handles without gaps, in class order.
fn close_gaps(of: &mut [u8]) -> (u8, Vec<u8>) {
    let mut used = [false; 256];
    for class in of.iter() {
        used[usize::from(*class)] = true;
    }
    let kept: Vec<u8> = (0..=u8::MAX).filter(|class| used[usize::from(*class)]).collect();
    let mut number = [0u8; 256];
    for (at, class) in kept.iter().enumerate() {
        number[usize::from(*class)] = at as u8;
    }
    for class in of {
        *class = number[usize::from(*class)];
    }
    (kept.len() as u8, kept)
}

fn by_size(load: &Load, handles: u8) -> Classes {
    let sizes = [1u32, 4, 16, 64, 128, 256, 512];
    let sizes = &sizes[..sizes.len().min(usize::from(handles) - 1)];
    let class = |write: Write| sizes.partition_point(|most| *most < write.pages) as u8;
    let mut of: Vec<u8> = load.iter().map(class).collect();
    let (handles, kept) = close_gaps(&mut of);
    let borders = kept[..kept.len() - 1].iter();
    let borders = borders.map(|class| u64::from(sizes[usize::from(*class)]) * PAGE_BYTES);
    Classes { of, rule: Rule::Sizes(borders.collect()), handles }
}

fn by_hint(load: &Load, handles: u8) -> Classes {
    if load.devices > 1 {
        let mut of: Vec<u8> =
            load.iter().map(|write| load.device(write.first).min(255) as u8).collect();
        let (used, kept) = close_gaps(&mut of);
        for class in &mut of {
            *class = (*class).min(handles - 1);
        }
        let devices = kept.into_iter().map(|at| load.numbers[usize::from(at)]).collect();
        return Classes { of, rule: Rule::Devices(devices), handles: used.min(handles) };
    }
    let mut of: Vec<u8> = load.iter().map(|write| u8::from(write.fua)).collect();
    let (used, _) = close_gaps(&mut of);
    Classes { of, rule: Rule::Fua, handles: used }
}

fn by_column(load: &Load, handles: u8) -> Classes {
    let mut of: Vec<u8> = load.iter().map(|write| write.handle.unwrap_or(0)).collect();
    let (used, kept) = close_gaps(&mut of);
    for class in &mut of {
        *class = (*class).min(handles - 1);
    }
    Classes { of, rule: Rule::Named(kept), handles: used.min(handles) }
}

/// Divides the address space so that write rates within each part differ least.
fn by_address(load: &Load, handles: u8) -> Classes {
    let slices = SLICES.min(load.pages as usize);
    let slice_of = |page: u32| (u64::from(page) * slices as u64 / u64::from(load.pages)) as usize;
    let begin =
        |slice: usize| (slice as u64 * u64::from(load.pages)).div_ceil(slices as u64) as u32;
    let mut writes = vec![0u64; slices];
    for write in load.iter().take(load.len().div_ceil(2)).filter(|write| !write.is_trim) {
        let last = slice_of(write.first + write.pages - 1);
        let first = slice_of(write.first);
        for (slice, written) in (first..=last).zip(&mut writes[first..=last]) {
            let end = begin(slice + 1).min(write.first + write.pages);
            *written += u64::from(end - begin(slice).max(write.first));
        }
    }
    let rates = writes.iter().enumerate().map(|(slice, count)| {
        let pages = f64::from(begin(slice + 1) - begin(slice));
        libm::log(*count as f64 / pages + 0.01)
    });
    let rates: Vec<f64> = rates.collect();
    let weights: Vec<f64> = writes.iter().map(|count| *count as f64 + 1.0).collect();
    let starts = segments(&rates, &weights, usize::from(handles.min(4)));
    let borders: Vec<u32> = starts.iter().map(|slice| begin(*slice)).collect();
    let class = |write: Write| borders.partition_point(|border| *border <= write.first) as u8;
    let mut of: Vec<u8> = load.iter().map(class).collect();
    let (handles, kept) = close_gaps(&mut of);
    // A part without writes gets no handle.
    let borders = kept[1..].iter().map(|class| borders[usize::from(*class) - 1]).collect();
    Classes { of, rule: Rule::Borders(borders), handles }
}

/// Segmentation of a row of weighted values with the least sum of squares. Returns the segment
/// starts but the first, at most `most`; each further segment must reduce the sum by a twentieth of
/// the total.
fn segments(values: &[f64], weights: &[f64], most: usize) -> Vec<usize> {
    let count = values.len();
    let mut sums = vec![(0.0, 0.0, 0.0)];
    for (value, weight) in values.iter().zip(weights) {
        let (w, x, xx) = sums[sums.len() - 1];
        sums.push((w + weight, x + weight * value, xx + weight * value * value));
    }
    let cost = |from: usize, to: usize| {
        let (a, b) = (sums[from], sums[to]);
        let (w, x, xx) = (b.0 - a.0, b.1 - a.1, b.2 - a.2);
        (xx - x * x / w).max(0.0)
    };
    let total = cost(0, count);
    let mut best: Vec<f64> =
        (0..=count).map(|to| if to == 0 { 0.0 } else { cost(0, to) }).collect();
    let mut from: Vec<Vec<usize>> = Vec::new();
    for _ in 1..most.min(count) {
        let mut next = vec![f64::INFINITY; count + 1];
        let mut choice = vec![0; count + 1];
        for to in 1..=count {
            for (start, before) in (1..to).zip(&best[1..to]) {
                let sum = before + cost(start, to);
                if sum < next[to] {
                    (next[to], choice[to]) = (sum, start);
                }
            }
        }
        if best[count] - next[count] <= 0.05 * total {
            break;
        }
        best = next;
        from.push(choice);
    }
    let mut starts = Vec::new();
    let mut to = count;
    for choice in from.iter().rev() {
        to = choice[to];
        starts.push(to);
    }
    starts.reverse();
    starts
}

/// Step of a lifetime in pages written.
fn step_of(lifetime: u64) -> u8 {
    let octaves = libm::log2(lifetime.max(1) as f64);
    (octaves * STEPS_PER_OCTAVE).round().min(f64::from(NEVER - 1)) as u8
}

/// Lifetime at the end of a step, in pages written.
fn lifetime_of(step: u8) -> u64 {
    libm::exp2((f64::from(step) + 0.5) / STEPS_PER_OCTAVE) as u64
}

/// Mean over the first pages of a request, except pages with value `never`; `never` if all have it.
fn mean(values: impl Iterator<Item = u32>, never: u32) -> u32 {
    let known = values.filter(|it| *it != never);
    let (sum, count) =
        known.fold((0u64, 0u64), |(sum, count), it| (sum + u64::from(it), count + 1));
    sum.checked_div(count).map_or(never, |mean| mean as u32)
}

/// Mean lifetime of each request's pages, in pages written in between, if the load repeats forever;
/// [`ALWAYS`] if they are never rewritten.
pub fn lifetimes(load: &Load) -> Vec<u32> {
    let mut next = vec![u64::MAX; load.pages as usize];
    let mut lifetimes = vec![ALWAYS; load.len()];
    // Backward through the following pass, then through this one.
    let mut at = 2 * u64::from(load.written);
    for pass in 0..2 {
        for (index, write) in load.iter().enumerate().rev() {
            let pages = write.first..write.first + write.pages;
            if !write.is_trim {
                at -= u64::from(write.pages);
            }
            if pass == 1 && !write.is_trim {
                let looked_at = pages.clone().take(LOOKED_AT as usize);
                let lifetime = |page: u32| match next[page as usize] {
                    u64::MAX => ALWAYS,
                    then => (then - at).min(u64::from(ALWAYS - 1)) as u32,
                };
                lifetimes[index] = mean(looked_at.map(lifetime), ALWAYS);
            }
            for page in pages {
                next[page as usize] = at;
            }
        }
    }
    lifetimes
}

/// Expected lifetime of the pages of each request, from earlier overwrites.
fn expected(load: &Load) -> Vec<u8> {
    let mut last = vec![u32::MAX; load.pages as usize];
    let mut known = vec![NEVER; load.pages as usize];
    let mut steps = vec![NEVER; load.len()];
    let mut now = 0u32;
    for (index, write) in load.iter().enumerate() {
        let pages = write.first..write.first + write.pages;
        for page in pages.clone() {
            let (last, known) = (&mut last[page as usize], &mut known[page as usize]);
            if *last != u32::MAX {
                let step = step_of(u64::from(now - *last));
                *known = match *known {
                    NEVER => step,
                    before => {
                        let sum = u32::from(before) * (SHARE_OF_LAST - 1) + u32::from(step);
                        (sum / SHARE_OF_LAST) as u8
                    }
                };
            }
            *last = if write.is_trim { u32::MAX } else { now };
        }
        if !write.is_trim {
            let looked_at = pages.take(LOOKED_AT as usize).map(|it| u32::from(known[it as usize]));
            steps[index] = mean(looked_at, u32::from(NEVER)) as u8;
            now += write.pages;
        }
    }
    steps
}

/// Borders between lifetime steps that give each handle an equal share of the pages written by the
/// first `known` requests.
fn borders(load: &Load, steps: &[u8], known: usize, handles: u8) -> Vec<u8> {
    let mut written = [0u64; 256];
    for (write, step) in load.iter().zip(steps).take(known).filter(|(write, _)| !write.is_trim) {
        written[usize::from(*step)] += u64::from(write.pages);
    }
    let total: u64 = written.iter().sum();
    let mut borders = Vec::new();
    let mut sum = 0;
    for step in 0..NEVER {
        sum += written[usize::from(step)];
        let due = u64::from(handles) * sum >= total * (borders.len() as u64 + 1);
        if due && sum < total && borders.len() + 1 < usize::from(handles) {
            borders.push(step);
        }
    }
    borders
}

fn by_steps(mut of: Vec<u8>, borders: &[u8]) -> Classes {
    let class = |step: u8| borders.partition_point(|border| *border < step) as u8;
    for step in &mut of {
        *step = class(*step);
    }
    let (handles, kept) = close_gaps(&mut of);
    let used = kept[..kept.len() - 1].iter();
    let longest = used.map(|class| lifetime_of(borders[usize::from(*class)])).collect();
    Classes { of, rule: Rule::Lifetimes(longest), handles }
}

fn learned(load: &Load, handles: u8) -> Classes {
    let steps = expected(load);
    let borders = borders(load, &steps, load.len().div_ceil(2), handles);
    by_steps(steps, &borders)
}

fn clairvoyant(load: &Load, handles: u8) -> Classes {
    let lifetimes = lifetimes(load);
    let every = load.len().div_ceil(SAMPLED).max(1);
    let sampled = load.iter().zip(&lifetimes).step_by(every).filter(|(write, _)| !write.is_trim);
    let mut sample: Vec<(u32, u32)> = sampled.map(|(write, it)| (*it, write.pages)).collect();
    sample.sort_unstable();
    let total: u64 = sample.iter().map(|(_, pages)| u64::from(*pages)).sum();
    let (mut longest, mut sum) = (Vec::new(), 0);
    for (lifetime, pages) in &sample {
        sum += u64::from(*pages);
        let due = u64::from(handles) * sum >= total * (longest.len() as u64 + 1);
        let is_new = longest.last() != Some(lifetime) && *lifetime != ALWAYS;
        if due && is_new && sum < total && longest.len() + 1 < usize::from(handles) {
            longest.push(*lifetime);
        }
    }
    let class = |lifetime: &u32| longest.partition_point(|most| most < lifetime) as u8;
    let mut of: Vec<u8> = lifetimes.iter().map(class).collect();
    let (handles, kept) = close_gaps(&mut of);
    let used = kept[..kept.len() - 1].iter();
    let longest = used.map(|class| u64::from(longest[usize::from(*class)])).collect();
    Classes { of, rule: Rule::Lifetimes(longest), handles }
}

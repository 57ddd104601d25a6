//! Write amplification with handles against closed forms: uniform streams, a random stream beside one that dies in
//! order, interleaved sequences, and open units that take from the spare space.

use super::{Keys, fdp, near, pages, placed, plane, write};
use devices::Model;
use devices::ssd::{Ssd, SsdConfig};
use engine::{Random, Xoshiro256};
use serde_json::json;

/// Blocks of the drives, and their pages: enough that a block has 500 independent writes.
const BLOCKS: u32 = 600;
const PAGES: u32 = 512;

/// Writes `before` and then `counted` times the capacity, without time, a page at a time: pages and handles as drawn.
/// Returns programmed / written over the second part, and the same by handle.
fn settled(
    config: &SsdConfig,
    (before, counted): (u64, u64),
    mut draw: impl FnMut(u64) -> (u64, u64),
) -> (f64, Vec<f64>) {
    let mut ssd = Ssd::new(config, 1).unwrap();
    let all = pages(&ssd);
    // Each page once, in order, with the handle that it will have.
    let mut write_all = |ssd: &mut Ssd, count: u64| {
        for id in 0..count {
            let (page, handle) = draw(all);
            assert!(ssd.serve_untimed(&write(id, page, 1, handle)).is_ok());
        }
    };
    write_all(&mut ssd, before * all);
    let first = ssd.account(1);
    write_all(&mut ssd, counted * all);
    let last = ssd.account(1);
    let (first, last) = (fdp(&first), fdp(&last));
    let of = |number: usize| {
        let (one, other) = (&first.handles[number], &last.handles[number]);
        (other.media - one.media, other.host - one.host)
    };
    let parts: Vec<(u64, u64)> = (0..last.handles.len()).map(of).collect();
    let media: u64 = parts.iter().map(|it| it.0).sum();
    let host: u64 = parts.iter().map(|it| it.1).sum();
    let each = parts.iter().map(|(media, host)| *media as f64 / (*host).max(1) as f64);
    (media as f64 / host as f64, each.collect())
}

/// A drive of one plane on which copies go to blocks of their own, with handles and without.
fn apart(blocks: u32, spare: f64) -> Keys {
    let mut keys = plane(blocks, PAGES, spare);
    keys.push(("device.cleaning.frontiers", json!("separate-moved")));
    keys
}

/// Greedy's write amplification where `share` of the blocks hold valid pages and `open` more than one are open: they,
/// and the one that is kept erased, are none that can be cleaned.
fn expected(share: f64, open: u32) -> f64 {
    let blocks = f64::from(BLOCKS);
    let usable = blocks - 1.0 - 0.6 * f64::from(open);
    amplification(share * blocks / usable)
}

/// Greedy's write amplification under uniform writes where blocks have many pages: A = 1 / (1 - v) with
/// (1 - v) / -ln v = alpha, the share of the blocks that holds valid pages (Robinson 1996; Desnoyers, SYSTOR'12).
fn amplification(alpha: f64) -> f64 {
    let (mut low, mut high) = (1e-9_f64, 1.0 - 1e-9);
    for _ in 0..200 {
        let v = 0.5 * (low + high);
        if (1.0 - v) / -libm::log(v) < alpha {
            low = v;
        } else {
            high = v;
        }
    }
    1.0 / (1.0 - low)
}

#[test]
fn uniform_streams_in_handles_of_their_own_have_what_one_stream_has() {
    for handles in [2, 4, 8] {
        let config = placed(plane(BLOCKS, PAGES, 0.14), handles, "persistent", &[]);
        let random = &mut Xoshiro256::new(2, u64::from(handles));
        let handles = u64::from(handles);
        let draw = |all: u64| {
            let (size, handle) = (all / handles, random.below(handles));
            (handle * size + random.below(size), handle)
        };
        let (found, each) = settled(&config, (6, 3), draw);
        let wanted = expected(0.86, 2 * handles as u32 - 2);
        near(found, wanted, 0.04, &format!("{handles} handles"));
        for one in each {
            near(one, wanted, 0.05, "each of them");
        }
    }
}

/// Lambert's W on its principal branch, for -1/e < x < 0, by Newton's method.
fn lambert(x: f64) -> f64 {
    let mut w = if x < -0.25 { -0.5 } else { x };
    for _ in 0..60 {
        let e = libm::exp(w);
        w -= (w * e - x) / (e * (w + 1.0));
    }
    w
}

#[test]
fn a_random_handle_beside_one_that_dies_in_order_has_all_the_spare_space() {
    // A tenth of the pages is written at random with half of the writes, the rest in sequence.
    let share = 0.86;
    let config = placed(plane(BLOCKS, PAGES, 1.0 - share), 2, "persistent", &[]);
    let random = &mut Xoshiro256::new(2, 9);
    let mut next = 0;
    let draw = |all: u64| {
        let small = all / 10;
        if random.below(2) == 0 {
            return (random.below(small), 1);
        }
        next = (next + 1) % (all - small);
        (small + next, 0)
    };
    let (found, each) = settled(&config, (8, 4), draw);
    let blocks = f64::from(BLOCKS);
    let (s, usable) = (0.1 * share * blocks, blocks - 1.0 - 0.6 * 2.0);
    let p = s + usable - share * blocks;
    let d = -(s / p) * lambert(-(p / s) * libm::exp(-p / s));
    // What is written in sequence is moved a little: a unit of it is emptier than the best of the others before it is
    // empty.
    let moved = each[0] - 1.0;
    near(each[1], 1.0 / (1.0 - d), 0.08, "the random handle");
    near(found, 1.0 + 0.5 * (1.0 / (1.0 - d) - 1.0) + 0.5 * moved, 0.08, "both");
    assert!(moved < 1.0 / (1.0 - d) - 1.0, "{each:?}");
}

/// Sequences that are written at rates of `weights`, each over an equal part of the pages: with a handle each or one.
fn sequences(weights: &[u64], own: bool) -> f64 {
    let handles = if own { weights.len() as u32 } else { 1 };
    let config = placed(apart(BLOCKS, 0.127), handles, "initial", &[]);
    let random = &mut Xoshiro256::new(2, 5);
    let count = weights.len() as u64;
    let total: u64 = weights.iter().sum();
    let mut next = vec![0; weights.len()];
    let mut turn = 0;
    let equal = weights.iter().all(|weight| *weight == weights[0]);
    let draw = |all: u64| {
        let mut drawn = if equal { turn % total } else { random.below(total) };
        turn += 1;
        let mut stream = 0;
        while drawn >= weights[stream] {
            drawn -= weights[stream];
            stream += 1;
        }
        let size = all / count;
        let page = next[stream];
        next[stream] = (page + 1) % size;
        (stream as u64 * size + page, if own { stream as u64 } else { 0 })
    };
    settled(&config, (8, 4), draw).0
}

#[test]
fn sequences_that_interleave_cost_copies_unless_they_have_handles() {
    let exact = sequences(&[1, 1, 1, 1], false);
    assert!((1.0..1.001).contains(&exact), "equal rates on one frontier: {exact}");
    near(sequences(&[1, 2, 3, 4], false), 1.71, 0.12, "rates 1:2:3:4 on one frontier");
    near(sequences(&[1, 4, 16, 64], false), 1.40, 0.2, "rates 1:4:16:64 on one frontier");
    for weights in [[1, 1, 1, 1], [1, 2, 3, 4], [1, 4, 16, 64]] {
        let own = sequences(&weights, true);
        assert!((1.0..1.001).contains(&own), "{weights:?} with handles of their own: {own}");
    }
}

#[test]
fn open_units_take_from_the_spare_space() {
    // Uniform writes of five hosts: handles gain nothing, and cost the more the larger the units are.
    let found = |blocks: u32, handles: u32| {
        let config = placed(apart(blocks, 0.13), handles, "initial", &[]);
        let random = &mut Xoshiro256::new(3, 3);
        let each = u64::from(handles);
        settled(&config, (8, 4), |all| {
            let page = random.below(all);
            (page, page * each / all)
        })
        .0
    };
    let theory = |blocks: u32, open: f64| {
        let usable = f64::from(blocks) - 1.0 - 0.6 * open;
        amplification(0.87 * f64::from(blocks) / usable)
    };
    let mut cost = Vec::new();
    for blocks in [69, 138, 552] {
        let (one, five) = (found(blocks, 1), found(blocks, 5));
        println!("{blocks} units: {one:.2} with one handle, {five:.2} with five");
        near(five, theory(blocks, 5.0), 0.15, &format!("{blocks} units"));
        cost.push(five / one);
    }
    assert!(cost[0] > 1.3 && cost[0] > cost[1] && cost[1] > cost[2], "{cost:?}");
}

//! Duration of a study: `cargo run --release -p ssdlab-placement --example study_speed -- WRITES PAGES
//! THREADS`.
//!
//! Half of the writes are random within a tenth of the pages, the rest sequential. It runs every
//! policy that makes a difference, with four handles, 300 units and 15 % spare space.

use placement::{ALL, Builder, Isolation, Shape, study};
use std::sync::Mutex;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|it| it.parse::<f64>().expect("a number"));
    let mut next = |default| numbers.next().unwrap_or(default) as u64;
    let (writes, pages, threads) = (next(1e6), next(3e5), next(2.0));
    let small = pages / 10;
    let (mut builder, mut state, mut ring) = (Builder::default(), 1u64, 0);
    for _ in 0..writes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let drawn = state >> 33;
        let page = if drawn & 1 == 0 {
            (drawn >> 1) % small
        } else {
            ring = (ring + 1) % (pages - small);
            small + ring
        };
        builder.write(0, (page * 4096, 4096), (false, false)).expect("a write");
    }
    let load = builder.finish().expect("a load");
    let unit_pages = (f64::from(load.pages) * 1.15 / 300.0).ceil() as u32;
    let policies = Mutex::new(ALL.to_vec());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(policy) = policies.lock().expect("nobody fails").pop() else { return };
                    let Some(classes) = policy.classes(&load, 4) else { continue };
                    let shape = Shape {
                        pages: load.pages,
                        unit_pages,
                        units: 300,
                        handles: classes.handles,
                        isolation: Isolation::Initial,
                    };
                    let found = study(&load, &classes.of, shape, &|_| false).expect("enough units");
                    println!("{}: {:.4}", policy.name(), found.account.dlwa());
                }
            });
        }
    });
}

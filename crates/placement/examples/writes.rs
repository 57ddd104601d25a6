//! Time per write: six policies on a load of the requested size, on two threads, as `ssdlab
//! placement` runs them.
//!
//!     cargo run --release -p ssdlab-placement --example writes -- WRITES PAGES

use placement::{ALL, Builder, Isolation, PAGE_BYTES, Shape, study};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

#[expect(clippy::disallowed_methods, reason = "measures speed")]
fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|it| it.parse().ok()).collect();
    let [writes, pages] = arguments[..] else { panic!("give WRITES and PAGES") };
    let start = Instant::now();
    let mut builder = Builder::default();
    let mut state = 88_172_645_463_325_252u64;
    builder.read(0, 0, pages * PAGE_BYTES).expect("few pages");
    for _ in 0..writes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Half of the writes fall into a tenth of the pages.
        let page = (state >> 8) % if state & 1 == 0 { pages / 10 } else { pages };
        let result = builder.write(0, (page * PAGE_BYTES, PAGE_BYTES), (false, state & 2 == 0));
        result.expect("a few pages");
    }
    let load = builder.finish().expect("it writes");
    println!("load: {:.1} s", start.elapsed().as_secs_f64());
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(policy) = ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begin = Instant::now();
                    let Some(classes) = policy.classes(&load, 8) else { continue };
                    let classed = begin.elapsed().as_secs_f64();
                    let flash = f64::from(load.pages) * 1.15;
                    let shape = Shape {
                        pages: load.pages,
                        unit_pages: (flash / 900.0) as u32,
                        units: 900,
                        handles: classes.handles,
                        isolation: Isolation::Initial,
                    };
                    let found = study(&load, &classes.of, shape, &|_| false).expect("units");
                    let taken = begin.elapsed().as_secs_f64();
                    let of_write = (taken - classed) * 1e9 / (found.replayed + u64::from(load.pages)) as f64;
                    println!(
                        "{:12} {taken:6.1} s, {classed:.1} s of it for classes, {of_write:.0} ns a write at DLWA {:.2}",
                        policy.name(),
                        found.account.dlwa()
                    );
                }
            });
        }
    });
    println!("all: {:.1} s", start.elapsed().as_secs_f64());
}

//! Tests of the drive: closed forms, consistent counters, and changes without effect.

use crate::*;

/// A generator for tests: xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)) * u128::from(count)) >> 64) as u32
    }

    fn share(&mut self) -> f64 {
        f64::from(self.below(1 << 30)) / f64::from(1 << 30)
    }
}

fn shape(use_of: f64, (unit_pages, units): (u32, u32), handles: u8, isolation: Isolation) -> Shape {
    let pages = (f64::from(unit_pages) * f64::from(units) * use_of) as u32;
    Shape { pages, unit_pages, units, handles, isolation }
}

/// Writes a stream of `capacities` drive capacities, and counts the last quarter.
fn written(shape: Shape, capacities: f64, mut next: impl FnMut() -> (u32, u8)) -> Drive {
    let mut drive = Drive::new(shape).unwrap();
    (0..shape.pages).for_each(|page| drive.write(page, 0));
    let count = (f64::from(shape.pages) * capacities) as u64;
    for at in 0..count {
        if at == count * 3 / 4 {
            drive.reset_account();
        }
        let (page, handle) = next();
        drive.write(page, handle);
    }
    drive
}

/// Write amplification of uniform writes under greedy garbage collection, with the share `u` of
/// usable pages in use. The valid share v of a victim obeys u = (v - 1) / ln v (mean field), A = 1
/// / (1 - v).
fn uniform(u: f64) -> f64 {
    let (mut low, mut high) = (1e-9f64, 1.0 - 1e-9);
    for _ in 0..200 {
        let v = f64::midpoint(low, high);
        if (v - 1.0) / libm::log(v) < u { low = v } else { high = v }
    }
    1.0 / (1.0 - low)
}

/// Usable share of the pages: all but the free unit, and 0.6 units for each open unit beyond the
/// first (equation (f)).
fn usable(shape: &Shape) -> f64 {
    let open = 0.6 * f64::from(shape.open() - 1) + 1.0;
    f64::from(shape.pages) / (f64::from(shape.unit_pages) * (f64::from(shape.units) - open))
}

#[test]
fn uniform_writes_take_the_closed_form() {
    for use_of in [0.70, 0.80, 0.875] {
        let shape = shape(use_of, (512, 600), 1, Isolation::Initial);
        let mut random = Random(7);
        let drive = written(shape, 10.0, || (random.below(shape.pages), 0));
        let (found, form) = (drive.account().dlwa(), uniform(usable(&shape)));
        assert!((found / form - 1.0).abs() < 0.03, "{use_of}: {found:.3}, form {form:.3}");
        drive.audit();
    }
}

#[test]
fn larger_units_cost_nothing_as_long_as_there_are_as_many() {
    let found = [512, 1024, 2048].map(|unit_pages| {
        let shape = shape(0.845, (unit_pages, 300), 1, Isolation::Initial);
        let mut random = Random(11);
        written(shape, 10.0, || (random.below(shape.pages), 0)).account().dlwa()
    });
    for dlwa in found {
        assert!((dlwa / found[0] - 1.0).abs() < 0.01, "{found:?}");
    }
}

#[test]
fn more_handles_of_sequential_streams_never_cost_more() {
    // Eight rings, each written in order, at rates of 1 to 8, over one to eight handles.
    let found: Vec<f64> = [1, 2, 4, 8]
        .into_iter()
        .map(|handles| {
            let shape = shape(0.80, (512, 300), handles, Isolation::Persistent);
            let ring = shape.pages / 8;
            let (mut random, mut at) = (Random(5), [0; 8]);
            let drive = written(shape, 10.0, || {
                let drawn = random.below(36);
                let stream = (0..8).find(|it| drawn < (it + 1) * (it + 2) / 2).unwrap_or(7);
                let place = &mut at[stream as usize];
                *place = (*place + 1) % ring;
                (stream * ring + *place, (stream % u32::from(handles)) as u8)
            });
            drive.account().dlwa()
        })
        .collect();
    assert!(found.windows(2).all(|it| it[1] <= it[0] + 1e-9), "{found:?}");
    assert!(found[0] > 1.1 && found[3] < 1.02, "{found:?}");
}

#[test]
fn accounts_add_up() {
    for isolation in [Isolation::Initial, Isolation::Persistent] {
        let shape = shape(0.8, (96, 150), 5, isolation);
        let mut random = Random(3);
        let mut drive = Drive::new(shape).unwrap();
        let (mut host, mut trimmed) = (0, 0);
        for _ in 0..200_000 {
            let page = random.below(shape.pages);
            if random.below(20) == 0 {
                drive.trim(page);
                trimmed += 1;
            } else {
                drive.write(page, (random.below(5)) as u8);
                host += 1;
            }
        }
        drive.audit();
        let account = drive.account();
        assert_eq!(account.host(), host);
        let because: u64 = account.handles.iter().map(|it| it.moved_because).sum();
        assert_eq!(because + account.moved_from_copies, account.moved());
        assert!(account.handles.iter().all(|it| it.foreign <= it.invalidated && it.opened > 0));
        assert!(account.moved() > 0 && account.erased > 0 && trimmed > 0);
        if isolation == Isolation::Persistent {
            assert_eq!(account.moved_from_copies, 0);
            assert!(account.handles.iter().all(|it| it.moved == it.moved_because));
        }
    }
}

#[test]
fn persistent_isolation_of_uniform_streams_is_worth_what_mixing_costs() {
    // Equation (b): one greedy cleaner cleans all streams at the same validity, so each has A(U/T).
    for handles in [2u8, 4, 8] {
        let shape = shape(0.82, (512, 600), handles, Isolation::Persistent);
        let mut random = Random(11);
        // Sizes in proportion to 1, 2, 3 and so on, at the same total rate.
        let weights: u32 = (1..=u32::from(handles)).sum();
        let drive = written(shape, 12.0, || {
            let handle = random.below(u32::from(handles));
            let before: u32 = (1..=handle).sum();
            let (first, size) = (
                u64::from(shape.pages) * u64::from(before) / u64::from(weights),
                u64::from(shape.pages) * u64::from(handle + 1) / u64::from(weights),
            );
            (first as u32 + random.below(size as u32), handle as u8)
        });
        let form = uniform(usable(&shape));
        let found = drive.account().dlwa();
        assert!((found / form - 1.0).abs() < 0.03, "{handles}: {found:.3}, form {form:.3}");
        for it in &drive.account().handles {
            let own = 1.0 + it.moved as f64 / it.host as f64;
            assert!((own / form - 1.0).abs() < 0.08, "{handles}: {own:.3}, form {form:.3}");
        }
    }
}

#[test]
fn interleaved_sequential_streams_cost_nothing_with_handles_of_their_own() {
    // Equation (d): equal rates on one open unit cost nothing, unequal ones do, and own handles
    // remove the cost.
    let run = |handles: u8, rates: [u32; 4]| {
        let shape = shape(0.873, (512, 600), handles, Isolation::Initial);
        let part = shape.pages / 4;
        let mut at = [0u32; 4];
        let mut turn = 0;
        let total: u32 = rates.iter().sum();
        let drive = written(shape, 12.0, || {
            let mut left = turn % total;
            turn += 1;
            let mut stream = 0;
            while left >= rates[stream] {
                left -= rates[stream];
                stream += 1;
            }
            at[stream] = (at[stream] + 1) % part;
            (stream as u32 * part + at[stream], if handles > 1 { stream as u8 } else { 0 })
        });
        drive.account().dlwa()
    };
    assert!(run(1, [1, 1, 1, 1]).to_bits() == 1.0f64.to_bits());
    assert!(run(4, [1, 1, 1, 1]).to_bits() == 1.0f64.to_bits());
    let unequal = run(1, [1, 2, 3, 4]);
    assert!(unequal > 1.4, "{unequal}");
    let apart = run(4, [1, 2, 3, 4]);
    assert!(apart < 1.02, "{apart}");
}

/// The second branch of x e^x = y: Lambert's W0.
fn lambert(y: f64) -> f64 {
    let mut x = if y > -0.3 { y } else { -0.9 };
    for _ in 0..200 {
        let step = (x * libm::exp(x) - y) / (libm::exp(x) * (x + 1.0));
        x -= step;
    }
    x
}

#[test]
fn a_random_handle_beside_data_that_die_in_order_takes_its_closed_form() {
    // Equation (c): one random handle of size s beside a handle that is overwritten in order.
    let shape = shape(0.86, (512, 400), 2, Isolation::Initial);
    let (share_of_space, share_of_bytes) = (0.2, 0.6);
    let small = (f64::from(shape.pages) * share_of_space) as u32;
    let mut random = Random(5);
    let mut at = 0;
    let drive = written(shape, 10.0, || {
        if random.share() < share_of_bytes {
            return (random.below(small), 0);
        }
        at = (at + 1) % (shape.pages - small);
        (small + at, 1)
    });
    let total = f64::from(shape.unit_pages) * (f64::from(shape.units) - 5.0);
    let (s, p) = (f64::from(small), f64::from(small) + total - f64::from(shape.pages));
    let d = -(s / p) * lambert(-(p / s) * libm::exp(-p / s));
    let form = 1.0 / (1.0 - d);
    let own = drive.account().handles[0];
    let found = 1.0 + own.moved as f64 / own.host as f64;
    assert!((found / form - 1.0).abs() < 0.08, "{found:.3}, form {form:.3}");
    assert_eq!(own.foreign, 0);
}

#[test]
fn open_units_take_spare() {
    // Equation (f): A of U / T', where T' excludes 0.6 of each open unit; with fewer units it
    // rises, and then is rejected.
    let mut before = f64::INFINITY;
    for units in [69u32, 138, 552] {
        let shape = shape(0.80, (512 * 138 / units, units), 5, Isolation::Initial);
        let mut random = Random(9);
        let mut turn = 0;
        let drive = written(shape, 16.0, || {
            turn += 1;
            (random.below(shape.pages), (turn % 5) as u8)
        });
        let (found, form) = (drive.account().dlwa(), uniform(usable(&shape)));
        assert!((found / form - 1.0).abs() < 0.15, "{units}: {found:.3}, form {form:.3}");
        assert!(found < before, "{units}");
        before = found;
    }
    let few = shape(0.9, (128, 69), 5, Isolation::Persistent);
    assert_eq!(few.check(), Err(TooFew { open: 10, spare: 6 }));
    assert!(Drive::new(few).is_err());
}

#[test]
fn one_handle_and_permuted_handles_change_nothing() {
    let run = |handles: u8, isolation, number: fn(u8) -> u8| {
        let shape = shape(0.8, (64, 200), handles, isolation);
        let mut random = Random(21);
        let drive = written(shape, 8.0, || {
            let page = random.below(shape.pages);
            (page, number((page % 4) as u8 % handles))
        });
        (drive.account().moved(), drive.account().host())
    };
    // With one handle, copies go to one place with either isolation.
    assert_eq!(run(1, Isolation::Initial, |it| it), run(1, Isolation::Persistent, |it| it));
    for isolation in [Isolation::Initial, Isolation::Persistent] {
        // The initial data were written with handle 0, so it keeps its number.
        assert_eq!(run(4, isolation, |it| it), run(4, isolation, |it| (4 - it) % 4));
    }
    // Unused handles change nothing but their units.
    assert_ne!(run(4, Isolation::Initial, |it| it), run(1, Isolation::Initial, |it| it));
}

/// A load in which half of the writes go to a twentieth of the pages.
fn skewed(pages: u64, count: u64) -> Load {
    let mut builder = Builder::default();
    builder.read(0, 0, pages * PAGE_BYTES).unwrap();
    let mut random = Random(33);
    for _ in 0..count {
        let hot = random.below(2) == 0;
        let page = if hot { random.below(pages as u32 / 20) } else { random.below(pages as u32) };
        builder.write(0, (u64::from(page) * PAGE_BYTES, PAGE_BYTES), (false, hot)).unwrap();
    }
    builder.finish().unwrap()
}

#[test]
fn placement_helps_where_lifetimes_differ_and_not_where_they_do_not() {
    let load = skewed(40_000, 400_000);
    let dlwa = |policy: Policy| {
        let classes = policy.classes(&load, 4).unwrap();
        let isolation = Isolation::Persistent;
        let shape = Shape {
            pages: load.pages,
            unit_pages: 120,
            units: 400,
            handles: classes.handles,
            isolation,
        };
        study(&load, &classes.of, shape, &|_| false).unwrap().account.dlwa()
    };
    let none = dlwa(Policy::None);
    for policy in [Policy::Address, Policy::Hint, Policy::Lifetime] {
        let found = dlwa(policy);
        assert!(found < none * 0.97, "{}: {found:.3}, none {none:.3}", policy.name());
    }
    assert!(dlwa(Policy::Clairvoyant) < none * 0.8);
    assert!(Policy::Size.classes(&load, 4).is_none(), "all requests are of one size");
}

#[test]
fn classes_are_rules_that_can_be_written_down() {
    let load = skewed(40_000, 100_000);
    let classes = Policy::Address.classes(&load, 4).unwrap();
    let classes::Rule::Borders(borders) = &classes.rule else { panic!("borders") };
    assert!(borders.iter().any(|it| it.abs_diff(2000) < 400), "{borders:?}");
    assert_eq!(load.address(borders[0]), (0, u64::from(borders[0]) * PAGE_BYTES));
    let mut builder = Builder::default();
    for (at, pages) in [1u64, 1, 8, 100].into_iter().enumerate() {
        let offset = at as u64 * (1 << 30);
        builder.write(0, (offset, pages * PAGE_BYTES), (false, false)).unwrap();
    }
    let classes = Policy::Size.classes(&builder.finish().unwrap(), 8).unwrap();
    assert_eq!(classes.of, [0, 0, 1, 2]);
    assert_eq!(classes.rule, classes::Rule::Sizes(vec![4096, 65536]));
}

#[test]
fn lifetimes_are_pages_written_until_the_next_overwrite() {
    let mut builder = Builder::default();
    for page in [0u64, 1, 0, 2, 3, 1] {
        builder.write(0, (page * PAGE_BYTES, PAGE_BYTES), (false, false)).unwrap();
    }
    let load = builder.finish().unwrap();
    // The third and the last request wrap around the end.
    let found = lifetimes(&load);
    assert_eq!(found, [2, 4, 4, 6, 6, 2]);
}

#[test]
fn a_load_is_the_touched_pages_in_order() {
    let mut builder = Builder::default();
    builder.read(5, 0, 1).unwrap();
    builder.write(1, (1 << 40, 4096), (false, false)).unwrap();
    builder.write(5, (10 * 4096 + 512, 4096), (false, true)).unwrap();
    builder.write(5, (512, 4096 * 3), (true, false)).unwrap();
    builder.write(5, (0, 70_000 * 4096), (false, false)).unwrap();
    let load = builder.finish().unwrap();
    assert_eq!((load.pages, load.written, load.devices), (70_001, 70_003, 2));
    let writes: Vec<_> = load.iter().map(|it| (it.first, it.pages, it.is_trim)).collect();
    let expected = [
        (70_000, 1, false),
        (10, 2, false),
        (1, 2, true),
        (0, 65_535, false),
        (65_535, 4465, false),
    ];
    assert_eq!(writes, expected);
    assert_eq!(load.address(70_000), (1, 1 << 40));
    assert_eq!(load.address(40_000), (5, 40_000 * 4096));
    assert_eq!((load.device(70_000), load.device(1)), (1, 0));
}

#[test]
fn pages_that_are_only_trimmed_hold_no_data() {
    let mut builder = Builder::default();
    let (all, page) = (1 << 30, PAGE_BYTES);
    builder.write(0, (0, all), (true, false)).unwrap();
    builder.write(0, (10 * page, 4 * page), (false, false)).unwrap();
    builder.write(0, (all / 2, page), (false, false)).unwrap();
    builder.write(0, (12 * page, all), (true, false)).unwrap();
    builder.write(0, (20 * page, page), (true, false)).unwrap();
    let load = builder.finish().unwrap();
    assert_eq!((load.pages, load.written), (5, 5));
    let trimmed = |range: std::ops::Range<usize>| -> Vec<u32> {
        let writes = range.map(|at| load.get(at)).filter(|write| write.is_trim);
        writes.flat_map(|write| write.first..write.first + write.pages).collect()
    };
    let first = load.iter().position(|write| !write.is_trim).unwrap();
    assert_eq!(trimmed(0..first), [0, 1, 2, 3, 4]);
    assert_eq!(trimmed(first..load.len()), [2, 3, 4]);
    assert_eq!(lifetimes(&load).len(), load.len());
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let mut builder = Builder::default();
    assert_eq!(builder.read(0, 1 << 60, 1), Err(LoadError::Beyond));
    assert!((1..65).all(|device| builder.read(device << 8, 0, 1).is_ok()));
    assert_eq!(builder.read(7, 0, 1), Err(LoadError::Devices));
    builder.read(256, 0, 4096).unwrap();
    builder.write(256, (0, 4096), (true, false)).unwrap();
    assert_eq!(builder.finish().map(|it| it.pages), Err(LoadError::NoWrites));
}

#[test]
fn a_study_can_be_stopped() {
    let load = skewed(4000, 40_000);
    let shape = Shape {
        pages: 4000,
        unit_pages: 32,
        units: 160,
        handles: 1,
        isolation: Isolation::Initial,
    };
    let handles = vec![0; load.len()];
    assert_eq!(study(&load, &handles, shape, &|_| true).map(|it| it.settled), Err(Ended::Stopped));
    let found = study(&load, &handles, shape, &|_| false).unwrap();
    assert_eq!(found.batches.len(), 10);
    let host: u64 = found.batches.iter().map(|it| it.host).sum();
    assert_eq!(host, found.account.host());
}

#[test]
fn handles_that_a_trace_names_are_a_policy() {
    let mut builder = Builder::default();
    for (page, handle) in [(0, Some(3)), (1, None), (2, Some(62)), (0, Some(3))] {
        builder.write_with(0, (page * PAGE_BYTES, PAGE_BYTES), (false, false), handle).unwrap();
    }
    assert_eq!(
        builder.write_with(0, (0, PAGE_BYTES), (false, false), Some(63)),
        Err(LoadError::Handle(63))
    );
    let load = builder.finish().unwrap();
    assert_eq!(
        load.iter().map(|it| it.handle).collect::<Vec<_>>(),
        [Some(3), None, Some(62), Some(3)]
    );
    let classes = Policy::Column.classes(&load, 8).unwrap();
    assert_eq!((classes.of, classes.handles), (vec![1, 0, 2, 1], 3));
    assert_eq!(classes.rule, classes::Rule::Named(vec![0, 3, 62]));
    assert!(Policy::Column.classes(&skewed(1000, 1000), 8).is_none(), "no handle is named");
}

#[test]
fn a_permutation_is_known_from_draws_and_from_sequences() {
    let pages = 20_000u32;
    let load = |next: &mut dyn FnMut(u32) -> u32| {
        let mut builder = Builder::default();
        for at in 0..5 * pages / 2 {
            let page = u64::from(next(at));
            builder.write(0, (page * PAGE_BYTES, PAGE_BYTES), (false, false)).unwrap();
        }
        builder.finish().unwrap().is_permutation()
    };
    // Multiplication by a coprime number visits each page once, in another order each pass.
    let step = |at: u32| {
        ((u64::from(at) * [7919, 104_729, 611_953][(at / pages) as usize]) % u64::from(pages))
            as u32
    };
    assert!(load(&mut |at| step(at)));
    assert!(!load(&mut |at| at % pages), "in order");
    let mut random = Random(4);
    assert!(!load(&mut |_| random.below(pages)));
    // A single pass overwrites nothing.
    let mut builder = Builder::default();
    for at in 0..pages {
        builder.write(0, (u64::from(step(at)) * PAGE_BYTES, PAGE_BYTES), (false, false)).unwrap();
    }
    assert!(!builder.finish().unwrap().is_permutation());
}

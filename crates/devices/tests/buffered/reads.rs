//! Reads: beside programs, suspended or not, and against the drive that programs page by page.

use super::{GROUP_NS, P, UNITS, near, run, with};
use crate::common::{Script, Step, configured, run_on};
use devices::ssd::Ssd;
use devices::{DeviceConfig, latency};
use engine::{Completion, Op, Random, Time, Xoshiro256};
use serde_json::{Value, json};

/// When the reads of a load begin, ns.
const BEGIN: Time = 1_000_000_000;

const SENSE: Time = 45_000;
const PART: Time = 4096;

/// Reads at random instants from the first pages, and a group written every so often after them; what the
/// reads took, and the drive's suspensions.
fn beside_programs(changes: &super::Keys, every_ns: Time) -> (f64, u64, f64) {
    let mut keys = vec![
        ("device.fill", json!(0.1)),
        ("device.blocks_per_plane", json!(256)),
        ("device.pages_per_block", json!(24)),
    ];
    keys.extend(changes.iter().cloned());
    let mut ssd = Ssd::new(&with(&keys), 0).unwrap();
    let (mut random, mut steps) = (Xoshiro256::new(4, 4), Vec::<Step>::new());
    let groups = 8000;
    for group in 0..groups {
        steps.push((group * every_ns, Op::Write, (1000 + group) * UNITS, UNITS as u32));
    }
    let mut at = 0.0;
    loop {
        at += -libm::log(1.0 - random.unit()) * 250_000.0;
        if at >= (groups * every_ns) as f64 {
            break;
        }
        steps.push((at as Time, Op::Read, random.below(900 * UNITS), 1));
    }
    steps.sort_by_key(|step| step.0);
    let done = run_on(&mut ssd, Script::pages(&steps));
    let reads: Vec<&Completion> = done.iter().filter(|it| it.request.op == Op::Read).collect();
    let mean = |of: &dyn Fn(&Completion) -> Time| {
        reads.iter().map(|it| of(it) as f64).sum::<f64>() / reads.len() as f64
    };
    let suspensions = ssd.account(0).counts.suspensions;
    (mean(&Completion::latency), suspensions, mean(&|it| it.breakdown[latency::SUSPEND]))
}

#[test]
fn reads_wait_for_half_a_program_on_average_or_suspend_it() {
    let idle = (SENSE + PART) as f64;
    for rho in [0.25, 0.5] {
        let every = (P as f64 / 8.0 / rho) as Time;
        let (alone, suspensions, _) = beside_programs(&[], every);
        assert_eq!(suspensions, 0);
        // A read that comes at random finds a program with chance rho, and half of it left; the bus and
        // other reads add a few microseconds.
        near(alone - idle, rho * P as f64 / 2.0, 0.06, &format!("without suspension at {rho}"));
        let keys =
            [("device.suspend.program", json!("35us")), ("device.suspend.resume", json!("5us"))];
        let (stopped, suspensions, waited) = beside_programs(&keys, every);
        assert!(suspensions > 500, "{suspensions}");
        near(waited, rho * 35_000.0, 0.12, &format!("for suspensions at {rho}"));
        let most = idle + rho * 35_000.0 + rho * GROUP_NS as f64 / 4.0;
        assert!(stopped < most, "{stopped} with suspension at {rho}, at most {most}");
    }
}

/// A die programs a group from time 0; reads arrive at `reads_us`. Returns when each read completed, and
/// when the group was programmed.
fn one_program(changes: &super::Keys, reads_us: &[Time]) -> (Vec<Time>, Time) {
    let mut keys = vec![
        ("device.channels", json!(1)),
        ("device.dies_per_package", json!(1)),
        ("device.fill", json!("empty")),
        ("device.pages_per_block", json!(48)),
        ("device.buffer.power_loss_protected", json!(false)),
    ];
    keys.extend(changes.iter().cloned());
    let mut steps: Vec<Step> = vec![
        (0, Op::Write, 0, 10 * UNITS as u32),
        (BEGIN, Op::Write, 9000, UNITS as u32),
        (BEGIN, Op::Flush, 0, 0),
    ];
    let reads = reads_us.iter().enumerate();
    steps
        .extend(reads.map(|(n, us)| (BEGIN + GROUP_NS + us * 1000, Op::Read, n as u64 * UNITS, 1)));
    let done = run(&keys, &steps);
    (done[3..].iter().map(Completion::latency).collect(), done[2].latency())
}

fn suspending(more: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut keys = vec![("device.suspend.program", json!("35us"))];
    keys.extend(more.iter().cloned());
    keys
}

#[test]
fn suspended_work_is_never_lost() {
    let alone = GROUP_NS + P;
    assert_eq!(one_program(&[], &[]).1, alone);
    let at: Vec<Time> = (1..=5).map(|n| n * 200).collect();
    for (resume, cost) in [(0, 0), (7, 0), (0, 500), (7, 500)] {
        let keys = suspending(&[
            ("device.suspend.resume", json!(format!("{resume}us"))),
            ("device.suspend.cost", json!(format!("{cost}us"))),
        ]);
        let (reads, end) = one_program(&keys, &at);
        assert_eq!(reads, [35_000 + SENSE + PART; 5]);
        // The data of a read are transferred while the program continues.
        let each = 35_000 + SENSE + (resume + cost) * 1000;
        assert_eq!(end, alone + 5 * each, "resume {resume} us, cost {cost} us");
    }
    // Without cache registers the program waits for them too.
    let keys = suspending(&[("device.cache_commands", json!(false))]);
    assert_eq!(one_program(&keys, &at).1, alone + 5 * (35_000 + SENSE + PART));
}

#[test]
fn programs_are_suspended_at_safe_points_and_no_more_often_than_the_limit() {
    // 200 us after its beginning a program is stopped at the next multiple of 90 us.
    let keys = suspending(&[("device.suspend.step", json!("90us"))]);
    let (reads, end) = one_program(&keys, &[200]);
    assert_eq!(reads, [70_000 + 35_000 + SENSE + PART]);
    assert_eq!(end, GROUP_NS + P + 35_000 + SENSE);
    // On a safe point it is stopped at once.
    assert_eq!(one_program(&keys, &[180]).0, [35_000 + SENSE + PART]);
    // One that would end sooner is not stopped.
    let keys = suspending(&[]);
    let (reads, end) = one_program(&keys, &[1180]);
    assert_eq!((reads, end), (vec![20_000 + SENSE + PART], GROUP_NS + P));
    // After `limit` suspensions the program runs to its end.
    let keys = suspending(&[("device.suspend.limit", json!(2))]);
    let (reads, end) = one_program(&keys, &[100, 300, 500]);
    assert_eq!(end, GROUP_NS + P + 2 * (35_000 + SENSE));
    assert_eq!(reads[..2], [35_000 + SENSE + PART; 2]);
    assert_eq!(reads[2], end - (GROUP_NS + 500_000) + SENSE + PART);
    // A limit of 0 is off.
    let keys = suspending(&[("device.suspend.limit", json!(0))]);
    assert_eq!(one_program(&keys, &[100, 300]), one_program(&[], &[100, 300]));
}

#[test]
fn buffered_reads_are_those_of_the_drive_that_programs_page_by_page() {
    let random = &mut Xoshiro256::new(8, 8);
    // With cache registers the page-at-a-time drive keeps its unit for reads of one kind in a row only, and
    // a quarter of the times differ.
    {
        let cache = false;
        let mut keys = vec![
            ("device.channels", json!(2)),
            ("device.packages_per_channel", json!(1)),
            ("device.dies_per_package", json!(2)),
            ("device.planes_per_die", json!(1)),
            ("device.blocks_per_plane", json!(64)),
            ("device.pages_per_block", json!(16)),
            ("device.summary_page", json!(false)),
            ("device.cache_commands", json!(cache)),
        ];
        let built = |keys: &[(&str, Value)]| match configured(keys) {
            DeviceConfig::Ssd(config) => Ssd::new(&config, 0).unwrap(),
            other => panic!("{other:?}"),
        };
        keys.push(("device.buffer.size", json!("1MiB")));
        let mut groups = built(&keys);
        keys.pop();
        keys.push(("device.interleave", json!("die")));
        keys.push(("device.pool", json!("die")));
        let mut pages = built(&keys);
        let capacity = [&groups, &pages].map(engine::Device::capacity_sectors);
        assert!(capacity[0].abs_diff(capacity[1]) < 100, "{capacity:?}");
        // Some dies idle, some with a queue.
        let mut at = 0;
        let steps: Vec<Step> = (0..4000)
            .map(|_| {
                at += random.below(90_000);
                (at, Op::Read, random.below(capacity[1] / 8 - 16), 1 + random.below(3) as u32)
            })
            .collect();
        let [one, two] = [&mut groups, &mut pages].map(|ssd| run_on(ssd, Script::pages(&steps)));
        let times = |done: &[Completion]| done.iter().map(|it| it.at).collect::<Vec<_>>();
        let differ = times(&one).iter().zip(&times(&two)).filter(|(a, b)| a != b).count();
        assert_eq!(differ, 0, "of {} reads, cache {cache}", steps.len());
    }
}

#[test]
fn the_order_of_sensing_times_by_page_type_does_not_change_their_sum() {
    let of = |times: &str| {
        let steps: Vec<Step> =
            (0..200).map(|n| (n * 1_000_000, Op::Read, n * UNITS, UNITS as u32)).collect();
        let done = run(&[("device.timing.read", json!(times))], &steps);
        done.iter().map(Completion::latency).sum::<Time>()
    };
    let sum = of("38us, 45us, 62us");
    for times in ["45us, 62us, 38us", "62us, 38us, 45us", "62us, 45us, 38us"] {
        assert_eq!(of(times), sum, "{times}");
    }
    // A page of each type and plane after the other.
    assert_eq!(sum, 200 * (38_000 + 45_000 + 62_000 + 2 * super::PAGE_NS));
}

#[test]
fn reads_of_less_than_a_page_may_be_sensed_faster() {
    let read = |pages: u32| {
        let keys = [("device.timing.read_part", json!("36us"))];
        run(&keys, &[(0, Op::Read, 0, pages)])[0].latency()
    };
    assert_eq!(read(1), 36_000 + PART);
    assert_eq!(read(4), SENSE + super::PAGE_NS);
    // Both planes at once.
    assert_eq!(read(8), SENSE + 2 * super::PAGE_NS);
}

//! Times of commands: laws of resets and finishes, rates of writes, appends and reads.

use super::{PAGE, SMALL, ask, closed, drive, report, request, settle, write_up_to};
use devices::ssd::zoned::ZonedDrive;
use engine::Device as _;
use engine::{Completion, Op, Random, Status, Time, Xoshiro256};

/// A drive like the ZN540 of Western Digital, with eight zones.
const LIKE_ZN540: &str = "channels = 8\ndies_per_channel = 4\nplanes_per_die = 2\npage_size = '16KiB'\nbits = 3\n\
    pages_per_block = 1152\nbuffer.size = '64MiB'\nzones.count = 8\nzones.size = '2GiB'\n\
    zones.capacity = '1077MiB'\nzones.open = 14\nzones.active = 14\nzones.parity_of = 16\nzones.reset = '1.6ms'\n\
    zones.reset_page = '50ns'\nzones.close = '2.7ms'\nzones.erase = 'at-open'\ntiming.read = '52us, 52us, 64us'\n\
    timing.program = '2.37ms'\ntiming.bus_rate = '476MT/s'\nsuspend.step = '256us'\nsuspend.limit = 4\n\
    firmware.write = '5.4us'\nfirmware.append = '7.56us'\nfirmware.spread = 'exponential'\n\
    firmware.path_write = '6us'\nfirmware.path_append = '7.24us'\nfirmware.path_read = '5.5us'\n\
    firmware.manage = '13us'\nlink.command = '600ns'\nlink.page = '1380ns'\n";

const ZONE: u64 = (2 << 30) / 512;
const CAPACITY: u64 = (1077 << 20) / 512;

fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let off = found / expected - 1.0;
    assert!(off.abs() < tolerance, "{what}: {found:.5} for {expected:.5}, {:.2} %", 100.0 * off);
}

fn latency(drive: &mut ZonedDrive, now: &mut Time, op: Op, start: u64) -> Time {
    let answer = ask(drive, now, &[request(op, start, 1)])[0];
    assert_eq!(answer.status, Status::Ok);
    answer.latency()
}

/// t0 + `t_page` x pages that the host wrote + `t_close` if the zone is active and partly written: exactly.
#[test]
fn a_reset_takes_a_fixed_time_and_that_of_the_pages_which_the_host_wrote() {
    for pages in [0_u64, 1, 16, 100, 192] {
        for finish in [false, true] {
            let keys = "zones.reset = '1.6ms'\nzones.reset_page = '50ns'\nzones.close = '2.7ms'\n\
                        zones.erase = 'at-open'\n";
            let (mut drive, mut now) = (drive(&format!("{SMALL}{keys}")), 0);
            latency(&mut drive, &mut now, Op::Open, 0);
            write_up_to(&mut drive, &mut now, 0, 0, pages * PAGE);
            if finish && pages < 192 {
                latency(&mut drive, &mut now, Op::Finish, 0);
            }
            settle(&mut drive, &mut now);
            let is_open = !finish && (1..192).contains(&pages);
            let law = 1_600_000 + 50 * pages + if is_open { 2_700_000 } else { 0 };
            let found = latency(&mut drive, &mut now, Op::Reset, 0);
            assert_eq!(found, law, "{pages} pages, finished: {finish}");
            // What is empty already is not reset.
            assert_eq!(latency(&mut drive, &mut now, Op::Reset, 0), 10_000);
            assert_eq!(report(&drive, now).count("resets"), 1);
        }
    }
}

/// The rest at the rate of the dies, and the last program; nothing is programmed of an empty zone.
#[test]
fn a_finish_programs_the_rest_of_a_zone_at_the_rate_of_its_dies() {
    let (group, program) = (6.0 * 16.0 * 1024.0, 2.37e-3);
    let rate = 32.0 * group * 15.0 / 16.0 / program;
    for (pages, tolerance) in [(1, 0.01), (CAPACITY / PAGE / 4, 0.01), (CAPACITY / PAGE / 2, 0.01)]
    {
        let (mut drive, mut now) = (drive(LIKE_ZN540), 0);
        write_up_to(&mut drive, &mut now, 0, 0, pages * PAGE);
        settle(&mut drive, &mut now);
        let found = latency(&mut drive, &mut now, Op::Finish, 0) as f64 / 1e9;
        let rest = (CAPACITY - pages * PAGE) as f64 * 512.0;
        assert_near(&format!("{pages} pages"), found, rest / rate + 2.6e-3, tolerance);
        let report = report(&drive, now);
        assert_eq!(report.count("padding_bytes"), (CAPACITY - pages * PAGE) * 512);
        let whole = report.count("data_bytes")
            + report.count("padded_bytes")
            + report.count("parity_bytes");
        // 11,488 groups of data, and parity to every 15 of them.
        assert_eq!(whole, (11_488 + 766) * 98_304);
    }
    let (mut drive, mut now) = (drive(LIKE_ZN540), 0);
    assert_eq!(latency(&mut drive, &mut now, Op::Finish, 0), 13_000);
    let report = report(&drive, now);
    assert_eq!(
        (report.count("padded_bytes"), report.count("padding_bytes"), report.count("erases")),
        (0, 0, 0)
    );
}

fn iops(answers: &[Completion], from: Time, to: Time) -> f64 {
    answers.len() as f64 / ((to - from) as f64 / 1e9)
}

/// One exponential server and a path of fixed length: at one request the sum, at many the server alone.
#[test]
fn writes_and_appends_are_a_closed_network_of_one_server() {
    let run = |op: Op, depth: u64| {
        let (mut drive, mut now) = (drive(LIKE_ZN540), 0);
        let mut at = [0; 4];
        let count = 60_000;
        let answers = closed(&mut drive, &mut now, depth, count, |number| {
            let zone = number % depth.min(4);
            let place = &mut at[zone as usize];
            let sector = if op == Op::Write { *place } else { 0 };
            *place += PAGE;
            request(op, zone * ZONE + sector, PAGE)
        });
        assert!(answers.iter().all(|it| it.status == Status::Ok), "{op:?} {depth}");
        iops(&answers, 0, now)
    };
    assert_near("write 1", run(Op::Write, 1), 1e6 / 11.4, 0.01);
    assert_near("append 1", run(Op::Append, 1), 1e6 / 14.8, 0.01);
    // Mean value analysis of a machine-repair model is exact for exponential servers (Reiser and Lavenberg 1980) and
    // takes only the mean of the path.
    let network = |service: f64, path: f64, depth: u64| {
        let (mut queue, mut rate) = (0.0, 0.0);
        for customers in 1..=depth {
            let response = service * (1.0 + queue);
            rate = customers as f64 / (response + path);
            queue = rate * response;
        }
        1e6 * rate
    };
    assert_near("write 4", run(Op::Write, 4), network(5.4, 6.0, 4), 0.01);
    assert_near("append 4", run(Op::Append, 4), network(7.56, 7.24, 4), 0.01);
    assert_near("append 16", run(Op::Append, 16), 1e6 / 7.56, 0.01);
}

/// Each of several appends that are outstanding is told where it went: together they have filled the zone once.
#[test]
fn appends_are_told_where_they_went() {
    let (mut drive, mut now) = (drive(SMALL), 0);
    let zone = 3 * 2048;
    let answers = closed(&mut drive, &mut now, 8, 96, |_| request(Op::Append, zone, 16));
    let mut places: Vec<u64> = answers.iter().map(|it| it.request.lba.0).collect();
    places.sort_unstable();
    assert_eq!(places, (0..96).map(|number| zone + number * 16).collect::<Vec<_>>());
    let refused = ask(&mut drive, &mut now, &[request(Op::Append, zone, 16)])[0];
    assert_eq!(refused.status, Status::ZoneFull);
}

fn random_reads(drive: &mut ZonedDrive, now: &mut Time, depth: u64, count: u64) -> Vec<Completion> {
    let mut random = Xoshiro256::new(depth, 0);
    closed(drive, now, depth, count, |_| {
        let zone = random.below(4) * ZONE;
        request(Op::Read, zone + random.below(CAPACITY / PAGE) * PAGE, PAGE)
    })
}

/// At one request, the sum of its parts; at many, what the slowest station can do.
#[test]
fn reads_take_the_sum_of_their_stations_and_saturate_the_slowest() {
    let text = format!("{LIKE_ZN540}zones.fill = 0.5\n");
    let (mut one, mut now) = (drive(&text), 0);
    let answers = random_reads(&mut one, &mut now, 1, 20_000);
    let mean = answers.iter().map(Completion::latency).sum::<Time>() as f64 / 20_000.0;
    let bus = 4096.0 / 476.0 * 1000.0;
    assert_near("mean", mean, 56_000.0 + bus + 5_500.0 + 600.0 + 1_380.0, 0.005);
    let (mut many, mut now) = (drive(&text), 0);
    let answers = random_reads(&mut many, &mut now, 1024, 100_000);
    assert_near("many", iops(&answers, 0, now), 1e9 / 1_980.0, 0.05);
}

/// Reads of what is not written, and between the capacity of a zone and the next one, touch no flash.
#[test]
fn what_is_not_written_is_read_without_the_flash() {
    let (mut drive, mut now) = (drive(SMALL), 0);
    write_up_to(&mut drive, &mut now, 0, 0, 640);
    settle(&mut drive, &mut now);
    // Five groups of 128 sectors are programmed.
    for (sector, sectors, pages) in
        [(0, 8, 1), (632, 8, 1), (632, 16, 1), (640, 8, 0), (1536, 512, 0), (0, 640, 80)]
    {
        let before = report(&drive, now).count("page_reads");
        let answer = ask(&mut drive, &mut now, &[request(Op::Read, sector, sectors)])[0];
        assert_eq!(answer.status, Status::Ok);
        assert_eq!(report(&drive, now).count("page_reads") - before, pages, "{sector} + {sectors}");
    }
    // What waits in the buffer for its group is read there.
    write_up_to(&mut drive, &mut now, 0, 640, 704);
    settle(&mut drive, &mut now);
    let before = report(&drive, now).count("page_reads");
    ask(&mut drive, &mut now, &[request(Op::Read, 632, 16)]);
    assert_eq!(report(&drive, now).count("page_reads") - before, 1);
}

/// A read beside writes waits for the next safe point of a die that programs: half a step, by the share of the time
/// that dies program.
#[test]
fn reads_beside_writes_wait_for_half_a_step_by_the_load_of_the_dies() {
    let mean_of = |rate: f64| {
        let text = format!("{LIKE_ZN540}zones.fill = 0.5\n");
        let (mut drive, mut now) = (drive(&text), 0);
        let mut random = Xoshiro256::new(3, 0);
        let mut sum = 0;
        let (mut written, mut answers) = (0_u64, Vec::new());
        // Writes of 128 KiB by the clock, into zone 5.
        let gap = if rate > 0.0 { (131_072.0 / rate) as Time } else { Time::MAX };
        let (mut next_write, mut count, mut reading) = (gap, 0_u64, false);
        while count < 20_000 {
            if !reading {
                let zone = random.below(4) * ZONE;
                let sector = zone + random.below(CAPACITY / PAGE) * PAGE;
                drive.submit(now, request(Op::Read, sector, PAGE));
                reading = true;
            }
            let at = drive.next_event().unwrap_or(Time::MAX);
            if next_write < at {
                now = next_write;
                drive.submit(now, request(Op::Write, 5 * ZONE + written * 256, 256));
                written += 1;
                next_write += gap;
                continue;
            }
            now = at;
            drive.advance(now, &mut answers);
            for answer in answers.drain(..).filter(|it: &Completion| it.request.op == Op::Read) {
                (sum, count, reading) = (sum + answer.latency(), count + 1, false);
            }
        }
        let report = report(&drive, now);
        let load = report.number("dies_busy").unwrap();
        (sum as f64 / count as f64, load)
    };
    let (alone, _) = mean_of(0.0);
    for rate in [0.1, 0.5] {
        let (mean, _) = mean_of(rate * 1.048_576);
        // Dies program that share of their time: 3 MiB, of which 15/16 are of the host, in 2.37 ms.
        let load = rate * 1.048_576e9 / (32.0 * 98_304.0 * 15.0 / 16.0 / 2.37e-3);
        assert_near(&format!("{rate}"), mean - alone, load * 128_000.0, 0.12);
    }
}

/// Blocks are erased once for each time that a zone is written, and when the key says so.
#[test]
fn a_zone_is_erased_at_its_reset_or_when_it_is_opened_next() {
    for (when, before) in [("at-reset", 4), ("at-open", 0)] {
        let (mut drive, mut now) = (drive(&format!("{SMALL}zones.erase = '{when}'\n")), 0);
        write_up_to(&mut drive, &mut now, 0, 0, 512);
        assert_eq!(report(&drive, now).count("erases"), 0, "what is new is erased");
        settle(&mut drive, &mut now);
        let time = latency(&mut drive, &mut now, Op::Reset, 0);
        assert_eq!(report(&drive, now).count("erases"), before, "{when}");
        // The reset is answered when the blocks are erased, which takes longer than itself.
        assert_eq!(time, if before > 0 { 6_000_000 } else { 1_000_000 }, "{when}");
        write_up_to(&mut drive, &mut now, 0, 0, 512);
        settle(&mut drive, &mut now);
        assert_eq!(report(&drive, now).count("erases"), 4, "{when}");
    }
}

/// Bytes of the flash are those of the host, and parity; whatever the sizes of the writes.
#[test]
fn a_zone_that_is_written_once_is_programmed_once() {
    for size in [8, 24, 40, 128, 250] {
        let (mut drive, mut now) =
            (drive(&format!("{SMALL}zones.parity_of = 4\nzones.capacity = '576KiB'\n")), 0);
        let mut at = 0;
        while at < 1152 {
            let sectors = (1152 - at).min(size);
            ask(&mut drive, &mut now, &[request(Op::Write, at, sectors)]);
            at += sectors;
        }
        settle(&mut drive, &mut now);
        let report = report(&drive, now);
        assert_eq!(
            (report.count("data_bytes"), report.count("host_bytes")),
            (589_824, 589_824),
            "{size}"
        );
        // Nine groups, with parity to every three.
        assert_eq!(report.count("parity_bytes"), 3 * 65_536, "{size}");
    }
}

/// More dies to a zone are faster, and a small buffer makes writes wait for them.
#[test]
fn writes_are_as_fast_as_the_dies_of_their_zone_when_the_buffer_is_full() {
    let rate = |width: u32| {
        let text = format!(
            "{SMALL}pages_per_block = 96\nzones.size = '16MiB'\nzones.capacity = '3MiB'\nzones.width = {width}\n\
             buffer.size = '448KiB'\nfirmware.write = '1us'\n"
        );
        let (mut drive, mut now) = (drive(&text), 0);
        let (zone, count) = (32_768, 24);
        closed(&mut drive, &mut now, 1, count, |number| {
            request(Op::Write, number / 24 * zone + number % 24 * 256, 256)
        });
        settle(&mut drive, &mut now);
        count as f64 * 131_072.0 / (now as f64 / 1e9)
    };
    // A group of 64 KiB in 2 ms a die.
    let of = |dies: f64| dies * 65_536.0 / 2e-3;
    assert_near("one", rate(1), of(1.0), 0.05);
    assert_near("two", rate(2), of(2.0), 0.08);
    assert_near("four", rate(4), of(4.0), 0.12);
}

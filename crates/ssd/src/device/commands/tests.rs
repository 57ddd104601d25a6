use super::*;
use engine::{Breakdown, Lba, Part};
use std::collections::BTreeMap as Map;

/// A device whose latency depends on the length; it records its requests.
#[derive(Default)]
struct Noting {
    under_way: Map<(Time, u64), Completion>,
    asked: Vec<(Time, Op, u64, u32)>,
    count: u64,
}

impl Device for Noting {
    fn submit(&mut self, now: Time, request: Request) {
        self.asked.push((now, request.op, request.lba.0, request.sectors));
        let at = now + 100 + u64::from(request.sectors);
        let breakdown = Breakdown::of(Part(0), at - now);
        self.count += 1;
        let completion = Completion { request, submitted: now, at, breakdown, status: Status::Ok };
        self.under_way.insert((at, self.count), completion);
    }

    fn next_event(&self) -> Option<Time> {
        self.under_way.first_key_value().map(|((at, _), _)| *at)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some(first) = self.under_way.first_entry()
            && first.key().0 <= to
        {
            completions.push(first.remove());
        }
    }

    fn cut(&mut self, now: Time, completions: &mut Vec<Completion>) {
        let lost = std::mem::take(&mut self.under_way).into_values();
        completions.extend(lost.map(|it| Completion {
            at: now,
            status: Status::PowerLost,
            breakdown: Breakdown::of(Part(0), now - it.submitted),
            ..it
        }));
    }

    fn power_on(&mut self, _: Time) {}

    fn capacity_sectors(&self) -> u64 {
        1 << 30
    }
}

/// Submits requests one at a time. Returns the status and latency of each.
fn done(
    device: &mut Noting,
    wishes: &[NamespaceWish],
    requests: &[(Op, u64, u32)],
) -> (Vec<(Status, Time)>, CommandsReport) {
    let mut commands = Commands::new(device, wishes);
    let (mut now, mut ended, mut answers) = (0, Vec::new(), Vec::new());
    for (id, (op, lba, sectors)) in requests.iter().enumerate() {
        let request = Request::new(id as u64, *op, Lba(*lba), *sectors);
        commands.submit(now, request);
        while let Some(at) = commands.next_event() {
            commands.advance(at, &mut answers);
        }
        assert_eq!(answers.len(), 1, "each is answered once");
        let answer = answers.pop().unwrap();
        assert_eq!(answer.request, request, "the answer is to what was asked");
        assert_eq!(answer.submitted + answer.breakdown.total(), answer.at);
        ended.push((answer.status, answer.latency()));
        now = answer.at;
    }
    let report = commands.report();
    (ended, report)
}

fn whole(bytes: u64, block: u32) -> NamespaceWish {
    NamespaceWish { block, ..NamespaceWish::whole(bytes) }
}

#[test]
fn what_is_no_command_is_passed_on() {
    let mut device = Noting::default();
    let asked = [(Op::Read, 8, 8), (Op::Write, 0, 16), (Op::Trim, 8, 1), (Op::Flush, 0, 0)];
    let (ended, report) = done(&mut device, &[], &asked);
    assert_eq!(ended, [108, 116, 101, 100].map(|ns| (Status::Ok, ns)));
    let seen: Vec<_> = device.asked.iter().map(|it| (it.1, it.2, it.3)).collect();
    assert_eq!(seen, asked);
    assert_eq!(report, CommandsReport::default());
}

#[test]
fn commands_are_done_in_their_steps() {
    let mut device = Noting::default();
    let asked = [
        (Op::Zeroes, 0, 8),
        (Op::Compare, 8, 8),
        (Op::Miscompare, 8, 8),
        (Op::Verify, 16, 8),
        (Op::CompareWrite, 24, 8),
        (Op::MiscompareWrite, 24, 8),
        (Op::Range, 0, 4),
        (Op::Range, 100, 6),
        (Op::Copy, 200, 10),
        (Op::Range, 0, 8),
        (Op::Trim, 64, 8),
    ];
    let (ended, report) = done(&mut device, &[], &asked);
    // A write follows the reads; submitting a range costs no time.
    let expected = [
        (Status::Ok, 108),
        (Status::Ok, 108),
        (Status::CompareFailure, 108),
        (Status::Ok, 108),
        (Status::Ok, 216),
        (Status::CompareFailure, 108),
        (Status::Ok, 0),
        (Status::Ok, 0),
        (Status::Ok, 106 + 110),
        (Status::Ok, 0),
        (Status::Ok, 108),
    ];
    assert_eq!(ended, expected);
    let seen: Vec<_> = device.asked.iter().map(|it| (it.1, it.2, it.3)).collect();
    let expected = [
        (Op::Trim, 0, 8),
        (Op::Read, 8, 8),
        (Op::Read, 8, 8),
        (Op::Read, 16, 8),
        (Op::Read, 24, 8),
        (Op::Write, 24, 8),
        (Op::Read, 24, 8),
        (Op::Read, 0, 4),
        (Op::Read, 100, 6),
        (Op::Write, 200, 10),
        (Op::Trim, 0, 8),
        (Op::Trim, 64, 8),
    ];
    assert_eq!(seen, expected);
    assert_eq!((report.copied_bytes, report.zeroed_bytes, report.ranges), (5120, 4096, 3));
    assert_eq!((report.compared, report.differed), (4, 2));
    assert_eq!(report.statuses().collect::<Vec<_>>(), [(Status::CompareFailure, 2)]);
}

/// Operations with first sector and number of sectors.
type Asked = Vec<(Op, u64, u32)>;

#[test]
fn each_limit_has_its_status() {
    let range = |count: usize| vec![(Op::Range, 0, 1); count];
    let rows: Vec<(Asked, Status)> = vec![
        // An empty copy; a length other than the ranges'; too many ranges, too long, too much in
        // total.
        (vec![(Op::Copy, 0, 8)], Status::InvalidField),
        ([range(1), vec![(Op::Copy, 8, 2)]].concat(), Status::InvalidField),
        ([range(129), vec![(Op::Copy, 8, 129)]].concat(), Status::SizeLimit),
        (vec![(Op::Range, 0, 2049), (Op::Copy, 4096, 2049)], Status::SizeLimit),
        (
            [vec![(Op::Range, 0, 2048); 5], vec![(Op::Copy, 1 << 20, 5 * 2048)]].concat(),
            Status::SizeLimit,
        ),
        ([range(128), vec![(Op::Copy, 8, 128)]].concat(), Status::Ok),
        // Ranges followed by a command without ranges.
        ([range(1), vec![(Op::Write, 8, 1)]].concat(), Status::InvalidField),
        ([range(1), vec![(Op::Flush, 0, 0)]].concat(), Status::InvalidField),
        // A trim with 256 ranges, and with more.
        ([range(255), vec![(Op::Trim, 8, 1)]].concat(), Status::Ok),
        ([range(256), vec![(Op::Trim, 8, 1)]].concat(), Status::InvalidField),
        (range(257), Status::SizeLimit),
        ([range(1), vec![(Op::Trim, 8, (1 << 21) + 1)]].concat(), Status::SizeLimit),
        // A fused pair compares and writes atomically.
        (vec![(Op::CompareWrite, 0, 16)], Status::Ok),
        (vec![(Op::CompareWrite, 0, 17)], Status::AtomicExceeded),
        (vec![(Op::MiscompareWrite, 0, 17)], Status::AtomicExceeded),
    ];
    for (asked, expected) in rows {
        let (ended, _) = done(&mut Noting::default(), &[], &asked);
        assert_eq!(ended.last().unwrap().0, expected, "{:?}", asked.last());
    }
}

#[test]
fn what_is_marked_cannot_be_read_until_it_is_replaced_or_given_up() {
    let marked = (Op::Uncorrectable, 100, 8);
    let failing = [
        (Op::Read, 107, 8),
        (Op::Verify, 96, 5),
        (Op::Compare, 100, 8),
        (Op::CompareWrite, 100, 8),
    ];
    for reading in failing {
        let (ended, report) = done(&mut Noting::default(), &[], &[marked, reading]);
        assert_eq!(ended[1].0, Status::Unreadable, "{reading:?}");
        assert_eq!(report.marked_bytes, 4096);
    }
    let copied = [marked, (Op::Range, 100, 8), (Op::Copy, 0, 8)];
    assert_eq!(done(&mut Noting::default(), &[], &copied).0[2].0, Status::Unreadable);
    for mending in [(Op::Write, 100, 8), (Op::Zeroes, 100, 8), (Op::Trim, 100, 8)] {
        let asked = [marked, mending, (Op::Read, 100, 8)];
        let (ended, _) = done(&mut Noting::default(), &[], &asked);
        assert_eq!(ended[2].0, Status::Ok, "{mending:?}");
    }
    let beside = [marked, (Op::Write, 100, 4), (Op::Read, 100, 4), (Op::Read, 104, 1)];
    let (ended, _) = done(&mut Noting::default(), &[], &beside);
    assert_eq!((ended[2].0, ended[3].0), (Status::Ok, Status::Unreadable));
}

#[test]
fn namespaces_end_where_they_end_and_map_what_they_may() {
    let thin = NamespaceWish { capacity: 2 * 4096, ..whole(64 * 4096, 512) };
    let wishes = [whole(16 * 4096, 512), thin, whole(16 * 4096, 4096)];
    let (second, third) = (128, 128 + 512);
    let asked = [
        // Across a border, beyond the last namespace, and parts of a block.
        (Op::Read, second - 1, 2, Status::OutOfRange),
        (Op::Write, third + 128, 1, Status::OutOfRange),
        (Op::Write, third + 1, 8, Status::InvalidField),
        (Op::Read, third + 8, 4, Status::InvalidField),
        (Op::Write, third + 8, 8, Status::Ok),
        // Two units of 4 KiB fill the namespace; a third needs a trim first.
        (Op::Write, second, 8, Status::Ok),
        (Op::Write, second + 80, 1, Status::Ok),
        (Op::Write, second + 160, 1, Status::CapacityExceeded),
        (Op::Write, second + 81, 7, Status::Ok),
        (Op::Zeroes, second, 8, Status::Ok),
        (Op::Write, second + 160, 1, Status::Ok),
        (Op::Range, 0, 1, Status::Ok),
        (Op::Copy, second + 240, 1, Status::CapacityExceeded),
        (Op::CompareWrite, second + 240, 1, Status::CapacityExceeded),
        (Op::Read, second + 240, 8, Status::Ok),
    ];
    let plain: Vec<_> = asked.iter().map(|it| (it.0, it.1, it.2)).collect();
    let (ended, report) = done(&mut Noting::default(), &wishes, &plain);
    for (row, (found, _)) in asked.iter().zip(&ended) {
        assert_eq!(*found, row.3, "{row:?}");
    }
    assert_eq!(report.mapped_bytes, [None, Some(8192), None]);
}

#[test]
fn commands_lose_the_power_once_and_ranges_are_forgotten() {
    let mut device = Noting::default();
    let mut commands = Commands::new(&mut device, &[]);
    let asked = |id, op, lba| Request::new(id, op, Lba(lba), 8);
    commands.submit(0, asked(0, Op::Range, 0));
    commands.submit(0, asked(1, Op::Range, 8));
    let mut answers = Vec::new();
    commands.advance(0, &mut answers);
    assert_eq!(answers.len(), 2);
    commands.submit(0, Request { sectors: 16, ..asked(2, Op::Copy, 64) });
    commands.submit(0, asked(3, Op::Read, 0));
    commands.submit(0, asked(4, Op::Range, 8));
    answers.clear();
    commands.cut(50, &mut answers);
    let ended: Vec<_> = answers.iter().map(|it| (it.request.id, it.status, it.at)).collect();
    let lost = Status::PowerLost;
    assert_eq!(ended, [(4, Status::Ok, 0), (2, lost, 50), (3, lost, 50)]);
    commands.power_on(60);
    commands.submit(70, asked(5, Op::Write, 8));
    answers.clear();
    while let Some(at) = commands.next_event() {
        commands.advance(at, &mut answers);
    }
    assert_eq!((answers.len(), answers[0].status), (1, Status::Ok));
}

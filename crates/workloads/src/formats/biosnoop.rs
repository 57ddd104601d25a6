//! Output of biosnoop (bcc and libbpf-tools): one line per completed request.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

/// A line. Optional fields: the disk may be blank, a pattern column (bcc, -P), and the queue time, which
/// is -1 if it was not traced. libbpf-tools can also print times of day (-t).
const LINE: &str = r"^ *(?<end_s>\d[\d:]*\.\d+) .* \d+(?<disk> +\S+| ) +(?<op>[A-Za-z]+) +(?<sector>\d+) +(?<bytes>\d+) +(?:[SR?] +)?(?:(?:(?<queued>\d+\.\d+)|-1\.0+) +)?(?<latency>\d+\.\d+)\s*$";
const COLUMNS: &str = "end=end_s,op=op,offset=sector*512,size=bytes,device=disk,queued=queued:ms,\
                       latency=latency:ms";

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    may_state: &["columns"],
    ..Format::new(
        "biosnoop",
        "biosnoop of bcc: time of the end in s, process, pid, disk, type, sector, bytes, latencies",
        Reader::Known(&Known(&[
            Pattern { needs: "LAT(ms)", line: LINE, columns: COLUMNS, every: "" },
            // A file that was cut behind its heading.
            Pattern { needs: "", line: LINE, columns: COLUMNS, every: "" },
        ])),
        || {
            b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
              0.000300    my job         12     sda     W 2048       4096      0.10\n\
              0.000450    kworker/u9:1-s 345    sdb     R 8          512       0.05\n"
                .to_vec()
        },
    )
};

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with, skipped};
    use super::*;
    use crate::read::stated::ReadOptions;
    use engine::Op;

    #[test]
    fn requests_arrive_before_they_end_and_commands_may_have_blanks() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let found: Vec<_> =
            all.iter().map(|it| (it.at, it.device, it.op, it.sector, it.sectors)).collect();
        assert_eq!(found, [(200_000, 0, Op::Write, 2048, 8), (400_000, 1, Op::Read, 8, 1)]);
        let queued = b"TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n\
                       0.001000 a 1 sda RA 16 4096 0.10 0.20\n\
                       0.000100 a 1 sda W 0 4096 0.05 0.20\n";
        let all = read_with(queued, &ReadOptions::default()).unwrap();
        let found: Vec<_> = all.iter().map(|it| (it.at, it.op)).collect();
        assert_eq!(
            found,
            [(700_000, Op::Read), (0, Op::Write)],
            "what began before the trace is at 0"
        );
    }

    #[test]
    fn lines_without_their_heading_are_read() {
        let sample = (FORMAT.sample)();
        let heading = sample.iter().position(|byte| *byte == b'\n').unwrap();
        assert_eq!(read(&FORMAT, &sample[heading + 1..]), read(&FORMAT, &sample));
        assert_eq!(read_with(&sample[heading + 1..], &ReadOptions::default()).unwrap().len(), 2);
    }

    #[test]
    fn lines_of_every_option_are_read() {
        // Formats of print_event in tools/biosnoop.py and handle_event in libbpf-tools/biosnoop.c
        // (bcc).
        let patterns = b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  P QUE(ms) LAT(ms)\n\
            0.001000    kworker/23:1   9126              R 18446744073709551615 0      ?    0.00    0.61\n\
            0.001000    dd             77      nvme0n1   R 64         4096   S    0.10    0.20\n\
            0.002000    a              78      <unknown> W 128        4096   ?    0.10    0.20\n";
        let all = read(&FORMAT, patterns);
        let found: Vec<_> = all.iter().map(|it| (it.at, it.op, it.sector)).collect();
        assert_eq!(found, [(700_000, Op::Read, 64), (1_700_000, Op::Write, 128)]);
        assert_eq!(skipped(&FORMAT, patterns), [("other_lines", 1), ("without_device", 1)]);
        let unknown = b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n\
            0.001000    a              77              R 64         4096   0.20\n\
            0.002000    a              77      sda     R 64         4096   0.20\n";
        assert_eq!(read(&FORMAT, unknown).len(), 1, "it cannot be told of which disk the first is");
        assert_eq!(skipped(&FORMAT, unknown), [("other_lines", 1), ("without_device", 1)]);
        let times = b"TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
            10:15:01.500 jbd2/sda1-8    99      sda     FF   0          0        -1.000   0.400\n\
            10:15:01.500 jbd2/sda1-8    99      Unknown WFS  8          4096     -1.000   0.500\n";
        let found: Vec<_> =
            read(&FORMAT, times).iter().map(|it| (it.at, it.op, it.fua, it.device)).collect();
        let second = 36_901_000_000_000;
        assert_eq!(
            found,
            [
                (second + 499_600_000, Op::Flush, false, 0),
                (second + 499_500_000, Op::Write, true, 1)
            ]
        );
    }
}

//! The output of biosnoop of bcc (and of libbpf-tools): a line as each request ends.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    may_state: &["columns"],
    ..Format::new(
        "biosnoop",
        "biosnoop of bcc: time of the end in s, process, pid, disk, type, sector, bytes, latencies",
        Reader::Known(&Known(&[
            Pattern {
                needs: "QUE(ms)",
                line: r"^ *(?<end>\d+\.\d+) .* \d+ +(?<disk>\S+) +(?<op>[A-Za-z]+) +(?<sector>\d+) +(?<bytes>\d+) +(?<queued>\d+\.\d+) +(?<latency>\d+\.\d+)",
                columns: "end=end:s,op=op,offset=sector*512,size=bytes,device=disk,queued=queued:ms,\
                          latency=latency:ms",
                every: "",
            },
            Pattern {
                needs: "LAT(ms)",
                line: r"^ *(?<end>\d+\.\d+) .* \d+ +(?<disk>\S+) +(?<op>[A-Za-z]+) +(?<sector>\d+) +(?<bytes>\d+) +(?<latency>\d+\.\d+)",
                columns: "end=end:s,op=op,offset=sector*512,size=bytes,device=disk,latency=latency:ms",
                every: "",
            },
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
    use super::super::tests::{read, read_with};
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
}

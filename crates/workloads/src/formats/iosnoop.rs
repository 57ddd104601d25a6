//! Output of iosnoop of perf-tools, with the times of its options -s and -t.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    disorder_ns: 60_000_000_000,
    may_state: &["columns"],
    ..Format::new(
        "iosnoop",
        "iosnoop -s or -t of perf-tools: times in s, process, pid, type, device, block, bytes, latency",
        Reader::Known(&Known(&[
            Pattern {
                needs: "STARTs",
                line: r"^ *(?<time>\d+\.\d+) .* \d+ +(?<op>[A-Z]+) +(?<device>\d+,\d+) +(?<sector>\d+) +(?<bytes>\d+) +(?<latency>\d+\.\d+)",
                columns: "time=time:s,op=op,offset=sector*512,size=bytes,device=device,\
                          latency=latency:ms",
                every: "",
            },
            Pattern {
                needs: "ENDs",
                line: r"^ *(?<end>\d+\.\d+) .* \d+ +(?<op>[A-Z]+) +(?<device>\d+,\d+) +(?<sector>\d+) +(?<bytes>\d+) +(?<latency>\d+\.\d+)",
                columns: "end=end:s,op=op,offset=sector*512,size=bytes,device=device,\
                          latency=latency:ms",
                every: "",
            },
        ])),
        || {
            b"STARTs         ENDs           COMM  PID  TYPE DEV   BLOCK  BYTES  LATms\n\
              5982800.302061 5982800.302679 a b   1809 W    202,1 170970 4096    0.62\n\
              5982800.302423 5982800.302842 c     1809 R    202,1 170978 4096    0.42\n"
                .to_vec()
        },
    )
};

#[cfg(test)]
mod tests {
    use super::super::tests::{read, read_with};
    use super::*;
    use crate::read::stated::ReadOptions;

    #[test]
    fn the_header_says_whether_a_time_is_that_of_the_end() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        assert_eq!(all[0].at, 5_982_800_302_061_000);
        let text = b"ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n2.000500 a 1 WS 202,1 8 4096 0.50\n";
        assert_eq!(read_with(text, &ReadOptions::default()).unwrap()[0].at, 2_000_000_000);
    }
}

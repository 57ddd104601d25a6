//! NVMe commands from Linux's tracepoint `nvme_setup_cmd`.
//!
//! The length is zero-based. Blocks are assumed to be 512 B; for others, declare the columns.

use super::known::{Known, Pattern};
use super::row::{Format, Reader};
use crate::record::Clock;

pub const FORMAT: Format = Format {
    clock: Clock::Epoch,
    may_state: &["columns"],
    ..Format::new(
        "nvme-trace",
        "nvme_setup_cmd events of ftrace, in blocks of 512 B unless --columns say their size",
        Reader::Known(&Known(&[Pattern {
            needs: "nvme_setup_cmd",
            // Since Linux 4.18, which renamed the event, the disk's name is printed.
            line: r" (?<time>\d+\.\d+): +(?:nvme:)?nvme_setup_(?:nvm_)?cmd: (?:[^=]*disk=(?<disk>[^,]+), |.*)qid=[1-9]\d*, .*cmd=\(?(?<op>nvme_cmd_\w+)(?:,? slba=(?<slba>\d+), len=(?<len>\d+))?",
            columns: "time=time:s,op=op:nvme_cmd_read=read,nvme_cmd_write=write,nvme_cmd_flush=flush,\
                      nvme_cmd_write_zeroes=zeroes,nvme_cmd_compare=compare,nvme_cmd_zone_append=append,*=skip,\
                      offset=slba*512,size=(len+1)*512,device=disk",
            every: "",
        }])),
        || {
            b"  kworker/2:1H-98  [002] ....  7.000100: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=3, cmdid=64, \
              nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=2048, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n\
              \x20         <idle>-0   [002] d.h.  7.000150: nvme_sq: nvme0: disk=nvme0n1, qid=3, head=1, tail=1\n\
              \x20 kworker/2:1H-98  [002] ....  7.000200: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=3, cmdid=65, \
              nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_flush nsid=1)\n\
              \x20 kworker/2:1H-98  [002] ....  7.000300: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=3, cmdid=66, \
              nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=0, len=0, ctrl=0x0, dsmgmt=0, reftag=0)\n"
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
    fn the_length_is_zero_based_and_the_columns_say_the_block() {
        let all = read(&FORMAT, &(FORMAT.sample)());
        let found: Vec<_> = all.iter().map(|it| (it.op, it.sector, it.sectors)).collect();
        assert_eq!(found, [(Op::Write, 2048, 8), (Op::Flush, 0, 0), (Op::Read, 0, 1)]);
        let columns = "offset=slba*4096,size=(len+1)*4096".parse().ok();
        let options = ReadOptions { columns, ..ReadOptions::default() };
        let all = read_with(&(FORMAT.sample)(), &options).unwrap();
        assert_eq!((all[0].sector, all[0].sectors), (2048 * 8, 64));
    }

    #[test]
    fn commands_of_zones_are_read_and_ranges_that_are_not_printed_are_left_out() {
        // Formats of drivers/nvme/host/trace.h in current Linux and 4.17.
        let line = |command: &str| {
            format!(
                " a-1 [001] ..... 1.000001: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmdid=3, nsid=1, \
                 flags=0x0, meta=0x0, cmd=({command})\n"
            )
        };
        let text = line("nvme_cmd_zone_append slba=8, len=3, ctrl=0x0, dsmgmt=0, reftag=0")
            + &line("nvme_cmd_dsm nr=0, attributes=4")
            + " a-1 [001] .... 1.000002: nvme_setup_nvm_cmd: qid=2, nsid=1, cmdid=3, flags=0x0, meta=0x0, \
               cmd=(nvme_cmd_read slba=16, len=0, ctrl=0x0, dsmgmt=0, reftag=0)\n";
        let all = read(&FORMAT, text.as_bytes());
        let found: Vec<_> = all.iter().map(|it| (it.op, it.sector, it.sectors)).collect();
        assert_eq!(found, [(Op::Append, 8, 4), (Op::Read, 16, 1)]);
        assert_eq!(skipped(&FORMAT, text.as_bytes()), [("other_commands", 1)]);
    }
}

//! Files that are no trace: each with the command that reads it, or with what does instead.
//!
//! This is the only such table: `ssdlab ask`, `run` and `trace` show its sentences. `FILE` stands for
//! the user's file.

use regex::bytes::RegexBuilder;

/// Regular expressions over the beginning of a file, all of which match, and what the file is.
/// `^` and `$` are ends of lines, `\A` is the beginning.
type Row = (&'static [&'static str], &'static str);

const OTHERS: &[Row] = &[
    (
        &[r#""fio version"\s*:"#],
        "results of fio, which no trace can be made of: `ssdlab ask FILE` reads them, and `fio --write_iolog=TRACE` records a trace",
    ),
    (
        &[r"\A\s*\{", r#""experiment"\s*:"#, r#""(?:schema|simulated_seconds)"\s*:"#],
        "results of ssdlab: `ssdlab why FILE` says what would help, `ssdlab run FILE` repeats the experiment",
    ),
    (&[r"\A\s*\{", r#""?(?:percentage_used|ata_smart_attributes)"#], WEAR),
    (&[r"\Asmartctl \d|^=== START OF (?:INFORMATION|SMART)"], WEAR),
    (&[r"\ASmart Log for NVME"], WEAR),
    (&[r#"\A\s*\{[^{]*"sysstat"\s*:"#], IOSTAT),
    (&[r"^\s*(?:Device:?\s.*\br/s\s|r/s\s.*\sDevice\s*$)"], IOSTAT),
    (
        &[r"^Device:?\s+tps\b"],
        "a report of iostat without -x, which has no r/s and w/s: `ssdlab ask` reads `iostat -x`",
    ),
    (
        &[r"\sDEV\s+tps\b"],
        "a report of sar -d, which has no r/s and w/s: `ssdlab ask` reads `iostat -x`",
    ),
    (&[r"^avg-cpu:"], "a report of iostat without devices: `ssdlab ask` reads `iostat -x`"),
    (
        &[r#"\A(?:procs |"Dstat|"pcp-dstat)"#],
        "a report of means of the whole machine: `ssdlab ask` reads `iostat -x`",
    ),
    (
        &[r"\A\s*\d+\s+\d+\s+[a-z]\w*(?:\s+\d+){11}"],
        "the counts of /proc/diskstats since the start: `ssdlab ask` reads the rates of `iostat -x 10 6`",
    ),
    (&[r"^\S+: \(g=\d+\): rw="], PRINTED_BY_FIO),
    (&[r"\A[345];fio-\d"], PRINTED_BY_FIO),
    (
        &[r"^\s*(?:sudo\s+)?(?:\S*/)?fio\s(?:.*\s)?--?[a-z]"],
        "a command of fio: as a job it has a line [job] and a line for each option without its dashes, and `ssdlab run JOB.fio` runs it",
    ),
    (
        &[r"^\s*\[[^\]\n]+\]\s*$", r"^\s*(?:rw|readwrite|ioengine|bs|iodepth)\s*="],
        "a job of fio: with the ending .fio, `ssdlab run` and `ssdlab ask` take it",
    ),
    (
        &[r"-device\s+femu\b|^\s*(?:export\s+)?(?:ssd_size|luns_per_ch|pgs_per_blk|FEMU_OPTIONS)="],
        "a script of FEMU: with the ending .sh it is a drive, as in `ssdlab run --device FILE --trace TRACE`",
    ),
    (
        &[r"^\s*#\s*define\s+(?:NAND_CHANNELS|LUNS_PER_NAND_CH|PLNS_PER_LUN|FLASH_PAGE_SIZE)\b"],
        "a header of NVMeVirt: with the ending .h it is a drive, as in `ssdlab run --device FILE --trace TRACE`",
    ),
    (&[r"<MQSim_IO_Scenarios"], "a scenario of MQSim: `ssdlab run --workload FILE` runs it"),
    (
        &[r"<(?:Execution_Parameter_Set|Device_Parameter_Set)"],
        "a drive of MQSim: with the ending .xml, `ssdlab run --device FILE --trace TRACE` runs it",
    ),
    (
        &[r"^\s*(?:disksim_\w+|ssdmodel_ssd)\s+\w+\s*\{"],
        "a parameter file of DiskSim: with the ending .parv, `ssdlab run FILE --trace TRACE` runs it",
    ),
    (&[" -> ", ": count", "distribution"], "a histogram of latencies, which are no requests"),
    (
        &[r"pread64\("],
        "calls that strace saw: `--pattern '^(?<time_s>[0-9.]+) p(?<op>read|write)64\\(.*, (?<bytes>\\d+), (?<offset>\\d+)\\)'` reads one file",
    ),
    (
        &[" usertable "],
        "operations of YCSB on keys, which have no addresses: blktrace under the database records them",
    ),
    (&["LATms"], "output of iosnoop without times: iosnoop -ts prints them"),
    (
        &[r"TIME\(s\)\s+T\s+BYTES\s+LAT\(ms\)"],
        "output of disksnoop, which prints no sectors: biosnoop of bcc does",
    ),
    (
        &[r"TIME\(ms\)\s+DISK"],
        "output of biosnoop.bt of bpftrace, which prints no sectors: biosnoop of bcc does",
    ),
    (&[r"^@"], "maps of bpftrace, which are no requests: biosnoop of bcc prints one a line"),
    (
        &[r"\AAttach(?:ing|ed) \d+ probe"],
        "what a program of bpftrace prints: `--pattern '^(?<time_ns>\\d+) (?<op>\\w+) (?<sector>\\d+) (?<sectors>\\d+)'` reads lines like \"123 W 2048 8\"",
    ),
    (
        &[r"^\s*\d+\t[^\t\n]+\t[\d.]+\t\d+\t(?:Read|Write)\t\d+\t\d+\s*$"],
        "a log of DiskMon: `--columns time=2:s,op=5,device=4,offset=6:sectors,size=7:sectors,latency=3:s` reads it, if its times are seconds (Options, Show Time of Day off)",
    ),
    (
        &[r"^\s*(?:\d+,\d+\s+)?\d+\.\d{9}\s+[A-Z]{1,2}\s+[RWDFN][A-Z]*\s+\d+\s(?:\+\s)?\d+\s*$"],
        "printed by blkparse -f: `--set workload.layout=\"%T.%t %a %d %S %n\"`, the text behind -f, reads it (`ssdlab trace` has --layout)",
    ),
    (
        &[r"\A\s*\{"],
        "JSON that is none of fio, iostat -o JSON, smartctl -j and nvme smart-log -o json; a trace in JSON has an object a line",
    ),
    (
        &[r"\A\s*\[\s*\{"],
        "a list of JSON, of which an object a line can be read: `jq -c '.[]' FILE` writes it",
    ),
];
const WEAR: &str = "what a drive says of its wear: `ssdlab ask FILE` reads it";
const IOSTAT: &str = "a report of iostat: `ssdlab ask FILE` reads it";
const PRINTED_BY_FIO: &str =
    "what fio prints: `ssdlab ask` reads what `fio --output-format=json --output=fio.json` writes";

/// The kind of a text that begins like this and is no trace.
pub(super) fn named(beginning: &[u8]) -> Option<&'static str> {
    let is = |text: &&str| {
        let built = RegexBuilder::new(text).multi_line(true).unicode(false).build();
        built.is_ok_and(|it| it.is_match(beginning))
    };
    OTHERS.iter().find(|(texts, _)| texts.iter().all(is)).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_is_one() {
        for text in OTHERS.iter().flat_map(|(texts, _)| texts.iter()) {
            assert!(RegexBuilder::new(text).unicode(false).build().is_ok(), "{text}");
        }
    }

    #[test]
    fn each_kind_of_file_has_its_sentence() {
        for (beginning, part) in [
            (&b"avg-cpu:  %user\n 1.0\n\nDevice r/s rkB/s w/s\n"[..], "iostat: `ssdlab ask FILE`"),
            (b"avg-cpu:  %user\n 1.0\n\nDevice   tps  kB\n", "iostat without -x"),
            (b"avg-cpu:  %user\n 1.0\n", "iostat without devices"),
            (b"fio --name=a --rw=randread --bs=4k\n", "a command of fio"),
            (b"#!/bin/sh\n# comment\nsudo ./qemu -device femu,devsz_mb=12\n", "a script of FEMU"),
            (b"TIME(s)            T  BYTES    LAT(ms)\n1.5 W 4096 3.1\n", "disksnoop"),
            (b"Attaching 2 probes...\n12 W 8 8\n", "a program of bpftrace"),
            (b"0\t0.5\t0.0001\t0\tWrite\t4823007\t8\r\n", "a log of DiskMon"),
            (b"0.000000000 Q R 4096 8\n", "blkparse -f"),
            (b"8,0 0.000000000 Q WS 4096 + 8\n", "blkparse -f"),
            (b"Linux 6.1 (h)\n\n12:00:01 DEV tps rkB/s\n", "sar -d"),
            (b"  8  0 sda 1 2 3 4 5 6 7 8 9 10 11\n", "/proc/diskstats"),
            (b"[a]\nrw=read\n", "a job of fio"),
        ] {
            let found = named(beginning).unwrap_or_default();
            assert!(found.contains(part), "{:?}: {found}", String::from_utf8_lossy(beginning));
        }
        assert_eq!(named(b"1.5 0 100 8 1\n"), None);
        assert_eq!(named(b"[device]\nkind = \"ssd\"\n"), None);
    }
}

//! Tests of reading whole files: comments, non-traces, truncation, tolerated lines.

use super::*;
use crate::formats::format_named;
use crate::read::decompress::compressed;
use proptest::prelude::*;
use std::fmt::Write;

fn open(bytes: &[u8], options: &ReadOptions) -> Result<Records, BuildError> {
    Records::open(&Inputs::memory("t", bytes), "t", None, options)
}

fn read(bytes: &[u8], format: Option<&'static Format>) -> Result<Vec<Record>, String> {
    let inputs = Inputs::memory("t", bytes);
    let opened = Records::open(&inputs, "t", format, &ReadOptions::default());
    let mut records = opened.map_err(|error| error.to_string())?;
    let all = std::iter::from_fn(|| records.next_record().transpose());
    all.collect::<Result<_, _>>().map_err(|error| error.0)
}

fn refused(bytes: &[u8]) -> String {
    read(bytes, None).unwrap_err()
}

#[test]
fn texts_of_windows_programs_are_read() {
    assert_eq!(read(b"\xEF\xBB\xBF1.5 0 100 8 1\r\n2.5 0 100 8 1\r\n", None).unwrap().len(), 2);
    let header = b"\xEF\xBB\xBFversion,time,op,size,lbn\r\n1,5,2a,512,9\r\n";
    assert_eq!(read(header, None).unwrap()[0].sector, 9);
}

#[test]
fn a_stated_number_of_bad_lines_is_left_out() {
    let text = b"1.5 0 100 8 1\nx\n2.5 0 100 0 1\n3.5 0 100 8 1\n";
    let options = |skip_bad| ReadOptions { skip_bad, ..ReadOptions::default() };
    let mut records = open(text, &options(2)).unwrap();
    let mut numbers = Vec::new();
    while records.next_record().unwrap().is_some() {
        let line = String::from_utf8(records.raw_line().unwrap().to_vec()).unwrap();
        numbers.push((records.number(), line));
    }
    let line = |text: &str| text.to_owned();
    assert_eq!(numbers, [(1, line("1.5 0 100 8 1")), (4, line("3.5 0 100 8 1"))]);
    assert_eq!(records.counted(), [("unreadable_lines", 2)]);
    let mut records = open(text, &options(1)).unwrap();
    assert!(records.next_record().unwrap().is_some());
    let error = records.next_record().unwrap_err().0;
    assert!(error.starts_with("trace t, line 3: zero size"), "{error}");
}

#[test]
fn blank_lines_and_comments_are_skipped_and_counted() {
    let text = b"# made by hand\n\n  \n1.5 0 100 8 1\r\n # more\n2.5 0 108 8 0";
    assert_eq!(read(text, None).unwrap().len(), 2);
    let error = refused(b"# one\n1.5 0 100 8 1\n\n1.5 0 100\n1.5 0 100 8 1\n");
    assert!(error.starts_with("trace t, line 4: 3 columns, expected 5 columns"), "{error}");
    assert!(error.ends_with("the line is \"1.5 0 100\""), "{error}");
}

#[test]
fn files_that_are_no_traces_are_refused_with_what_they_are() {
    let good = b"1.5 0 100 8 1\n".repeat(4);
    let long_line = [&good[..], &b"1".repeat(1 << 17)].concat();
    let rows: [(&[u8], &str); 21] = [
        (b"", "trace t: the file is empty, expected a trace"),
        (b"\n# x\n", "trace t: there are no requests, only blank lines and comments in"),
        (b"\x7fELF\x02\0\0", "this is a program"),
        (b"\x7fOLF\x02\0\0", "binary data in no known format: name one of blktrace, "),
        (b"PK\x03\x04\0", "save its sheet as CSV"),
        (b"\xff\xfet\0i\0", "this is text in UTF-16: `iconv"),
        (b"1.5 0 \xff 8 1\n", "it begins like \"9.9 9 a 9 9\""),
        (b"hello world\n", "in no known format; the nearest are "),
        (b"hello \"world\"\n", "the first line is like \"a \\\"a\\\"\""),
        (b"root:x9y:20228:::\n", "the first line is like \"a:a9a:9:::\""),
        (&b"y ".repeat(1 << 16), &format!("the first line is like \"{}...\"", "a ".repeat(30))),
        (&b"\0".repeat(1 << 17), "binary data in no known format"),
        (b"smartctl 7.2 2020-12-30 r5155\n", "its wear: `ssdlab ask t` reads it"),
        (b"Smart Log for NVME device:nvme0\n", "its wear: `ssdlab ask t` reads it"),
        (b"a: (g=0): rw=randread, bs=(R) 4096B-4096B\n", "fio --output-format=json"),
        (b"3;fio-3.28;a;0;0\n", "fio --output-format=json"),
        (b"1, 75312, 0, 4096, 0\n", "--columns time=1:ms,op=3,size=4,offset=5"),
        (b"Linux 5.15.0 (a)\n\nDevice tps kB_read/s\n", "iostat without -x"),
        (b"1.5 pread64(3, \"a\", 4096, 0) = 4096\n", "calls that strace saw"),
        (b"READ usertable user8517097267634966620\n", "operations of YCSB"),
        (&long_line, "trace t, line 5: the line is longer than 64 KiB"),
    ];
    for (bytes, part) in rows {
        let error = refused(bytes);
        assert!(error.contains(part) && !error.contains('\n'), "{part}: {error}");
    }
}

#[test]
fn a_format_can_be_named() {
    let text = b"1 0 100 8 1\n";
    assert!(read(text, None).is_err());
    assert_eq!(read(text, format_named("disksim").ok()).unwrap().len(), 1);
}

#[test]
fn a_last_line_without_end_counts_if_it_is_whole() {
    assert_eq!(read(b"1.5 0 100 8 1\n2.5 0 100 8 1", None).unwrap().len(), 2);
    let error = refused(b"1.5 0 100 8 1\n2.5 0 10");
    assert!(error.starts_with("trace t, line 2: 3 columns"), "{error}");
    assert!(error.ends_with("so the file is probably truncated"), "{error}");
}

#[test]
fn truncated_compressed_files_are_told_with_the_last_whole_line() {
    // Incompressible lines, so that half of the file is about half of the lines.
    let mut text = String::new();
    for line in 0..40_000_u64 {
        let noise = line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 34;
        writeln!(text, "{line}.0 0 {noise} 8 1").unwrap();
    }
    for (name, bytes) in compressed(text.as_bytes()) {
        assert_eq!(read(&bytes, None).unwrap().len(), 40_000, "{name}");
        for keep in [bytes.len() / 2, bytes.len() - 1] {
            let cut = &bytes[..keep];
            let mut records = open(cut, &ReadOptions::default()).unwrap();
            let mut whole = 0;
            let error = loop {
                match records.next_record() {
                    Ok(Some(_)) => whole += 1,
                    Ok(None) => panic!("{name}: the cut at {keep} went unnoticed"),
                    Err(error) => break error.0,
                }
            };
            let start = format!("trace t is truncated after line {whole}: ");
            assert!(error.starts_with(&start) && whole > 0, "{name}, {keep}: {error}");
        }
        let error = refused(&bytes[..12]);
        assert!(error.starts_with("trace t is truncated at its start: "), "{name}: {error}");
    }
}

#[test]
fn corrupt_compressed_files_are_errors() {
    let text = b"1.5 0 100 8 1\n".repeat(1000);
    for (name, mut bytes) in compressed(&text) {
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0x55);
        let error = refused(&bytes);
        assert!(error.starts_with("trace t") && !error.contains('\n'), "{name}: {error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes, None);
        let _ = read(&bytes, format_named("disksim").ok());
    }

    #[test]
    fn any_compressed_bytes_are_read_or_refused_without_a_panic(
        which in 0..4_usize, tail in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = compressed(b"1.5 0 100 8 1\n").swap_remove(which).1;
        bytes.truncate(bytes.len() - 4);
        bytes.extend(tail);
        let _ = read(&bytes, None);
    }
}

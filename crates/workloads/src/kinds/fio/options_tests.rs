//! Options common in job files: gaps, runs, `trimwrite`, and ignored options.

use super::tests::{build, run};
use engine::Op;

fn places(job: &str) -> Vec<(Op, u64)> {
    run(job, 0).iter().map(|it| (it.request.op, it.request.lba.0 / 8)).collect()
}

fn noted(job: &str) -> Vec<(&'static str, u64)> {
    build(job).unwrap().notices()
}

#[test]
fn sequential_requests_leave_gaps_or_go_backwards() {
    let of = |job: &str| places(job).into_iter().map(|(_, block)| block).collect::<Vec<_>>();
    assert_eq!(of("[j]\nrw=read:8k\nsize=24k"), [0, 3, 0, 3, 0, 3]);
    assert_eq!(of("[j]\nrw=write:4k\nsize=16k\noffset=32k\nio_size=12k"), [8, 10, 8]);
    assert_eq!(of("[j]\nrw=read:-8k\nsize=16k"), [2, 1, 0, 2]);
}

#[test]
fn a_job_that_is_left_out_keeps_its_barrier() {
    let jobs = |between: &str| {
        format!("[global]\nsize=8k\n[a]\n[b]\nioengine=cpuio\n{between}\n[c]\noffset=1m")
    };
    let apart = run(&jobs("stonewall"), 10_000);
    assert_eq!(apart.iter().map(|it| it.request.lba.0 / 8).collect::<Vec<_>>(), [0, 1, 256, 257]);
    let together = run(&jobs("stonewall=0"), 10_000);
    assert_eq!(
        together.iter().map(|it| it.request.lba.0 / 8).collect::<Vec<_>>(),
        [0, 256, 1, 257]
    );
}

#[test]
fn runs_follow_each_random_place() {
    let found = places("[j]\nrw=randread:4\nsize=400k\nnorandommap");
    assert_eq!(found.len(), 100);
    let follows = found.windows(2).filter(|pair| pair[1].1 == pair[0].1 + 1).count();
    assert!((70..85).contains(&follows), "{follows}");
}

#[test]
fn what_is_trimmed_is_written_next() {
    let expected = [
        (Op::Trim, 0),
        (Op::Write, 0),
        (Op::Trim, 1),
        (Op::Write, 1),
        (Op::Trim, 2),
        (Op::Write, 2),
    ];
    assert_eq!(places("[j]\nrw=trimwrite\nsize=12k"), expected);
    let random = places("[j]\nrw=randtrimwrite\nsize=400k");
    assert_eq!(random.len(), 200);
    for pair in random.chunks(2) {
        assert_eq!((pair[0].0, pair[1].0, pair[0].1), (Op::Trim, Op::Write, pair[1].1));
    }
}

#[test]
fn a_file_s_size_is_the_size_and_a_job_waits_for_another() {
    assert_eq!(places("[j]\nrw=read\nfilesize=8k").len(), 2);
    assert_eq!(places("[j]\nrw=read\nfilesize=4k-12k").len(), 3);
    assert_eq!(places("[j]\nrw=read\nfilesize=1m\nsize=8k").len(), 2);
    let jobs = "[a]\nrw=write\nsize=8k\n[b]\nwait_for=a\nrw=read\nsize=4k";
    assert_eq!(places(jobs).last(), Some(&(Op::Read, 0)));
}

#[test]
fn what_is_checked_and_reported_is_read_over_with_a_note() {
    let job = "[j]\nrw=randwrite\nsize=1m\nverify=crc32c\nverify_fatal=1\nsteadystate=iops:10%\nlog_prio=1\n\
               ratemin=900k\nrate=1m\nio_submit_mode=offload\nnrfiles=4\nfilename=a:b\nzonemode=strided\n\
               zonesize=1m\nwrite_mode=write/40:zeroes/60\nnumjobs=${NOT_SET_ANYWHERE}";
    let names: Vec<_> = noted(job).into_iter().map(|(name, _)| name).collect();
    for name in [
        "fio_ignored_verify",
        "fio_ignored_verify_fatal",
        "fio_ignored_steadystate",
        "fio_ignored_log_prio",
        "fio_ignored_ratemin",
        "fio_ignored_io_submit_mode",
        "fio_ignored_nrfiles",
        "fio_ignored_several_files",
        "fio_ignored_strided_zones",
        "fio_ignored_split_write_mode",
        "fio_ignored_unset_variable",
    ] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    assert_eq!(run(job, 0).len(), 256);
}

#[test]
fn random_places_may_be_a_sequence_or_be_repeated() {
    let of = |job: &str| places(job).into_iter().map(|(_, block)| block).collect::<Vec<_>>();
    let sequence = "[j]\nrw=randread\nsize=48k\nio_size=24k\nrandom_distribution=sequence:2,0,1";
    assert_eq!(of(sequence), [2, 0, 1, 2, 0, 1]);
    assert_eq!(of(&format!("{sequence}\nrandom_sequence_stride=1")), [2, 0, 1, 5, 3, 4]);
    let repeated = of("[j]\nrw=randread:4\nrw_sequencer=identical\nsize=400k\nnorandommap");
    assert_eq!(repeated.len(), 100);
    assert!(repeated.chunks(4).all(|four| four.iter().all(|it| *it == four[0])), "{repeated:?}");
    assert!(repeated.chunks(4).any(|four| four[0] != repeated[0]));
}

#[test]
fn jobs_without_a_device_are_left_out_and_protection_is_no_data() {
    let jobs =
        "[global]\nsize=8k\nrw=write\n[load]\nioengine=cpuio\ncpuload=50\n[j]\nioengine=libaio";
    assert_eq!(places(jobs), [(Op::Write, 0), (Op::Write, 1)]);
    assert_eq!(noted(jobs), [("fio_jobs_without_device", 1)]);
    let replaced =
        "[global]\nioengine=e4defrag\ndonorname=d\nsize=8k\nrw=write\n[load]\n[j]\nioengine=libaio";
    assert_eq!(places(replaced).len(), 2);
    for (bs, sectors) in [(4160, 8), (8320, 16), (520, 1), (4104, 8), (528, 1)] {
        let job = format!("[j]\nrw=write\nsize=64k\nnumber_ios=1\nbs={bs}");
        assert_eq!(run(&job, 0)[0].request.sectors, sectors, "{bs}");
        assert_eq!(noted(&job), [("fio_ignored_extended_blocks", 1)], "{bs}");
    }
    let endless = "[j]\nrw=write\nsize=8k\ntime_based";
    assert_eq!(noted(endless), [("fio_ignored_time_based_without_runtime", 1)]);
    assert_eq!(places(endless).len(), 2);
}

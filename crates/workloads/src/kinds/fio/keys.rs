//! The names of a job's keys: supported and ignored ones.

use options::nearest;

/// Keys that affect requests, with synonyms.
#[rustfmt::skip]
pub(super) const HONOURED: &[&str] = &[
    "rw", "readwrite", "bs", "blocksize", "bsrange", "blocksize_range", "bssplit", "ba",
    "blockalign", "rwmixread", "rwmixwrite", "iodepth", "ioengine", "numjobs", "size", "offset",
    "offset_increment", "io_size", "io_limit", "number_ios", "loops", "runtime", "timeout",
    "time_based", "startdelay", "rate", "rate_iops", "rate_process", "random_distribution",
    "percentage_random", "norandommap", "thinktime", "thinktime_blocks", "stonewall",
    "wait_for_previous", "fsync", "fdatasync", "fdp", "fdp_pli", "plids", "fdp_pli_select", "plid_select",
    "dataplacement", "write_hint", "zonemode", "zonesize", "zonecapacity", "max_open_zones",
    "job_max_open_zones", "zone_reset_frequency", "zone_reset_threshold", "ignore_zone_limits",
    "write_mode", "writefua", "sync", "num_range", "filesize", "wait_for", "fileoffset",
    "data_placement", "rw_sequencer", "random_sequence_stride",
];

/// Declares the ignored keys, each with the notice that counts it.
macro_rules! ignored {
    ($($key:literal),* $(,)?) => {
        &[$(($key, concat!("fio_ignored_", $key))),*]
    };
}

/// Keys about fio's I/O calls, data, checks and reports, which do not affect requests. Keys such as
/// `randrepeat` choose fio's random seed; here the run's seed is used. Keys such as `filename`
/// choose the target; here it is the device. With a few of these keys fio issues other requests:
/// reads for verification, adaptive depth (latency target), `flow`, strided zones, `steadystate`,
/// unaligned requests (`bs_unaligned`), other accounting of think time. The notices name them. The
/// last entries are not fio keys but simplified values.
pub(super) const IGNORED: &[(&str, &str)] = ignored! {
    "allow_file_create", "allow_mounted_write", "allrandrepeat", "apptag", "apptag_mask", "atomic",
    "block_error_percentiles", "blocksize_unaligned", "bs_is_seq_rand", "bs_unaligned",
    "buffer_compress_chunk", "buffer_compress_percentage", "buffer_pattern", "buffered", "busy_poll",
    "bwavgtime", "cgroup", "cgroup_nodelete", "cgroup_weight", "clat_percentiles", "clientname",
    "clocksource", "cmd_type", "cmdprio", "cmdprio_bssplit", "cmdprio_class", "cmdprio_hint",
    "cmdprio_percentage", "comm", "continue_on_error", "cpumask", "cpus_allowed", "cpus_allowed_policy",
    "create_fsync", "create_on_open", "create_only", "create_serialize", "cuda_io", "dedupe_global",
    "dedupe_mode", "dedupe_percentage", "dedupe_working_set_percentage", "description", "direct",
    "directory", "disable_bw", "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat",
    "disk_util", "do_verify", "donorname", "dontcache", "end_fsync", "end_syncfs", "error_dump", "exec_postrun",
    "exec_prerun", "exit_what", "exitall", "exitall_on_error", "experimental_verify", "fadvise_hint",
    "fallocate", "file_append", "file_service_type", "filename", "filename_format", "filetype",
    "fill_device", "fill_fs", "fixedbufs", "flow", "flow_id", "flow_sleep", "flow_watermark",
    "fsync_on_close", "gid", "gpu_dev_id", "gpu_dev_ids", "group_reporting", "gtod_cpu", "gtod_reduce",
    "hipri", "hugepage-size", "ignore_error", "inplace", "invalidate", "io_submit_mode", "iodepth_batch",
    "iodepth_batch_complete", "iodepth_batch_complete_max", "iodepth_batch_complete_min",
    "iodepth_batch_submit", "iodepth_low", "iomem", "iomem_align", "iopsavgtime", "ioscheduler",
    "job_start_clock_id", "kb_base", "lat_percentiles", "latency_percentile", "latency_run",
    "latency_target", "latency_window", "libblkio_driver", "libblkio_force_enable_completion_eventfd",
    "libblkio_num_entries", "libblkio_path", "libblkio_pre_start_props", "libblkio_queue_size",
    "libblkio_vectored", "libblkio_wait_mode", "lockfile", "lockmem", "log_alternate_epoch",
    "log_alternate_epoch_clock_id", "log_avg_msec", "log_compression", "log_compression_cpus",
    "log_entries", "log_hist_coarseness", "log_hist_msec", "log_issue_time", "log_max_value",
    "log_offset", "log_prio", "log_store_compressed", "log_unix_epoch", "log_window_value",
    "max_latency", "md_per_io_size", "mem", "mem_align", "merge_blktrace_file", "merge_blktrace_iters",
    "merge_blktrace_scalars", "name", "new_group", "nice", "nonvectored", "nr_files", "nrfiles",
    "numa_cpu_nodes", "numa_mem_policy", "offset_align", "opendir", "openfiles", "overwrite",
    "per_job_logs", "percentage_sequential", "percentile_list", "pi_act", "pi_chk", "pool", "pre_read",
    "prio", "prio_class", "prioclass", "priohint", "ramp_size", "ramp_time", "random_generator",
    "randrepeat", "randseed", "rate_cycle", "rate_ignore_thinktime", "rate_iops_min", "rate_min",
    "ratecycle", "ratemin", "rbdname", "read_beyond_wp", "read_iolog_chunked", "readfua", "readonly",
    "recover_zbd_write_error", "refill_buffers", "registerfiles", "replay_align", "replay_no_stall",
    "replay_redirect", "replay_scale", "replay_skip", "replay_time_scale", "rocm_io", "rwmixcycle",
    "scramble_buffers", "serialize_overlap", "sg_write_mode", "significant_figures", "skip_bad",
    "slat_percentiles", "softrandommap", "spr_cs", "spr_num_regions", "spr_op", "sprandom",
    "sqthread_poll", "sqthread_poll_cpu", "ss", "ss_dur", "ss_interval", "ss_limit", "ss_ramp", "stats",
    "status-interval", "steadystate", "steadystate_check_interval", "steadystate_duration",
    "steadystate_limit", "steadystate_ramp_time", "sync_file_range", "thinkcycles",
    "thinktime_blocks_type", "thinktime_iotime", "thinktime_spin", "thread", "threads", "trim_backlog",
    "trim_backlog_batch", "trim_percentage", "trim_verify_zero", "uid", "uncached",
    "unified_rw_reporting", "unique_filename", "unit_base", "unlink", "unlink_each_loop", "uri",
    "verify", "verify_async", "verify_async_cpus", "verify_backlog", "verify_backlog_batch",
    "verify_dump", "verify_fatal", "verify_header_seed", "verify_interval", "verify_offset",
    "verify_only", "verify_pattern", "verify_pattern_interval", "verify_policy", "verify_state_load",
    "verify_state_save", "verify_write_sequence", "verifysort", "verifysort_nr", "write_barrier",
    "write_bw_log", "write_hist_log", "write_iolog", "write_iops_log", "write_lat_log",
    "write_zone_remainder", "xnvme_admin", "xnvme_async", "xnvme_dev_nsid", "xnvme_iovec", "xnvme_mem",
    "xnvme_sync", "zero_buffers", "zonerange", "zoneskip",
    "split_write_mode", "several_files", "unset_variable", "strided_zones", "time_based_without_runtime",
    "extended_blocks",
};

/// Engines with one outstanding request, regardless of `iodepth`.
const SYNCHRONOUS: &[&str] = &[
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "mmap",
    "splice",
    "dev-dax",
    "libpmem",
    "mtd",
    "libzbc",
    "libcufile",
    "libhipfile",
];

/// Engines that respect `iodepth`.
const ASYNCHRONOUS: &[&str] = &[
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "sg",
    "null",
    "cpp_null",
    "libblkio",
    "xnvme",
    "nbd",
    "rbd",
    "libiscsi",
];

/// Engines that access no device, but processors, networks or file systems.
const WITHOUT_DEVICE: &[&str] = &[
    "cpuio",
    "exec",
    "e4defrag",
    "falloc",
    "fileoperations",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "ftruncate",
    "http",
    "net",
    "netsplice",
    "page_fault",
    "rdma",
];

/// True if an engine accesses no device.
pub(super) fn without_device(engine: &str) -> bool {
    WITHOUT_DEVICE.contains(&engine)
}

/// True for an engine with one outstanding request, regardless of `iodepth`.
pub(super) fn synchronous(text: &str) -> Result<bool, String> {
    if SYNCHRONOUS.contains(&text) {
        return Ok(true);
    }
    if ASYNCHRONOUS.contains(&text) {
        return Ok(false);
    }
    let near = nearest(text, [ASYNCHRONOUS, SYNCHRONOUS].concat());
    let near = near.map_or(String::new(), |it| format!(" (did you mean {it}?)"));
    Err(format!("no engine of fio that reads and writes a device, such as libaio or psync{near}"))
}

/// The message for a key that is neither honoured nor ignored.
pub(super) fn unknown(key: &str) -> String {
    let known = HONOURED.iter().copied().chain(IGNORED.iter().map(|(name, _)| *name));
    let hint = nearest(key, known).map(|near| format!(" (did you mean {near}?)"));
    format!("unknown key {key}{}", hint.unwrap_or_default())
}

//! The names of a job's keys: those that are supported, and those that may be ignored.

use options::nearest;

/// The keys that decide the requests, with their other names.
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
    "write_mode", "writefua", "sync", "num_range",
];

/// Declares the keys that are read over, each with the notice that counts it.
macro_rules! ignored {
    ($($key:literal),* $(,)?) => {
        &[$(($key, concat!("fio_ignored_", $key))),*]
    };
}

/// Keys that say how fio does its I/O, what the data are, or what is reported, but not what is
/// asked when. `randrepeat` and its like choose fio's randomness, which here comes from the run's
/// seed; `filename` and `directory` choose the target, which here is the device.
pub(super) const IGNORED: &[(&str, &str)] = ignored! {
    "allow_file_create", "allow_mounted_write", "allrandrepeat", "buffer_compress_chunk",
    "buffer_compress_percentage", "buffer_pattern", "buffered", "bwavgtime", "clat_percentiles",
    "clocksource", "cmd_type", "cpumask", "cpus_allowed", "cpus_allowed_policy", "create_fsync",
    "create_on_open", "create_serialize", "dedupe_percentage", "description", "direct",
    "directory", "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat",
    "disk_util", "error_dump", "fadvise_hint", "fallocate", "filename", "fixedbufs", "gid",
    "group_reporting", "gtod_reduce", "hipri", "hugepage-size", "invalidate", "iomem",
    "iopsavgtime", "lat_percentiles", "lockmem", "log_avg_msec", "log_compression",
    "log_hist_msec", "log_max_value", "log_offset", "log_unix_epoch", "mem", "name", "new_group",
    "nice", "numa_cpu_nodes", "numa_mem_policy", "overwrite", "per_job_logs", "percentile_list",
    "prio", "prioclass", "random_generator", "randrepeat", "randseed", "refill_buffers",
    "registerfiles", "scramble_buffers", "significant_figures", "slat_percentiles",
    "softrandommap", "sqthread_poll", "stats", "thinktime_spin", "thread", "uid",
    "unified_rw_reporting", "unlink", "write_bw_log", "write_hist_log",
    "write_iolog", "write_iops_log", "write_lat_log", "zero_buffers",
};

/// Engines that have one request outstanding whatever `iodepth` says.
const SYNCHRONOUS: &[&str] = &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Engines that keep to `iodepth`.
const ASYNCHRONOUS: &[&str] =
    &["libaio", "io_uring", "io_uring_cmd", "posixaio", "solarisaio", "windowsaio", "sg", "null"];

/// Whether an engine has one request outstanding whatever `iodepth` says.
pub(super) fn synchronous(text: &str) -> Result<bool, String> {
    if SYNCHRONOUS.contains(&text) {
        return Ok(true);
    }
    if ASYNCHRONOUS.contains(&text) {
        return Ok(false);
    }
    let list = [ASYNCHRONOUS, SYNCHRONOUS].concat().join(", ");
    Err(format!("the engines that read and write a device are {list}"))
}

/// The message for a key that is neither honoured nor read over.
pub(super) fn unknown(key: &str) -> String {
    let known = HONOURED.iter().copied().chain(IGNORED.iter().map(|(name, _)| *name));
    let hint = nearest(key, known).map(|near| format!(" (did you mean {near}?)"));
    format!("unknown key {key}{}; known are {}", hint.unwrap_or_default(), HONOURED.join(", "))
}

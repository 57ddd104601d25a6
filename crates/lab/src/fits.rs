//! Comparison of a device's memory with the available memory.

use memory::NoMemory;
use options::Invalid;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// Memory left, and the limit that bounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    bytes: u64,
    of: &'static str,
}

/// Minimum of the memory left on the machine, in the process's control groups and under its own
/// limits; `None` if the system does not report it.
fn left_under(root: &Path) -> Option<Left> {
    let own =
        limits(root).map(|bytes| Left { bytes, of: "under the limits of the process (ulimit)" });
    [physical(root), own].into_iter().flatten().min_by_key(|it| it.bytes)
}

/// `left` without the process's address-space limits.
fn physical(root: &Path) -> Option<Left> {
    let machine = machine(root).map(|bytes| Left { bytes, of: "on this machine" });
    let group = groups(root).map(|bytes| Left { bytes, of: "in its control group" });
    [machine, group].into_iter().flatten().min_by_key(|it| it.bytes)
}

#[expect(clippy::disallowed_methods, reason = "what the system says of its memory")]
fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn machine(root: &Path) -> Option<u64> {
    let text = text(&root.join("proc/meminfo"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Memory left in the control groups of the process, versions 1 and 2.
fn groups(root: &Path) -> Option<u64> {
    let text = text(&root.join("proc/self/cgroup"))?;
    let of_line = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let (base, files) = match controllers {
            "" => ("sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
            it if it.split(',').any(|it| it == "memory") => (
                "sys/fs/cgroup/memory",
                ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            ),
            _ => return None,
        };
        let base = root.join(base);
        // In a container the path refers to the host and may not exist; the container's own group
        // is then at the base.
        let within = Path::new(path.trim_start_matches('/'));
        let all = within.ancestors().map(|it| base.join(it)).chain([base.clone()]);
        all.filter_map(|group| group_left(&group, files)).min()
    };
    text.lines().filter_map(of_line).min()
}

fn group_left(group: &Path, [limit, usage, reclaimable]: [&str; 3]) -> Option<u64> {
    let number = |name: &str| text(&group.join(name))?.trim().parse::<u64>().ok();
    let (most, taken) = (number(limit)?, number(usage)?);
    // The file cache is reclaimed before allocations fail.
    let cached = text(&group.join("memory.stat")).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix(reclaimable))?;
        line.trim().parse::<u64>().ok()
    });
    Some(most.saturating_sub(taken.saturating_sub(cached.unwrap_or(0))))
}

/// Memory left under the limits of address space and data size.
fn limits(root: &Path) -> Option<u64> {
    let own: PathBuf = root.join("proc/self");
    let (limits, taken) = (text(&own.join("limits"))?, text(&own.join("statm"))?);
    let taken: Vec<u64> = taken.split(' ').filter_map(|it| it.trim().parse().ok()).collect();
    let left = |(name, place): (&str, usize)| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
        Some(most.saturating_sub(taken.get(place)? * PAGE_BYTES))
    };
    [("Max address space", 0), ("Max data size", 5)].into_iter().filter_map(left).min()
}

/// Page size of the supported systems.
const PAGE_BYTES: u64 = 4096;

/// Advice by kind of device: the key that reduces its memory, and alternatives.
fn way_out(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "cache" => {
            ("device.line", "longer lines take less (device.line), and so do smaller devices")
        }
        "array" => {
            ("device.members", "fewer members take less (device.members), and so do smaller ones")
        }
        "zoned" => ("device.zones.count", "fewer zones take less (device.zones.count)"),
        "disk" => ("device.capacity", "a smaller disk takes less (device.capacity)"),
        _ => (
            "device.scale",
            "a larger device.scale takes less, and so do device.fill = \"empty\" and fewer blocks \
             (device.blocks_per_plane, device.planes_per_die)",
        ),
    }
}

/// Size for messages.
fn shown(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    if gib >= 0.1 { format!("{gib:.1} GiB") } else { format!("{} MiB", bytes.div_ceil(1 << 20)) }
}

fn refused(kind: &str, needed: &str, left: Option<Left>) -> Invalid {
    let (key, ways) = way_out(kind);
    let left = left.map_or_else(
        || "the system gives no more".to_owned(),
        |it| format!("{} are left {}", shown(it.bytes), it.of),
    );
    Invalid::new(&[key], format!("{needed}, and {left}; {ways}"))
}

/// Refuses a write that needs more memory than is left, for tables whose addresses are already
/// allocated; `what` is the subject of the message.
pub fn check_written(kind: &str, what: &str, needed: u64) -> Result<(), Invalid> {
    check(kind, what, needed, physical(Path::new("/")))
}

fn check(kind: &str, what: &str, needed: u64, left: Option<Left>) -> Result<(), Invalid> {
    match left {
        Some(left) if needed > left.bytes => {
            let needed = format!("{what} takes {} of memory", shown(needed));
            Err(refused(kind, &needed, Some(left)))
        }
        _ => Ok(()),
    }
}

/// Builds a device, of which `held` bytes grow with its content. Refuses it beforehand if these
/// exceed the memory left, and during building if its tables do.
pub fn built<T>(kind: &str, held: u64, build: impl FnOnce() -> T) -> Result<T, Invalid> {
    let left = left_under(Path::new("/"));
    check(kind, "this device", held, left)?;
    memory::allow(left.map_or(u64::MAX, |it| it.bytes - held));
    let built = catch_unwind(AssertUnwindSafe(build));
    memory::allow_all();
    built.or_else(|panic| match panic.downcast_ref::<NoMemory>() {
        Some(none) => {
            let needed = shown(held.saturating_add(none.bytes));
            let needed =
                format!("a table of this device makes it take more than {needed} of memory");
            Err(refused(kind, &needed, left))
        }
        None => resume_unwind(panic),
    })
}

/// Message about memory that ran out during a run.
pub fn no_memory(none: &NoMemory) -> String {
    format!(
        "there is no memory for {} more; a larger device.scale takes less, and so do a smaller device and a shorter run",
        shown(none.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(root: &Path, name: &str, content: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn the_least_of_all_limits_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(left_under(root), None);
        put(root, "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n");
        assert_eq!(left_under(root), Some(Left { bytes: 4000 << 10, of: "on this machine" }));
        // Version 2: a group's limit bounds its subgroups, and cached files can be reclaimed.
        put(root, "proc/self/cgroup", "0::/a/b\n");
        put(root, "sys/fs/cgroup/a/b/memory.max", "max\n");
        put(root, "sys/fs/cgroup/a/b/memory.current", "5\n");
        assert_eq!(left_under(root).unwrap().bytes, 4000 << 10);
        put(root, "sys/fs/cgroup/a/memory.max", "3000000\n");
        put(root, "sys/fs/cgroup/a/memory.current", "2500000\n");
        put(root, "sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 500000\n");
        assert_eq!(left_under(root), Some(Left { bytes: 1_000_000, of: "in its control group" }));
        // Version 1, in a container with the host's path.
        put(root, "proc/self/cgroup", "3:cpu:/x\n4:memory:/docker/f00\n");
        put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "900000\n");
        put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n");
        assert_eq!(left_under(root).unwrap().bytes, 700_000);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax data size  unlimited  unlimited  bytes\n\
                      Max address space  1000000  unlimited  bytes\n";
        put(root, "proc/self/limits", limits);
        put(root, "proc/self/statm", "200 1 1 1 0 100 0\n");
        assert_eq!(left_under(root).unwrap().bytes, 1_000_000 - 200 * 4096);
    }
}

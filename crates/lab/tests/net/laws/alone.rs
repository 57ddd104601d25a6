//! Laws on the results of one run.

use super::{Case, must, near};
use serde_json::Value;

const OPS: [&str; 5] = ["read", "write", "trim", "flush", "all"];

/// Figures that may be negative, by the end of their name; the reader of results accepts them, too.
const SIGNED: [&str; 4] = ["drift", "first_us", "error_percent", "difference"];

/// All figures are non-negative, except signed ones.
pub fn signs(case: &Case<'_>) -> Result<(), String> {
    fn walk(path: &str, value: &Value) -> Result<(), String> {
        match value {
            Value::Number(number) => must(
                number.as_f64().is_none_or(|it| it >= 0.0)
                    || SIGNED.iter().any(|name| path.ends_with(name)),
                || format!("{path} is {number}"),
            ),
            Value::Array(items) => items.iter().try_for_each(|item| walk(path, item)),
            Value::Object(fields) => {
                fields.iter().try_for_each(|(key, item)| walk(&format!("{path}.{key}"), item))
            }
            _ => Ok(()),
        }
    }
    let sections = case.results.as_object().into_iter().flatten();
    // Requested values are checked elsewhere.
    let mut sections = sections.filter(|(name, _)| *name != "experiment");
    sections.try_for_each(|(name, section)| walk(name, section))
}

pub fn breakdown(case: &Case<'_>) -> Result<(), String> {
    for op in OPS {
        let Some(mean) = case.number(&format!("/host/{op}/mean_us")) else { continue };
        let parts = case.results["host"][op]["breakdown_us"].as_object();
        let parts: Vec<f64> = parts.into_iter().flatten().filter_map(|it| it.1.as_f64()).collect();
        let sum: f64 = parts.iter().sum();
        must(near(sum, mean) || (sum - mean).abs() < 1e-3, || {
            format!("{op}: the parts sum to {sum} us, the mean is {mean} us")
        })?;
        must(parts.iter().all(|part| *part >= 0.0), || format!("{op}: a part of {parts:?} < 0"))?;
        let of = |key: &str| case.number(&format!("/host/{op}/{key}")).unwrap_or(0.0);
        let (least, most) = (of("min_us"), of("max_us"));
        must(least <= mean + 1e-6 && mean <= most + 1e-6, || {
            format!("{op}: mean {mean} us lies outside {least}..{most} us")
        })?;
    }
    Ok(())
}

/// Minimum and maximum flash pages programmed per write of a logical page.
fn pages_of_a_write(case: &Case<'_>) -> (u64, u64) {
    let mut device = "device".to_owned();
    while case.is(&format!("{device}.kind"), "array") {
        device += ".member";
    }
    let size = |key: &str| {
        let text = case.resolved(&format!("{device}.{key}"))?.as_str()?;
        text.parse::<options::Size>().ok().map(options::Size::bytes)
    };
    let page = size("page_size").unwrap_or(4096);
    let logical = size("logical_page").unwrap_or(page);
    let wide = if case.is(&format!("{device}.gang"), "shared-control-sync") {
        let count = case.resolved(&format!("{device}.packages_per_channel"));
        count.and_then(Value::as_u64).unwrap_or(1)
    } else {
        1
    };
    (1, logical.div_ceil(page).max(wide).max(1))
}

pub fn programs(case: &Case<'_>) -> Result<(), String> {
    if case.results.get("flash").is_none() {
        return Ok(());
    }
    let count = |key: &str| case.count(&format!("/flash/{key}"));
    let (programs, moved) = (count("page_programs"), count("pages_moved"));
    let (migrated, host) = (count("pages_migrated"), count("host_pages_written"));
    let figures = || {
        format!(
            "{programs} programs, {moved} moved, {migrated} migrated, {host} host pages, {} refused",
            case.count("/wear/refused_pages")
        )
    };
    // Additional programs of a write buffer, and saved ones: pages that were overwritten in time.
    let filled = ["padding_pages", "parity_pages"].map(|key| case.count(&format!("/buffer/{key}")));
    let filled = filled.iter().sum::<u64>()
        + pages_of_nothing(case, programs)
        + pages_of(case, "map", programs);
    must(programs >= moved + migrated + filled, figures)?;
    let own = programs - moved - migrated - filled + case.count("/buffer/replaced_pages");
    let (least, most) = pages_of_a_write(case);
    let (held, filled_up) = pages_of_blocks(case);
    // Small writes are merged in the pages of a block buffer, which are programmed once or are
    // still buffered.
    must(held > 0 || own >= host * least, figures)?;
    // What failed is programmed again, with the pages of its write.
    let again = case.count("/bad_blocks/failed_programs") * most;
    must(own <= (host + held) * most + filled_up + again, || {
        format!("{} ({most} a write)", figures())
    })?;
    must(count("copy_backs") <= moved + migrated, figures)?;
    must(count("page_reads") >= moved + migrated, || {
        format!("{} page reads; {}", count("page_reads"), figures())
    })
}

/// Maximum pages in block buffers, and pages read to write blocks back whole.
fn pages_of_blocks(case: &Case<'_>) -> (u64, u64) {
    if case.results["flash"].get("block_buffer").is_none() {
        return (0, 0);
    }
    let (mut device, mut drives) = ("device".to_owned(), 1);
    while case.is(&format!("{device}.kind"), "array") {
        let members = case.resolved(&format!("{device}.members")).and_then(Value::as_u64);
        drives *= members.unwrap_or(1);
        device += ".member";
    }
    let size = case.resolved(&format!("{device}.block_buffer.size")).and_then(Value::as_str);
    let size: options::Size = size.and_then(|it| it.parse().ok()).expect("a size");
    // Pages have at least 512 bytes, and may be half written.
    (drives * size.bytes() / 512, case.count("/flash/block_buffer/pages_filled_up"))
}

/// Pages copied by merges of log blocks although they were never written.
fn pages_of_nothing(case: &Case<'_>, programs: u64) -> u64 {
    if case.results["flash"].get("merges").is_none() {
        return 0;
    }
    pages_of(case, "pad", programs)
}

/// Pages programmed for a cause.
fn pages_of(case: &Case<'_>, cause: &str, programs: u64) -> u64 {
    let causes = &case.results["flash"]["media_bytes"];
    let bytes = causes.get(cause).and_then(Value::as_u64).unwrap_or(0);
    (bytes * programs).checked_div(case.count("/flash/bytes_programmed")).unwrap_or(0)
}

/// Bytes programmed equal the sum over their causes, and the host's share does not exceed its
/// writes.
pub fn media(case: &Case<'_>) -> Result<(), String> {
    let Some(causes) = case.results["flash"]["media_bytes"].as_object() else { return Ok(()) };
    let bytes = |cause: &str| causes.get(cause).and_then(Value::as_u64).unwrap_or(0);
    let sum: u64 = causes.values().filter_map(Value::as_u64).sum();
    let all = case.count("/flash/bytes_programmed");
    must(sum == all, || format!("{causes:?} sum to {sum} and {all} bytes were programmed"))?;
    let written = case.count("/flash/host_bytes_written");
    must(bytes("host") <= written, || format!("{causes:?}, the host wrote {written}"))?;
    let folded = case.count("/slc_cache/folded_bytes");
    must(bytes("fold") == folded, || format!("{causes:?}, {folded} bytes were folded"))?;
    // The cached and folded data were written by the host. The initial content of a run is unknown.
    let (cached, held) =
        (case.count("/slc_cache/written_bytes"), case.count("/slc_cache/held_bytes"));
    must(folded <= cached + held || case.warms_up(), || {
        format!("{folded} bytes were folded, and {cached} went to the cache")
    })?;
    let states = case.results["slc_cache"]["states_seconds"].as_object();
    let Some(states) = states else { return Ok(()) };
    let direct = case.count("/slc_cache/direct_bytes");
    let (sum, programmed) = (cached + direct, bytes("host") + bytes("merge"));
    // Untimed writes go directly to their final place.
    let is_told = case.is_timed() || sum > 0;
    must(sum == programmed || !is_told, || {
        format!("{cached} + {direct} to the cache and not, {causes:?}")
    })?;
    let seconds: f64 = states.values().filter_map(Value::as_f64).sum();
    let simulated = case.number("/simulated_seconds").unwrap_or(0.0);
    // Operations before the first request and after the last belong to no request.
    must(seconds + 1e-6 >= simulated, || format!("{states:?} in {simulated} s"))
}

pub fn busy(case: &Case<'_>) -> Result<(), String> {
    let share = |name: &str, value: &Value| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        must((0.0..=1.0 + 1e-9).contains(&value), || format!("{name} {value}"))
    };
    for unit in case.results["units"].as_array().into_iter().flatten() {
        let name = unit["name"].as_str().unwrap_or_default();
        share(&format!("{name} busy"), &unit["busy"])?;
        share(&format!("{name} cleaning"), &unit["cleaning"])?;
    }
    for bus in case.results["buses"]["busy"].as_array().into_iter().flatten() {
        share("bus", bus)?;
    }
    Ok(())
}

pub fn amplification(case: &Case<'_>) -> Result<(), String> {
    if case.count("/flash/pages_trimmed") > 0 || case.count("/flash/host_pages_written") == 0 {
        return Ok(());
    }
    if pages_of_blocks(case).0 > 0 {
        return Ok(());
    }
    // Pages overwritten in a buffer are programmed once.
    let replaced = case.count("/buffer/replaced_pages");
    let least = 1.0 - replaced as f64 / case.count("/flash/host_pages_written") as f64;
    for key in ["write_amplification", "write_amplification_bytes", "write_amplification_pages"] {
        if let Some(amplification) = case.number(&format!("/flash/{key}")) {
            if replaced > 0 && key == "write_amplification_bytes" {
                continue;
            }
            must(amplification >= least - 1e-9, || format!("{key} is {amplification}"))?;
        }
    }
    Ok(())
}

pub fn efficiency(case: &Case<'_>) -> Result<(), String> {
    let Some(share) = case.number("/flash/cleaning/efficiency") else { return Ok(()) };
    must((0.0..=1.0).contains(&share), || format!("{share}"))
}

pub fn requests(case: &Case<'_>) -> Result<(), String> {
    let of = |op: &str| case.count(&format!("/host/{op}/requests"));
    let refused: u64 = REFUSED.iter().map(|path| case.count(path)).sum();
    let sum: u64 = OPS[..4].iter().map(|op| of(op)).sum();
    must(sum == of("all"), || format!("{sum} by operation, {} in all", of("all")))?;
    let submitted = case.count("/workload/asked");
    let unanswered = case.count("/workload/unanswered");
    let warm_up = case.count("/workload/warm_up");
    must(submitted == warm_up + sum + refused + unanswered, || {
        format!(
            "{submitted} submitted, {sum} answered, {refused} refused, {unanswered} neither, \
             {warm_up} before"
        )
    })?;
    let counted = ["closed", "open", "bursts", "jesd219"];
    let kind = case.resolved("workload.kind").and_then(Value::as_str).unwrap_or_default();
    if !case.is_whole() || !counted.contains(&kind) {
        return Ok(());
    }
    let asked = case.resolved("workload.requests").and_then(Value::as_u64).unwrap_or(0);
    let sum = warm_up + sum;
    must(asked == sum || asked == sum + refused, || format!("{asked} asked, {sum} answered"))
}

/// Results that count rejected requests.
const REFUSED: [&str; 1] = ["/host/all/failed"];

pub fn refused(case: &Case<'_>) -> Result<(), String> {
    let pages = case.count("/wear/refused_pages");
    let requests: u64 = REFUSED.iter().map(|path| case.count(path)).sum();
    must(pages == 0 || case.has_ended(), || format!("{pages} pages refused, and it goes on"))?;
    must(pages == 0 || requests > 0, || {
        format!(
            "{pages} pages refused, no request: {} writes answered",
            case.count("/host/write/requests")
        )
    })
}

pub fn time_series(case: &Case<'_>) -> Result<(), String> {
    let pairs = [
        ("requests", "/host/all/requests"),
        ("host_pages_written", "/flash/host_pages_written"),
        ("pages_programmed", "/flash/page_programs"),
        ("blocks_erased", "/flash/block_erases"),
    ];
    for (series, total) in pairs {
        let Some(bins) = case.results["time_series"][series].as_array() else { continue };
        let sum: u64 = bins.iter().filter_map(Value::as_u64).sum();
        // A run without requests has no samples.
        let total_is = case.count(total);
        must(sum == total_is || bins.is_empty(), || {
            format!("time_series.{series} sums to {sum}, {total} is {total_is}")
        })?;
    }
    Ok(())
}

pub fn lifetime(case: &Case<'_>) -> Result<(), String> {
    // For an array, the first member's share times the number of members.
    let fresh = case.is("run.precondition", "none")
        && case.resolved("run.load_drive").is_none()
        && case.is("device.kind", "ssd");
    // A rejected request may have been written in part.
    let asked = case.count("/host/write/bytes") + case.count("/host/write/failed_bytes");
    // The lifetime is that of the full-size drive, of which each block is simulated in part.
    let scale = case.resolved("device.scale").or_else(|| case.resolved("device.member.scale"));
    let asked = asked as f64 * scale.and_then(Value::as_f64).unwrap_or(1.0);
    for name in ["first_expiry", "spare_gone"] {
        let milestone = &case.results["wear"]["lifetime"][name];
        let bytes = milestone["host_bytes"].as_f64().unwrap_or(0.0);
        if fresh {
            must(bytes <= asked + 0.5, || {
                format!("{name} after {bytes} bytes, of which {asked} were asked for")
            })?;
        }
    }
    let life = &case.results["wear"]["lifetime"];
    let Some(status) = life["status"].as_str() else { return Ok(()) };
    let of = |key: &str| life[key].as_f64();
    let stated = matches!(status, "estimated" | "measured");
    must(of("host_bytes").is_some() == stated && life["reason"].is_string() != stated, || {
        format!("the lifetime is {status}: {life}")
    })?;
    // As docs/endurance.md says.
    must(of("error").is_none_or(|it| it <= 0.1), || format!("the lifetime is stated: {life}"))?;
    let factors = ["physical_bytes", "rated_cycles", "evenness", "amplification"].map(of);
    if let [Some(physical), Some(rated), Some(evenness), Some(amplification)] = factors {
        let closed = physical * rated * evenness / amplification;
        let bytes = of("host_bytes").unwrap_or(0.0);
        must((closed - bytes).abs() <= 1e-9 * closed, || {
            format!("the lifetime is {bytes} bytes, and {closed} by its factors")
        })?;
    }
    Ok(())
}

pub fn clock(case: &Case<'_>) -> Result<(), String> {
    let one = |key: &str| case.resolved(key).and_then(Value::as_u64) == Some(1);
    let lone = case.is("workload.kind", "closed")
        && case.is_timed()
        && case.is_whole()
        && one("workload.outstanding")
        && one("workload.threads");
    let Some(mean) = case.number("/host/all/mean_us") else { return Ok(()) };
    if !lone {
        return Ok(());
    }
    let think = case.resolved("workload.think_time").and_then(Value::as_str).unwrap_or("0ns");
    let think = think.parse::<options::Duration>().map_or(0, options::Duration::ns) as f64 / 1e9;
    let requests = case.count("/host/all/requests") as f64;
    let expected = mean * requests / 1e6 + (requests - 1.0) * think;
    let is = case.number("/simulated_seconds").unwrap_or(0.0);
    must((is - expected).abs() <= 1e-6 * expected + 1e-6, || {
        format!("{is} s simulated; latencies and think times sum to {expected} s")
    })
}

pub fn wear(case: &Case<'_>) -> Result<(), String> {
    let Some(mean) = case.number("/wear/mean_erases") else { return Ok(()) };
    let most = case.number("/wear/max_erases").unwrap_or(0.0);
    must(mean <= most + 1e-9, || format!("mean {mean} erasures, at most {most}"))?;
    let count = |key: &str| case.count(&format!("/flash/{key}"));
    let cleaned = count("cleaning/blocks_cleaned") + count("cleaning/blocks_migrated");
    must(cleaned <= count("block_erases"), || {
        format!("{cleaned} blocks cleaned or migrated, {} erased", count("block_erases"))
    })?;
    if case.is("run.precondition", "none") && case.is("device.kind", "ssd") {
        let shape = ["channels", "packages_per_channel", "dies_per_package"];
        let shape = shape.iter().chain(&["planes_per_die", "blocks_per_plane"]);
        let of = |key: &str| {
            case.resolved(&format!("device.{key}")).and_then(Value::as_u64).unwrap_or(1)
        };
        let blocks: u64 = shape.map(|key| of(key)).product();
        // With a write buffer the planes of a die, or of all dies, are erased together and count as
        // one.
        let together = match case.resolved("device.cleaning.reclaim").and_then(Value::as_str) {
            Some("superblock") if case.is_buffered() => blocks / of("blocks_per_plane"),
            _ if case.is_buffered() => of("planes_per_die"),
            _ => 1,
        };
        let erases = mean * (blocks / together) as f64;
        must((erases - count("block_erases") as f64).abs() < 0.01, || {
            format!("the blocks have {erases} erasures, {} were done", count("block_erases"))
        })?;
    }
    Ok(())
}

pub fn health(case: &Case<'_>) -> Result<(), String> {
    if case.results.get("health").is_none() {
        return must(case.results.get("wear").is_none(), || "wear without health".to_owned());
    }
    let [warned, spare, used, read, written] = [
        "critical_warning",
        "available_spare",
        "percentage_used",
        "data_units_read",
        "data_units_written",
    ]
    .map(|key| case.count(&format!("/health/{key}")));
    let low = spare < case.count("/health/spare_threshold");
    let expected = u64::from(low) + 8 * u64::from(case.has_ended());
    must(warned == expected && spare <= 100, || {
        format!("critical_warning {warned} of a spare of {spare} %, not {expected}")
    })?;
    if !case.is("device.kind", "ssd") || case.warms_up() {
        return Ok(());
    }
    let of = |key: &str| case.resolved(&format!("device.{key}")).and_then(Value::as_f64);
    if of("wear.spread") == Some(0.0) {
        let share = case.number("/wear/mean_erases").unwrap_or(0.0)
            / of("wear.rated_cycles").unwrap_or(1.0);
        must((100.0 * share).min(255.0) + 1e-6 >= used as f64, || format!("{used} % of {share}"))?;
        must((100.0 * share).min(255.0) < used as f64 + 1.0 + 1e-6, || {
            format!("{used} % of {share}")
        })?;
    }
    let scale = of("scale").unwrap_or(1.0) as u64;
    let units = |bytes: u64| (bytes * scale).div_ceil(512_000);
    let of_reads = units(case.count("/host/read/bytes"));
    must(read == of_reads, || format!("{read} data units read, of {of_reads}"))?;
    let fresh = case.is("run.precondition", "none") && case.resolved("run.load_drive").is_none();
    let of_writes = units(case.count("/flash/host_bytes_written"));
    must(!fresh || written == of_writes, || format!("{written} data units written, of {of_writes}"))
}

pub fn energy(case: &Case<'_>) -> Result<(), String> {
    let Some(joules) = case.number("/energy/joules") else { return Ok(()) };
    let parts = case.results["energy"]["parts"].as_object();
    let parts: Vec<f64> = parts.into_iter().flatten().filter_map(|it| it.1.as_f64()).collect();
    let sum: f64 = parts.iter().sum();
    must(near(sum, joules), || format!("the parts sum to {sum} J, all is {joules} J"))?;
    must(parts.iter().all(|part| *part >= 0.0), || format!("a part of {parts:?} < 0"))?;
    // Power over time sums to the energy, except for the energy before the first request.
    let series = &case.results["time_series"];
    let bin = series["bin_seconds"].as_f64().unwrap_or(0.0);
    let watts: Vec<f64> = series["watts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| it.as_f64().unwrap_or(0.0))
        .collect();
    must(watts.len() == series["requests"].as_array().map_or(0, Vec::len), || {
        format!("watts of {} bins", watts.len())
    })?;
    let Some((last, whole)) = watts.split_last() else { return Ok(()) };
    let seconds = case.number("/simulated_seconds").unwrap_or(0.0);
    let rest = (seconds - bin * whole.len() as f64).max(0.0);
    let over_time = whole.iter().sum::<f64>() * bin + last * rest;
    // Each bin is rounded to a nanojoule.
    let slack = 1e-9 * (watts.len() + 1) as f64 + 1e-6 * joules;
    must(over_time <= joules + slack, || format!("{over_time} J over time, all is {joules} J"))
}

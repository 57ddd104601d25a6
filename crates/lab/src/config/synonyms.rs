//! Synonyms of keys, from other programs and common usage: one table for messages about unknown
//! keys, `ssdlab keys` and `ssdlab show`.

/// A foreign name of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synonym {
    /// The word, in lower case.
    pub word: &'static str,
    /// Matching keys, by the end of their paths or by section, most likely first; empty if there is
    /// none.
    pub terms: &'static [&'static str],
    /// Other advice: a command, the form of the value, or the reason for the missing key.
    pub note: &'static str,
}

const fn row(word: &'static str, terms: &'static [&'static str], note: &'static str) -> Synonym {
    Synonym { word, terms, note }
}

const CLEANERS: &str = "ssdlab list cleaners";
const LIFE: &str = "ssdlab endurance DEVICE, ssdlab size --trace FILE --years 5";
const ZIPF: &str = "as in locality=zipf(0.9)";
const MAP: &[&str] = &["map.memory", "map.place", "device.map"];
const SLC: &[&str] = &["slc_cache.dynamic", "slc_cache.static", "device.slc_cache"];
const RESULT: &str = "a figure of the results, as in ssdlab sweep --minimize write_amplification";
const DEPTH: &[&str] =
    &["workload.outstanding", "host_link.queue_depth", "device.queue_depth", "classes.*.depth"];
const PLANES: &[&str] = &["device.pair_commands", "device.interleave"];
const READS: &[&str] = &["timing.read", "random_read.fixed"];
const WRITES: &[&str] = &["timing.program", "random_write.fixed"];
const SPARE: &[&str] =
    &["over_provisioning", "spare_factor", "spare_blocks_per_plane", "device.capacity"];

/// All synonyms, by word.
pub const SYNONYMS: &[Synonym] = &[
    row("bs", &["workload.block_size", "block_size"], ""),
    row("buffer", &["device.buffer.size", "device.buffer"], ""),
    row("chunk", &["device.stripe"], ""),
    row("concurrency", DEPTH, ""),
    row("dftl", MAP, ""),
    row("discard", &["trim"], ""),
    row("dram", &["device.buffer.size", "map.memory"], ""),
    row("dwpd", &["rated_cycles", "service_years"], LIFE),
    row("endurance", &["rated_cycles", "service_years"], LIFE),
    row("erase latency", &["timing.erase"], ""),
    row("erase time", &["timing.erase"], ""),
    row("garbage collection", &["cleaning.policy", "device.cleaning"], CLEANERS),
    row("gc", &["cleaning.policy", "device.cleaning"], CLEANERS),
    row("gc policy", &["cleaning.policy"], CLEANERS),
    row("gc threshold", &["cleaning.min_free"], ""),
    row("hmb", MAP, ""),
    row("host memory buffer", MAP, ""),
    row("in-order", &["host_link.completions"], ""),
    row("invalid", &["superseded"], ""),
    row("io depth", DEPTH, ""),
    row("io size", &["workload.block_size", "block_size"], ""),
    row("latency", &["host_link.latency", "timing.read"], ""),
    row("map cache", MAP, ""),
    row("multi-plane", PLANES, ""),
    row("ncq", &["queue_depth"], ""),
    row("numjobs", &["workload.threads", "classes.*.threads"], ""),
    row("nv cache", &["device.pinned"], "a device of kind cache"),
    row("op", SPARE, ""),
    row("op ratio", SPARE, ""),
    row("overprovisioning", SPARE, ""),
    row("p/e cycles", &["rated_cycles"], ""),
    row("page read time", &["timing.read"], ""),
    row("page write time", &["timing.program"], ""),
    row("pe cycles", &["rated_cycles"], ""),
    row("percentage random", &["workload.random_share"], ""),
    row("plp", &["power_loss_protected"], ""),
    row("program latency", &["timing.program"], ""),
    row("program time", &["timing.program"], ""),
    row("qd", DEPTH, ""),
    row("queue depth", DEPTH, ""),
    row("ramp time", &["run.warm_up"], ""),
    row("read latency", READS, ""),
    row("read ratio", &["read_share"], ""),
    row("read time", READS, ""),
    row("runtime", &["run.until"], ""),
    row("rwmixread", &["read_share"], ""),
    row("skew", &["locality"], ZIPF),
    row("slc", SLC, ""),
    row("slc cache", SLC, ""),
    row("slc cache size", &["slc_cache.limit", "slc_cache.static"], ""),
    row("spare", SPARE, ""),
    row("spin down", &["standby.after"], ""),
    row("stale", &["superseded"], ""),
    row("tbers", &["timing.erase"], ""),
    row("tbw", &["rated_cycles", "service_years"], LIFE),
    row("theta", &["workload.locality", "locality"], ZIPF),
    row("tprog", &["timing.program"], ""),
    row("tr", &["timing.read"], ""),
    row("two-plane", PLANES, ""),
    row("unmap", &["trim"], ""),
    row("victim selection", &["cleaning.policy"], CLEANERS),
    row("wa", &[], RESULT),
    row("waf", &[], RESULT),
    row("warmup", &["run.warm_up"], ""),
    row("wear leveling", &["levelling.rule", "device.cleaning.levelling"], ""),
    row("working set", &["workload.footprint", "footprint"], ""),
    row("write amplification", &[], RESULT),
    row("write buffer", &["device.buffer.size", "device.buffer"], ""),
    row("write cache", &["device.buffer.size", "device.buffer", "write_cache"], ""),
    row("write latency", WRITES, ""),
    row("write time", WRITES, ""),
    row(
        "zbd",
        &["device.zones", "device.kind"],
        "a drive of zones is kind = \"zoned\"; in fio jobs zonemode=zbd",
    ),
    row("zipf", &["workload.locality", "locality"], ZIPF),
    row("zns", &["device.zones", "device.kind"], "a drive of zones is kind = \"zoned\""),
    row("zrwa", &["zrwa.resources", "device.zones.zrwa"], "a window of random writes"),
];

/// The word in normal form.
fn plain(word: &str) -> String {
    word.chars().filter(|c| !" _-".contains(*c)).flat_map(char::to_lowercase).collect()
}

/// Table row for a word in any spelling: `iodepth`, `IO_depth`.
pub fn synonym(word: &str) -> Option<&'static Synonym> {
    let word = plain(word.trim());
    SYNONYMS.iter().find(|row| plain(row.word) == word)
}

/// Keys meant by a synonym: keys whose path ends with a term, otherwise the keys of a section.
fn meant<'a>(row: &Synonym, paths: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for term in row.terms {
        let ends = |path: &&&str| {
            path.strip_suffix(term).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        for path in paths.iter().filter(ends) {
            if !found.contains(path) {
                found.push(path);
            }
        }
        let below = paths.iter().find(|path| path.starts_with(&format!("{term}.")));
        if let (Some(below), true) = (below, found.is_empty()) {
            found.push(&below[..term.len()]);
        }
    }
    found
}

/// The hint for an unknown key that is a known synonym: the keys meant, preferably in `section`.
pub(crate) fn hint(word: &str, section: Option<&str>, paths: &[&str]) -> Option<String> {
    let row = synonym(word)?;
    let all = meant(row, paths);
    let is_own = |path: &&&str| section.is_some_and(|it| path.starts_with(&format!("{it}.")));
    let own: Vec<&str> = all.iter().filter(is_own).copied().collect();
    let keys = if own.is_empty() { all } else { own };
    let note = if row.note.is_empty() { String::new() } else { format!("; {}", row.note) };
    match keys.split_last() {
        None => Some(format!(" ({})", row.note)),
        Some((last, [])) => Some(format!(" (here it is {last}{note})")),
        Some((last, rest)) => Some(format!(" (here it is {} or {last}{note})", rest.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Vec<String> {
        let mut paths: Vec<String> =
            crate::keys().into_iter().flat_map(|it| it.keys).map(|key| key.path).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    #[test]
    fn every_synonym_means_a_key_or_says_why_not() {
        let paths = paths();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        for row in SYNONYMS {
            assert_eq!(row.word, row.word.to_lowercase());
            let known = ["superseded", "trim"];
            let is_about = row.terms.iter().any(|term| known.contains(term));
            let means = !meant(row, &paths).is_empty();
            assert!(is_about || means || !row.note.is_empty(), "{}", row.word);
            assert_eq!(SYNONYMS.iter().filter(|it| plain(it.word) == plain(row.word)).count(), 1);
        }
        assert!(SYNONYMS.is_sorted_by_key(|row| row.word));
    }

    #[test]
    fn words_of_others_name_the_key() {
        let paths = paths();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let said = |word: &str| hint(word, None, &paths).unwrap();
        assert!(
            said("theta").starts_with(" (here it is workload.locality or "),
            "{}",
            said("theta")
        );
        assert!(said("theta").ends_with("; as in locality=zipf(0.9))"));
        for (word, key) in [
            ("qd", "workload.outstanding, device.host_link.queue_depth"),
            ("iodepth", "workload.outstanding"),
            ("queue_depth", "device.host_link.queue_depth"),
            ("op", "device.over_provisioning"),
            ("overprovisioning", "device.over_provisioning"),
            ("gc", "cleaning.policy;"),
            ("bs", "workload.block_size"),
            ("slc", "device.slc_cache.dynamic"),
            ("waf", "a figure of the results"),
            ("read_latency", "device.timing.read"),
            ("write_latency", "device.timing.program"),
        ] {
            assert!(said(word).contains(key), "{word}: {}", said(word));
        }
        assert_eq!(
            hint("qd", Some("workload"), &paths).unwrap(),
            " (here it is workload.outstanding or workload.classes.*.depth)"
        );
        assert_eq!(hint("chanels", None, &paths), None);
    }

    /// A cleaner is set through a key, not through the name of its table.
    #[test]
    fn words_for_cleaning_name_a_key_that_can_be_set() {
        let paths = paths();
        for word in ["gc", "garbage collection", "victim selection", "wear leveling"] {
            let row = SYNONYMS.iter().find(|it| it.word == word).expect("it is a row");
            let is_key = |term: &str| paths.iter().any(|path| path.ends_with(&format!(".{term}")));
            assert!(
                meant(row, &paths.iter().map(String::as_str).collect::<Vec<_>>())
                    .iter()
                    .all(|path| { paths.iter().any(|it| it == path) }),
                "{word}"
            );
            assert!(is_key(row.terms[0]), "{word}");
        }
    }
}

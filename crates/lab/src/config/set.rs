//! `--set KEY=VALUE`, with abbreviated keys.

use super::keys::{all_keys, in_reference, unknown_key};
use super::layer::{Layer, peers};
use super::plain;
use super::synonyms;
use crate::error::InputError;
use options::{ANY_NAME, nearest};
use std::sync::LazyLock;

/// The paths of all keys, sorted.
static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let keys = all_keys().iter().flat_map(|section| &section.keys);
    let mut paths: Vec<String> = keys.map(|key| key.path.clone()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
});

/// Sections of inner devices.
const WITHIN: [(&str, &str); 3] = [
    ("member", "a member"),
    ("fast", "the fast device of a cache"),
    ("backing", "the backing device of a cache"),
];

/// The layer of `--set KEY=VALUE`. The key may be the end of a path, such as `cleaning.policy`, if
/// it is unique; the value is TOML, a number in common notation, or else the text of a string.
///
/// # Errors
/// When the assignment has no `=`, or the key is unknown or ambiguous.
pub fn set_layer(assignment: &str) -> Result<Layer, InputError> {
    let source = format!("--set {assignment}");
    let refuse = |problem: &str| InputError(format!("{source}: {problem}"));
    let Some((key, value)) = assignment.split_once('=') else {
        return Err(refuse("expected KEY=VALUE, such as device.channels=4"));
    };
    let (key, value) = (key.trim(), value.trim());
    let path = full_path(key).map_err(|problem| refuse(&problem))?;
    let literal = format!("value = {value}");
    let is_toml = !value.contains('\n') && literal.parse::<toml::Table>().is_ok();
    let of_people = plain::number(&path, value).map_err(|problem| refuse(&problem))?;
    let is_float = is_toml && value.parse::<i64>().is_err();
    let value = match of_people {
        Some(number) if !is_toml || is_float && number.parse::<i64>().is_ok() => number,
        _ if is_toml => value.to_owned(),
        _ => quoted(value),
    };
    let source = source.replace('\n', " ");
    Ok(Layer { code: true, ..Layer::new(source, format!("{path} = {value}")) })
}

/// A text as TOML on one line, with the string escapes of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\x7f', "\\u007f")
}

/// The layer of several `--set` assignments of equal rank ([`peers`]).
///
/// # Errors
/// See [`set_layer`]; also when two assignments give a key different values.
pub fn set_layers<T: AsRef<str>>(assignments: &[T]) -> Result<Layer, InputError> {
    let mut layers = Vec::new();
    let mut refused = Vec::new();
    for assignment in assignments {
        match set_layer(assignment.as_ref()) {
            Ok(layer) => layers.push(layer),
            Err(error) => refused.push(error.0),
        }
    }
    // One message, independent of the order.
    match refused.into_iter().min() {
        Some(message) => Err(InputError(message)),
        None => peers(&layers),
    }
}

fn full_path(key: &str) -> Result<String, String> {
    // An inner device has the keys of a device.
    for (section, what) in WITHIN {
        let below = key.strip_prefix("device.").unwrap_or(key);
        let Some(rest) = below.strip_prefix(section).and_then(|it| it.strip_prefix('.')) else {
            continue;
        };
        let path = full_path(&format!("device.{rest}")).or_else(|_| full_path(rest))?;
        let rest = path.strip_prefix("device.");
        return rest
            .map(|rest| format!("device.{section}.{rest}"))
            .ok_or_else(|| format!("unknown key \"{key}\"; {what} has the keys of a device"));
    }
    if PATHS.iter().any(|path| path == key) && !key.contains(ANY_NAME) {
        return Ok(key.to_owned());
    }
    if let Some(path) = in_named_table(key, &PATHS) {
        return path;
    }
    // A key of a user-named table must be written in full.
    let paths = || PATHS.iter().map(String::as_str).filter(|path| !path.contains(ANY_NAME));
    let suffix = format!(".{key}");
    let matching: Vec<&str> = paths().filter(|path| path.ends_with(&suffix)).collect();
    match matching.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => {
            let end = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
            let last = end(key);
            let same = paths().find(|path| end(path) == last);
            let near = || {
                nearest(key, paths())
                    .or_else(|| paths().find(|path| nearest(&last, [end(path).as_str()]).is_some()))
            };
            let section = key.split_once('.').map(|(section, _)| section);
            let all: Vec<&str> = PATHS.iter().map(String::as_str).collect();
            let called = || synonyms::hint(&last, section, &all);
            let mean = |near: &str| format!(" (did you mean {near}?)");
            let in_section =
                || leading(key).map(|path| format!(" (a section; did you mean {path}?)"));
            let hint = same
                .map(mean)
                .or_else(in_section)
                .or_else(called)
                .or_else(|| near().map(mean))
                .unwrap_or_default();
            Err(format!("unknown key \"{key}\"{hint}"))
        }
        several => Err(format!("\"{key}\" could be {}; write it in full", several.join(", "))),
    }
}

/// The main key of a section, for words that name a section: its policy or kind, otherwise its
/// first key.
fn leading(section: &str) -> Option<&'static str> {
    let keys = PATHS.iter().filter_map(|path| {
        let (above, name) = path.rsplit_once('.')?;
        let is_it = above == section || above.strip_suffix(section)?.ends_with('.');
        (is_it && !path.contains(ANY_NAME)).then_some((path.as_str(), name))
    });
    let all: Vec<_> = keys.collect();
    let decides = ["policy", "kind", "model", "scheme", "rule", "size"];
    let found = decides.iter().find_map(|word| all.iter().find(|(_, name)| name == word));
    found.or(all.first()).map(|(path, _)| *path)
}

/// The path of a key in a user-named table, such as `workload.classes.logs.rate`, also without its
/// section (`classes.logs.rate`); `None` for other keys.
fn in_named_table(key: &str, paths: &[String]) -> Option<Result<String, String>> {
    let tables = paths.iter().filter_map(|path| path.split_once(&format!(".{ANY_NAME}.")));
    let found = tables.into_iter().find_map(|(table, _)| {
        let (above, last) = table.rsplit_once('.').unwrap_or(("", table));
        let rest = key.strip_prefix(above).and_then(|rest| rest.strip_prefix('.')).unwrap_or(key);
        let named = rest.strip_prefix(last)?.strip_prefix('.')?;
        Some((table, named))
    });
    let (table, named) = found?;
    let path = format!("{table}.{named}");
    let name = named.split('.').next().unwrap_or_default();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
        let problem =
            format!("\"{name}\" in {path} is not a valid name; use letters, digits, - and _");
        return Some(Err(problem));
    }
    if paths.contains(&in_reference(&path)) {
        return Some(Ok(path));
    }
    let Some((parent, word)) = path.rsplit_once('.').filter(|_| named.contains('.')) else {
        return Some(Err(format!("{path} is a table of keys; write {path}.KEY")));
    };
    let section =
        all_keys().iter().find(|it| it.keys.iter().any(|key| key.path.starts_with(table)));
    let kind = section.and_then(|it| it.kind).unwrap_or_default();
    Some(Err(unknown_key(parent, word, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_takes_full_and_abbreviated_keys_and_bare_words() {
        let cases = [
            ("device.channels=4", "device.channels = 4"),
            ("cleaning.policy=greedy", "device.cleaning.policy = \"greedy\""),
            ("timing.read = 25us", "device.timing.read = \"25us\""),
            ("device.copy_back=true", ""),
            ("copy_back=true", "device.cleaning.copy_back = true"),
            ("device.fill=0.5", "device.fill = 0.5"),
            ("device.pool=\"die\"", "device.pool = \"die\""),
            ("device.member.channels=4", "device.member.channels = 4"),
            ("member.preset=zeus-linear", "device.member.preset = \"zeus-linear\""),
            ("member.cleaning.min_free=0.1", "device.member.cleaning.min_free = 0.1"),
            ("member.member.copy_back=true", "device.member.member.cleaning.copy_back = true"),
            ("workload.classes.logs.depth=4", "workload.classes.logs.depth = 4"),
            ("classes.logs.arrivals=fixed", "workload.classes.logs.arrivals = \"fixed\""),
            // Keys of classes do not match.
            ("workload.rate=4", "workload.rate = 4"),
            // The rebuild section also has a key of this name.
            ("rate=4", ""),
        ];
        for (assignment, text) in cases {
            match set_layer(assignment) {
                Ok(layer) => assert_eq!(layer.text, text, "{assignment}"),
                Err(_) => assert_eq!(text, "", "{assignment}"),
            }
        }
    }

    #[test]
    fn a_section_that_is_given_a_value_leads_to_a_key_of_it() {
        let message = |text| set_layer(text).unwrap_err().to_string();
        let said = "unknown key \"cleaning\" (a section; did you mean device.cleaning.policy?)";
        assert!(message("cleaning=greedy").ends_with(said), "{}", message("cleaning=greedy"));
        let plain = PATHS.iter().filter(|path| !path.contains(ANY_NAME));
        for (section, _) in plain.filter_map(|path| path.rsplit_once('.')) {
            let key = leading(section).unwrap();
            assert_eq!(full_path(key).as_deref(), Ok(key), "{section}");
        }
    }

    #[test]
    fn set_refuses_with_the_nearest_key() {
        let message = |text| set_layer(text).unwrap_err().to_string();
        assert!(message("device.chanels=4").ends_with("(did you mean device.channels?)"));
        assert!(message("device.copy_back=true").contains("device.cleaning.copy_back"));
        assert!(message("channels").contains("expected KEY=VALUE"));
        assert!(message("member.seed=4").contains("a member has the keys of a device"));
        assert_eq!(
            message("workload.classes.logs.dept=4").split("; ").collect::<Vec<_>>()[0],
            "--set workload.classes.logs.dept=4: unknown key workload.classes.logs.dept (did you mean \
             depth?)"
        );
        assert!(message("classes.logs.zzz=4").contains("logs are threads, rate, rate_less, arr"));
        assert!(message("classes.logs=4").ends_with("write workload.classes.logs.KEY"));
        assert!(
            message("classes.*.depth=4")
                .contains("\"*\" in workload.classes.*.depth is not a valid name")
        );
        assert!(
            message("kind=ssd").contains("could be device.ecc.kind, device.kind, workload.kind")
        );
    }
}

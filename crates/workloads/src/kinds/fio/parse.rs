//! The syntax of a job file: sections in brackets, one key per line, comments after `;` and `#`.

use super::keys::without_device;
use crate::script::BadLine;

/// A key as written, with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Option<String>,
}

/// A job with the keys of the preceding global sections, followed by its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobSection {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) entries: Vec<Entry>,
}

impl JobSection {
    /// The last value given for a key.
    fn value(&self, key: &str) -> Option<&str> {
        self.entries.iter().rev().find(|entry| entry.key == key)?.value.as_deref()
    }

    /// True if the job waits for all jobs before it.
    fn waits(&self) -> bool {
        let is_set = |entry: &Entry| match entry.key.as_str() {
            "stonewall" | "wait_for_previous" => entry.value.as_deref() != Some("0"),
            key => key == "wait_for",
        };
        self.entries.iter().any(is_set)
    }
}

/// The jobs of a file.
pub(super) fn sections(text: &str) -> Result<Vec<JobSection>, BadLine> {
    let mut globals: Vec<Entry> = Vec::new();
    let mut jobs: Vec<JobSection> = Vec::new();
    let mut place: Option<bool> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.find([';', '#']).map_or(line, |comment| &line[..comment]).trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').ok_or_else(|| {
                BadLine::new(number, format!("\"{line}\" opens a section and does not close it"))
            })?;
            let global = name.eq_ignore_ascii_case("global");
            place = Some(global);
            if !global {
                jobs.push(JobSection {
                    line: number,
                    name: name.to_owned(),
                    entries: globals.clone(),
                });
            }
            continue;
        }
        let entry = entry(number, line)?;
        match (place, jobs.last_mut()) {
            (Some(true), _) => globals.push(entry),
            (Some(false), Some(job)) => job.entries.push(entry),
            _ => {
                let problem =
                    format!("\"{line}\" stands before the first section, such as [global]");
                return Err(BadLine::new(number, problem));
            }
        }
    }
    if jobs.is_empty() {
        return Err(BadLine::new(
            1,
            "there is no job: a section such as [job] that is not [global]",
        ));
    }
    Ok(jobs)
}

/// The jobs that read or write a device. A barrier of one that does not holds for the next.
pub(super) fn of_device(sections: Vec<JobSection>) -> Result<Vec<JobSection>, BadLine> {
    let engine = sections[0].value("ioengine").unwrap_or_default();
    let none = format!("ioengine={engine}: no job of this file reads or writes a device");
    let none = BadLine::new(sections[0].line, none);
    let (mut kept, mut waits) = (Vec::new(), false);
    for mut section in sections {
        if section.value("ioengine").is_some_and(without_device) {
            waits |= section.waits();
            continue;
        }
        if std::mem::take(&mut waits) {
            let line = section.line;
            section.entries.push(Entry { line, key: "stonewall".to_owned(), value: None });
        }
        kept.push(section);
    }
    if kept.is_empty() { Err(none) } else { Ok(kept) }
}

fn entry(line: usize, text: &str) -> Result<Entry, BadLine> {
    if text.split_whitespace().next() == Some("include") {
        return Err(BadLine::new(
            line,
            "include is not supported; write the lines of that file here",
        ));
    }
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
        None => (text, None),
    };
    let value = value.map(|value| substituted(&value));
    Ok(Entry { line, key: key.to_owned(), value })
}

/// Substitutes environment variables and fio's own variables in a value; undefined ones stay as
/// written.
fn substituted(value: &str) -> String {
    let (mut found, mut rest) = (String::new(), value);
    while let Some((before, behind)) = rest.split_once('$') {
        found.push_str(before);
        let braced = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, after) = braced.unwrap_or(behind.split_at(end.unwrap_or(behind.len())));
        match (name, std::env::var(name)) {
            ("pagesize", _) => found.push_str("4096"),
            (_, Ok(value)) => found.push_str(&value),
            _ => {
                found.push('$');
                found.push_str(&behind[..behind.len() - after.len()]);
            }
        }
        rest = after;
    }
    found + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_begin_with_the_global_keys_before_them() {
        let text = "; a comment\n[global]\nbs = 4k # why\nstonewall\n\n[one]\nrw=read\n\
                    [global]\nsize=1m\n[two]\n";
        let jobs = sections(text).unwrap();
        let keys = |job: &JobSection| {
            job.entries.iter().map(|e| (e.line, e.key.clone())).collect::<Vec<_>>()
        };
        let key = |line, key: &str| (line, key.to_owned());
        assert_eq!(keys(&jobs[0]), [key(3, "bs"), key(4, "stonewall"), key(7, "rw")]);
        assert_eq!(keys(&jobs[1]), [key(3, "bs"), key(4, "stonewall"), key(9, "size")]);
        assert_eq!((jobs[1].line, jobs[1].name.as_str()), (10, "two"));
        assert_eq!(jobs[0].entries[0].value.as_deref(), Some("4k"));
        assert_eq!(jobs[0].entries[1].value, None);
    }

    #[test]
    fn variables_that_are_not_set_stay() {
        for text in ["${NOT_SET_ANYWHERE}", "a$NOT_SET_ANYWHERE.b", "100$", "$", "${open", "5%"] {
            assert_eq!(substituted(text), text);
        }
        assert_eq!(substituted("${pagesize}k$pagesize"), "4096k4096");
    }

    #[test]
    fn errors_name_their_line() {
        for (text, line, part) in [
            ("[global]\nbs=4k\n", 1, "there is no job"),
            ("\nbs=4k\n[a]", 2, "stands before the first section"),
            ("[a]\n[b\n", 2, "does not close it"),
            ("[a]\ninclude other.fio\n", 2, "include is not supported"),
        ] {
            let fault = sections(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}");
            assert!(fault.problem.contains(part), "{fault:?}");
        }
    }
}

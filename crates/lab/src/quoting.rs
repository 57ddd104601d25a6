//! Error messages about a file named by another file: they state the position, but not the content.
//! Otherwise the recipient of an experiment file could be tricked into revealing other files.

use crate::config::Experiment;
use crate::error::RunError;

/// Replacement of quoted text.
const HIDDEN: &str =
    "this is not what is expected there; its words are shown where --trace or --set names the file";

/// The message about a file, with its quoted text only if the user named the file.
pub fn said(experiment: &Experiment, message: String) -> String {
    let Some((before, number, _)) = place(&message) else { return message };
    // A job embedded in the experiment is reported at a line of its key, not of another file.
    let is_named = before.starts_with("workload.")
        || experiment.named_by_user("workload.path").is_some_and(|path| before.ends_with(&path));
    if is_named { message } else { format!("{before}{number}: {HIDDEN}") }
}

/// The error without quoted text.
pub fn told(experiment: &Experiment, error: RunError) -> RunError {
    match error {
        RunError::Input(message) => RunError::Input(said(experiment, message)),
        other => other,
    }
}

/// A message about a line of the file named by a key, as `line N: PROBLEM`.
pub fn of_key(experiment: &Experiment, key: &str, problem: String) -> String {
    if experiment.named_by_user(key).is_some() {
        return problem;
    }
    let number = problem.strip_prefix("line ").and_then(|it| it.split_once(": ")).map(|it| it.0);
    number.map_or_else(|| HIDDEN.to_owned(), |number| format!("line {number}: {HIDDEN}"))
}

/// Parts of a message: text before the position, the position, and the problem.
fn place(message: &str) -> Option<(&str, &str, &str)> {
    let found = [", line ", ", record "].into_iter().filter_map(|unit| {
        message.match_indices(unit).find_map(|(at, _)| {
            let digits = at + unit.len();
            let end = digits + message[digits..].find(|it: char| !it.is_ascii_digit())?;
            let problem = message[end..].strip_prefix(": ").filter(|_| end > digits)?;
            Some((&message[..at], &message[at..end], problem))
        })
    });
    found.min_by_key(|it| it.0.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_in_messages_about_traces_and_job_files() {
        let found = place("trace a, line b, line 7: \"root:x\", expected a number");
        assert_eq!(found, Some(("trace a, line b", ", line 7", "\"root:x\", expected a number")));
        assert_eq!(place("fio job x.fio, line 12: y, record 3: z").unwrap().1, ", line 12");
        assert_eq!(place("trace x is truncated at its start"), None);
    }
}

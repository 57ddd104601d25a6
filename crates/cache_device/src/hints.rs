//! Hints of the host about lines, by placement handle: `1: pin, 2: unpin, 3: flush`.
//!
//! They follow the commands of ATA's non-volatile cache: pin lines, unpin lines, write back dirty
//! lines.

use ssd::device::kit::said::{Said, Saying};

/// Cache hint of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// Pins the request's lines.
    Pin,
    /// Unpins the lines.
    Unpin,
    /// Writes back all dirty lines.
    Flush,
}

impl Saying for Hint {
    const EXPECTED: &str =
        "handles with their hints, such as \"1: pin, 2: unpin, 3: flush\"; or \"none\"";
    const KIND: &str = "hint";
    const ALL: &[(Hint, &str)] =
        &[(Hint::Pin, "pin"), (Hint::Unpin, "unpin"), (Hint::Flush, "flush")];
}

/// Hints by placement handle.
pub type Hints = Said<Hint>;

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Handle;

    #[test]
    fn hints_are_read_as_they_are_written() {
        let text = "1: pin, 2: unpin, 7: flush";
        let hints: Hints = text.parse().unwrap();
        assert_eq!(hints.to_string(), text);
        assert_eq!(
            [1, 2, 7, 3].map(|it| hints.of(Handle::new(it))),
            [Some(Hint::Pin), Some(Hint::Unpin), Some(Hint::Flush), None]
        );
        assert_eq!(hints.of(Handle::NONE), None);
        assert_eq!("none".parse::<Hints>().unwrap().to_string(), "none");
        for (text, words) in [
            ("1 pin", "not of the form"),
            ("300: pin", "no handle from 0 to 254"),
            ("1: keep", "no hint"),
            ("1: pin, 1: flush", "two meanings"),
        ] {
            let error = text.parse::<Hints>().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}

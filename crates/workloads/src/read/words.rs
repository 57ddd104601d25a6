//! Words and letters for operations and events in tables and captures.

use engine::Op;

/// Meaning of an operation's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Op(Op),
    /// Letters of the block layer, which may mean both a flush and a write.
    Letters,
}

const WORDS: &[(Op, &[&str])] = &[
    (Op::Read, &["r", "rd", "read", "reads", "diskread"]),
    (Op::Write, &["w", "wr", "write", "writes", "diskwrite"]),
    (Op::Trim, &["d", "t", "trim", "discard", "unmap", "deallocate"]),
    (Op::Flush, &["f", "flush", "sync", "fsync", "diskflush"]),
];

/// Operation for a word or letters.
pub(crate) fn operation(text: &[u8]) -> Option<Said> {
    let is = |word: &&str| text.eq_ignore_ascii_case(word.as_bytes());
    let by_word = WORDS.iter().find(|(_, words)| words.iter().any(is));
    if let Some((op, _)) = by_word {
        return Some(Said::Op(*op));
    }
    if let Some(op) = Op::ALL.into_iter().find(|op| is(&op.name())) {
        return Some(Said::Op(op));
    }
    let letters = text.iter().all(|byte| b"RWDFNSAMBEPZCOUa".contains(byte));
    (letters && (1..=8).contains(&text.len())).then_some(Said::Letters)
}

/// blkparse's letter for the name of a block-layer event.
pub(crate) fn event(text: &[u8]) -> u8 {
    if let [letter] = text {
        return *letter;
    }
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    match () {
        () if has(b"complete") => b'C',
        () if has(b"issue") || has(b"setup_cmd") => b'D',
        () if has(b"requeue") => b'R',
        () if has(b"queue") => b'Q',
        () if has(b"insert") => b'I',
        () if has(b"merge") => b'M',
        () if has(b"remap") => b'A',
        () if has(b"split") => b'X',
        () if has(b"getrq") => b'G',
        () if has(b"plug") => b'P',
        () => b'?',
    }
}

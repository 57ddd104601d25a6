//! The lines of a file: finds the command lines of `DiskSpd` and splits them into words.

use crate::script::BadLine;

/// A command line: its words after the program's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// Number of the first line.
    pub line: usize,
    pub list: Vec<String>,
    /// True if the output is redirected to a file.
    pub redirected: bool,
}

/// The command lines of a text.
pub fn commands(text: &str) -> Result<Vec<Words>, BadLine> {
    let mut found = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let number = index + 1;
        let mut whole = line.trim().to_owned();
        if is_remark(&whole) {
            continue;
        }
        while let Some(begun) = whole.strip_suffix('^') {
            let Some((_, more)) = lines.next() else {
                let problem = "it ends with ^, and no line follows";
                return Err(BadLine::new(number, problem));
            };
            whole = format!("{} {}", begun.trim_end(), more.trim());
        }
        found.push(command(number, &whole)?);
    }
    if found.is_empty() {
        let problem = "there is no command line, such as diskspd -b4K -r -o32 -d10 test.dat";
        return Err(BadLine::new(1, problem));
    }
    Ok(found)
}

/// True for lines without commands.
fn is_remark(line: &str) -> bool {
    let line = line.trim_start_matches('@');
    let word = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    line.is_empty()
        || line.starts_with("::")
        || line.starts_with('#')
        || ["rem", "echo"].contains(&&*word)
}

fn command(line: usize, text: &str) -> Result<Words, BadLine> {
    let refuse = |problem: String| Err(BadLine::new(line, problem));
    let all = split(text).ok_or_else(|| BadLine::new(line, "a quotation mark is not closed"))?;
    let program = all[0].trim_start_matches('@');
    let name = program.rsplit(['\\', '/']).next().unwrap_or_default().to_ascii_lowercase();
    if name.strip_suffix(".exe").unwrap_or(&name) != "diskspd" {
        return refuse(format!(
            "\"{program}\" is not diskspd; a line is a command line of diskspd, or begins with rem, ::, \
             # or @echo"
        ));
    }
    let mut words = Vec::new();
    let mut redirected = false;
    let mut rest = all.into_iter().skip(1);
    while let Some(word) = rest.next() {
        if let Some((stream, file)) = word.split_once('>')
            && ["", "1", "2"].contains(&stream)
        {
            redirected = true;
            if file.trim_start_matches('>').is_empty() && rest.next().is_none() {
                return refuse(format!("{word} needs a file behind it"));
            }
        } else if word.starts_with(['|', '&']) {
            return refuse(format!(
                "\"{word}\": a line has one command; write others on lines of their own"
            ));
        } else if word.contains('%') {
            return refuse(format!(
                "\"{word}\": variables between % are not supported; write the value"
            ));
        } else {
            words.push(word);
        }
    }
    Ok(Words { line, list: words, redirected })
}

/// The words of a line, with spaces allowed in quotation marks; `None` if a quotation is not
/// closed.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for letter in text.chars() {
        if letter == '"' {
            is_quoted = !is_quoted;
            word.get_or_insert_default();
        } else if letter.is_whitespace() && !is_quoted {
            words.extend(word.take());
        } else {
            word.get_or_insert_default().push(letter);
        }
    }
    words.extend(word);
    (!is_quoted).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_found_between_remarks() {
        let text = "@echo off\r\nrem a test\r\n:: another\r\n\r\nDiskSpd.exe -b4K ^\r\n  -r \
                    \"C:\\my files\\a.dat\" > out.txt\r\n# more\r\n@C:\\tools\\diskspd #1 2>&1\r\n";
        let found = commands(text).unwrap();
        assert_eq!(found[0].list, ["-b4K", "-r", "C:\\my files\\a.dat"]);
        assert_eq!((found[0].line, found[0].redirected), (5, true));
        assert_eq!((found[1].line, &found[1].list[..]), (8, &["#1".to_owned()][..]));
        assert!(!commands("diskspd a.dat").unwrap()[0].redirected);
    }

    #[test]
    fn other_lines_are_refused_by_their_number() {
        for (text, line, part) in [
            ("rem\n", 1, "there is no command line"),
            ("rem\nset SIZE=4K\ndiskspd a", 2, "\"set\" is not diskspd"),
            ("diskspd -b4K ^", 1, "no line follows"),
            ("diskspd \"a.dat", 1, "a quotation mark is not closed"),
            ("diskspd -b%SIZE% a", 1, "variables between %"),
            ("diskspd a && diskspd b", 1, "a line has one command"),
            ("diskspd a >", 1, "> needs a file behind it"),
        ] {
            let fault = commands(text).unwrap_err();
            assert_eq!(fault.line, line, "{text}");
            assert!(fault.problem.contains(part), "{fault:?}");
        }
    }
}

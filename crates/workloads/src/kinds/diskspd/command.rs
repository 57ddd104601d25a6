//! The options of a command line: their meanings, and the refused and ignored ones.

use super::parse::Words;
use options::nearest;

/// Access order of a thread on its target; bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// `-s`: each thread has its own position.
    Sequential { stride: u64 },
    /// `-si`: the threads of a target share one position.
    Interlocked { stride: u64 },
    /// `-r`, `-rs`: `percent` of the requests are at random positions, the others sequential.
    Random { align: u64, percent: u64 },
}

/// Seconds of warm-up, measurement and cool-down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds {
    pub warm_up: u64,
    pub measured: u64,
    pub cool_down: u64,
}

/// Threads of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// `-t`: number of threads per target.
    PerTarget(u64),
    /// `-F`: total number of threads, each accessing every target.
    InAll(u64),
}

/// Bounds of a thread within a target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// `-c`.
    pub size: Option<u64>,
    /// `-f`.
    pub most: Option<u64>,
    /// `-B`.
    pub base: u64,
    /// `-T`.
    pub thread_stride: u64,
}

/// A command line with its values. Its fields are the options that affect requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub line: usize,
    pub block: u64,
    pub targets: Vec<String>,
    pub bounds: Bounds,
    pub threads: Threads,
    /// Outstanding requests of each thread on each target.
    pub outstanding: u64,
    pub pattern: Pattern,
    pub write_percent: u64,
    /// True if writes are forced to the medium.
    pub durable: bool,
    pub seconds: Seconds,
    /// Requests per burst and the following pause, ns.
    pub burst: Option<(u64, u64)>,
    /// Rate of each thread on each target, bytes per second.
    pub rate: Option<u64>,
    pub seed: u64,
    /// Notices of ignored options.
    pub ignored: Vec<&'static str>,
}

/// Options that affect requests, in their spelling.
const HONOURED: &[&str] = &[
    "-b<size>",
    "-B<offset>",
    "-c<size>",
    "-C<seconds>",
    "-d<seconds>",
    "-f<size>",
    "-F<count>",
    "-g<bytes per ms>",
    "-h",
    "-i<count>",
    "-j<ms>",
    "-o<count>",
    "-r[<align>]",
    "-rs<percent>",
    "-s[i][<stride>]",
    "-S[bhruw]",
    "-t<count>",
    "-T<stride>",
    "-w<percent>",
    "-W<seconds>",
    "-z<seed>",
];

/// Options about `DiskSpd`'s I/O calls, data and reports.
const IGNORED: &[(char, &str)] = &[
    ('a', "diskspd_ignored_a"),
    ('D', "diskspd_ignored_D"),
    ('e', "diskspd_ignored_e"),
    ('I', "diskspd_ignored_I"),
    ('l', "diskspd_ignored_l"),
    ('L', "diskspd_ignored_L"),
    ('n', "diskspd_ignored_n"),
    ('P', "diskspd_ignored_P"),
    ('v', "diskspd_ignored_v"),
    ('x', "diskspd_ignored_x"),
    ('Z', "diskspd_ignored_Z"),
];

/// A size in bytes, or in units of `-b`.
#[derive(Debug, Clone, Copy)]
enum Amount {
    Bytes(u64),
    Blocks(u64),
}

/// Options as given, before checks for contradictions.
#[derive(Default)]
struct Written {
    /// Distinct options given.
    given: Vec<String>,
    block: Option<Amount>,
    base: Option<Amount>,
    size: Option<Amount>,
    most: Option<Amount>,
    thread_stride: Option<Amount>,
    /// True for a shared position (`-si`), with the stride.
    sequential: Option<(bool, Option<Amount>)>,
    #[expect(clippy::option_option, reason = "it is given or not, with or without its amount")]
    align: Option<Option<Amount>>,
    random_percent: Option<u64>,
    per_target: Option<u64>,
    in_all: Option<u64>,
    outstanding: Option<u64>,
    write_percent: Option<u64>,
    warm_up: Option<u64>,
    measured: Option<u64>,
    cool_down: Option<u64>,
    burst: Option<u64>,
    pause_ms: Option<u64>,
    /// Value, and true if it is in requests per second.
    rate: Option<(u64, bool)>,
    seed: Option<u64>,
    caching: Option<String>,
    ignored: Vec<&'static str>,
}

impl Command {
    /// True if threads issue on each completion until the time is over.
    pub fn needs_time(&self) -> bool {
        self.rate.is_none() && self.burst.is_none_or(|(_, pause)| pause == 0)
    }

    /// Parses the command line. Errors are sentences.
    pub fn read(words: &Words) -> Result<Self, String> {
        let mut written = Written::default();
        let mut targets: Vec<String> = Vec::new();
        for word in &words.list {
            match option(word) {
                Some(rest) if targets.is_empty() => {
                    written.take(rest).map_err(|problem| format!("{word}: {problem}"))?;
                }
                Some(_) => return Err(format!("{word}: options stand before the targets")),
                None => targets.push(word.clone()),
            }
        }
        if targets.is_empty() {
            return Err("there is no target, such as test.dat or #1, behind the options".to_owned());
        }
        if words.redirected {
            written.ignored.push("diskspd_ignored_output_file");
        }
        written.complete(words.line, targets)
    }
}

/// Text after the dash of an option. A slash also begins an option, unless more slashes follow:
/// then the word is a path.
fn option(word: &str) -> Option<&str> {
    word.strip_prefix('-').or_else(|| word.strip_prefix('/').filter(|rest| !rest.contains('/')))
}

impl Written {
    fn take(&mut self, text: &str) -> Result<(), String> {
        let Some(letter) = text.chars().next() else {
            return Err(unknown("-"));
        };
        let value = &text[letter.len_utf8()..];
        // Two-letter options.
        let name = match (letter, value.chars().next()) {
            ('r', Some('s')) => "rs".to_owned(),
            ('f', Some('r' | 's' | 't')) => "f hints".to_owned(),
            ('a' | 'e' | 'y', _) => text.to_owned(),
            _ => letter.to_string(),
        };
        if self.given.contains(&name) {
            return Err(format!("-{name} is given twice"));
        }
        self.given.push(name);
        match letter {
            'b' => self.block = Some(amount(value)?),
            'B' if value.contains(':') => {
                return Err("-B<offset>:<length> is not supported; use -B and -f".to_owned());
            }
            'B' => self.base = Some(amount(value)?),
            'c' => self.size = Some(amount(value)?),
            'C' => self.cool_down = Some(count(value, 0)?),
            'd' => self.measured = Some(count(value, 1)?),
            'f' if value.starts_with(['r', 's', 't']) => {
                if !value.chars().all(|hint| "rst".contains(hint)) {
                    return Err("the hints of -f are r, s and t".to_owned());
                }
                self.ignored.push("diskspd_ignored_f_hints");
            }
            'f' => self.most = Some(amount(value)?),
            'F' => self.in_all = Some(count(value, 1)?),
            'g' => {
                self.rate = Some(match value.strip_suffix('i') {
                    Some(requests) => (count(requests, 1)?, true),
                    None => (count(value, 1)?, false),
                });
            }
            'h' if value.is_empty() => return self.cache("h"),
            'i' => self.burst = Some(count(value, 1)?),
            'j' => self.pause_ms = Some(count(value, 1)?),
            'o' => self.outstanding = Some(within(value, 1, MOST_OUTSTANDING)?),
            'r' if value.starts_with('s') => {
                self.random_percent = Some(within(&value[1..], 0, 100)?);
            }
            'r' if value.starts_with('d') => {
                return Err(
                    "distributions (-rd) are not supported; use a workload of kind closed with \
                            locality = \"zones(...)\""
                        .to_owned(),
                );
            }
            'r' => self.align = Some(if value.is_empty() { None } else { Some(amount(value)?) }),
            's' => {
                let (shared, stride) = match value.strip_prefix('i') {
                    Some(stride) => (true, stride),
                    None => (false, value),
                };
                let stride = if stride.is_empty() { None } else { Some(amount(stride)?) };
                self.sequential = Some((shared, stride));
            }
            'S' => return self.cache(value),
            't' => self.per_target = Some(count(value, 1)?),
            'T' => self.thread_stride = Some(amount(value)?),
            // As in DiskSpd, `-w` without a value means reads only.
            'w' => {
                self.write_percent =
                    Some(if value.is_empty() { 0 } else { within(value, 0, 100)? });
            }
            'W' => self.warm_up = Some(count(value, 0)?),
            'z' if value.is_empty() => {
                return Err(
                    "a seed from the clock would give another run each time; write -z<seed>"
                        .to_owned(),
                );
            }
            'z' => self.seed = Some(count(value, 0)?),
            _ => return self.read_over(letter, value),
        }
        Ok(())
    }

    /// `-S` and its flags: the operating system's cache is not simulated.
    fn cache(&mut self, flags: &str) -> Result<(), String> {
        let flags = if flags.is_empty() { "u" } else { flags };
        if flags.contains('m') {
            return Err("mapped memory (-Sm) is not simulated".to_owned());
        }
        if let Some(wrong) = flags.chars().find(|flag| !"bhruw".contains(*flag)) {
            return Err(format!("{wrong} is not one of -S's letters b, h, r, u and w"));
        }
        let modes = flags.chars().filter(|flag| "bhru".contains(*flag)).count();
        if modes > 1 || self.caching.is_some() {
            return Err("only one of -Sb, -Sh, -Sr, -Su and -h can hold".to_owned());
        }
        self.caching = Some(flags.to_owned());
        Ok(())
    }

    fn read_over(&mut self, letter: char, value: &str) -> Result<(), String> {
        let is_number = value.chars().all(|it| it.is_ascii_digit());
        match letter {
            'R' if ["text", "xml"].contains(&value) => self.ignored.push("diskspd_ignored_R"),
            'R' => return Err("the forms of output are -Rtext and -Rxml".to_owned()),
            'y' if value.starts_with(['s', 'f']) => self.ignored.push("diskspd_ignored_y"),
            'y' => {
                return Err("runs that wait for an event or end by it are not supported".to_owned());
            }
            'O' => {
                return Err(
                    "requests outstanding over all targets are not supported; use -o, those of \
                               each target"
                        .to_owned(),
                );
            }
            'p' => {
                return Err(
                    "parallel sequential requests from one offset are not supported".to_owned()
                );
            }
            'X' => {
                return Err("profiles in XML are not read; write the options on the command line"
                    .to_owned());
            }
            'N' => return Err("mapped memory and its flushes are not simulated".to_owned()),
            'D' | 'I' | 'P' if !is_number => {
                return Err(format!("\"{value}\" is not a whole number"));
            }
            'l' | 'L' | 'n' | 'x' if !value.is_empty() => {
                return Err(format!("-{letter} has no value, but \"{value}\" follows"));
            }
            _ => {
                let known = IGNORED.iter().find(|(it, _)| *it == letter);
                self.ignored.push(known.ok_or_else(|| unknown(&format!("-{letter}{value}")))?.1);
            }
        }
        Ok(())
    }

    /// Fills in DiskSpd's defaults and checks for contradictions.
    fn complete(mut self, line: usize, targets: Vec<String>) -> Result<Command, String> {
        let block = match self.block {
            None => 64 << 10,
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Blocks(_)) => {
                return Err("-b: a block is not measured in blocks".to_owned());
            }
        };
        let sectors = |name: &str, given: Option<Amount>, default: u64, least: u64| {
            let bytes = match given {
                None => default,
                Some(Amount::Bytes(bytes)) => bytes,
                Some(Amount::Blocks(count)) => count
                    .checked_mul(block)
                    .ok_or_else(|| format!("-{name}: {count} blocks are too many"))?,
            };
            if bytes % engine::SECTOR_BYTES != 0 || bytes < least {
                return Err(format!(
                    "-{name}: {bytes} is not a positive multiple of {} bytes",
                    engine::SECTOR_BYTES
                ));
            }
            Ok(bytes)
        };
        sectors("b", Some(Amount::Bytes(block)), 0, 1)?;
        if block > 1 << 30 {
            return Err(format!("-b: {block} bytes are more than 1G"));
        }
        let pattern = match (self.sequential, self.align, self.random_percent) {
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
                return Err("-r and -s exclude each other".to_owned());
            }
            (Some((shared, stride)), None, None) => {
                let stride = sectors("s", stride, block, 1)?;
                if shared {
                    Pattern::Interlocked { stride }
                } else {
                    Pattern::Sequential { stride }
                }
            }
            (None, None, None) => Pattern::Sequential { stride: block },
            (None, align, percent) => Pattern::Random {
                align: sectors("r", align.flatten(), block, 1)?,
                percent: percent.unwrap_or(100),
            },
        };
        let jumps = matches!(pattern, Pattern::Random { percent: 100, .. });
        if self.thread_stride.is_some() && (jumps || matches!(pattern, Pattern::Interlocked { .. }))
        {
            return Err("-T has no effect with -r or -si; leave it out".to_owned());
        }
        let threads = match (self.per_target, self.in_all) {
            (Some(_), Some(_)) => return Err("-t and -F exclude each other".to_owned()),
            (_, Some(count)) => Threads::InAll(count),
            (count, None) => Threads::PerTarget(count.unwrap_or(1)),
        };
        let burst = match (self.burst, self.pause_ms) {
            (None, None) => None,
            (Some(count), Some(ms)) => Some((count, ms.saturating_mul(1_000_000))),
            _ => return Err("-i and -j need each other".to_owned()),
        };
        if burst.is_some() && self.rate.is_some() {
            return Err("-g excludes -i and -j".to_owned());
        }
        let caching = self.caching.as_deref().unwrap_or_default();
        if !caching.contains(['h', 'u']) {
            self.ignored.push("diskspd_os_cache_not_simulated");
        }
        Ok(Command {
            line,
            block,
            targets,
            bounds: Bounds {
                size: self.size.map(|it| sectors("c", Some(it), 0, 1)).transpose()?,
                most: self.most.map(|it| sectors("f", Some(it), 0, 1)).transpose()?,
                base: sectors("B", self.base, 0, 0)?,
                thread_stride: sectors("T", self.thread_stride, 0, 0)?,
            },
            threads,
            outstanding: self.outstanding.unwrap_or(2),
            pattern,
            write_percent: self.write_percent.unwrap_or(0),
            durable: caching.contains(['h', 'w']),
            seconds: Seconds {
                warm_up: self.warm_up.unwrap_or(5),
                measured: self.measured.unwrap_or(10),
                cool_down: self.cool_down.unwrap_or(0),
            },
            burst,
            rate: self.rate.map(|(value, is_requests)| {
                value.saturating_mul(if is_requests { block } else { 1000 })
            }),
            seed: self.seed.unwrap_or(0),
            ignored: self.ignored,
        })
    }
}

/// Maximum outstanding requests of a thread on a target.
const MOST_OUTSTANDING: u64 = 1 << 16;

/// A size: digits followed by K, M, G, T, or b for blocks.
fn amount(text: &str) -> Result<Amount, String> {
    let refuse = || {
        if text.is_empty() {
            return "its size stands right behind it, such as 4K".to_owned();
        }
        format!("\"{text}\" is not a size such as 4096, 4K, 1M, 2G or 8b (blocks)")
    };
    let split = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| refuse())?;
    let shift = match unit {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        "b" | "B" => return Ok(Amount::Blocks(number)),
        _ => return Err(refuse()),
    };
    let bytes = number.checked_mul(1 << shift).ok_or_else(|| format!("\"{text}\" is too large"))?;
    Ok(Amount::Bytes(bytes))
}

/// A whole number that is at least `least`.
fn count(text: &str, least: u64) -> Result<u64, String> {
    within(text, least, u64::from(u32::MAX))
}

fn within(text: &str, least: u64, most: u64) -> Result<u64, String> {
    if text.is_empty() {
        return Err("its number stands right behind it, such as 8".to_owned());
    }
    match text.parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(number) => Err(format!("{number} is not from {least} to {most}")),
        Err(_) => Err(format!("\"{text}\" is not a whole number")),
    }
}

/// The message for an option that does not exist.
fn unknown(option: &str) -> String {
    let letters: Vec<String> = HONOURED.iter().map(|it| it[..2].to_owned()).collect();
    let also: Vec<String> = IGNORED.iter().map(|(letter, _)| format!("-{letter}")).collect();
    let other_case: String = option
        .chars()
        .take(2)
        .map(|it| if it.is_lowercase() { it.to_ascii_uppercase() } else { it.to_ascii_lowercase() })
        .collect();
    let all = || letters.iter().chain(&also).map(String::as_str);
    let near = all().find(|it| *it == other_case).or_else(|| nearest(option, all()));
    let near = near.filter(|_| option.len() > 1);
    let hint = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
    format!(
        "unknown option{hint}; requests are decided by {}; read over are {} -R -ys",
        letters.join(" "),
        also.join(" ")
    )
}

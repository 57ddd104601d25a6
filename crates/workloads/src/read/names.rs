//! Table headers: columns by name.

use super::columns::{Columns, Part};
use super::roles::{Role, plain};
use options::nearest;

/// The roles that every request needs.
const NEEDED: [Role; 4] = [Role::Time, Role::Op, Role::Offset, Role::Size];

/// Example of a column mapping.
pub(crate) const EXAMPLE: &str = "time=ts,offset=lba*512,size=len,op=rw";

/// The part of the example that a role has, with columns that count blocks where there are some.
fn example(role: Role, names: &[String]) -> String {
    let like =
        |ends: &[&str]| names.iter().find(|name| ends.iter().any(|end| plain(name).ends_with(end)));
    if role == Role::Offset
        && let Some(name) = like(&["lba", "lbn", "block", "blkno"])
    {
        return format!("offset={name}*512");
    }
    if role == Role::Size
        && let Some(name) = like(&["nlb"])
    {
        // NVMe counts from zero.
        return format!("size=({name}+1)*512");
    }
    if role == Role::Size
        && let Some(name) = like(&["blocks", "nblk", "blkcount"])
    {
        return format!("size={name}*512");
    }
    let of_role = |part: &&str| part.split_once('=').is_some_and(|(name, _)| name == role.name());
    EXAMPLE.split(',').find(of_role).unwrap_or(EXAMPLE).to_owned()
}

/// Headers of known tables whose column names are not self-explanatory, with the mapping of their
/// columns.
const KNOWN: &[(&[&str], &str)] = &[
    // Tencent CBS 2018, with its documented column names.
    (
        &["timestamp", "offset", "size", "iotype", "volumeid"],
        "time=1:s,offset=2:sectors,size=3:sectors,op=4:0=read,device=5",
    ),
    // io-tracer (eBPF): one line per completed request; `command` is a process name.
    (
        &["timestamp", "pid", "command", "sector", "operation", "size", "latencyms"],
        "end=1,op=5,offset=4:sectors,size=6:bytes,latency=7:ms",
    ),
    // hfplayer of the University of Minnesota: OP is 0 for a read, CMD also says how it was sent.
    (
        &[
            "dumpoffseti",
            "elapsedusecsd",
            "elapsedticksi",
            "cmds",
            "inflightiosi",
            "tsi",
            "seqidi",
            "lunssidi",
            "opi",
            "phasei",
            "lbai",
            "nblksi",
            "latencyticksi",
            "hostidi",
            "hostluni",
        ],
        "time=2:us,op=9:0=read,1=write,offset=11:sectors,size=12:sectors,device=15",
    ),
];

/// Index of the column with this name.
pub(crate) fn place(names: &[String], wanted: &str) -> Option<usize> {
    let exactly = names.iter().position(|name| name == wanted);
    exactly.or_else(|| {
        let wanted = plain(wanted);
        let mut fits = names.iter().enumerate().filter(|(_, name)| plain(name) == wanted);
        let first = fits.next().filter(|_| !wanted.is_empty())?;
        fits.next().is_none().then_some(first.0)
    })
}

/// Error about a table, in three lines: with its columns and the option to map them.
pub(crate) fn refusal(names: &[String], problem: &str, example: &str) -> String {
    const SHOWN: usize = 12;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    // Names do not tell the size of a block.
    let blocks = if example.contains("*512") { " (*4096 for blocks of 4 KiB)" } else { "" };
    format!("{problem}\n  its columns: {shown}{more}\n  map them{blocks}: --columns {example}")
}

/// The error for a column name that does not exist.
pub(crate) fn no_column(names: &[String], wanted: &str) -> String {
    let near = nearest(wanted, names.iter().map(String::as_str));
    let hint = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
    refusal(names, &format!("there is no column \"{wanted}\"{hint}"), EXAMPLE)
}

/// Maps roles to columns: given ones first, the others by name. Ambiguous names are resolved
/// by `is_it`, which checks a column's values.
///
/// # Errors
/// A message of three lines about a missing or ambiguous column.
pub(crate) fn mapped(
    names: &[String],
    given: Option<&Columns>,
    draws_op: bool,
    is_it: impl Fn(Role, usize) -> bool,
) -> Result<Columns, String> {
    if given.is_none()
        && let Some(known) = known(names)
    {
        return Ok(known);
    }
    let mut found = given.cloned().unwrap_or_default();
    let taken: Vec<String> = found.0.iter().map(|part| base(names, &part.value)).collect();
    for role in Role::ALL {
        if found.part(role).is_some() || matches!(role, Role::Event | Role::Queued) {
            continue;
        }
        let is_free = |place: &usize| !taken.contains(&names[*place]);
        let mut fits: Vec<usize> =
            (0..names.len()).filter(|it| role.fits(&names[*it])).filter(is_free).collect();
        if fits.len() > 1 {
            let such: Vec<usize> = fits.iter().copied().filter(|it| is_it(role, *it)).collect();
            fits = if such.is_empty() { fits } else { such };
        }
        match fits[..] {
            [] => {}
            [one] => {
                let value = (one + 1).to_string();
                found.0.push(Part { role, value, unit: String::new(), directions: None });
            }
            [first, second, ..] => {
                let problem = format!(
                    "{} and {} could each be the {}",
                    names[first],
                    names[second],
                    role.name()
                );
                let example = format!("{}={}", role.name(), names[first]);
                return Err(refusal(names, &problem, &example));
            }
        }
    }
    let is_there = |role: &Role| match role {
        Role::Time => found.part(Role::Time).or(found.part(Role::End)).is_some(),
        Role::Op => draws_op || found.part(Role::Op).is_some(),
        role => found.part(*role).is_some(),
    };
    let missing: Vec<Role> = NEEDED.into_iter().filter(|role| !is_there(role)).collect();
    if missing.is_empty() {
        return Ok(found);
    }
    let missing_names: Vec<&str> = missing.iter().map(|role| role.name()).collect();
    let problem = format!("no column says the {}", missing_names.join(", "));
    let examples: Vec<String> = missing.iter().map(|role| example(*role, names)).collect();
    Err(refusal(names, &problem, &examples.join(",")))
}

/// The name of the column on which a mapped value is based.
fn base(names: &[String], value: &str) -> String {
    let of_number = super::columns::number_of(value).and_then(|number| names.get(number - 1));
    let name = super::columns::arithmetic(value).map_or(value, |(name, _)| name);
    of_number
        .cloned()
        .or_else(|| place(names, name).map(|it| names[it].clone()))
        .unwrap_or_default()
}

/// The mapping of a known table, found by its whole header or the header's beginning.
fn known(names: &[String]) -> Option<Columns> {
    let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let (_, text) = KNOWN.iter().find(|(header, _)| {
        plain.len() >= header.len() && plain.iter().zip(*header).all(|(name, known)| name == known)
    })?;
    text.parse().ok()
}

/// The column names in a header line, and their separator unless blanks; `None` if the line is not
/// a header.
pub(crate) fn header(line: &str) -> Option<(Vec<String>, Option<u8>)> {
    let line = line.trim_start_matches(['#', ' ']).trim_end();
    let separator = ",;\t|".chars().max_by_key(|mark| line.matches(*mark).count())?;
    let (names, separator): (Vec<String>, _) = if line.contains(separator) {
        let names = line.split(separator).map(|name| name.trim().trim_matches('"').to_owned());
        (names.collect(), Some(separator as u8))
    } else {
        (line.split_ascii_whitespace().map(str::to_owned).collect(), None)
    };
    // Words separated by blanks may be prose.
    let has = |role: Role| names.iter().any(|name| role.fits(name));
    if separator.is_none() && ![Role::Time, Role::Offset, Role::Size].into_iter().all(has) {
        return None;
    }
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !name.contains(['=', '{', '}', '<', '>', '"'])
            && name.len() <= 80
    };
    (names.len() > 2 && names.iter().all(is_name)).then_some((names, separator))
}

/// Unit stated in a column's name.
pub(crate) fn unit_in(role: Role, name: &str) -> &'static str {
    match role {
        Role::Offset | Role::Size if plain(name).contains("sector") => "sectors",
        Role::Time | Role::End | Role::Latency | Role::Queued => {
            let lower = name.trim().to_ascii_lowercase();
            let lower = lower.strip_suffix(')').unwrap_or(&lower);
            let behind =
                ["_", "(", " ", "-", ".", "time", "timestamp", "ts", "at", "latency", "lat"];
            let units = [
                ("ns", "ns"),
                ("us", "us"),
                ("ms", "ms"),
                ("seconds", "s"),
                ("sec", "s"),
                ("s", "s"),
            ];
            let ends = |unit: &str| {
                lower.strip_suffix(unit).is_some_and(|rest| {
                    rest.is_empty() || behind.iter().any(|it| rest.ends_with(it))
                })
            };
            units.iter().find(|(word, _)| ends(word)).map_or("", |(_, unit)| unit)
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let names = names("Device_ID,op code,Offset (bytes),length,timestamp");
        let found = mapped(&names, None, false, |_, _| true).unwrap();
        let value = |role| found.part(role).map(|part| part.value.clone());
        let of = [Role::Time, Role::Op, Role::Offset, Role::Size, Role::Device];
        assert_eq!(of.map(value), ["5", "2", "3", "4", "1"].map(|it| Some(it.to_owned())));
        assert_eq!(found.part(Role::End), None);
    }

    #[test]
    fn values_decide_between_two_names_and_otherwise_both_are_told() {
        let names = names("time,command,operation,offset,size");
        let found = mapped(&names, None, false, |_, place| place == 2).unwrap();
        assert_eq!(found.part(Role::Op).unwrap().value, "3");
        let both = mapped(&names, None, false, |_, _| true).unwrap_err();
        assert!(both.starts_with("command and operation could each be the op\n"), "{both}");
        let given = "op=command".parse().unwrap();
        assert!(mapped(&names, Some(&given), false, |_, _| true).is_ok());
    }

    #[test]
    fn what_is_missing_is_said_in_three_lines() {
        let error = mapped(&names("when,kind,lba"), None, true, |_, _| true).unwrap_err();
        let expected = "no column says the time, offset, size\n  its columns: when, kind, lba\n  \
                        map them (*4096 for blocks of 4 KiB): --columns time=ts,offset=lba*512,size=len";
        assert_eq!(error, expected);
        let blocks = mapped(&names("ts_ns,opcode,slba,nlb"), None, false, |_, _| true).unwrap_err();
        assert!(blocks.ends_with("--columns offset=slba*512,size=(nlb+1)*512"), "{blocks}");
    }

    #[test]
    fn headers_are_names_between_separators() {
        assert_eq!(header("# ts;op;lba").unwrap(), (names("ts,op,lba"), Some(b';')));
        assert_eq!(header("ts  op offset size").unwrap(), (names("ts,op,offset,size"), None));
        assert_eq!(header("\"a b\",c,d\r").unwrap().0, names("a b,c,d"));
        for text in ["1,2,3", "a,b", "{ dev = 1, sector = 2, x = 3", "a b c d"] {
            assert_eq!(header(text), None, "{text}");
        }
    }

    #[test]
    fn names_say_units() {
        let rows = [
            (Role::Time, "ts_us", "us"),
            (Role::Time, "time(s)", "s"),
            (Role::Time, "timestampns", "ns"),
            (Role::Time, "LAT (ms)", "ms"),
            (Role::Time, "timestamp", ""),
            (Role::Time, "begins", ""),
            (Role::Offset, "first_sector", "sectors"),
            (Role::Size, "bytes", ""),
            (Role::Latency, "latency_ms", "ms"),
            (Role::Time, "arrivals", ""),
        ];
        for (role, name, unit) in rows {
            assert_eq!(unit_in(role, name), unit, "{name}");
        }
    }
}

//! Positions and units of a table's columns or a pattern's groups.

use super::clock::Form;
use super::columns::{
    Columns, Directions, ONE, Part, Step, after, arithmetic, bit, fixed, number_of, size_unit,
    time_unit,
};
use super::names::{self, EXAMPLE, no_column, place, refusal, unit_in};
use super::reading::{Numbers, Reading, Seen, Times};
use super::roles::Role;
use super::words;
use options::Invalid;

const KEY: &str = "workload.columns";

/// The fields of lines: their names, and the first lines' values, from which units are detected.
pub(crate) struct Sample<'a> {
    /// Empty if columns have only numbers.
    pub(crate) names: &'a [String],
    pub(crate) rows: Vec<Vec<&'a [u8]>>,
}

impl Sample<'_> {
    fn values(&self, index: usize) -> impl Iterator<Item = &[u8]> {
        self.rows.iter().filter_map(move |row| row.get(index).map(|it| it.trim_ascii()))
    }

    /// True if a column's values suit its role; resolves ambiguous names.
    pub(crate) fn is_it(&self, role: Role, index: usize) -> bool {
        let name = self.names.get(index).map_or("", String::as_str);
        match role {
            Role::Op => self.values(index).all(|value| words::operation(value).is_some()),
            // A size in bytes takes precedence over one in sectors.
            Role::Size => unit_in(role, name).is_empty(),
            _ => true,
        }
    }
}

/// Resolves the columns, finding missing ones by name.
pub(crate) fn reading(
    given: Option<&Columns>,
    draws: bool,
    sample: &Sample<'_>,
) -> Result<Reading, Invalid> {
    let refuse = |problem: String| Invalid::new(&[KEY], problem);
    let columns = if sample.names.is_empty() {
        given.cloned().unwrap_or_default()
    } else {
        names::mapped(sample.names, given, draws, |role, index| sample.is_it(role, index))
            .map_err(refuse)?
    };
    let reading = resolved(&columns, sample).map_err(refuse)?;
    match (reading.has_op(), draws) {
        (false, false) => {
            let problem = "there is no column for the operation: state the share of reads, 0 to 1, \
                           to have it drawn, or declare the column";
            Err(Invalid::new(&["workload.read_share", KEY], problem))
        }
        (true, true) => {
            let problem = "the columns say what reads and what writes";
            Err(Invalid::new(&["workload.read_share", KEY], problem))
        }
        _ => Ok(reading),
    }
}

/// Resolves mapped columns.
///
/// # Errors
/// When a column does not exist or its unit is not stated.
fn resolved(columns: &Columns, sample: &Sample<'_>) -> Result<Reading, String> {
    let (mut time, mut end, mut latency, mut queued) = (None, None, None, None);
    let (mut op, mut offset, mut size, mut event) = (None, None, None, None);
    let (mut device, mut handle, mut fua) = (None, None, None);
    for part in &columns.0 {
        let (index, steps) = column(part, sample)?;
        let numbers = |default: &'static str| -> Result<Option<Numbers>, String> {
            let unit = unit(part, sample, index, &steps, default);
            let unit = size_unit(&unit).ok_or_else(|| missing_unit(part))?;
            Ok(Some(Numbers { index, steps: steps.clone(), unit }))
        };
        let timed = || times(part, sample, index, &steps).map(Some);
        match part.role {
            Role::Time => time = timed()?,
            Role::End => end = timed()?,
            Role::Latency => latency = timed()?,
            Role::Queued => queued = timed()?,
            Role::Offset => {
                offset = numbers(if sample.names.is_empty() { "" } else { "bytes" })?;
            }
            Role::Size => {
                let of_offset = columns.part(Role::Offset).map_or("", |it| &it.unit);
                let bare = sample.names.is_empty();
                size = numbers(match of_offset {
                    "sectors" if bare => "sectors",
                    "KiB" if bare => "KiB",
                    _ => "bytes",
                })?;
            }
            Role::Op => {
                let directions = part.directions.clone();
                let directions = directions.or_else(|| by_name(sample, index));
                op = Some((index, directions.unwrap_or(Directions::Words)));
            }
            Role::Device => device = Some(index),
            Role::Handle => handle = Some(index),
            Role::Fua => fua = Some((index, bit(&part.unit))),
            Role::Event => event = Some((index, b'Q')),
        }
    }
    if (time.is_none() && end.is_none()) || offset.is_none() || size.is_none() {
        return Err("the columns lack time, offset or size".to_owned());
    }
    Ok(Reading {
        time,
        end,
        latency,
        queued,
        op,
        offset,
        size,
        device,
        handle,
        fua,
        event,
        is_capture: false,
        seen: Seen::default(),
    })
}

/// Position of a mapped column, and its arithmetic.
fn column(part: &Part, sample: &Sample<'_>) -> Result<(usize, Vec<Step>), String> {
    if let Some(index) = place(sample.names, &part.value) {
        return Ok((index, Vec::new()));
    }
    let (name, steps) = arithmetic(&part.value)?;
    let index = match number_of(name) {
        Some(number) if number > 0 => Some(number - 1),
        _ => place(sample.names, name),
    };
    let is_there = |index: &usize| sample.names.is_empty() || *index < sample.names.len();
    match index.filter(is_there) {
        Some(index) => Ok((index, steps)),
        None if sample.names.is_empty() => Err(format!(
            "its first line has no names of columns, of which \"{name}\" is to be one\n  \
             a table of text begins with a line such as time,op,offset,size\n  \
             --columns time=1:us,op=2,offset=3:bytes,size=4 counts the columns instead"
        )),
        None => Err(no_column(sample.names, name)),
    }
}

fn missing_unit(part: &Part) -> String {
    format!("the unit of {} is missing; expected {}", part.role.name(), Columns::EXPECTED)
}

/// The unit of a column: stated, implied by its name, or the default.
fn unit(part: &Part, sample: &Sample<'_>, index: usize, steps: &[Step], default: &str) -> String {
    if !part.unit.is_empty() {
        return part.unit.clone();
    }
    let scaled = steps.iter().any(|step| matches!(step, Step::Times(..)));
    let said = sample.names.get(index).map_or("", |name| unit_in(part.role, name));
    let said = if said.is_empty() || scaled { default } else { said };
    if scaled && said.is_empty() { "bytes".to_owned() } else { said.to_owned() }
}

fn times(part: &Part, sample: &Sample<'_>, index: usize, steps: &[Step]) -> Result<Times, String> {
    let form = |form| Times { index, steps: steps.to_vec(), form };
    if let Some(ns) = time_unit(&part.unit) {
        return Ok(form(Form::Unit(ns)));
    }
    let first = sample.values(index).find(|value| !value.is_empty()).unwrap_or_default();
    let number = fixed(first);
    if number.is_none()
        && let Some(found) = Form::of(first)
    {
        return Ok(form(found));
    }
    let name = sample.names.get(index).map_or("", String::as_str);
    if let Some(ns) = time_unit(unit_in(part.role, name)) {
        return Ok(form(Form::Unit(ns)));
    }
    if sample.names.is_empty() {
        return Err(missing_unit(part));
    }
    let instant = number.and_then(|it| after(it, steps)).map(|it| it / ONE);
    let epoch = instant.filter(|_| matches!(part.role, Role::Time | Role::End));
    if let Some(found) = epoch.and_then(Form::of_epoch) {
        return Ok(form(found));
    }
    if sample.rows.is_empty() {
        return Ok(form(Form::Unit(1)));
    }
    let shown = String::from_utf8_lossy(&first[..first.len().min(40)]).into_owned();
    let problem = match number {
        Some(_) if instant.is_some() && epoch.is_some() => {
            format!("column \"{name}\" begins at {shown}, which is no date in any unit")
        }
        Some(_) => format!("column \"{name}\" says no unit of the {}", part.role.name()),
        None => format!("column \"{name}\" is neither numbers nor dates"),
    };
    let example = match number {
        Some(_) => format!("{}={name}:us", part.role.name()),
        None => EXAMPLE.to_owned(),
    };
    Err(refusal(sample.names, &problem, &example))
}

/// Coding of operations implied by a column's name.
fn by_name(sample: &Sample<'_>, index: usize) -> Option<Directions> {
    let name = sample.names.get(index)?.to_ascii_lowercase().replace(['_', ' ', '-'], "");
    match name.as_str() {
        "iswrite" => Some(Directions::ReadIs(0)),
        "isread" => Some(Directions::ReadIs(1)),
        _ => None,
    }
}

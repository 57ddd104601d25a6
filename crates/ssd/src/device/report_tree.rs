//! The report of a device: a tree of sections whose fields say of which kind they are.
//!
//! Each device and each feature of a drive makes a section of its own. Results show it without
//! knowing names, and an array joins its members' reports by field kinds.

use super::wear_map::WearMap;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Bins of a distribution at most.
const MOST_BINS: u32 = 20;

/// A section: fields by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    fields: BTreeMap<String, Field>,
    /// Figure whose minimum selects the decisive member of an array.
    decided_by: Option<&'static str>,
}

/// A field, by kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Unknown value.
    Unknown,
    /// Events, bytes and the like; an array has the sum.
    Count(u64),
    /// A sum that is no whole number.
    Sum(f64),
    /// A time in nanoseconds, and its display unit; an array has the sum.
    Time(u64, f64),
    /// Part / unit / whole, both of which an array sums; unknown without a whole.
    Ratio(u64, u64, f64),
    /// 1 - part / whole, as a ratio.
    Rest(u64, u64),
    /// A mean, of equally many values in each member.
    Mean(f64),
    /// Mean and standard deviation of values; results have the standard deviation alone.
    Deviation(f64, f64),
    /// An array has the largest.
    Most(Value),
    /// An array has the smallest.
    Least(Value),
    /// True for an array if true for any member.
    Any(bool),
    /// Value of the decisive member, by default the first.
    Same(Value),
    /// `Same`, scaled by the number of members.
    OfEach(f64),
    /// The name of a part, before which an array puts the member.
    Name(String),
    /// Values, concatenated in an array.
    Values(Vec<Value>),
    /// Values of one device; several have none.
    Alone(Vec<Value>),
    /// Counts by place, which an array sums.
    Histogram(Vec<u64>),
    /// Counts by number, in ascending order; shown in at most twenty bins of equal width.
    Distribution(Vec<(u32, u64)>),
    /// Erasures by place.
    Map(WearMap),
    /// A section inside.
    Section(Report),
    /// Sections, concatenated in an array.
    List(Vec<Report>),
    /// Sections that an array joins place by place.
    Places(Vec<Report>),
    /// A figure that follows from the rest of the section.
    Follows(Formula),
    /// No part of the results: a fact from which other figures follow.
    Fact(Box<Field>),
    /// A field of devices, omitted from arrays.
    Own(Box<Field>),
}

/// Conclusions from a section.
#[derive(Clone, Copy)]
pub struct Formula(pub fn(&Report) -> Value);

impl PartialEq for Formula {
    /// Fields of one name share a formula.
    fn eq(&self, _other: &Formula) -> bool {
        true
    }
}

impl std::fmt::Debug for Formula {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Formula")
    }
}

/// A section from its fields, in the syntax of `json!`: numbers are counts, and words are the same
/// in all members.
#[macro_export]
macro_rules! section {
    ($($name:literal: $field:expr),* $(,)?) => {
        $crate::device::Report::default()$(.with($name, $field))*
    };
}

impl From<u64> for Field {
    fn from(count: u64) -> Field {
        Field::Count(count)
    }
}

impl From<bool> for Field {
    fn from(is_so: bool) -> Field {
        Field::Any(is_so)
    }
}

impl From<Report> for Field {
    fn from(section: Report) -> Field {
        Field::Section(section)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(field: Option<T>) -> Field {
        field.map_or(Field::Unknown, Into::into)
    }
}

impl Field {
    /// Alike in all members of an array.
    pub fn same(value: impl Into<Value>) -> Field {
        Field::Same(value.into())
    }

    /// The largest of all members.
    pub fn most(value: impl Into<Value>) -> Field {
        Field::Most(value.into())
    }

    /// A time in seconds.
    pub fn seconds(ns: u64) -> Field {
        Field::Time(ns, 1e9)
    }

    /// A share.
    pub fn share(part: u64, whole: u64) -> Field {
        Field::Ratio(part, whole, 1.0)
    }

    /// The mean of times in microseconds.
    pub fn mean_us(ns: u64, count: u64) -> Field {
        Field::Ratio(ns, count, 1e3)
    }

    /// A fact that results do not show.
    pub fn fact(field: impl Into<Field>) -> Field {
        Field::Fact(Box::new(field.into()))
    }

    /// A field that an array leaves out.
    pub fn own(field: impl Into<Field>) -> Field {
        Field::Own(Box::new(field.into()))
    }

    /// The field without its marks.
    fn inner(&self) -> &Field {
        match self {
            Field::Fact(field) | Field::Own(field) => field.inner(),
            field => field,
        }
    }

    fn shown(&self, of: &Report) -> Value {
        let ratio = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        match self {
            Field::Unknown => Value::Null,
            Field::Count(count) => json!(count),
            Field::Sum(value)
            | Field::OfEach(value)
            | Field::Mean(value)
            | Field::Deviation(_, value) => json!(value),
            Field::Time(ns, unit) => json!(*ns as f64 / unit),
            Field::Ratio(part, whole, unit) => json!(ratio(*part as f64 / unit, *whole)),
            Field::Rest(part, whole) => json!(ratio(*part as f64, *whole).map(|it| 1.0 - it)),
            Field::Most(value) | Field::Least(value) | Field::Same(value) => value.clone(),
            Field::Any(is_so) => json!(is_so),
            Field::Name(name) => json!(name),
            Field::Values(values) | Field::Alone(values) => json!(values),
            Field::Histogram(counts) => json!(counts),
            Field::Distribution(counts) => binned(counts),
            Field::Map(map) => map.shown(),
            Field::Section(section) => section.to_json(),
            Field::List(all) | Field::Places(all) => all.iter().map(Report::to_json).collect(),
            Field::Follows(formula) => formula.0(of),
            Field::Fact(field) | Field::Own(field) => field.shown(of),
        }
    }

    /// Joins fields of one name: members' fields by number, the decisive one, and the number of
    /// members.
    fn joined(all: &[(usize, &Field)], decides: &Field, members: usize) -> Option<Field> {
        /// The contents of the fields that are of a kind.
        macro_rules! each {
            ($kind:pat => $content:expr) => {
                all.iter().filter_map(|(_, it)| if let $kind = it { Some($content) } else { None })
            };
        }
        let compared = |found: &mut dyn Iterator<Item = &Value>, sign: f64| {
            let key = |it: &Value| it.as_f64().map_or(f64::NEG_INFINITY, |value| sign * value);
            found.reduce(|best, it| if key(it) > key(best) { it } else { best }).cloned()
        };
        Some(match all.first()?.1 {
            Field::Unknown | Field::Same(_) => decides.clone(),
            Field::Count(_) => Field::Count(each!(Field::Count(it) => it).sum()),
            Field::Sum(_) => Field::Sum(each!(Field::Sum(it) => it).sum()),
            Field::Time(_, unit) => Field::Time(each!(Field::Time(ns, _) => ns).sum(), *unit),
            Field::Ratio(_, _, unit) => Field::Ratio(
                each!(Field::Ratio(part, ..) => part).sum(),
                each!(Field::Ratio(_, whole, _) => whole).sum(),
                *unit,
            ),
            Field::Rest(..) => Field::Rest(
                each!(Field::Rest(part, _) => part).sum(),
                each!(Field::Rest(_, whole) => whole).sum(),
            ),
            Field::Mean(_) => {
                Field::Mean(each!(Field::Mean(it) => it).sum::<f64>() / all.len() as f64)
            }
            Field::Deviation(..) => {
                let parts = each!(Field::Deviation(mean, deviation) => (*mean, *deviation));
                let (mean, deviation) = deviation(&parts.collect::<Vec<_>>());
                Field::Deviation(mean, deviation)
            }
            Field::Most(_) => Field::Most(compared(&mut each!(Field::Most(it) => it), 1.0)?),
            Field::Least(_) => Field::Least(compared(&mut each!(Field::Least(it) => it), -1.0)?),
            Field::Any(_) => Field::Any(each!(Field::Any(it) => *it).any(|it| it)),
            Field::OfEach(_) => match decides {
                Field::OfEach(value) => Field::OfEach(value * members as f64),
                _ => Field::Unknown,
            },
            Field::Name(name) => Field::Name(name.clone()),
            Field::Values(_) => {
                Field::Values(each!(Field::Values(it) => it).flatten().cloned().collect())
            }
            Field::Alone(values) if all.len() == 1 => Field::Alone(values.clone()),
            Field::Alone(_) => Field::Alone(Vec::new()),
            Field::Histogram(_) => {
                let mut sums = Vec::new();
                for counts in each!(Field::Histogram(it) => it) {
                    memory::grow(&mut sums, counts.len(), 0);
                    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                }
                Field::Histogram(sums)
            }
            Field::Distribution(_) => Field::Distribution(counted(
                each!(Field::Distribution(it) => it).flatten().copied(),
            )),
            Field::Map(_) => {
                let maps = all.iter().filter_map(|(number, it)| match it {
                    Field::Map(map) => Some((*number, map)),
                    _ => None,
                });
                Field::Map(WearMap::together(maps))
            }
            Field::Section(_) => {
                let sections = all.iter().filter_map(|(number, it)| match it {
                    Field::Section(section) => Some((*number, section)),
                    _ => None,
                });
                Field::Section(Report::joined(&sections.collect::<Vec<_>>(), Some(members)))
            }
            Field::List(_) => {
                let lists = all.iter().filter_map(|(number, it)| match it {
                    Field::List(list) => Some(list.iter().map(|it| it.of_member(*number))),
                    _ => None,
                });
                Field::List(lists.flatten().collect())
            }
            Field::Places(first) => {
                let at = |place: usize| {
                    let sections = all.iter().filter_map(|(number, it)| match it {
                        Field::Places(list) => Some((*number, list.get(place)?)),
                        _ => None,
                    });
                    Report::joined(&sections.collect::<Vec<_>>(), Some(members))
                };
                Field::Places((0..first.len()).map(at).collect())
            }
            Field::Follows(formula) => Field::Follows(*formula),
            Field::Fact(_) => {
                let inner: Vec<_> = all.iter().map(|(number, it)| (*number, it.inner())).collect();
                Field::fact(Field::joined(&inner, decides.inner(), members)?)
            }
            Field::Own(_) => return None,
        })
    }
}

impl Report {
    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, field: impl Into<Field>) -> Report {
        self.fields.insert(name.to_owned(), field.into());
        self
    }

    /// Adds a field that some devices lack.
    #[must_use]
    pub fn with_some(self, name: &str, field: Option<impl Into<Field>>) -> Report {
        match field {
            Some(field) => self.with(name, field),
            None => self,
        }
    }

    /// Adds all fields of another section.
    #[must_use]
    pub fn and(mut self, other: Report) -> Report {
        self.fields.extend(other.fields);
        self
    }

    /// In an array the member decides of which a figure is the lowest.
    #[must_use]
    pub fn decided_by(self, figure: &'static str) -> Report {
        Report { decided_by: Some(figure), ..self }
    }

    /// A section from serialised fields: whole numbers are counts, and all others are the same in all members.
    pub fn of(fields: &impl Serialize) -> Report {
        let fields = match serde_json::to_value(fields) {
            Ok(Value::Object(fields)) => fields.into_iter(),
            _ => Map::new().into_iter(),
        };
        fields.fold(Report::default(), |all, (name, value)| {
            let field = match value.as_u64() {
                Some(count) => Field::Count(count),
                None => Field::Same(value),
            };
            all.with(&name, field)
        })
    }

    /// A section of counts.
    pub fn counts(rows: impl IntoIterator<Item = (&'static str, u64)>) -> Report {
        rows.into_iter().fold(Report::default(), |all, (name, count)| all.with(name, count))
    }

    /// Joins the numbered reports of members; a section is joined of the members that have it.
    pub fn together(members: &[(usize, Report)]) -> Report {
        let all: Vec<_> = members.iter().map(|(number, it)| (*number, it)).collect();
        Report::joined(&all, None)
    }

    fn joined(all: &[(usize, &Report)], members: Option<usize>) -> Report {
        let decided_by = all.first().and_then(|(_, it)| it.decided_by);
        let decides = decided_by.and_then(|figure| {
            let known = all.iter().filter_map(|(_, it)| Some((it.number(figure)?, *it)));
            known.reduce(|best, it| if it.0 < best.0 { it } else { best })
        });
        let decides = decides.map(|(_, it)| it).or_else(|| all.first().map(|(_, it)| *it));
        let mut joined = Report { decided_by, ..Report::default() };
        for name in all.iter().flat_map(|(_, it)| it.fields.keys()).collect::<BTreeSet<_>>() {
            let found = all.iter().filter_map(|(number, it)| Some((*number, it.fields.get(name)?)));
            let found: Vec<_> = found.collect();
            let mut known = found.clone();
            known.retain(|(_, it)| *it.inner() != Field::Unknown);
            let known = if known.is_empty() { &found } else { &known };
            let decides = decides.and_then(|it| it.fields.get(name)).unwrap_or(known[0].1);
            if let Some(field) = Field::joined(known, decides, members.unwrap_or(found.len())) {
                joined.fields.insert(name.clone(), field);
            }
        }
        joined
    }

    /// The section as one of a member, whose number stands before its name.
    fn of_member(&self, number: usize) -> Report {
        let mut section = self.clone();
        for field in section.fields.values_mut() {
            if let Field::Name(name) = field {
                *name = format!("member {number} {name}");
            }
        }
        section
    }

    /// The field of that name, or under that path; such as `flash.page_reads`.
    pub fn field(&self, path: &str) -> Option<&Field> {
        match path.split_once('.') {
            None => self.fields.get(path).map(Field::inner),
            Some((name, rest)) => self.section(name)?.field(rest),
        }
    }

    /// The section of that name, or under that path.
    pub fn section(&self, path: &str) -> Option<&Report> {
        match self.field(path)? {
            Field::Section(section) => Some(section),
            _ => None,
        }
    }

    /// The sections of a list; None if there is no such list.
    pub fn list(&self, path: &str) -> &[Report] {
        match self.field(path) {
            Some(Field::List(list) | Field::Places(list)) => list,
            _ => &[],
        }
    }

    /// A count, the numerator of a time or ratio, or the total of a distribution; 0 of a device
    /// without it.
    pub fn count(&self, path: &str) -> u64 {
        match self.field(path) {
            Some(Field::Count(count) | Field::Time(count, _) | Field::Ratio(count, ..)) => *count,
            Some(Field::Most(it) | Field::Least(it) | Field::Same(it)) => it.as_u64().unwrap_or(0),
            Some(Field::Distribution(counts)) => counts.iter().map(|(_, count)| count).sum(),
            _ => 0,
        }
    }

    /// Value of a Boolean field.
    pub fn is(&self, path: &str) -> bool {
        self.value(path).as_bool().unwrap_or(false)
    }

    /// Value of a figure, if known.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.value(path).as_f64()
    }

    /// A field in the form of results.
    pub fn value(&self, path: &str) -> Value {
        let (of, name) = match path.rsplit_once('.') {
            None => (Some(self), path),
            Some((before, name)) => (self.section(before), name),
        };
        of.and_then(|of| Some(of.fields.get(name)?.shown(of))).unwrap_or_default()
    }

    /// All sections with nested ones, outermost first.
    pub fn all(&self) -> Vec<&Report> {
        let inner = self.fields.values().filter_map(|it| match it.inner() {
            Field::Section(section) => Some(section),
            _ => None,
        });
        std::iter::once(self).chain(inner.flat_map(Report::all)).collect()
    }

    /// The section in the form of results.
    pub fn to_json(&self) -> Value {
        let shown = self.fields.iter().filter(|(_, it)| !matches!(it, Field::Fact(_)));
        let shown: Map<String, Value> =
            shown.map(|(name, it)| (name.clone(), it.shown(self))).collect();
        Value::Object(shown)
    }
}

/// Counts by number, ascending.
pub fn counted(found: impl Iterator<Item = (u32, u64)>) -> Vec<(u32, u64)> {
    let mut counts = BTreeMap::new();
    found.for_each(|(number, count)| *counts.entry(number).or_insert(0) += count);
    counts.into_iter().collect()
}

/// The mean and the deviation of all values, of which parts of equal size have these.
fn deviation(parts: &[(f64, f64)]) -> (f64, f64) {
    let count = parts.len() as f64;
    let mean = parts.iter().map(|(mean, _)| mean).sum::<f64>() / count;
    let square = parts.iter().map(|(mean, std)| mean * mean + std * std).sum::<f64>() / count;
    (mean, (square - mean * mean).max(0.0).sqrt())
}

/// Blocks by how often they were erased, in bins of equal width from the least to the most: the first and last number
/// of erasures of each bin, and its blocks.
fn binned(counts: &[(u32, u64)]) -> Value {
    let (Some((least, _)), Some((most, _))) = (counts.first(), counts.last()) else {
        return json!({ "erases": [], "blocks": [] });
    };
    let width = (most - least + 1).div_ceil(MOST_BINS);
    let bins = (most - least) / width + 1;
    let mut blocks = memory::filled(0_u64, bins as usize);
    for (erases, count) in counts {
        blocks[((erases - least) / width) as usize] += count;
    }
    let begins = (0..bins).map(|bin| least + bin * width);
    let ends: Vec<[u32; 2]> = begins.map(|from| [from, from + width - 1]).collect();
    json!({ "erases": ends, "blocks": blocks })
}

#[cfg(test)]
mod tests;

//! Flash operations of a chosen window, for a Gantt chart of the drive.

use crate::ids::Unit;
use crate::shape::Geometry;
use engine::Time;

/// A completed operation with its times; the rest was spent waiting for the preceding operation on
/// the same cell array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Start on its lane.
    pub started: Time,
    /// Time in the cell array, ns.
    pub cell_ns: Time,
    /// Time waiting for and using the bus, ns.
    pub bus_ns: Time,
}

/// A window of simulated time, with a limit of recorded operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
    /// Maximum number of operations: earliest completions first.
    pub most: usize,
}

/// Declares [`Word`] from the table of the operations.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Name of an operation in a record.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Word {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Word {
            /// All operations, in the order of charts.
            pub const ALL: [Word; [$($name),+].len()] = [$(Word::$variant),+];

            /// The name used in results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Word::$variant => $name,)+
                }
            }
        }
    };
}

words! {
    /// A page read for the host.
    Read = "read",
    /// A page programmed for the host.
    Program = "program",
    /// A partial write within a synchronous gang.
    Merge = "merge",
    /// A valid page of a victim, moved through the controller.
    Move = "move",
    /// A move within the package.
    CopyBack = "copy-back",
    /// A move for wear levelling.
    Migrate = "migrate",
    /// A copy to another package.
    Stream = "stream",
    /// A block erased.
    Erase = "erase",
}

/// An operation on a lane: a unit, or a package of a unit that spans several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The lane, as a place in [`Timeline::lanes`].
    pub lane: u32,
    /// Name.
    pub word: Word,
    /// Start and end.
    pub start: Time,
    /// End.
    pub end: Time,
    /// Time waiting for and using the bus, ns.
    pub bus_ns: Time,
}

/// Recorded operations, in order of completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// The name of each lane.
    pub lanes: Vec<String>,
    /// The operations that were under way within the window and ended before the run did.
    pub spans: Vec<Span>,
    /// There were more than the window keeps; later ones are dropped.
    pub cut: bool,
    /// Maximum number.
    most: usize,
}

impl Timeline {
    /// Joins the timelines of an array's members.
    pub fn together(members: Vec<Timeline>) -> Timeline {
        let most = members.iter().map(|it| it.most).max().unwrap_or(0);
        let mut all = Timeline { lanes: Vec::new(), spans: Vec::new(), cut: false, most };
        for (number, member) in members.into_iter().enumerate() {
            let first = all.lanes.len() as u32;
            let moved = |span: Span| Span { lane: first + span.lane, ..span };
            all.spans.extend(member.spans.into_iter().map(moved));
            all.lanes.extend(member.lanes.iter().map(|name| format!("member {number} {name}")));
            all.cut |= member.cut;
        }
        all.spans.sort_by_key(|span| (span.end, span.lane));
        all.cut |= all.spans.len() > most;
        all.spans.truncate(most);
        all
    }
}

/// Records operations as they end.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    window: Window,
    spans: Vec<Span>,
    cut: bool,
}

impl Recorder {
    pub(crate) fn new(window: Window) -> Recorder {
        Recorder { window, spans: Vec::new(), cut: false }
    }

    /// An operation of a lane has ended.
    pub(crate) fn record(&mut self, lane: u32, word: Word, finished: Finished, now: Time) {
        let Finished { started: start, bus_ns, .. } = finished;
        if now <= self.window.from || start >= self.window.to {
            return;
        }
        if self.spans.len() == self.window.most {
            self.cut = true;
            return;
        }
        self.spans.push(Span { lane, word, start, end: now, bus_ns });
    }

    pub(crate) fn finish(self, geometry: &Geometry) -> Timeline {
        if let Some(groups) = &geometry.groups {
            let lanes = (0..groups.dies).map(|die| groups.die_name(die)).collect();
            let Recorder { spans, cut, window } = self;
            return Timeline { lanes, spans, cut, most: window.most };
        }
        let span = geometry.granule.span;
        let name = |lane| match span {
            1 => geometry.unit_name(Unit(lane)),
            _ => format!("{}, part {}", geometry.unit_name(Unit(lane / span)), lane % span),
        };
        Timeline {
            lanes: (0..geometry.units * span).map(name).collect(),
            spans: self.spans,
            cut: self.cut,
            most: self.window.most,
        }
    }
}

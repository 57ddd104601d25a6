//! Result of a policy on one drive.

use ::placement::{Ended, Isolation, Measured, Rule, Shape};

/// Device on which a policy is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A drive with handles.
    Drive(Isolation),
    /// A host log on zones of the size of reclaim units.
    Zones,
}

/// Names in settings and results.
pub const MEDIA: [(&str, Medium); 3] = [
    ("initial", Medium::Drive(Isolation::Initial)),
    ("persistent", Medium::Drive(Isolation::Persistent)),
    ("zones", Medium::Zones),
];

impl Medium {
    pub fn named(name: &str) -> Option<Medium> {
        MEDIA.iter().find(|(known, _)| *known == name).map(|(_, medium)| *medium)
    }

    pub fn name(self) -> &'static str {
        MEDIA.iter().find(|(_, medium)| *medium == self).map_or("", |(name, _)| name)
    }

    /// Isolation of the drive's GC copies; a host log has one zone for them.
    pub fn isolation(self) -> Isolation {
        match self {
            Medium::Drive(isolation) => isolation,
            Medium::Zones => Isolation::Initial,
        }
    }
}

/// Result of a policy on one drive.
pub struct Row {
    pub policy: String,
    pub utilisation: f64,
    pub medium: Medium,
    pub shape: Shape,
    pub rule: Rule,
    pub found: Result<Measured, Ended>,
}

impl Row {
    /// Number of open reclaim units or zones.
    pub fn open(&self) -> u32 {
        self.shape.open()
    }
}

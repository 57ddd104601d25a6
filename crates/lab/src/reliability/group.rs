//! Mission of a redundancy group: members that fail and are replaced, and latent defects.
//!
//! Events are failures and ends of repairs. Defects are not events: they matter only when no
//! redundancy is left to correct them, and are drawn at that time.

use super::law::Law;
use engine::Random;

/// Latent defects, which exist until a scrub or a rebuild reads them.
#[derive(Debug)]
pub(super) struct Defects {
    pub(super) between: Law,
    pub(super) scrub: Option<Law>,
}

/// Parameters of a group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) members: u32,
    pub(super) tolerated: u32,
    pub(super) life: Law,
    pub(super) repair: Law,
    pub(super) repairs_together: bool,
    pub(super) defects: Option<Defects>,
}

/// One member, or its replacement.
#[derive(Debug, Clone, Default)]
struct Member {
    /// Time of installation.
    born: f64,
    /// Time of failure.
    fails: f64,
    /// Start and end of its rebuild.
    rebuilt: Option<(f64, f64)>,
    /// Times at which scrubs detect its defects.
    defects: Vec<f64>,
    /// Time up to which defects were drawn.
    drawn_until: f64,
}

/// Cause of a data loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Loss {
    /// More members were missing than the redundancy tolerates; `share` is the part not yet
    /// rebuilt.
    Members { share: f64 },
    /// Defects of other members while no redundancy was left.
    Defects { count: usize },
}

/// State of a group, with failures accelerated by the factor `faster`.
#[derive(Debug, Clone)]
pub(super) struct State<'a> {
    group: &'a Group,
    members: Vec<Member>,
    now: f64,
    faster: f64,
    /// Likelihood ratio of the history.
    weight: f64,
}

impl<'a> State<'a> {
    /// A group of new members.
    pub(super) fn new(group: &'a Group, random: &mut impl Random) -> Self {
        let new = |_| Member { fails: group.life.sample(random), ..Member::default() };
        let members = (0..group.members).map(new).collect();
        State { group, members, now: 0.0, faster: 1.0, weight: 1.0 }
    }

    pub(super) fn now(&self) -> f64 {
        self.now
    }

    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    pub(super) fn missing(&self) -> u32 {
        self.members.iter().filter(|it| it.rebuilt.is_some()).count() as u32
    }

    /// Advances to the next event before the end of the mission, and returns its member.
    pub(super) fn next(&mut self, end: f64) -> Option<usize> {
        let at = |it: &Member| it.rebuilt.map_or(it.fails, |(_, until)| until);
        let (place, next) =
            self.members.iter().map(at).enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
        if next > end {
            return None;
        }
        if self.faster > 1.0 {
            let grown = |it: &Member| {
                let life = &self.group.life;
                life.hazard(next - it.born) - life.hazard(self.now - it.born)
            };
            let working = self.members.iter().filter(|it| it.rebuilt.is_none());
            self.weight *= libm::exp((self.faster - 1.0) * working.map(grown).sum::<f64>());
        }
        self.now = next;
        Some(place)
    }

    /// Copies the state of `other`, with failure times redrawn and accelerated.
    pub(super) fn follow(&mut self, other: &State<'a>, faster: f64, random: &mut impl Random) {
        self.clone_from(other);
        // The current failure was drawn without acceleration.
        (self.faster, self.weight) = (faster, faster);
        for member in self.members.iter_mut().filter(|it| it.rebuilt.is_none()) {
            let left = self.group.life.left(self.now - member.born, faster, random);
            member.fails = self.now + left;
        }
    }

    /// True if the event of this member is a failure; otherwise its repair is complete.
    pub(super) fn fails(&mut self, place: usize, random: &mut impl Random) -> bool {
        if self.members[place].rebuilt.is_none() {
            return true;
        }
        self.renew(place, random);
        false
    }

    /// Handles the failure of a member; returns the data loss, if any.
    pub(super) fn fail(&mut self, place: usize, random: &mut impl Random) -> Option<Loss> {
        self.weight /= self.faster;
        let missing = self.missing();
        if missing == self.group.tolerated {
            let left = |(from, until): (f64, f64)| ((until - self.now) / (until - from)).min(1.0);
            let rebuilt = self.members.iter().filter_map(|it| it.rebuilt);
            let share = rebuilt.map(left).fold(1.0, f64::min);
            // Lost data are restored immediately, so that each loss is counted once.
            for other in 0..self.members.len() {
                if other == place || self.members[other].rebuilt.is_some() {
                    self.renew(other, random);
                }
            }
            return Some(Loss::Members { share });
        }
        let others = self.members.iter().filter_map(|it| it.rebuilt.map(|(_, until)| until));
        let begun = if self.group.repairs_together { 0.0 } else { others.fold(0.0, f64::max) };
        let from = self.now.max(begun);
        let until = from + self.group.repair.sample(random);
        self.members[place].rebuilt = Some((from, until));
        self.members[place].defects.clear();
        self.unseen(missing + 1, random)
    }

    /// Data loss by defects of the working members while `missing` others have failed.
    pub(super) fn unseen(&mut self, missing: u32, random: &mut impl Random) -> Option<Loss> {
        let defects = self.group.defects.as_ref().filter(|_| missing == self.group.tolerated)?;
        let mut count = 0;
        for member in self.members.iter_mut().filter(|it| it.rebuilt.is_none()) {
            look(member, defects, self.now, random);
            // The rebuild detects the defects.
            count += member.defects.drain(..).count();
        }
        (count > 0).then_some(Loss::Defects { count })
    }

    fn renew(&mut self, place: usize, random: &mut impl Random) {
        let (now, life) = (self.now, &self.group.life);
        let member = &mut self.members[place];
        (member.born, member.rebuilt, member.drawn_until) = (now, None, now);
        member.defects.clear();
        member.fails = now + life.left(0.0, self.faster, random);
    }
}

/// Updates the current defects of a member: draws those that appeared since the last call and have
/// escaped all scrubs.
fn look(member: &mut Member, defects: &Defects, now: f64, random: &mut impl Random) {
    member.defects.retain(|found| *found > now);
    let scrub: Option<&Law> = defects.scrub.as_ref();
    // Earlier defects have been detected by scrubs.
    let mut at = scrub.map_or(member.drawn_until, |law| member.drawn_until.max(now - law.most()));
    member.drawn_until = now;
    loop {
        at += defects.between.sample(random);
        if at > now {
            return;
        }
        let found = scrub.map_or(f64::INFINITY, |law| at + law.sample(random));
        if found > now {
            member.defects.push(found);
        }
    }
}

//! The stack of what is due, and who does it.

use super::units::SetTurn;
use crate::ssd::Ssd;
use crate::ssd::cache::{Phase, Reason};
use crate::ssd::ids::{Domain, Unit};

/// What is still to be done at this instant; the last is done first.
#[derive(Debug, Clone, Copy)]
pub(in crate::ssd) enum Due {
    /// Writes wait for the buffer: a turn of them is to be taken.
    Admit,
    /// The first of them is looked at, for the first time or again; or with its next page.
    Look,
    Next,
    /// A page has come in, for which this domain may have to clean.
    CameIn(Domain),
    /// The first has to wait, and what can be done about that is done.
    Hold(Reason),
    /// No block had room for it, and cleaning has gone as far as it goes; not even the end of a burst helped.
    Stuck,
    StuckAgain,
    /// The turn is over.
    Over,
    /// A domain, or every domain, is cleaned as far as it is asked for.
    Clean(Domain),
    CleanAll,
    /// The host waits for cleaning; if that does not help, it gets by with less.
    CleanOn,
    GetBy,
    /// What the pace allows has changed: dies that held programs of the host, cleaning and writes go on.
    PaceChanged,
    RunAll,
    /// A burst may be over, or do nothing any more.
    BurstOver,
    EndIdleBurst,
    /// Nothing else may look at the writes that wait again.
    AdmitIfStuck,
    /// A die is free for what waits.
    Run(u32),
    /// Requests may have become durable.
    Settle,
    /// Erasures that waited for programs may begin.
    Erasures,
    /// A unit, alone or with those that it is bound to, may begin an operation.
    Serve(Unit),
    /// The same of one unit, of one kind; or of what else it may do; or of the pages that wait for it.
    Unit(Unit, Option<Phase>),
    Class(Unit, Option<Phase>, u8),
    Stalled(Unit, Option<Phase>),
    Waiting(Unit, Option<Phase>),
    /// Bound units are asked for operations of a kind, and were.
    SetPhase(SetTurn),
    SetPhaseOver(SetTurn),
}

impl Ssd {
    /// Does what is due until nothing is.
    #[inline]
    pub(super) fn work_off(&mut self) {
        if !self.due.is_empty() {
            self.work_off_all();
        }
    }

    fn work_off_all(&mut self) {
        while let Some(due) = self.due.pop() {
            match due {
                Due::Admit => {
                    if self.cache.begin_turn() {
                        self.due.push(Due::Look);
                    }
                }
                Due::Look => {
                    self.cache.look();
                    self.admit();
                }
                Due::Next => self.admit(),
                Due::CameIn(domain) => {
                    if self.cache.pace().cleans(domain.0) {
                        self.due.push(Due::Clean(domain));
                    }
                }
                Due::Hold(reason) => {
                    let again = self.cache.hold(Some(reason), self.clock.now);
                    self.due.push(if again { Due::Look } else { Due::Over });
                }
                Due::Stuck => self.stuck(),
                Due::StuckAgain => self.cache.ask_again_once(self.clock.now),
                Due::Over => {
                    if self.cache.end_turn(self.clock.now) {
                        self.due.push(Due::PaceChanged);
                    }
                }
                Due::Clean(domain) => self.clean(domain),
                Due::CleanAll => {
                    let domains = (0..self.ftl.geometry().domains).rev();
                    self.due.extend(domains.map(|domain| Due::Clean(Domain(domain))));
                }
                Due::CleanOn => self.then(&[Due::CleanAll, Due::GetBy]),
                Due::GetBy => {
                    if self.stands_still() {
                        self.cache.pace().settle_for_less(self.clock.now);
                        self.cache.look_again();
                        self.due.push(Due::PaceChanged);
                    }
                }
                Due::PaceChanged => self.then(&[Due::CleanAll, Due::RunAll]),
                Due::RunAll => {
                    self.dies.run_all(self.sight(), &mut self.clock);
                    self.hear_dies();
                }
                Due::BurstOver => {
                    if self.cache.pace().ends_burst(self.clock.now) {
                        self.then(&[Due::PaceChanged, Due::Admit]);
                    }
                }
                Due::EndIdleBurst => self.end_idle_burst(),
                Due::AdmitIfStuck => {
                    if self.cache.holds_host() && self.cache.backlog() > 0 && self.stands_still() {
                        self.due.push(Due::Admit);
                    }
                }
                Due::Run(die) => {
                    self.dies.run(die, self.sight(), &mut self.clock);
                    self.hear_dies();
                }
                Due::Settle => self.settle(),
                Due::Serve(unit) => self.serve_or_bound(unit),
                Due::Unit(unit, only) => self.serve_unit(unit, only),
                Due::Class(unit, only, from) => self.serve_class(unit, only, from),
                Due::Stalled(unit, only) => self.serve_from_stalled(unit, only),
                Due::Waiting(unit, only) => self.serve_waiting(unit, only),
                Due::SetPhase(turn) => self.serve_phase(turn),
                Due::SetPhaseOver(turn) => self.end_phase(turn),
                Due::Erasures => {
                    for number in self.mover.waiting_erasures() {
                        self.begin_erasure(number);
                    }
                }
            }
        }
    }
}

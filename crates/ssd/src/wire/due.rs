//! Who does what is due.

use crate::Ssd;
use crate::due::Due;
use crate::ids::Domain;

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
                Due::Admit => self.take_turn(),
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
                Due::Over => self.end_turn(),
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

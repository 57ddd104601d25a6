//! The work of the dies, from which energy is computed.

use super::Buffered;
use super::dies::{Job, Task};
use super::read::{Owner, Read};
use crate::ssd::flash::Effort;
use engine::Op;

impl Buffered {
    /// What operations did since counts were reset.
    pub(in crate::ssd) fn effort(&self) -> Effort {
        self.effort[0]
    }

    /// The part of it that the host's reads had.
    pub(in crate::ssd) fn effort_of_reads(&self) -> Effort {
        self.effort[1]
    }

    pub(in crate::ssd) fn reset_effort(&mut self) {
        self.effort = [Effort::default(); 2];
    }

    /// A row of pages must be sensed. What crosses the bus is counted where it does.
    pub(super) fn count_read(&mut self, read: &Read) {
        let senses = u64::from(read.planes.count_ones());
        let sensing = Effort { senses, sense_ns: read.sense_ns, ..Effort::default() };
        self.effort[0] += sensing;
        if let Owner::Request(slot, _) = read.owner
            && self.asked(slot).request.op == Op::Read
        {
            self.effort[1] += Effort { bus_ns: read.bus_ns, ..sensing };
        }
    }

    /// A program or an erase has ended.
    pub(super) fn count_task(&mut self, task: &Task) {
        let pages = u64::from(self.shape.planes * self.shape.rows);
        let effort = &mut self.effort[0];
        match task.job {
            // Of two passes the last one makes it a group that is programmed.
            Job::Program(group) => {
                effort.program_ns += task.cell_ns;
                effort.programs += if self.gather.group(group).passes == 1 { pages } else { 0 };
            }
            Job::Parity => {
                effort.program_ns += task.cell_ns;
                effort.programs += pages;
            }
            Job::Own => {
                effort.program_ns += task.cell_ns;
                effort.programs += 1;
            }
            Job::Erase(_) => {
                effort.erase_ns += task.cell_ns;
                effort.erases += u64::from(self.shape.planes);
            }
        }
    }
}

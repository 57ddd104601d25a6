//! Reads and erases during recovery: each lane processes a list of steps in order, and shares its
//! bus as in any operation.

use crate::clock::{Clock, Event, MOST_LANES};
use crate::config::SsdConfig;
use crate::die::{Lanes, Plan, PlanId, Stage, StageEnd};
use crate::shape::Geometry;
use crate::shape::groups::summary_bytes;

/// A kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Reads the spare area of a page.
    Spare = 0,
    /// Reads a summary.
    Summary = 1,
    /// Reads a whole page.
    Page = 2,
    /// Erases a block.
    Erase = 3,
}

/// Remaining steps of each lane.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    lanes: Lanes,
    left: Vec<Vec<(Step, u64)>>,
    busy: u32,
    /// Bytes per read, by kind of step.
    bytes: [u64; 4],
    pub(super) pages_read: u64,
    pub(super) bytes_read: u64,
}

impl Reader {
    pub(super) fn new(config: &SsdConfig, geometry: &Geometry) -> Reader {
        let (page, spare) = (config.page_size.bytes(), config.spare_size.bytes());
        let timing = &config.timing;
        let mut bytes = [spare, 512 + spare * 512 / page, page + spare, 0];
        let mut pages = 1;
        if let Some(groups) = &geometry.groups {
            // The planes of a die read together, and each page names its logical page.
            pages = u64::from(groups.planes);
            let numbers = (page / u64::from(groups.unit_bytes)).max(1) * 8;
            let summary = summary_bytes(geometry.data_pages) / geometry.summary_reads();
            bytes = [pages * spare.max(numbers), summary, pages * (page + spare), 0];
        }
        let mean = |times: &[options::Duration]| {
            times.iter().map(|it| it.ns()).sum::<u64>() / times.len() as u64
        };
        let whole = mean(timing.read.all());
        let part = timing.read_part.map_or(whole, options::Duration::ns);
        let read = |sense: u64, bytes| {
            let bus = timing.transfer_ns(bytes) + pages * timing.command.ns();
            Plan::new(vec![Stage::Cell(sense as u32), Stage::Bus(bus as u32)])
        };
        let plans = vec![
            read(part, bytes[0]),
            read(part, bytes[1]),
            read(whole, bytes[2]),
            Plan::new(vec![Stage::Cell(config.erase_ns() as u32)]),
        ];
        let buses = match &geometry.groups {
            Some(groups) => (0..groups.dies).map(|die| die % groups.channels).collect(),
            None => geometry.lane_buses(),
        };
        assert!(buses.len() < MOST_LANES as usize, "lanes are numbered within events of 20 bits");
        let left = memory::filled(Vec::new(), buses.len());
        let lanes = Lanes::new(plans, &buses, false);
        Reader { lanes, left, busy: 0, bytes, pages_read: 0, bytes_read: 0 }
    }

    /// Number of lanes.
    pub(super) fn lanes(&self) -> u32 {
        self.left.len() as u32
    }

    /// Adds steps to a lane.
    pub(super) fn add(&mut self, lane: u32, step: Step, count: u64) {
        if count == 0 {
            return;
        }
        self.left[lane as usize].push((step, count));
        if step != Step::Erase {
            self.pages_read += count;
            self.bytes_read += count * self.bytes[step as usize];
        }
    }

    /// Starts all lanes. Returns false without steps.
    pub(super) fn start(&mut self, clock: &mut Clock) -> bool {
        for lane in &mut self.left {
            lane.reverse();
        }
        self.busy = 0;
        for lane in 0..self.lanes() {
            self.busy += u32::from(self.proceed(lane, clock));
        }
        self.busy > 0
    }

    /// Starts the next step of a lane. Returns false without one.
    fn proceed(&mut self, lane: u32, clock: &mut Clock) -> bool {
        let list = &mut self.left[lane as usize];
        let Some((step, count)) = list.last_mut() else { return false };
        let plan = PlanId(*step as u32);
        *count -= 1;
        if *count == 0 {
            list.pop();
        }
        let ends = self.lanes.start(lane, plan, clock.now);
        clock.call(ends, Event::PowerLane(lane));
        true
    }

    /// Handles the end of a lane's stage. Returns true once all lanes are done.
    pub(super) fn stage_ended(&mut self, lane: u32, clock: &mut Clock) -> bool {
        match self.lanes.stage_ended(lane, clock.now) {
            StageEnd::GoesOn(ends) | StageEnd::Accepts(ends) => {
                clock.call(ends, Event::PowerLane(lane));
                false
            }
            StageEnd::Finished(_) => {
                if !self.proceed(lane, clock) {
                    self.busy -= 1;
                }
                self.busy == 0
            }
        }
    }

    /// Handles a power cut.
    pub(super) fn lose_power(&mut self, now: engine::Time) {
        self.lanes.lose_power(now);
        for lane in &mut self.left {
            lane.clear();
        }
    }
}

//! Reads and erasures during recovery: each lane has a list of them, which it does one after the
//! other, and shares its bus with others as in any operation.

use crate::clock::{Clock, Event, MOST_LANES};
use crate::config::SsdConfig;
use crate::die::{Lanes, Plan, PlanId, Stage, StageEnd};
use crate::shape::Geometry;
use crate::shape::groups::summary_bytes;

/// Work done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The spare area of a page is read.
    Spare = 0,
    /// A summary is read.
    Summary = 1,
    /// A whole page is read.
    Page = 2,
    /// A block is erased.
    Erase = 3,
}

/// Remaining work by lane.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    lanes: Lanes,
    left: Vec<Vec<(Step, u64)>>,
    busy: u32,
    /// Bytes of each kind of read.
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
            // The planes of a die read together, and each page names its owner.
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

    /// Adds steps to a lane's work.
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

    /// Begins; whether there is anything to do.
    pub(super) fn start(&mut self, clock: &mut Clock) -> bool {
        for lane in &mut self.left {
            lane.reverse();
        }
        self.busy = 0;
        for lane in 0..self.lanes() {
            self.busy += u32::from(self.go_on(lane, clock));
        }
        self.busy > 0
    }

    /// Begins the next step of a lane; whether there is one.
    fn go_on(&mut self, lane: u32, clock: &mut Clock) -> bool {
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

    /// A stage has ended on a lane; whether everything is done.
    pub(super) fn stage_ended(&mut self, lane: u32, clock: &mut Clock) -> bool {
        match self.lanes.stage_ended(lane, clock.now) {
            StageEnd::GoesOn(ends) | StageEnd::Accepts(ends) => {
                clock.call(ends, Event::PowerLane(lane));
                false
            }
            StageEnd::Finished(_) => {
                if !self.go_on(lane, clock) {
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

//! The flash back end of a drive with a write buffer: pages gather into groups, dies program them, and
//! cleaning copies through the buffer.
//!
//! A command takes a core of the controller, then its reads go to the dies and its writes to the buffer.
//! Every decision about where pages go and what is cleaned is the [`Ftl`]'s, the same as without time.

mod asked;
mod buses;
mod copies;
mod cores;
mod costs;
mod cut;
mod dies;
mod effort;
mod events;
mod gather;
mod owned;
mod pace;
mod programs;
mod read;
mod reads;
mod victims;
mod writes;

use super::account::UnitAccount;
use super::clock::Clock;
use super::config::{Pace as PaceRule, Program, SsdConfig};
use super::flash::{Effort, Flash};
use super::ftl::{BufferRoom, Ftl, Programming};
use super::host;
use super::ids::Block;
use super::shape::{Geometry, Groups};
use super::timeline::Recorder;
use crate::kit::slots::{Slot, Slots};
use crate::latency::{BUFFER, BUS, CELL, CLEANING_WAIT, FIRMWARE, SUSPEND};
pub(in crate::ssd) use asked::Answer;
use asked::{Asked, Held, Spent};
use buses::{Buses, Cargo};
use cores::Cores;
use costs::Costs;
pub(in crate::ssd) use cut::{CutGroup, Fate};
use dies::{Die, Stops};
use engine::{Op, Request, Status, Time};
use events::{Happens, KIND_SHIFT, event};
use gather::Gather;
use owned::Owned;
use pace::{Law, Pace};
use read::Read;
use std::collections::VecDeque;
use victims::{Erasing, Victim};

/// The back end. It has many fields: one for each of its parts, and for what passes between them.
#[derive(Debug, Clone)]
pub(in crate::ssd) struct Buffered {
    pub(in crate::ssd) ftl: Ftl,
    pub(in crate::ssd) flash: Flash,
    pub(in crate::ssd) recorder: Option<Box<Recorder>>,
    /// Completions for the host.
    pub(in crate::ssd) answers: Vec<Answer>,
    config: SsdConfig,
    shape: Groups,
    costs: Costs,
    stops: Stops,
    cores: Cores,
    buses: Buses,
    dies: Vec<Die>,
    gather: Gather,
    pace: Pace,
    asked: Vec<Option<Asked>>,
    reads: Slots<Read>,
    /// Those of them that are being sensed: fewer than an event can number, however many wait.
    sensing: Slots<u32>,
    /// Writes that wait for the buffer, in order, and why the first does.
    waiting: VecDeque<Slot>,
    held: Held,
    /// The group that fills, of each domain and stream.
    filling: Vec<[u32; 2]>,
    /// Tasks so far.
    tasks: u64,
    victims: Vec<Option<Victim>>,
    erasing: Slots<Erasing>,
    /// Requests that wait until all groups begun before a number are programmed.
    durable: Vec<(u64, Slot)>,
    /// What operations did since counts were reset: all of them, and the reads of the host.
    effort: [Effort; 2],
    /// The domain at which the next choice begins.
    turn: u32,
    /// Whose the pages in the buffer are, where power cuts ask for that.
    owned: Option<Owned>,
}

impl Buffered {
    /// Of a drive that was filled.
    pub(in crate::ssd) fn new(
        config: &SsdConfig,
        geometry: &Geometry,
        (mut ftl, flash): (Ftl, Flash),
    ) -> Buffered {
        let shape = geometry.groups.expect("there is a buffer");
        ftl.write_through(untimed_room(config, &shape));
        let costs = Costs::new(config, &shape);
        let domains = geometry.domains as usize;
        Buffered {
            ftl,
            flash,
            recorder: None,
            answers: Vec::new(),
            stops: Stops::new(&config.suspend),
            cores: Cores::new(&config.firmware),
            buses: Buses::new(shape.channels),
            dies: vec![Die::default(); shape.dies as usize],
            gather: Gather::new(geometry, shape, rooms(config, &shape)),
            pace: pace_of(config, geometry, &shape, &costs),
            costs,
            shape,
            asked: Vec::new(),
            reads: Slots::new(),
            sensing: Slots::new(),
            waiting: VecDeque::new(),
            held: Held::default(),
            filling: vec![[gather::NONE; 2]; domains],
            tasks: 0,
            victims: vec![None; domains],
            erasing: Slots::new(),
            durable: Vec::new(),
            effort: [Effort::default(); 2],
            turn: 0,
            owned: config.persistence.recovers().then(Owned::default),
            config: config.clone(),
        }
    }

    /// The rooms of the domains are counted when the first request comes: preconditioning is untimed and
    /// does not need them.
    fn begin(&mut self) {
        self.ftl.end_untimed(&mut self.flash);
        if !self.pace.has_begun() {
            let domains = 0..self.ftl.geometry().domains;
            let room = domains.map(|domain| self.ftl.room_of(domain).cast_signed()).collect();
            let geometry = self.ftl.geometry();
            let least = i64::from(geometry.reserved_pages() + geometry.data_pages);
            self.pace.begin(room, least);
            // Victims to come are as those that there are.
            let pages = self.ftl.geometry().data_pages;
            if let Some(valid) = self.ftl.least_valid_of(0).filter(|valid| *valid < pages) {
                self.pace.note_victim(f64::from(valid) / f64::from(pages));
            }
        }
    }

    /// A request comes from the host; trims and flushes do not come this way.
    pub(in crate::ssd) fn arrive(&mut self, slot: Slot, request: &Request, clock: &mut Clock) {
        self.begin();
        let pages = host::touched(self.ftl.geometry(), request);
        let count = (pages.end - pages.start) as u32;
        if self.asked.len() <= slot as usize {
            self.asked.resize(slot as usize + 1, None);
        }
        self.asked[slot as usize] = Some(Asked {
            request: *request,
            reads_left: 0,
            next: pages.start,
            end: pages.end,
            begun: false,
            waited: false,
            marks: [0; 2],
            firmware_ns: 0,
            arrived: clock.now,
            spent: Spent::default(),
        });
        let ns = self.cores.time(request, count);
        if ns == 0 {
            self.begin_request(slot, clock);
        } else if let Some((core, end)) = self.cores.take(slot, ns, clock.now) {
            clock.call(end, event(Happens::CoreDone, core));
        }
    }

    /// An event of the back end has come.
    pub(in crate::ssd) fn happens(&mut self, number: u32, clock: &mut Clock) {
        let about = number & ((1 << KIND_SHIFT) - 1);
        match number >> KIND_SHIFT {
            0 => {
                let (slot, next) = self.cores.done(about, clock.now);
                if let Some(end) = next {
                    clock.call(end, event(Happens::CoreDone, about));
                }
                self.begin_request(slot, clock);
            }
            1 => {
                let (cargo, next) = self.buses.crossed(about, clock.now);
                if let Some(end) = next {
                    clock.call(end, event(Happens::Crossed, about));
                }
                match cargo {
                    Cargo::Read(read) => self.read_crossed(read, clock),
                    Cargo::Load(die) => self.page_loaded(die, clock),
                }
            }
            2 => {
                let read = self.sensing.remove(about);
                self.sensed(read, clock);
            }
            3 => self.cell_done(about, clock),
            4 => self.stopped(about, clock),
            5 => self.lingered(about, clock),
            6 => {
                self.held.wake = None;
                self.admit(clock);
            }
            kind => unreachable!("there is no event of kind {kind}"),
        }
    }

    fn asked(&mut self, slot: Slot) -> &mut Asked {
        self.asked[slot as usize].as_mut().expect("it was asked")
    }

    /// The firmware is done with a command.
    fn begin_request(&mut self, slot: Slot, clock: &mut Clock) {
        let asked = self.asked(slot);
        asked.firmware_ns = clock.now - asked.arrived;
        match asked.request.op {
            Op::Read => self.begin_reads(slot, clock),
            _ => self.begin_write(slot, clock),
        }
    }

    /// Something crosses the bus of a die, when it is its turn.
    fn send(&mut self, die: u32, cargo: Cargo, ns: Time, clock: &mut Clock) {
        self.effort[0].bus_ns += ns;
        let bus = die % self.shape.channels;
        if let Some(end) = self.buses.send(bus, cargo, ns, clock.now) {
            clock.call(end, event(Happens::Crossed, bus));
        }
    }

    /// A request is done.
    fn answer(&mut self, slot: Slot, status: Status, now: Time) {
        let held = self.held.totals(now);
        let Asked { request, firmware_ns, marks, spent, .. } =
            self.asked[slot as usize].take().expect("it was asked");
        let mut parts = [
            (FIRMWARE, firmware_ns),
            (CLEANING_WAIT, spent.cleaning),
            (BUFFER, 0),
            (SUSPEND, spent.suspend),
            (BUS, spent.bus),
            (CELL, spent.cell),
        ];
        if request.op == Op::Write {
            parts[1].1 += held[0] - marks[0];
            parts[2].1 = held[1] - marks[1];
        }
        self.answers.push(Answer::Done { slot, status, spent: parts });
    }

    /// Pages that the map knows and the flash does not.
    pub(in crate::ssd) fn programming(&self) -> Vec<Programming> {
        self.gather.programming().collect()
    }

    /// What each die did up to `end`.
    pub(in crate::ssd) fn unit_accounts(&self, end: Time) -> Vec<UnitAccount> {
        let account = |(number, die): (usize, &Die)| UnitAccount {
            name: self.shape.die_name(number as u32),
            busy_ns: die.account.busy_ns(end),
            cleaning_ns: die.account.cleaning_ns(end),
            waited_ns: die.account.waited_ns,
            operations: die.account.served,
        };
        self.dies.iter().enumerate().map(account).collect()
    }

    /// How long each bus was in use up to `end`.
    pub(in crate::ssd) fn bus_busy_ns(&self, end: Time) -> Vec<Time> {
        self.buses.busy_ns(end)
    }

    /// Blocks whose erasure has begun on some die.
    pub(in crate::ssd) fn erasing(&self) -> Vec<Block> {
        self.begun_erasures()
    }
}

/// How many pages the buffer has room for: of the host's, and of those that cleaning moves.
fn rooms(config: &SsdConfig, shape: &Groups) -> [u32; 2] {
    let pages = |size: options::Size| (size.bytes() / u64::from(shape.unit_bytes)) as u32;
    let host = pages(config.buffer.size);
    [host, config.buffer.copies.map_or(host, pages)]
}

/// The room of the buffer as far as untimed writes fill it.
fn untimed_room(config: &SsdConfig, shape: &Groups) -> BufferRoom {
    let two_pass = config.cell.program == Program::TwoPass;
    let dies = f64::from(shape.dies);
    BufferRoom {
        groups: f64::from(rooms(config, shape)[0]) / f64::from(shape.units),
        between: if two_pass { f64::from(config.cell.distance) * dies } else { 0.0 },
        // With cache registers a die programs one and has the next.
        at_dies: if config.cache_commands { 2.0 * dies } else { dies },
        in_bursts: config.cleaning.pace == PaceRule::Burst,
        volatile: config.is_volatile(),
    }
}

/// How host writes and cleaning share the flash.
fn pace_of(config: &SsdConfig, geometry: &Geometry, shape: &Groups, costs: &Costs) -> Pace {
    let data = i64::from(geometry.data_pages);
    let wanted = (i64::from(geometry.low_blocks) + 1) * data;
    let stripe = i64::from(shape.units * shape.dies);
    Pace::new(&config.cleaning, law(config, shape, costs), wanted, 2 * stripe)
}

/// Die time of a page that the host writes.
fn law(config: &SsdConfig, shape: &Groups, costs: &Costs) -> Law {
    let passes = if config.cell.program == Program::TwoPass { 2 } else { 1 };
    let parity = f64::from(shape.parity_of);
    let with_parity = if parity > 0.0 { parity / (parity - 1.0) } else { 1.0 };
    let mut program = (passes * costs.program) as f64;
    if !config.cache_commands {
        // The die also waits for the data.
        program += f64::from(passes as u32 * shape.planes * shape.rows) * costs.page as f64;
    }
    Law {
        dies: f64::from(shape.dies),
        program_ns: program * with_parity,
        group: f64::from(shape.units),
        row: f64::from(shape.units_per_row()),
        page: f64::from((shape.page_bytes / shape.unit_bytes).max(1)),
        planes: f64::from(shape.planes),
        sense_ns: costs.mean_sense(shape.rows) as f64,
        transfer_ns: costs.page as f64,
    }
}

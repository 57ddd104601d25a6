//! One drive, one load, and cuts by the number of the event: the same again for the same three.

use crate::content::{Content, FILLED, NOTHING, Value};
use crate::drives;
use devices::Model;
use devices::ssd::ids::{Lpn, Ppn};
use devices::ssd::{Geometry, Ssd};
use engine::{Completion, Device, Op, Random, Request, Status, Time, Xoshiro256};
use std::collections::BTreeMap;
use std::fmt;

/// Most events of a run: one with more would never end.
const MOST_EVENTS: u64 = 500_000;

/// What makes a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub seed: u64,
    pub requests: u64,
    /// Events after which the power goes.
    pub cuts: Vec<u64>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cuts: Vec<_> = self.cuts.iter().map(u64::to_string).collect();
        write!(f, "{} {} {}", self.seed, self.requests, cuts.join(","))
    }
}

/// What a run came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Came {
    pub events: u64,
    pub cuts: u64,
    pub recoveries: u64,
    pub ended: bool,
}

struct Run {
    ssd: Ssd,
    geometry: Geometry,
    content: Content,
    /// What each program wrote, by page and number.
    written: BTreeMap<(u64, u32), Value>,
    now: Time,
    open: usize,
    came: Came,
    last_order: Option<u32>,
    /// Erasures of each block at the last cut, and the blocks that were retired.
    worn: (Vec<u32>, Vec<bool>),
    /// The power went, and the content was not compared since.
    unseen: bool,
    done: Vec<Completion>,
}

impl Run {
    fn new(case: &Case) -> Option<Run> {
        let mut config = drives::config(case.seed);
        let geometry = drives::with_least_spare(&mut config)?;
        let ssd = Ssd::new(&config, case.seed).expect("its shape is sound");
        let lpns = (0..geometry.exported_pages()).map(Lpn);
        let volatile = config.buffer.size.bytes() > 0 && !config.buffer.power_loss_protected
            || config.block_buffer.is_volatile();
        let filled = lpns.map(|lpn| ssd.place_of(lpn).map_or(NOTHING, |_| FILLED));
        let content = Content::new(
            filled.collect::<Vec<_>>().into_iter(),
            config.persistence.trims,
            volatile,
        );
        Some(Run {
            ssd,
            geometry,
            content,
            written: BTreeMap::new(),
            now: 0,
            open: 0,
            came: Came::default(),
            last_order: None,
            worn: (Vec::new(), Vec::new()),
            unseen: false,
            done: Vec::new(),
        })
    }

    fn pages(&self, request: &Request) -> std::ops::Range<u64> {
        let sectors = u64::from(self.geometry.sectors_per_page);
        let end = request.lba.0 + u64::from(request.sectors);
        match request.op {
            Op::Trim => request.lba.0.div_ceil(sectors)..end / sectors,
            _ => request.lba.0 / sectors..end.div_ceil(sectors),
        }
    }

    fn submit(&mut self, request: Request) {
        match request.op {
            Op::Write => {
                self.content.change(request.id, self.pages(&request), request.id, request.fua);
            }
            Op::Trim => self.content.change(request.id, self.pages(&request), NOTHING, false),
            Op::Flush => self.content.flush(request.id),
            _ => {}
        }
        self.open += 1;
        self.ssd.submit(self.now, request);
        self.note_programs();
    }

    fn note_programs(&mut self) {
        for it in self.ssd.programs_under_way() {
            let known = self.written.get(&(it.lpn.0, it.order)).copied();
            let value = it.request.or(known).unwrap_or_else(|| self.value_at(it.lpn, it.old));
            let is_copy = it.old.is_some_and(|old| self.ssd.order_at(old) == it.order);
            let is_new = known.is_none();
            if is_new && !is_copy {
                // O1: numbers ascend, over all starts.
                assert!(self.last_order.is_none_or(|last| last < it.order), "order {it:?}");
                self.last_order = Some(it.order);
            }
            self.written.insert((it.lpn.0, it.order), value);
        }
    }

    /// What lies at a place. Cold data that is moved into a worn block keeps its number.
    fn value_at(&self, lpn: Lpn, ppn: Option<Ppn>) -> Value {
        let Some(ppn) = ppn else { return NOTHING };
        let under_way = self.ssd.programs_under_way().into_iter().find(|it| it.ppn == ppn);
        let order = under_way.map_or_else(|| self.ssd.order_at(ppn), |it| it.order);
        self.written.get(&(lpn.0, order)).copied().unwrap_or(FILLED)
    }

    /// The next event, if there is one.
    fn step(&mut self) -> Result<bool, String> {
        let Some(at) = self.ssd.next_event() else { return Ok(false) };
        self.now = at;
        self.came.events += 1;
        let mut done = std::mem::take(&mut self.done);
        self.ssd.advance(at, &mut done);
        self.note_programs();
        self.content.writes_checkpoint(self.ssd.writes_checkpoint());
        for completion in done.drain(..) {
            self.open -= 1;
            self.content.answered(completion.request.id, completion.status.is_ok());
        }
        self.done = done;
        if self.unseen && self.ssd.standing().is_ready {
            self.look()?;
        }
        Ok(true)
    }

    /// Looks at the content after a cut.
    fn look(&mut self) -> Result<(), String> {
        self.unseen = false;
        self.came.recoveries += 1;
        self.came.ended |= self.ssd.standing().has_ended;
        self.ssd.audit().map_err(|problem| format!("audit: {problem}"))?;
        // O5: erase counts do not decrease, and marks of worn blocks stay.
        let (erases, retired) = self.ssd.wear_of_blocks();
        let (before, marked) = &self.worn;
        if erases.iter().zip(before).any(|(now, before)| now < before) {
            return Err("a block has fewer erasures than before the cut".to_owned());
        }
        if retired.iter().zip(marked).any(|(now, before)| *before && !now) {
            return Err("a worn block is in use again".to_owned());
        }
        for lpn in 0..self.geometry.exported_pages() {
            let gathered = self.ssd.gathered_writer(Lpn(lpn));
            let flash = || self.value_at(Lpn(lpn), self.ssd.place_of(Lpn(lpn)));
            let value = gathered.unwrap_or_else(flash);
            self.content.found(lpn, value)?;
        }
        let report = self.ssd.power_report().expect("it recovers");
        if report.durable_lost > 0 {
            return Err(format!("{} durable pages are lost, says the drive", report.durable_lost));
        }
        Ok(())
    }

    fn cut(&mut self, off: Time) {
        self.worn = self.ssd.wear_of_blocks();
        let mut done = std::mem::take(&mut self.done);
        self.ssd.cut(self.now, &mut done);
        for completion in done.drain(..) {
            assert_eq!(completion.status, Status::PowerLost, "nothing else was left");
            self.open -= 1;
        }
        assert_eq!(self.open, 0, "what was asked is answered, or lost");
        self.done = done;
        self.content.cut();
        self.unseen = true;
        self.came.cuts += 1;
        self.now += off;
        self.ssd.power_on(self.now);
    }
}

/// Runs a case; nothing if its drive is not possible.
pub fn run(case: &Case) -> Option<Result<Came, String>> {
    let mut run = Run::new(case)?;
    Some(go(case, &mut run).map(|()| run.came))
}

fn go(case: &Case, run: &mut Run) -> Result<(), String> {
    let random = &mut Xoshiro256::new(case.seed, 2);
    let depth = drives::pick(random, &[1, 4, 16, 32]);
    let off = 1 + random.below(1_000_000);
    let mut cuts = case.cuts.iter().copied().peekable();
    let mut requests = drives::requests(case.seed, &run.geometry, case.requests).into_iter();
    loop {
        while cuts.next_if(|cut| *cut <= run.came.events).is_some() {
            run.cut(off);
        }
        // Nothing is asked before the content was compared.
        if !run.unseen
            && run.open < depth
            && let Some(request) = requests.next()
        {
            run.submit(request);
            continue;
        }
        if run.came.events > MOST_EVENTS {
            return Err(format!("it goes on for ever: {:?}", run.content.open()));
        }
        if !run.step()? {
            if run.open > 0 {
                if std::env::var("DUMP").is_ok() {
                    eprintln!("{:?}", run.ssd);
                }
                return Err(format!("{} requests hang: {:?}", run.open, run.content.open()));
            }
            if requests.len() == 0 {
                break;
            }
        }
    }
    run.ssd.audit().map_err(|problem| format!("audit at the end: {problem}"))
}

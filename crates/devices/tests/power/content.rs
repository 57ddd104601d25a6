//! The allowed content of each page after a power cut: a model that only sees the requests to the drive
//! and what it answered.
//!
//! A write is durable when it is answered, or behind a volatile buffer when it was forced to the flash or a
//! flush is answered that was asked after that; so is a trim where trims are logged, and where they are flushed,
//! with the answer of a flush that was asked after its own. A value may be found unless a durable one was
//! asked after the value was answered. A checkpoint makes durable, once it is whole, the trims that were answered
//! when it began. While a trim of a page is not durable, anything that the page ever
//! held may be found: the copies of a trimmed page may be cleaned away, the newest first. What the first
//! look after a cut finds is what the page holds from then on.

use devices::ssd::config::Trims;
use std::collections::BTreeMap;

/// The content of a page: the number of the request that wrote it, `FILLED` or `NOTHING`.
pub type Value = u64;

/// As the drive was filled.
pub const FILLED: Value = 0;
/// What a page reads that was trimmed, or never written.
pub const NOTHING: Value = u64::MAX;

#[derive(Debug, Clone, Copy)]
struct Change {
    value: Value,
    request: u64,
    asked: u64,
    answered: Option<u64>,
    durable: bool,
    fua: bool,
}

#[derive(Debug, Clone)]
struct Page {
    base: Value,
    /// All that it ever held.
    ever: Vec<Value>,
    changes: Vec<Change>,
}

/// What the pages of a drive may hold.
#[derive(Debug, Clone)]
pub struct Content {
    pages: Vec<Page>,
    trims: Trims,
    /// Answered writes may be lost until a flush is answered.
    volatile: bool,
    /// Counts what is asked and answered.
    tick: u64,
    /// Pages of each request that is not answered.
    open: BTreeMap<u64, std::ops::Range<u64>>,
    /// When each flush was asked that is not answered.
    flushes: BTreeMap<u64, u64>,
    /// When the checkpoint began that is being written.
    checkpoint: Option<u64>,
}

impl Content {
    pub fn new(values: impl Iterator<Item = Value>, trims: Trims, volatile: bool) -> Content {
        let page = |base| Page { base, ever: vec![base, NOTHING], changes: Vec::new() };
        let pages = values.map(page).collect();
        let (open, flushes) = (BTreeMap::new(), BTreeMap::new());
        Content { pages, trims, volatile, tick: 0, open, flushes, checkpoint: None }
    }

    /// Pages are written; with `fua` they are durable when the write completes.
    pub fn change(&mut self, request: u64, pages: std::ops::Range<u64>, value: Value, fua: bool) {
        self.tick += 1;
        for page in pages.clone() {
            let page = &mut self.pages[page as usize];
            page.ever.push(value);
            let asked = self.tick;
            page.changes.push(Change {
                value,
                request,
                asked,
                answered: None,
                durable: false,
                fua,
            });
        }
        self.open.insert(request, pages);
    }

    pub fn flush(&mut self, request: u64) {
        self.tick += 1;
        self.flushes.insert(request, self.tick);
    }

    /// A request is answered; `well` unless the drive refused it.
    pub fn answered(&mut self, request: u64, well: bool) {
        self.tick += 1;
        if let Some(asked) = self.flushes.remove(&request)
            && well
        {
            let (trims, writes) = (self.trims == Trims::Flushed, self.volatile);
            let changes = self.pages.iter_mut().flat_map(|page| &mut page.changes);
            for change in changes.filter(|it| it.answered.is_some_and(|at| at < asked)) {
                change.durable |= if change.value == NOTHING { trims } else { writes };
            }
        }
        let Some(pages) = self.open.remove(&request) else { return };
        for page in pages {
            let changes = &mut self.pages[page as usize].changes;
            for change in changes.iter_mut().filter(|it| it.request == request && well) {
                change.answered = Some(self.tick);
                let is_trim = change.value == NOTHING;
                let logged = self.trims == Trims::Logged;
                change.durable |= if is_trim { logged } else { !self.volatile || change.fua };
            }
        }
    }

    /// A checkpoint is being written, or not any more: then it is whole.
    pub fn writes_checkpoint(&mut self, writes: bool) {
        if writes {
            self.checkpoint.get_or_insert(self.tick);
        } else if let Some(begun) = self.checkpoint.take() {
            let changes = self.pages.iter_mut().flat_map(|page| &mut page.changes);
            let trims = changes.filter(|it| it.value == NOTHING);
            for trim in trims.filter(|it| it.answered.is_some_and(|at| at <= begun)) {
                trim.durable = true;
            }
        }
    }

    /// Compares what is found after a cut; that is what the pages hold from now on.
    pub fn found(&mut self, lpn: u64, value: Value) -> Result<(), String> {
        let page = &mut self.pages[lpn as usize];
        let durable = page.changes.iter().filter(|it| it.durable);
        let last = durable.map(|it| it.asked).max().unwrap_or(0);
        let may_be = |it: &Change| it.answered.is_none_or(|answered| answered >= last);
        let undefined =
            page.changes.iter().any(|it| it.value == NOTHING && !it.durable && may_be(it));
        let admitted: Vec<Value> = (last == 0)
            .then_some(page.base)
            .into_iter()
            .chain(page.changes.iter().filter(|it| may_be(it)).map(|it| it.value))
            .collect();
        if !(admitted.contains(&value) || undefined && page.ever.contains(&value)) {
            return Err(format!("page {lpn} holds {value}, and may hold {admitted:?}"));
        }
        page.base = value;
        page.changes.clear();
        Ok(())
    }

    /// Requests that are not answered: those that change pages, and flushes.
    pub fn open(&self) -> (Vec<u64>, Vec<u64>) {
        (self.open.keys().copied().collect(), self.flushes.keys().copied().collect())
    }

    /// The power went: nothing that is open will be answered.
    pub fn cut(&mut self) {
        self.open.clear();
        self.flushes.clear();
        self.checkpoint = None;
    }
}

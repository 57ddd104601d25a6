//! Clients within the process, connected to the server by a queue instead of a socket.
//!
//! Any thread may submit requests; the server calls each reply callback on its own thread. The
//! limits equal a socket client's; a client that exceeds them waits. Each request gets exactly one
//! reply: an error if the server drops it.

use crate::catalogue::Export;
use crate::clock::WallClock;
use crate::connection::{MOST_BYTES, MOST_OUTSTANDING};
use crate::control::Control;
use crate::overhead::Overhead;
use crate::placement::Placement;
use crate::protocol::{Asked, Command, Refusal};
use crate::room::Load;
use crate::store::Store;
pub use crate::wanted::Wanted;
use crate::zones::{ZoneList, ZoneQuery, ZoneWish};
use engine::{Handle, Op};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum size of a reused answer buffer.
const KEPT_BYTES: usize = 2 << 20;

/// Reply callback: data of a read, empty data for other requests, or an error.
pub type Reply = Box<dyn FnOnce(Result<&[u8], Refusal>) + Send>;

/// Pending reply to a request; dropping it replies with an error.
pub(crate) struct Owed {
    reply: Option<Reply>,
    queue: Arc<Queue>,
    bytes: u32,
    /// True once the server has accepted the request.
    inside: bool,
}

impl Owed {
    /// Replies to a request, with the data of a range if it has one. The data are read into
    /// `buffer`.
    pub(crate) fn answer(
        mut self,
        refusal: Option<Refusal>,
        data: Option<(u64, u32)>,
        store: &Store,
        buffer: &mut Vec<u8>,
    ) {
        buffer.clear();
        let done = match (refusal, data) {
            (Some(refusal), _) => Err(refusal),
            (None, Some((offset, length))) => store.read(offset, length, buffer),
            (None, None) => Ok(()),
        };
        self.give(done.map(|()| &buffer[..]));
        if buffer.capacity() > KEPT_BYTES {
            *buffer = Vec::new();
        }
    }

    /// Replies with the given bytes.
    pub fn tell(mut self, words: &[u8]) {
        self.give(Ok(words));
    }

    fn give(&mut self, outcome: Result<&[u8], Refusal>) {
        let Some(reply) = self.reply.take() else { return };
        reply(outcome);
        let mut state = self.queue.lock();
        let load = if self.inside { &mut state.inside } else { &mut state.before };
        load.remove(self.bytes);
        let bell = state.bell.clone().filter(|_| std::mem::take(&mut state.is_awaited));
        drop(state);
        self.queue.room.notify_one();
        if let Some(bell) = bell {
            bell.wake();
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.give(Err(Refusal::Io));
    }
}

impl fmt::Debug for Owed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owed").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Slot for the requested placement handles.
pub type Seen = Arc<Mutex<Option<Placement>>>;

/// Kind of a local request.
#[derive(Debug)]
pub enum Errand {
    /// A normal request to the device.
    Request,
    /// Reads only the data, without a request to the device, which has read them before.
    Peek,
    /// A write if the stored data equal the expected ones. Otherwise a read, and the flag is set.
    WriteIfSame(Vec<u8>, Arc<AtomicBool>),
    /// A trim after which the range is unreadable until rewritten.
    Mark,
    /// Starts new reclaim units for placement handles.
    NextUnits(Vec<u16>),
    /// Queries the placement handles.
    SeePlacement(Seen),
    /// Query of zones.
    SeeZones(ZoneWish),
}

/// A request waiting for the server.
pub(crate) struct Waiting {
    pub(crate) asked: Asked,
    pub(crate) data: Vec<u8>,
    pub(crate) owed: Owed,
    /// Submission time, and true if the request waited for room.
    pub(crate) received: u64,
    pub(crate) held_back: bool,
    pub errand: Errand,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Accepted outstanding requests, and submitted requests awaiting acceptance.
    inside: Load,
    before: Load,
    closed: bool,
    /// True while the device has no power or recovers.
    is_off: bool,
    /// Number of zone changes made by the device.
    altered: u64,
    /// Handle that wakes a client's thread that must not block, and true while it awaits room.
    bell: Option<Control>,
    is_awaited: bool,
}

impl State {
    /// True while the client is at its limits.
    fn is_full(&self) -> bool {
        let requests = (self.inside.requests + self.before.requests) as usize;
        let held = self.inside.bytes + self.before.bytes;
        !self.closed && (requests >= MOST_OUTSTANDING || held >= MOST_BYTES)
    }
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    room: Condvar,
    /// True if requests may wait; read without the lock.
    has_waiting: AtomicBool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client's side; any number of threads may use it.
#[derive(Clone)]
pub struct LocalClient {
    queue: Arc<Queue>,
    control: Control,
    clock: WallClock,
    export: Export,
}

impl fmt::Debug for LocalClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalClient").field("export", &self.export).finish_non_exhaustive()
    }
}

impl LocalClient {
    /// The client's export.
    pub fn export(&self) -> Export {
        self.export
    }

    /// True if the server has stopped.
    pub fn is_closed(&self) -> bool {
        self.queue.lock().closed
    }

    /// Submits a request; blocks while this client is at its limits. The reply comes on the
    /// server's thread at its completion time; an invalid request fails at once.
    pub fn ask(&self, wanted: Wanted, reply: Reply) {
        let received = self.clock.now();
        let asked = match wanted.checked(self.export) {
            Ok(asked) => asked,
            Err(refusal) => return reply(Err(refusal)),
        };
        let mut state = self.queue.lock();
        let held_back = state.is_full();
        if held_back {
            let woken = self.queue.room.wait_while(state, |state| state.is_full());
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        self.push(state, reply, (asked, wanted.data), (received, held_back, Errand::Request));
    }

    /// Appends a request to the queue.
    fn push(
        &self,
        mut state: MutexGuard<'_, State>,
        reply: Reply,
        (asked, data): (Asked, Vec<u8>),
        (received, held_back, errand): (u64, bool, Errand),
    ) {
        if state.closed {
            drop(state);
            return reply(Err(Refusal::Io));
        }
        let bytes = if matches!(errand, Errand::Peek) { 0 } else { asked.charge() };
        state.before.add(bytes);
        let owed =
            Owed { reply: Some(reply), queue: Arc::clone(&self.queue), bytes, inside: false };
        state.waiting.push_back(Waiting { asked, data, owed, received, held_back, errand });
        self.queue.has_waiting.store(true, Ordering::Release);
        drop(state);
        self.control.wake();
    }

    /// True if a request would not wait. Otherwise the thread that [rings](Self::ring) is woken as
    /// soon as there is room.
    pub fn has_room(&self) -> bool {
        let mut state = self.queue.lock();
        state.is_awaited = state.is_full();
        !state.is_awaited
    }

    /// Registers the client's thread, which is woken when room is available again and when power is
    /// cut or restored.
    pub fn ring(&self, bell: &Control) {
        self.queue.lock().bell = Some(bell.clone());
    }

    /// True while the device has no power or recovers.
    pub fn is_off(&self) -> bool {
        self.queue.lock().is_off
    }

    /// Number of zone changes made by the device.
    pub fn altered(&self) -> u64 {
        self.queue.lock().altered
    }

    /// Submits a request regardless of the limits, after [`has_room`](Self::has_room) returned
    /// true.
    pub fn ask_at_once(&self, wanted: Wanted, held_back: bool, reply: Reply) {
        self.ask_for(Errand::Request, wanted, held_back, reply);
    }

    /// Atomically writes if the stored data equal `expected`; otherwise sets `differs`.
    pub fn write_if_same(
        &self,
        (expected, differs): (Vec<u8>, Arc<AtomicBool>),
        wanted: Wanted,
        held_back: bool,
        reply: Reply,
    ) {
        self.ask_for(Errand::WriteIfSame(expected, differs), wanted, held_back, reply);
    }

    /// Makes a range unreadable until rewritten.
    pub fn mark(&self, (offset, length): (u64, u32), held_back: bool, reply: Reply) {
        self.ask_for(Errand::Mark, Wanted::new(Command::Trim, offset, length), held_back, reply);
    }

    fn ask_for(&self, errand: Errand, wanted: Wanted, held_back: bool, reply: Reply) {
        match wanted.checked(self.export) {
            Ok(asked) => {
                let received = self.clock.now();
                self.push(
                    self.queue.lock(),
                    reply,
                    (asked, wanted.data),
                    (received, held_back, errand),
                );
            }
            Err(refusal) => reply(Err(refusal)),
        }
    }

    /// Returns data that an earlier request has read, without a request to the device.
    pub fn peek(&self, offset: u64, length: u32, reply: Reply) {
        let asked = nothing(offset, length);
        self.push(self.queue.lock(), reply, (asked, Vec::new()), (0, false, Errand::Peek));
    }

    /// Queries the device's placement handles, after earlier requests; `None` if unavailable.
    pub fn see_placement(&self, reply: Box<dyn FnOnce(Option<Placement>) + Send>) {
        let seen = Arc::new(Mutex::new(None));
        let to_tell = Arc::clone(&seen);
        let reply: Reply = Box::new(move |_| {
            let mut seen = to_tell.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = seen.take();
            reply(seen);
        });
        let errand = Errand::SeePlacement(seen);
        self.push(self.queue.lock(), reply, (nothing(0, 0), Vec::new()), (0, false, errand));
    }

    /// Queries zones, up to the query's maximum, after earlier requests; `None` if unavailable.
    pub fn see_zones(
        &self,
        query: ZoneQuery,
        bytes: u32,
        held_back: bool,
        reply: Box<dyn FnOnce(Result<ZoneList, Refusal>) + Send>,
    ) {
        let wish = ZoneWish { query, found: Arc::default() };
        let found = Arc::clone(&wish.found);
        let reply: Reply = Box::new(move |outcome| {
            let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
            reply(outcome.and_then(|_| found.ok_or(Refusal::Io)));
        });
        let wanted = Wanted::zone(Op::Report, query.from, bytes);
        self.ask_for(Errand::SeeZones(wish), wanted, held_back, reply);
    }

    /// Starts new reclaim units for placement handles, after earlier requests. The reply has no
    /// data.
    pub fn next_units(&self, handles: Vec<u16>, reply: Reply) {
        let errand = Errand::NextUnits(handles);
        self.push(self.queue.lock(), reply, (nothing(0, 0), Vec::new()), (0, false, errand));
    }
}

impl LocalClient {
    /// Submits several requests, as [`ask`](LocalClient::ask) does. Replies after the last one,
    /// without data, with the first error if any.
    pub fn ask_all(&self, wanted: impl ExactSizeIterator<Item = Wanted>, reply: Reply) {
        let replies = together(wanted.len(), reply);
        for (one, answered) in wanted.zip(replies) {
            self.ask(one, answered);
        }
    }
}

/// A request for a range that never reaches the device.
fn nothing(offset: u64, length: u32) -> Asked {
    let (command, fua, handle) = (Command::Read, false, Handle::NONE);
    Asked { command, fua, handle, cookie: 0, offset, length, structured: false }
}

/// `count` reply callbacks that call `reply` once, after the last of them.
pub fn together(count: usize, reply: Reply) -> Vec<Reply> {
    if count == 0 {
        reply(Ok(&[]));
        return Vec::new();
    }
    let shared = Arc::new(Mutex::new((count, None, Some(reply))));
    let one = || -> Reply {
        let shared = Arc::clone(&shared);
        Box::new(move |outcome| {
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 -= 1;
            state.1 = state.1.or(outcome.err());
            if state.0 == 0
                && let Some(reply) = state.2.take()
            {
                reply(state.1.map_or(Ok(&[]), Err));
            }
        })
    };
    (0..count).map(|_| one()).collect()
}

/// The server's side of all local clients; dropping it fails their requests.
#[derive(Default)]
pub(crate) struct Locals(Vec<Local>);

struct Local {
    queue: Arc<Queue>,
    /// Place among all clients, and transport latency.
    place: usize,
    overhead: Overhead,
}

impl Locals {
    /// Adds a client at a place.
    pub(crate) fn add(
        &mut self,
        place: usize,
        overhead: Overhead,
        control: &Control,
        (export, clock): (Export, WallClock),
    ) -> LocalClient {
        let queue = Arc::<Queue>::default();
        self.0.push(Local { queue: Arc::clone(&queue), place, overhead });
        LocalClient { queue, control: control.clone(), clock, export }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Transport latency of the local client at a place, if any.
    pub(crate) fn overhead(&self, place: usize) -> Option<&Overhead> {
        self.0.iter().find(|local| local.place == place).map(|local| &local.overhead)
    }

    /// Places of all local clients.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let places: Vec<usize> = self.0.iter().map(|local| local.place).collect();
        places.into_iter().enumerate()
    }

    /// Notes that the device's power is cut or restored.
    pub fn power(&self, is_off: bool) {
        for local in &self.0 {
            let mut state = local.queue.lock();
            state.is_off = is_off;
            let bell = state.bell.clone();
            drop(state);
            if let Some(bell) = bell {
                bell.wake();
            }
        }
    }

    /// Updates the number of zone changes made by the device.
    pub fn altered(&self, count: u64) {
        for local in &self.0 {
            let mut state = local.queue.lock();
            let bell = state.bell.clone().filter(|_| state.altered != count);
            state.altered = count;
            drop(state);
            if let Some(bell) = bell {
                bell.wake();
            }
        }
    }

    /// Takes the next request of a client that `has_room`, given its outstanding load.
    pub(crate) fn next(
        &self,
        number: usize,
        has_room: impl Fn(Load, &Asked) -> bool,
    ) -> Option<Waiting> {
        let queue = &self.0[number].queue;
        if !queue.has_waiting.load(Ordering::Acquire) {
            return None;
        }
        let mut state = queue.lock();
        queue.has_waiting.store(!state.waiting.is_empty(), Ordering::Release);
        let front = state.waiting.front()?;
        let is_free =
            matches!(front.errand, Errand::Peek | Errand::NextUnits(_) | Errand::SeePlacement(_));
        if !is_free && !has_room(state.inside, &front.asked) {
            return None;
        }
        let mut next = state.waiting.pop_front()?;
        state.before.remove(next.owed.bytes);
        state.inside.add(next.owed.bytes);
        next.owed.inside = true;
        Some(next)
    }
}

impl Drop for Locals {
    fn drop(&mut self) {
        for local in &self.0 {
            let mut state = local.queue.lock();
            state.closed = true;
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            // Dropping a request replies to it, which takes the lock.
            drop(waiting);
            local.queue.room.notify_all();
            let bell = local.queue.lock().bell.clone();
            if let Some(bell) = bell {
                bell.wake();
            }
        }
    }
}

//! A connection, which carries one queue of a controller: its input, data transfers and waiting
//! commands.

use super::command::{ENTRY_BYTES, Entry, SGL_IN_CAPSULE, SGL_TRANSPORT, Status};
use super::limits::QUEUE_ENTRIES;
use super::namespaces::Subsystem;
use super::output::Output;
use super::owed::{Grant, Lane, Owed};
use super::requests;
use super::wire::{Event, Fatal, MOST_IN_CAPSULE, Wire};
use crate::connection::Flow;
use crate::control::Control;
use crate::listen::ClientStream;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of one socket read.
const INPUT_BYTES: usize = 64 << 10;
/// Maximum bytes of writes in transit, for all queues and for one. Each queue may always have one
/// write in transit.
const MOST_GRANTED: usize = 64 << 20;
const MOST_GRANTED_EACH: usize = 16 << 20;

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Not connected to a queue yet.
    New,
    /// The admin queue of a controller.
    Admin(u16),
    /// An I/O queue: controller id and queue number.
    Queue(u16, u16),
}

impl Role {
    /// Controller of the queue.
    pub fn controller(self) -> Option<u16> {
        match self {
            Role::New => None,
            Role::Admin(id) | Role::Queue(id, _) => Some(id),
        }
    }
}

/// A data transfer of a command in progress.
struct Transfer {
    entry: Entry,
    data: Vec<u8>,
    length: usize,
    grant: Grant,
    is_damaged: bool,
}

/// A command that waits for room at a server.
struct Waiting {
    entry: Entry,
    data: Vec<u8>,
    grant: Option<Grant>,
    /// First command of a fused pair, with its expected data.
    first: Option<(Entry, Vec<u8>)>,
}

/// First command of a fused pair, and its expected data; `None` if it already failed.
struct First {
    entry: Entry,
    expected: Option<Vec<u8>>,
}

/// A command for the target: an admin command, or Connect. Its data are complete.
pub struct Told {
    pub entry: Entry,
    pub data: Vec<u8>,
    pub is_damaged: bool,
}

/// A connection; the target keeps its state here between turns.
pub struct Link {
    pub stream: ClientStream,
    pub output: Arc<Output>,
    pub role: Role,
    /// Time of the connection.
    pub since: u64,
    /// Maximum number of commands in the queue.
    pub size: u16,
    /// Shared state of an I/O queue.
    pub lane: Option<Arc<Lane>>,
    wire: Wire,
    /// True after the first message.
    has_spoken: bool,
    input: Vec<u8>,
    unread: Range<usize>,
    transfers: Vec<Option<Transfer>>,
    /// Transfer whose data arrive now.
    current: usize,
    /// Commands that must not send their data yet, with the bytes of data; and commands that wait
    /// for room.
    wanting: VecDeque<(Entry, usize)>,
    waiting: VecDeque<Waiting>,
    /// First command of an incomplete fused pair.
    half_pair: Option<First>,
    /// Bytes of writes in transit, for all queues and for this one.
    granted: Arc<AtomicUsize>,
    own: Arc<AtomicUsize>,
}

impl Link {
    pub fn new(
        stream: ClientStream,
        bell: &Control,
        granted: &Arc<AtomicUsize>,
        now: u64,
    ) -> io::Result<Self> {
        stream.prepare()?;
        let output = Arc::new(Output::new(stream.handle()?, bell));
        Ok(Link {
            stream,
            output,
            role: Role::New,
            since: now,
            size: QUEUE_ENTRIES,
            lane: None,
            wire: Wire::new(),
            has_spoken: false,
            input: vec![0; INPUT_BYTES],
            unread: 0..0,
            transfers: Vec::new(),
            current: 0,
            wanting: VecDeque::new(),
            waiting: VecDeque::new(),
            half_pair: None,
            granted: Arc::clone(granted),
            own: Arc::default(),
        })
    }

    /// Turns the connection into a queue of this size; I/O queues have a lane.
    pub fn become_queue(&mut self, role: Role, size: u16, lane: Option<Lane>) {
        (self.role, self.size, self.lane) = (role, size, lane.map(Arc::new));
    }

    /// True after the host's first message.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Reads arrived data.
    pub fn fill(&mut self) -> Flow {
        self.input.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        match self.stream.read(&mut self.input[self.unread.end..]) {
            Ok(0) if self.unread.end < self.input.len() => Flow::Gone,
            Ok(count) => {
                self.has_spoken |= count > 0;
                self.unread.end += count;
                Flow::Open
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                Flow::Open
            }
            Err(_) => Flow::Gone,
        }
    }

    /// Processes input until a command for the target.
    pub fn next(&mut self, subsystem: &Subsystem) -> Option<Told> {
        while self.output.readiness().reads {
            let mut words = Vec::new();
            let (count, event) = self.wire.next(&self.input[self.unread.clone()], &mut words);
            let consumed = self.unread.start..self.unread.start + count;
            self.unread.start += count;
            if !words.is_empty() {
                self.output.say(&words);
            }
            match event {
                Event::More => return None,
                Event::Open(terms) => self.output.agree(terms),
                Event::Close => self.output.leave(),
                Event::Command(entry, data, damaged) => {
                    let data = consumed.start + data.start..consumed.start + data.end;
                    let told = self.command(Entry(*entry), data, damaged, subsystem);
                    if told.is_some() {
                        return told;
                    }
                }
                Event::Begins(id, transfer, offset, length) => {
                    self.begins(id, transfer, (offset, length), consumed);
                }
                Event::Data => {
                    if let Some(Some(transfer)) = self.transfers.get_mut(self.current) {
                        transfer.data.extend_from_slice(&self.input[consumed]);
                    }
                }
                Event::Ends { damaged, last } => self.ends(damaged, last, subsystem),
            }
        }
        None
    }

    fn refuse(&mut self, fatal: Fatal, field: u32, quoted: Range<usize>) {
        let mut words = Vec::new();
        self.wire.refuse(fatal, field, &self.input[quoted], &mut words);
        self.output.say(&words);
        self.output.leave();
    }

    fn command(
        &mut self,
        entry: Entry,
        data: Range<usize>,
        is_damaged: bool,
        subsystem: &Subsystem,
    ) -> Option<Told> {
        if self.output.take() > u32::from(self.size) {
            // More commands than the queue's size.
            self.refuse(Fatal::Sequence, 0, 0..0);
            return None;
        }
        let Role::Queue(..) = self.role else {
            return Some(Told { entry, data: self.input[data].to_vec(), is_damaged });
        };
        if self.half_pair.is_some() || entry.is_fused() {
            self.fuse(entry, data, is_damaged, subsystem);
        } else {
            self.take(entry, data, is_damaged, subsystem);
        }
        None
    }

    /// Handles an unfused command.
    fn take(&mut self, entry: Entry, data: Range<usize>, is_damaged: bool, subsystem: &Subsystem) {
        match self.placed(&entry, data, is_damaged, subsystem) {
            Ok(Some(data)) => {
                self.begin(Waiting { entry, data, grant: None, first: None }, subsystem);
            }
            Ok(None) => {}
            Err(status) => self.output.complete(entry.id(), 0, status),
        }
    }

    /// Handles a command of a fused pair, or a command in place of the pair's second one. The data
    /// of both are in their capsules.
    #[cold]
    fn fuse(&mut self, entry: Entry, data: Range<usize>, is_damaged: bool, subsystem: &Subsystem) {
        let first = self.half_pair.take();
        if entry.fuse() != 2 {
            if let Some(First { entry, .. }) = first {
                self.output.complete(entry.id(), 0, Status::MISSING_FUSED);
            }
            return match entry.fuse() {
                0 => self.take(entry, data, is_damaged, subsystem),
                1 => {
                    let placed = requests::check_fused(&entry, true, subsystem)
                        .and_then(|()| self.placed(&entry, data, is_damaged, subsystem));
                    let expected = placed.as_ref().ok().cloned().flatten();
                    if let Err(status) = placed {
                        self.output.complete(entry.id(), 0, status);
                    }
                    self.half_pair = Some(First { entry, expected });
                }
                _ => self.output.complete(entry.id(), 0, Status::INVALID_FIELD),
            };
        }
        let Some(First { entry: before, expected }) = first else {
            return self.output.complete(entry.id(), 0, Status::MISSING_FUSED);
        };
        let Some(expected) = expected else {
            // The first command's completion carries the reason.
            return self.output.complete(entry.id(), 0, Status::FAILED_FUSED);
        };
        let is_pair = before.namespace() == entry.namespace() && before.blocks() == entry.blocks();
        let placed = if is_pair { Ok(()) } else { Err(Status::INVALID_FIELD) }
            .and_then(|()| requests::check_fused(&entry, false, subsystem))
            .and_then(|()| self.placed(&entry, data, is_damaged, subsystem));
        match placed {
            Ok(Some(data)) => {
                let first = Some((before, expected));
                self.begin(Waiting { entry, data, grant: None, first }, subsystem);
            }
            Ok(None) => {}
            Err(status) => {
                self.output.complete(before.id(), 0, Status::FAILED_FUSED);
                self.output.complete(entry.id(), 0, status);
            }
        }
    }

    /// Data of an I/O command; `None` if a transport transfer follows.
    fn placed(
        &mut self,
        entry: &Entry,
        data: Range<usize>,
        is_damaged: bool,
        subsystem: &Subsystem,
    ) -> Result<Option<Vec<u8>>, Status> {
        let bytes = requests::sends(entry, subsystem)?;
        if bytes == 0 {
            return Ok(Some(Vec::new()));
        }
        let (kind, offset, length) = entry.data();
        let bytes = requests::comes(entry, bytes, length as usize)?;
        match kind {
            SGL_TRANSPORT => {
                self.wanting.push_back((*entry, bytes));
                Ok(None)
            }
            SGL_IN_CAPSULE if offset > (data.len() as u64).saturating_sub(bytes as u64) => {
                Err(Status::SGL_OFFSET_INVALID)
            }
            SGL_IN_CAPSULE if data.len() < bytes => Err(Status::SGL_OFFSET_INVALID),
            SGL_IN_CAPSULE if is_damaged => Err(Status::TRANSIENT_TRANSPORT_ERROR),
            SGL_IN_CAPSULE => {
                let from = data.start + offset as usize;
                Ok(Some(self.input[from..from + bytes].to_vec()))
            }
            _ => Err(Status::SGL_TYPE_INVALID),
        }
    }

    fn begins(&mut self, id: u16, number: u16, (offset, length): (u32, u32), head: Range<usize>) {
        let found = self.transfers.get(usize::from(number)).and_then(Option::as_ref);
        let Some(transfer) = found.filter(|it| it.entry.id() == id) else {
            return self.refuse(Fatal::InvalidHeader, 10, head);
        };
        if offset as usize != transfer.data.len() {
            return self.refuse(Fatal::DataOutOfRange, 12, head);
        }
        if offset as usize + length as usize > transfer.length {
            return self.refuse(Fatal::DataLimit, 16, head);
        }
        self.current = usize::from(number);
    }

    fn ends(&mut self, is_damaged: bool, is_last: bool, subsystem: &Subsystem) {
        let Some(slot) = self.transfers.get_mut(self.current) else { return };
        let Some(transfer) = slot else { return };
        transfer.is_damaged |= is_damaged;
        let is_whole = transfer.data.len() == transfer.length;
        if is_last != is_whole {
            return self.refuse(Fatal::DataOutOfRange, 1, 0..0);
        }
        let Some(Transfer { entry, data, grant, is_damaged, .. }) = slot.take_if(|_| is_whole)
        else {
            return;
        };
        if is_damaged {
            self.output.complete(entry.id(), 0, Status::TRANSIENT_TRANSPORT_ERROR);
        } else {
            self.begin(Waiting { entry, data, grant: Some(grant), first: None }, subsystem);
        }
    }

    /// Executes a command, or lets it wait.
    fn begin(&mut self, one: Waiting, subsystem: &Subsystem) {
        let Some(lane) = &self.lane else { return };
        if !self.waiting.is_empty() || !self.has_room(&one.entry, lane, subsystem) {
            return self.waiting.push_back(one);
        }
        self.execute(one, false, subsystem);
    }

    fn execute(&self, one: Waiting, held_back: bool, subsystem: &Subsystem) {
        let Some(lane) = &self.lane else { return };
        let output = Arc::clone(&self.output);
        let owed = Owed { output, lane: Arc::clone(lane), grant: one.grant, held_back };
        match one.first {
            Some(first) => {
                requests::execute_fused(&first.0, first.1, (&one.entry, one.data), subsystem, owed);
            }
            None => requests::execute(&one.entry, one.data, subsystem, owed),
        }
    }

    /// True if a command may start: its clients have room, and the host accepts data.
    fn has_room(&self, entry: &Entry, lane: &Lane, subsystem: &Subsystem) -> bool {
        let may_tell =
            !requests::is_reported(entry) || lane.may_tell() && self.output.readiness().reads;
        may_tell && requests::has_room(entry, lane, subsystem)
    }

    /// Executes waiting commands as far as possible.
    pub fn proceed(&mut self, subsystem: &Subsystem) {
        while let Some(lane) = &self.lane
            && let Some(first) = self.waiting.front()
            && self.has_room(&first.entry, lane, subsystem)
            && let Some(first) = self.waiting.pop_front()
        {
            self.execute(first, true, subsystem);
        }
        while let Some(&(entry, bytes)) = self.wanting.front() {
            let own = self.own.load(Ordering::Relaxed);
            let all = self.granted.load(Ordering::Relaxed);
            if own > 0 && (own + bytes > MOST_GRANTED_EACH || all + bytes > MOST_GRANTED) {
                self.output.await_an_end();
                break;
            }
            self.wanting.pop_front();
            let grant = Grant::new(bytes, &self.granted, &self.own);
            let (data, length, is_damaged) = (Vec::new(), bytes, false);
            let transfer = Transfer { entry, data, length, grant, is_damaged };
            let free = self.transfers.iter().position(Option::is_none);
            let number = free.unwrap_or_else(|| {
                self.transfers.push(None);
                self.transfers.len() - 1
            });
            self.transfers[number] = Some(transfer);
            self.output.ready(entry.id(), number as u16, bytes as u32);
        }
        while let Some(reading) = self.output.drain() {
            self.output.fetch(reading);
        }
    }

    /// True if input waits until the host accepts data.
    pub fn has_input(&self) -> bool {
        !self.unread.is_empty()
    }

    /// True if commands wait for another completion.
    pub fn is_kept_waiting(&self) -> bool {
        !self.wanting.is_empty()
    }
}

const _: () = assert!(INPUT_BYTES > 2 * (MOST_IN_CAPSULE + ENTRY_BYTES));

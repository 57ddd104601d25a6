//! Controllers and admin commands.

use super::command::{EVERY_NAMESPACE, Entry, FABRICS, SGL_TRANSPORT, Status, admin, fabrics};
use super::identify;
use super::limits::{DISCOVERY_NAME, MOST_BYTES, MOST_EVENTS, MOST_QUEUES, QUEUE_ENTRIES};
use super::logs::{self, Errors};
use super::namespaces::Subsystem;
use super::output::Output;
use super::placement;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Offsets of properties.
const CAPABILITIES: u32 = 0x00;
const VERSION: u32 = 0x08;
const CONFIGURATION: u32 = 0x14;
const STATUS: u32 = 0x1c;

/// Bits of a controller's configuration and status.
const ENABLED: u32 = 1;
const SHUT_DOWN: u32 = 3 << 14;
const IS_READY: u32 = 1;
const SHUTDOWN_COMPLETE: u32 = 2 << 2;

/// Features.
pub const ARBITRATION: u8 = 0x01;
pub const POWER: u8 = 0x02;
pub const TEMPERATURE: u8 = 0x04;
pub const ERROR_RECOVERY: u8 = 0x05;
pub const WRITE_CACHE: u8 = 0x06;
pub const QUEUES: u8 = 0x07;
pub const ATOMICITY: u8 = 0x0a;
pub const EVENTS: u8 = 0x0b;
pub const KEEP_ALIVE: u8 = 0x0f;
pub const COMMAND_SETS: u8 = 0x19;
pub const PLACEMENT: u8 = 0x1d;

/// Asynchronous event of a drive that became read-only (health: reliability), with its log page;
/// and the bit that enables it.
const ENDED_EVENT: u64 = 1 | (logs::HEALTH as u64) << 16;
const ENDED_BIT: u32 = 1 << 3;
/// Asynchronous event of changed zones, with its log page, and the bit that enables it. The second
/// word holds the namespace.
pub const ALTERED_EVENT: u64 = 2 | 0xef << 8 | (logs::CHANGED_ZONES as u64) << 16;
pub const ALTERED_BIT: u32 = 1 << 27;

const NS_PER_MS: u64 = 1_000_000;

/// A controller, created by a host's admin queue.
pub struct Controller {
    pub id: u16,
    pub host: [u8; 16],
    pub discovers: bool,
    pub errors: Arc<Mutex<Errors>>,
    configuration: u32,
    status: u32,
    /// Keep-alive timeout in ms (0: none), and time of the last sign of life.
    patience_ms: u32,
    heard: u64,
    queues: u32,
    /// Outstanding requests for asynchronous events, enabled events, and true while the last
    /// event's log page is unread.
    waiting: VecDeque<u16>,
    events: u32,
    is_reported: bool,
    /// Zone changes by namespace: the drive's count at the last read of the log, and true once the
    /// host was notified.
    altered: Vec<(u64, bool)>,
}

/// Effect of a command on other objects than its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Nothing,
    /// The controller is reset: its I/O queues end.
    Reset,
}

/// Completion of a command.
enum End {
    Result(u64),
    Data(Vec<u8>),
    /// The command completes later.
    Waits,
}

impl Controller {
    pub fn new(id: u16, host: [u8; 16], discovers: bool, patience_ms: u32, now: u64) -> Self {
        Controller {
            id,
            host,
            discovers,
            errors: Arc::default(),
            configuration: 0,
            status: 0,
            patience_ms,
            heard: now,
            queues: 0,
            waiting: VecDeque::new(),
            events: 0xff,
            is_reported: false,
            altered: Vec::new(),
        }
    }

    /// True once the controller is enabled, so that I/O queues may connect.
    pub fn is_ready(&self) -> bool {
        self.status & IS_READY != 0
    }

    /// Restarts the keep-alive timeout.
    pub fn hear(&mut self, now: u64) {
        self.heard = now;
    }

    /// Keep-alive deadline.
    pub fn deadline(&self) -> Option<u64> {
        let patience = u64::from(self.patience_ms) * NS_PER_MS;
        (patience > 0).then(|| self.heard + patience)
    }

    /// Notifies the host that a drive became read-only.
    pub fn warn(&mut self, output: &Output) {
        if self.is_reported || self.events & ENDED_BIT == 0 {
            return;
        }
        if let Some(id) = self.waiting.pop_front() {
            self.is_reported = true;
            output.complete(id, ENDED_EVENT, Status::SUCCESS);
        }
    }

    /// Notifies the host of zones changed by the drives.
    pub fn tell_altered(&mut self, subsystem: &Subsystem, output: &Output) {
        if self.events & ALTERED_BIT == 0 || self.discovers {
            return;
        }
        self.altered.resize(subsystem.namespaces.len(), (0, false));
        let each = self.altered.iter_mut().zip(&subsystem.namespaces).zip(1..);
        for (((seen, is_reported), namespace), number) in each {
            if !*is_reported
                && namespace.altered() > *seen
                && let Some(id) = self.waiting.pop_front()
            {
                *is_reported = true;
                output.complete(id, ALTERED_EVENT | number << 32, Status::SUCCESS);
            }
        }
    }

    /// Log page of the zones that a namespace's drive has changed.
    fn altered_log(&mut self, entry: &Entry, subsystem: &Subsystem) -> Result<Vec<u8>, Status> {
        let number = entry.namespace();
        let namespace = subsystem.namespace(number)?;
        self.altered.resize(subsystem.namespaces.len(), (0, false));
        let (seen, is_reported) = &mut self.altered[number as usize - 1];
        let found = namespace.zones_altered(*seen)?;
        // The event is cleared, unless the host retains it.
        if entry.word(10) & 1 << 15 == 0 {
            (*seen, *is_reported) = (found.count, false);
        }
        let block = u64::from(namespace.part.wish.block);
        let starts = found.starts.map(|all| {
            all.iter().map(|start| (start - namespace.part.first) / block).collect::<Vec<_>>()
        });
        Ok(logs::changed_zones(starts.as_deref()))
    }

    /// Executes a command of the admin queue.
    pub fn execute(&mut self, entry: &Entry, subsystem: &mut Subsystem, output: &Output) -> Effect {
        let was_ready = self.is_ready();
        let outcome = match entry.opcode() {
            _ if entry.is_fused() => Err(Status::INVALID_FIELD),
            FABRICS => self.property(entry, subsystem),
            _ if !was_ready => Err(Status::SEQUENCE_ERROR),
            admin::IDENTIFY => self.identify(entry, subsystem),
            admin::GET_LOG_PAGE => self.log_page(entry, subsystem),
            admin::KEEP_ALIVE => Ok(End::Result(0)),
            admin::ASYNC_EVENT_REQUEST if self.waiting.len() < MOST_EVENTS => {
                self.waiting.push_back(entry.id());
                Ok(End::Waits)
            }
            admin::ASYNC_EVENT_REQUEST => Err(Status::EVENT_LIMIT_EXCEEDED),
            admin::SET_FEATURES if !self.discovers || is_common(entry) => self.set(entry),
            admin::GET_FEATURES if entry.word(10) as u8 == PLACEMENT && subsystem.places() => {
                placement_in_use(entry, subsystem)
            }
            admin::GET_FEATURES if !self.discovers || is_common(entry) => self.get(entry),
            opcode @ (admin::DIRECTIVE_SEND | admin::DIRECTIVE_RECEIVE)
                if !self.discovers && subsystem.places() =>
            {
                direct(entry, subsystem, opcode == admin::DIRECTIVE_RECEIVE)
            }
            // Abort succeeds without effect: all commands complete soon.
            admin::ABORT if !self.discovers => Ok(End::Result(1)),
            _ => Err(Status::INVALID_OPCODE),
        };
        match outcome {
            Ok(End::Result(value)) => output.complete(entry.id(), value, Status::SUCCESS),
            Ok(End::Data(data)) => match entry.data() {
                (SGL_TRANSPORT, _, room) => {
                    let count = data.len().min(room as usize);
                    output.complete_with(entry.id(), &data[..count]);
                }
                _ => output.complete(entry.id(), 0, Status::SGL_TYPE_INVALID),
            },
            Ok(End::Waits) => {}
            Err(status) => output.complete(entry.id(), 0, status),
        }
        if was_ready && !self.is_ready() { Effect::Reset } else { Effect::Nothing }
    }

    fn property(&mut self, entry: &Entry, subsystem: &Subsystem) -> Result<End, Status> {
        let (is_long, offset) = (entry.word(10) & 7 == 1, entry.word(11));
        let value = match entry.fabrics_type() {
            fabrics::PROPERTY_GET => match (offset, is_long) {
                (CAPABILITIES, true) => identify::capabilities(subsystem.has_zones()),
                (VERSION, false) => identify::VERSION.into(),
                (CONFIGURATION, false) => self.configuration.into(),
                (STATUS, false) => self.status.into(),
                _ => return Err(Status::INVALID_FIELD),
            },
            fabrics::PROPERTY_SET if offset == CONFIGURATION && !is_long => {
                self.configure(entry.word(12));
                0
            }
            fabrics::PROPERTY_SET => return Err(Status::INVALID_FIELD),
            fabrics::CONNECT => return Err(Status::SEQUENCE_ERROR),
            _ => return Err(Status::INVALID_OPCODE),
        };
        Ok(End::Result(value))
    }

    fn configure(&mut self, value: u32) {
        let before = std::mem::replace(&mut self.configuration, value);
        if (before ^ value) & ENABLED != 0 {
            self.status = if value & ENABLED != 0 { IS_READY } else { 0 };
            // Event requests from before a reset are dropped.
            self.waiting.clear();
            self.is_reported = false;
        }
        if value & SHUT_DOWN != 0 {
            self.status |= SHUTDOWN_COMPLETE;
        }
    }

    fn identify(&self, entry: &Entry, subsystem: &Subsystem) -> Result<End, Status> {
        let (what, set) = (entry.word(10) as u8, (entry.word(11) >> 24) as u8);
        let (number, count) = (entry.namespace(), subsystem.namespaces.len());
        let found = || subsystem.namespace(number);
        if self.discovers && what != identify::CONTROLLER {
            return Err(Status::INVALID_FIELD);
        }
        let by_set =
            [identify::NAMESPACE_OF_SET, identify::CONTROLLER_OF_SET, identify::ACTIVE_OF_SET];
        let is_known = set == identify::BLOCKS || set == identify::ZONES && subsystem.has_zones();
        if by_set.contains(&what) && !is_known {
            return Err(Status::INVALID_FIELD);
        }
        // Namespaces of one command set, or of all.
        let numbered = subsystem.namespaces.iter().zip(1..);
        let of_set = |set: u8| {
            numbered.filter(move |(it, _)| it.command_set() == set).map(|(_, number)| number)
        };
        Ok(End::Data(match what {
            identify::NAMESPACE => {
                let it = found()?;
                let group = if subsystem.places() { it.group as u16 } else { 0 };
                identify::namespace(
                    &it.part,
                    it.export.read_only,
                    &it.id,
                    (group, it.zones.as_ref()),
                )
            }
            identify::CONTROLLER => {
                let groups = subsystem.places().then(|| subsystem.groups());
                let with = (self.discovers, groups);
                identify::controller(
                    &self.named(subsystem),
                    self.id,
                    count,
                    with,
                    subsystem.has_zones(),
                )
            }
            identify::ACTIVE | identify::ACTIVE_OF_SET if number >= EVERY_NAMESPACE - 1 => {
                return Err(Status::INVALID_NAMESPACE);
            }
            identify::ACTIVE => identify::active(1..=count as u32, number),
            identify::ACTIVE_OF_SET => identify::active(of_set(set), number),
            identify::DESCRIPTORS => {
                let it = found()?;
                identify::descriptors(&it.id, it.command_set())
            }
            identify::NAMESPACE_OF_SET => {
                let it = found()?;
                match (&it.zones, set) {
                    (_, identify::BLOCKS) => identify::nothing(),
                    (Some(limits), _) => identify::zoned(limits, it.part.wish.block),
                    (None, _) => return Err(Status::INVALID_FIELD),
                }
            }
            identify::CONTROLLER_OF_SET if set == identify::BLOCKS => identify::limits(),
            identify::CONTROLLER_OF_SET => identify::zoned_limits(subsystem.most_appended()),
            identify::NAMESPACE_IN_GENERAL => identify::in_general(found()?.export.read_only),
            identify::COMMAND_SETS => identify::command_sets(subsystem.has_zones()),
            _ => return Err(Status::INVALID_FIELD),
        }))
    }

    /// Name of the subsystem.
    fn named(&self, subsystem: &Subsystem) -> identify::Name {
        if !self.discovers {
            return subsystem.name.clone();
        }
        let serial = subsystem.name.serial.clone();
        identify::Name { subsystem: DISCOVERY_NAME.to_owned(), serial }
    }

    fn log_page(&mut self, entry: &Entry, subsystem: &mut Subsystem) -> Result<End, Status> {
        let (first, second) = (entry.word(10), entry.word(11));
        let words = u64::from(first >> 16 | (second & 0xffff) << 16) + 1;
        let offset = u64::from(entry.word(12)) | u64::from(entry.word(13)) << 32;
        let (_, _, room) = entry.data();
        if room > MOST_BYTES || 4 * words > u64::from(MOST_BYTES) || !offset.is_multiple_of(4) {
            return Err(Status::INVALID_FIELD);
        }
        let errors = || self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = match first as u8 {
            logs::DISCOVERY if self.discovers => {
                let (address, port) = &subsystem.place;
                logs::discovery(&subsystem.name.subsystem, address, port)
            }
            _ if self.discovers => return Err(Status::INVALID_LOG_PAGE),
            logs::SUPPORTED => {
                let mut pages = logs::EVERYWHERE.to_vec();
                if subsystem.has_zones() {
                    pages.push(logs::CHANGED_ZONES);
                }
                if subsystem.places() {
                    pages.extend(placement::CONFIGURATIONS..=placement::EVENTS);
                }
                logs::supported(&pages)
            }
            logs::ERRORS => errors().page(),
            logs::HEALTH => {
                let health = subsystem.health(entry.namespace())?;
                let count = errors().count();
                // The event is cleared, unless the host retains it.
                self.is_reported &= first & 1 << 15 != 0;
                logs::health(&health, count)
            }
            logs::CHANGED_ZONES if subsystem.has_zones() => self.altered_log(entry, subsystem)?,
            logs::FIRMWARE => logs::firmware(identify::firmware()),
            logs::EFFECTS => {
                let set = (entry.word(14) >> 24) as u8;
                logs::effects(subsystem.places(), set == identify::ZONES && subsystem.has_zones())
            }
            other => placement::page(other, entry, subsystem).ok_or(Status::INVALID_LOG_PAGE)??,
        };
        let Some(from) = usize::try_from(offset).ok().filter(|from| *from <= page.len()) else {
            return Err(Status::INVALID_FIELD);
        };
        page.drain(..from);
        page.resize(4 * words as usize, 0);
        Ok(End::Data(page))
    }

    fn set(&mut self, entry: &Entry) -> Result<End, Status> {
        let value = entry.word(11);
        match entry.word(10) as u8 {
            QUEUES if value & 0xffff == 0xffff || value >> 16 == 0xffff => {
                return Err(Status::INVALID_FIELD);
            }
            QUEUES => {
                self.queues = identify::queues(value);
                return Ok(End::Result(self.queues.into()));
            }
            EVENTS => self.events = value,
            KEEP_ALIVE => self.patience_ms = value,
            // Only one combination exists.
            COMMAND_SETS if value.trailing_zeros() >= 9 => {}
            ARBITRATION | POWER | TEMPERATURE | ERROR_RECOVERY | WRITE_CACHE | ATOMICITY
            | PLACEMENT => {
                return Err(Status::FEATURE_NOT_CHANGEABLE);
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(End::Result(0))
    }

    fn get(&self, entry: &Entry) -> Result<End, Status> {
        let value = match entry.word(10) as u8 {
            // No burst limit.
            ARBITRATION => 7,
            POWER | ERROR_RECOVERY | ATOMICITY | COMMAND_SETS => 0,
            TEMPERATURE => 343,
            WRITE_CACHE => 1,
            QUEUES => self.queues,
            EVENTS => self.events,
            KEEP_ALIVE => self.patience_ms,
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(End::Result(value.into()))
    }
}

/// Placement handles of an endurance group, as the value of the feature.
fn placement_in_use(entry: &Entry, subsystem: &Subsystem) -> Result<End, Status> {
    let namespace = subsystem.of_group(entry.word(11) & 0xffff)?;
    Ok(End::Result(u64::from(namespace.handles.is_some())))
}

/// Reports or sets directives of a namespace.
fn direct(entry: &Entry, subsystem: &Subsystem, receives: bool) -> Result<End, Status> {
    let namespace = subsystem.namespace(entry.namespace())?;
    let mut page = placement::directive(entry, namespace, receives)?;
    if !receives {
        return Ok(End::Result(0));
    }
    page.truncate((entry.word(10) as usize).saturating_add(1).saturating_mul(4));
    Ok(End::Data(page))
}

/// True for features of discovery controllers.
fn is_common(entry: &Entry) -> bool {
    matches!(entry.word(10) as u8, EVENTS | KEEP_ALIVE)
}

/// Parameters of the command Connect, from its words and its data.
pub struct Connect {
    pub queue: u16,
    pub size: u16,
    pub patience_ms: u32,
    pub host: [u8; 16],
    pub controller: u16,
    pub discovers: bool,
}

/// Size of the data of Connect.
pub const CONNECT_BYTES: usize = 1024;
/// Controller id that requests a new controller.
pub const NEW_CONTROLLER: u16 = 0xffff;

impl Connect {
    /// Parses Connect. On failure returns the status and the position of the error: its offset, and
    /// 1 if it lies in the data.
    pub fn read(entry: &Entry, data: &[u8], name: &str) -> Result<Connect, (Status, u64)> {
        let invalid = |at: u64| (Status::CONNECT_INVALID_PARAMETERS, at);
        if entry.word(10) & 0xffff != 0 {
            return Err((Status::CONNECT_INCOMPATIBLE_FORMAT, 0));
        }
        let Some(data) = data.first_chunk::<CONNECT_BYTES>() else {
            return Err((Status::SGL_LENGTH_INVALID, 0));
        };
        let (queue, size) = ((entry.word(10) >> 16) as u16, entry.word(11) as u16);
        if queue > MOST_QUEUES {
            return Err(invalid(42));
        }
        if size == 0 || size >= QUEUE_ENTRIES {
            return Err(invalid(44));
        }
        let wanted = data[256..512].split(|byte| *byte == 0).next().unwrap_or_default();
        let discovers = wanted == DISCOVERY_NAME.as_bytes();
        if !discovers && wanted != name.as_bytes() {
            return Err(invalid(256 | 1 << 16));
        }
        if data[512] == 0 || discovers && queue > 0 {
            return Err(invalid(512 | 1 << 16));
        }
        Ok(Connect {
            queue,
            size: size + 1,
            patience_ms: entry.word(12),
            host: *data.first_chunk().expect("it is long enough"),
            controller: super::command::le16(data, 16),
            discovers,
        })
    }
}

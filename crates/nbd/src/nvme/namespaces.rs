//! Namespaces of a subsystem; each is a served device or a part of one.

use super::command::{EVERY_NAMESPACE, Status};
use super::identify::{self, Name};
use super::limits::SUBSYSTEM_NAME;
use super::logs;
use crate::catalogue::Export;
use crate::clock::WallClock;
use crate::control::Control;
use crate::health::Health;
use crate::local::LocalClient;
use crate::placement::{Naming, Placement};
use crate::zones::{ZoneLimits, ZonesAltered};
use engine::Namespace as Part;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cache time of the drives' health, as a multiple of its query time: queries take at most 5 % of a
/// server.
const HEALTH_PAUSE: u64 = 20;

/// A served device as a namespace.
pub struct Namespace {
    name: String,
    /// One client per possible I/O queue.
    clients: Vec<LocalClient>,
    /// Handle of its server.
    control: Control,
    /// Export to hosts.
    pub export: Export,
    /// Range of the device that the namespace covers.
    pub part: Part,
    /// Number of its device, from 1; also its endurance group.
    pub group: u32,
    /// Id (UUID).
    pub id: [u8; 16],
    /// Naming of its placement handles, if any.
    pub handles: Option<Naming>,
    /// Zone limits, if any.
    pub zones: Option<ZoneLimits>,
    /// True after a write was refused at end of life.
    pub has_ended: Arc<AtomicBool>,
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespace").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Namespace {
    /// A named part of a device, served through `clients` and `control`, with its placement handles
    /// and zones, if any.
    pub fn new(
        name: &str,
        clients: Vec<LocalClient>,
        control: Control,
        (handles, zones, part): (Option<Naming>, Option<ZoneLimits>, Part),
    ) -> Self {
        let export = clients.first().map_or_else(Export::default, LocalClient::export);
        let export = Export { bytes: part.wish.bytes, ..export };
        let has_ended = Arc::default();
        let (name, id) = (name.to_owned(), [0; 16]);
        let group = 0;
        Namespace { name, clients, control, export, part, group, id, handles, zones, has_ended }
    }

    /// The client of an I/O queue.
    pub fn client(&self, lane: usize) -> &LocalClient {
        &self.clients[lane]
    }

    /// State of the placement handles.
    ///
    /// # Errors
    /// A status for the host if the namespace has none.
    pub fn placement(&self) -> Result<Placement, Status> {
        if self.handles.is_none() {
            return Err(Status::FDP_DISABLED);
        }
        self.control.placement().ok_or(Status::INTERNAL_ERROR)
    }

    /// Number of zone changes made by the drive.
    pub fn altered(&self) -> u64 {
        self.clients.first().map_or(0, LocalClient::altered)
    }

    /// Zones that the drive has changed since its `since`th change, and the number of changes.
    ///
    /// # Errors
    /// A status for the host if the namespace has no zones.
    pub fn zones_altered(&self, since: u64) -> Result<ZonesAltered, Status> {
        if self.zones.is_none() {
            return Err(Status::INVALID_LOG_PAGE);
        }
        self.control.zones_altered(since).ok_or(Status::INTERNAL_ERROR)
    }

    /// Command set of the namespace.
    pub fn command_set(&self) -> u8 {
        if self.zones.is_some() { identify::ZONES } else { identify::BLOCKS }
    }

    fn is_off(&self) -> bool {
        self.clients.first().is_some_and(LocalClient::is_off)
    }

    fn is_closed(&self) -> bool {
        self.clients.first().is_none_or(LocalClient::is_closed)
    }
}

/// All namespaces, with the data of the subsystem.
pub struct Subsystem {
    pub name: Name,
    /// Address and port of the target.
    pub place: (String, String),
    pub namespaces: Vec<Namespace>,
    clock: WallClock,
    /// Cached health by namespace, and its expiry time.
    health: Vec<Health>,
    healthy_until: u64,
}

impl Subsystem {
    /// A subsystem of namespaces at an address; its namespace ids derive reproducibly from the
    /// address.
    pub fn new(mut namespaces: Vec<Namespace>, place: (String, String), bell: &Control) -> Self {
        let mut groups: Vec<Control> = Vec::new();
        for (number, namespace) in namespaces.iter_mut().enumerate() {
            let known = groups.iter().position(|it| it.is_same(&namespace.control));
            namespace.group = known.unwrap_or_else(|| {
                groups.push(namespace.control.clone());
                groups.len() - 1
            }) as u32
                + 1;
            namespace.id = id(&format!("{} {} {number} {}", place.0, place.1, namespace.name));
            for client in &namespace.clients {
                client.ring(bell);
            }
        }
        let serial = id(&format!("{} {}", place.0, place.1));
        let serial =
            format!("{:016X}", u64::from_be_bytes(serial[..8].try_into().expect("it is longer")));
        let name = Name { subsystem: SUBSYSTEM_NAME.to_owned(), serial };
        let clock = WallClock::new();
        Subsystem { name, place, namespaces, clock, health: Vec::new(), healthy_until: 0 }
    }

    /// Namespace by id.
    pub fn namespace(&self, number: u32) -> Result<&Namespace, Status> {
        let place = number.checked_sub(1).ok_or(Status::INVALID_NAMESPACE)?;
        self.namespaces.get(place as usize).ok_or(Status::INVALID_NAMESPACE)
    }

    /// First namespace of an endurance group.
    pub fn of_group(&self, group: u32) -> Result<&Namespace, Status> {
        self.namespaces.iter().find(|it| it.group == group).ok_or(Status::INVALID_FIELD)
    }

    /// Number of endurance groups: one per device.
    pub fn groups(&self) -> u32 {
        self.namespaces.iter().map(|it| it.group).max().unwrap_or(0)
    }

    /// True if any namespace has placement handles.
    pub fn places(&self) -> bool {
        self.namespaces.iter().any(|it| it.handles.is_some())
    }

    /// True if any namespace has zones.
    pub fn has_zones(&self) -> bool {
        self.namespaces.iter().any(|it| it.zones.is_some())
    }

    /// Largest append that all zoned namespaces accept, bytes.
    pub fn most_appended(&self) -> u64 {
        let limits = self.namespaces.iter().filter_map(|it| it.zones.map(|it| it.append));
        limits.min().unwrap_or(0)
    }

    /// True if any drive has no power.
    pub fn is_off(&self) -> bool {
        self.namespaces.iter().any(Namespace::is_off)
    }

    pub fn is_closed(&self) -> bool {
        self.namespaces.iter().any(Namespace::is_closed)
    }

    /// True if a drive has refused a write since the last call.
    pub fn has_ended(&self) -> bool {
        // Clears every flag, without short-circuit.
        self.namespaces.iter().filter(|it| it.has_ended.swap(false, Ordering::Relaxed)).count() > 0
    }

    /// Health of one or all namespaces.
    pub fn health(&mut self, number: u32) -> Result<Health, Status> {
        let is_one = number != 0 && number != EVERY_NAMESPACE;
        if is_one {
            self.namespace(number)?;
        }
        let now = self.clock.now();
        if now >= self.healthy_until {
            let all = self.namespaces.iter().map(|it| it.control.health().unwrap_or_default());
            self.health = all.collect();
            let after = self.clock.now();
            self.healthy_until = after + HEALTH_PAUSE * (after - now);
        }
        if is_one {
            return Ok(self.health[number as usize - 1]);
        }
        // Each device counts once.
        let all = self.namespaces.iter().zip(&self.health);
        let mut seen = 0;
        let each = all.filter(|(namespace, _)| {
            let is_new = namespace.group > seen;
            seen = seen.max(namespace.group);
            is_new
        });
        let each: Vec<Health> = each.map(|(_, health)| *health).collect();
        Ok(logs::together(each.into_iter()))
    }
}

/// A UUID of version 8 (custom) derived from a text.
fn id(text: &str) -> [u8; 16] {
    let mut id = [0; 16];
    for (number, word) in id.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *word = crc32c::crc32c(format!("{number} {text}").as_bytes()).to_be_bytes();
    }
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

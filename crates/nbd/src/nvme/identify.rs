//! Data of the command Identify for controllers and namespaces.

use super::limits::{
    ATOMIC_BYTES, COPY_FORMATS, MOST_COPIED, MOST_COPIED_EACH, MOST_COPIED_RANGES, MOST_RANGE_BYTES,
};
use super::limits::{MOST_ERRORS, MOST_EVENTS, MOST_QUEUES, QUEUE_ENTRIES, TRANSFER_POWER};
use super::wire::MOST_IN_CAPSULE;
use crate::zones::ZoneLimits;
use engine::{Namespace as Part, SECTOR_BYTES};

/// Size of each Identify page.
const PAGE_BYTES: usize = 4096;

/// Identify types (CNS).
pub const NAMESPACE: u8 = 0x00;
pub const CONTROLLER: u8 = 0x01;
pub const ACTIVE: u8 = 0x02;
pub const DESCRIPTORS: u8 = 0x03;
pub const NAMESPACE_OF_SET: u8 = 0x05;
pub const CONTROLLER_OF_SET: u8 = 0x06;
pub const ACTIVE_OF_SET: u8 = 0x07;
pub const NAMESPACE_IN_GENERAL: u8 = 0x08;
pub const COMMAND_SETS: u8 = 0x1c;

/// Command sets: NVM (blocks) and zoned.
pub const BLOCKS: u8 = 0;
pub const ZONES: u8 = 2;
/// Implemented version of the specification: 1.4.
pub const VERSION: u32 = 0x0001_0400;
/// Controller types: discovery, and I/O.
const DISCOVERY_TYPE: u8 = 2;
const IO_TYPE: u8 = 1;

/// Names of a controller's subsystem.
#[derive(Debug, Clone)]
pub struct Name {
    /// Qualified name of the subsystem.
    pub subsystem: String,
    /// Serial number.
    pub serial: String,
}

/// This program's version as firmware revision.
pub fn firmware() -> [u8; 8] {
    let mut text = [b' '; 8];
    let version = env!("CARGO_PKG_VERSION").as_bytes();
    let count = version.len().min(text.len());
    text[..count].copy_from_slice(&version[..count]);
    text
}

/// Identify page of an I/O controller with `namespaces`, or of a discovery controller. Endurance
/// groups with placement handles and zones add their fields.
pub fn controller(
    name: &Name,
    id: u16,
    namespaces: usize,
    (discovers, groups): (bool, Option<u32>),
    zones: bool,
) -> Vec<u8> {
    let mut page = Page::default();
    page.text(4, 20, &name.serial);
    page.text(24, 40, "ssdlab");
    page.bytes(64, &firmware());
    page.byte(77, TRANSFER_POWER);
    page.u16(78, id);
    page.u32(80, VERSION);
    // Traffic restarts the keep-alive timeout.
    page.u32(96, 1 << 6);
    page.byte(111, if discovers { DISCOVERY_TYPE } else { IO_TYPE });
    page.byte(259, MOST_EVENTS as u8 - 1);
    // One read-only firmware slot.
    page.byte(260, 1 | 1 << 1);
    // Log pages: health by namespace, commands, longer ones by offset.
    page.byte(261, 1 | 1 << 1 | 1 << 2);
    page.byte(262, MOST_ERRORS as u8 - 1);
    // Temperature limits, kelvin; temperature is not modelled.
    page.u16(266, 343);
    page.u16(268, 353);
    // Granularity of the keep-alive timeout, in 100 ms.
    page.u16(320, 1);
    page.u16(514, QUEUE_ENTRIES);
    page.text_ended(768, 256, &name.subsystem);
    // In units of 16 bytes: a command with its data, and a completion.
    page.u32(1792, (64 + MOST_IN_CAPSULE as u32) / 16);
    page.u32(1796, 1);
    // Data in the capsule or by the transport; offsets refer to the capsule's data.
    page.u32(536, 1 | 1 << 20);
    page.byte(1803, 1);
    if !discovers {
        page.byte(512, 0x66);
        page.byte(513, 0x44);
        page.u32(516, namespaces as u32);
        // Compare, write uncorrectable, dataset management, write zeroes, verify, copy.
        page.u16(520, 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 8);
        // Maximum blocks of an atomic compare and write, zero-based.
        page.u16(522, 1);
        page.u16(532, (ATOMIC_BYTES / SECTOR_BYTES) as u16 - 1);
        page.u16(534, COPY_FORMATS);
        if let Some(groups) = groups {
            // Endurance groups and flexible data placement, traffic-based keep-alive, and
            // directives.
            page.u32(96, 1 << 6 | 1 << 4 | 1 << 19);
            page.u16(256, 1 << 5);
            page.u16(340, groups as u16);
        }
        // Notice of changed zones.
        page.u32(92, u32::from(zones) << 27);
        // A volatile write cache; a flush may cover all namespaces.
        page.byte(525, 1 | 3 << 1);
    }
    page.0
}

/// Zone fields of a namespace with the given block size (`NVMe` Zoned Namespace Command Set 1.1,
/// 4.1.5.1).
pub fn zoned(limits: &ZoneLimits, block: u32) -> Vec<u8> {
    let mut page = Page::default();
    let blocks = |bytes: u64| bytes / u64::from(block);
    // Reads across zone borders, and windows of random writes (ZRWA).
    page.u16(2, u16::from(limits.read_across) | u16::from(limits.windows > 0) << 1);
    // Zero-based.
    page.u32(4, limits.active - 1);
    page.u32(8, limits.open - 1);
    if limits.windows > 0 {
        page.u32(44, limits.windows - 1);
        page.u16(48, blocks(limits.granularity) as u16);
        page.u16(50, blocks(limits.window) as u16);
        // Explicit commits are supported.
        page.byte(52, 1);
    }
    page.bytes(2816, &blocks(limits.size).to_le_bytes());
    page.0
}

/// Zone fields of a controller; `append` is the smallest append limit of its namespaces.
pub fn zoned_limits(append: u64) -> Vec<u8> {
    let mut page = Page::default();
    let pages = append / PAGE_BYTES as u64;
    let power = pages.max(1).ilog2() as u8;
    // 0 stands for the maximum transfer size of any command.
    page.byte(0, if power >= TRANSFER_POWER { 0 } else { power });
    page.0
}

/// Identify page of a namespace: its part of the device, read-only flag, 16-byte id, and endurance
/// group if any.
pub fn namespace(
    part: &Part,
    read_only: bool,
    id: &[u8; 16],
    (group, zones): (u16, Option<&ZoneLimits>),
) -> Vec<u8> {
    let mut page = Page::default();
    let block = part.wish.block;
    let of_zones = |it: &ZoneLimits| part.wish.bytes / it.size * it.capacity;
    let (capacity, used) =
        zones.map_or((part.wish.capacity, part.used()), |it| (of_zones(it), of_zones(it)));
    for (at, bytes) in [(0, part.wish.bytes), (8, capacity), (16, used)] {
        page.bytes(at, &(bytes / u64::from(block)).to_le_bytes());
    }
    page.byte(24, u8::from(part.is_thin()));
    // Deallocated blocks read as zeroes, and Write Zeroes may deallocate.
    page.byte(33, 1 | 1 << 3);
    // Copy limits: blocks per range, blocks in total, and zero-based number of ranges.
    page.u16(74, (MOST_COPIED_EACH / block) as u16);
    page.u32(76, MOST_COPIED / block);
    page.byte(80, MOST_COPIED_RANGES as u8 - 1);
    page.byte(99, u8::from(read_only));
    page.u16(102, group);
    page.bytes(104, id);
    page.byte(128 + 2, block.trailing_zeros() as u8);
    page.0
}

/// Namespace fields common to all command sets.
pub fn in_general(read_only: bool) -> Vec<u8> {
    let mut page = Page::default();
    page.byte(8, u8::from(read_only));
    // The namespace is ready.
    page.byte(14, 1);
    page.0
}

/// Active namespace ids greater than `after`.
pub fn active(namespaces: impl Iterator<Item = u32>, after: u32) -> Vec<u8> {
    let mut page = Page::default();
    let next = namespaces.filter(|number| *number > after).take(PAGE_BYTES / 4);
    for (at, number) in next.enumerate() {
        page.u32(4 * at, number);
    }
    page.0
}

/// Identification descriptors of a namespace: its id and its command set.
pub fn descriptors(id: &[u8; 16], set: u8) -> Vec<u8> {
    let mut page = Page::default();
    page.bytes(0, &[2, 16, 0, 0]);
    page.bytes(4, id);
    page.bytes(20, &[3, 16, 0, 0]);
    page.bytes(24, id);
    page.bytes(40, &[4, 1, 0, 0]);
    page.byte(44, set);
    page.0
}

/// Limits of the NVM command set.
pub fn limits() -> Vec<u8> {
    let mut page = Page::default();
    page.u32(4, MOST_RANGE_BYTES / SECTOR_BYTES as u32);
    page.0
}

/// The only combination of command sets: NVM, and zoned if a namespace has zones.
pub fn command_sets(zones: bool) -> Vec<u8> {
    let mut page = Page::default();
    page.byte(0, 1 | u8::from(zones) << ZONES);
    page.0
}

/// An empty page.
pub fn nothing() -> Vec<u8> {
    Page::default().0
}

/// Controller capabilities: queue sizes, contiguous queues, 5 s to become ready, the NVM command
/// set, and several command sets if zones exist.
pub fn capabilities(zones: bool) -> u64 {
    u64::from(QUEUE_ENTRIES - 1) | 1 << 16 | 10 << 24 | 1 << 37 | u64::from(zones) << 43
}

/// Granted number of I/O queues, zero-based.
pub fn queues(wanted: u32) -> u32 {
    let most = u32::from(MOST_QUEUES) - 1;
    let granted = (wanted & 0xffff).min(wanted >> 16).min(most);
    granted | granted << 16
}

struct Page(Vec<u8>);

impl Default for Page {
    fn default() -> Self {
        Page(vec![0; PAGE_BYTES])
    }
}

impl Page {
    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn byte(&mut self, at: usize, value: u8) {
        self.0[at] = value;
    }

    fn u16(&mut self, at: usize, value: u16) {
        self.bytes(at, &value.to_le_bytes());
    }

    fn u32(&mut self, at: usize, value: u32) {
        self.bytes(at, &value.to_le_bytes());
    }

    /// Writes a space-padded text.
    fn text(&mut self, at: usize, most: usize, text: &str) {
        self.0[at..at + most].fill(b' ');
        self.bytes(at, &text.as_bytes()[..text.len().min(most)]);
    }

    /// Writes a zero-terminated text.
    fn text_ended(&mut self, at: usize, most: usize, text: &str) {
        self.bytes(at, &text.as_bytes()[..text.len().min(most - 1)]);
    }
}

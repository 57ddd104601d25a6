//! The state of a drive, to be saved and restored.
//!
//! A state has everything that cannot be derived: the flash, the map, the order of the blocks, the
//! state of wear and of the hot-page detector, and the generator from which policies and wear
//! levelling draw: a saved drive continues with the same random draws that it would have made,
//! whatever the seed of the run that loads it. Counts start from zero, and a policy from outside
//! the table begins anew.
//!
//! An array is saved as its drives, one after the other, under a shape that begins with the array's
//! keys.

use super::config::SsdConfig;
use super::flash::FlashState;
use super::ftl::FtlState;
use super::numbers::{Numbers, PageTable, Table};
use super::patrol::PatrolState;
use super::room::{List, Room, next, read_within};
use super::{Geometry, Ssd};
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};

/// A device between two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// Configuration on which the state depends: key and value.
    pub shape: Vec<(String, String)>,
    /// A single drive, the equal drives of an array, or those of a cache's two devices.
    pub drives: Vec<Drive>,
    /// State of caches and tiers: lists of numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Vec<Vec<u64>>>,
}

/// State of one drive between two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drive {
    flash: FlashState,
    ftl: FtlState,
    /// Empty without patrol.
    patrol: Option<PatrolState>,
}

read_within!(Drive { flash: fields, ftl: fields, patrol: any });

impl Snapshot {
    /// Takes over separately stored tables.
    ///
    /// # Errors
    /// When there are others than the rest has places for.
    pub fn return_tables(&mut self, tables: Vec<PageTable>) -> Result<(), String> {
        let places = self.drives.iter_mut().flat_map(Drive::tables).collect();
        put(places, tables)
    }
}

impl Drive {
    fn tables(&mut self) -> impl Iterator<Item = &mut Numbers> {
        self.ftl.tables().into_iter().chain(self.flash.tables())
    }
}

/// Inserts each table.
fn put(places: Vec<&mut Numbers>, tables: Vec<PageTable>) -> Result<(), String> {
    if places.len() != tables.len() {
        return Err(format!("it has {} tables of pages, and not {}", tables.len(), places.len()));
    }
    places.into_iter().zip(tables).for_each(|(place, table)| *place = table.0);
    Ok(())
}

impl Room {
    /// Reads the rest of a state after its shape.
    pub fn of_shape(
        self,
        shape: Vec<(String, String)>,
    ) -> impl for<'de> DeserializeSeed<'de, Value = Snapshot> {
        Rest { room: self, shape }
    }
}

/// Reads the drives, which follow the shape.
struct Rest {
    room: Room,
    shape: Vec<(String, String)>,
}

impl<'de> DeserializeSeed<'de> for Rest {
    type Value = Snapshot;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Snapshot, D::Error> {
        let room = self.room;
        let drives = List { longest: room.drives, each: move || room.fields::<Drive>() };
        if room.caches == 0 {
            let drives = drives.deserialize(deserializer)?;
            return Ok(Snapshot { shape: self.shape, drives, caches: Vec::new() });
        }
        let (drives, caches) = deserializer.deserialize_tuple(2, Both(drives, room.of_caches()))?;
        Ok(Snapshot { shape: self.shape, drives, caches })
    }
}

/// Reads two values in order.
struct Both<A, B>(A, B);

impl<'de, A: DeserializeSeed<'de>, B: DeserializeSeed<'de>> Visitor<'de> for Both<A, B> {
    type Value = (A::Value, B::Value);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("drives, and what caches keep")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut fields: S) -> Result<Self::Value, S::Error> {
        Ok((next(&mut fields, self.0)?, next(&mut fields, self.1)?))
    }
}

/// Keys that differ between a state's shape and that of a device of the same kind.
pub fn compare(theirs: &[(String, String)], ours: &[(String, String)]) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err("it is of another kind of drive".to_owned());
    }
    let pairs = ours.iter().zip(theirs).filter(|(ours, theirs)| ours != theirs);
    let differing: Vec<String> = pairs
        .map(|((key, here), (_, there))| format!("{key} is {there} there and {here} here"))
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(format!("it is of another drive: {}", differing.join("; ")))
}

/// True if the order of all programs is stored.
const ORDER_KEY: &str = "device.persistence.order";

/// A drive saved without program order counts as one with it, which must be derived; whether it
/// was.
fn take_order_for_kept(shape: &mut [(String, String)]) -> bool {
    let order = shape.iter_mut().find(|(key, _)| key == ORDER_KEY);
    order.is_some_and(|(_, is)| std::mem::replace(is, true.to_string()) == false.to_string())
}

/// The key with which the shape of an array begins.
pub const ARRAY_KEY: &str = "device.members";

/// The keys that a drive must share with the one whose state it restores.
fn shape(config: &SsdConfig, geometry: &Geometry) -> Vec<(String, String)> {
    let optional =
        |size: Option<options::Size>| size.map_or("none".to_owned(), |it| it.to_string());
    let pairs = [
        ("device.channels", config.channels.to_string()),
        ("device.packages_per_channel", config.packages_per_channel.to_string()),
        ("device.gang", config.gang.to_string()),
        ("device.dies_per_package", config.dies_per_package.to_string()),
        ("device.planes_per_die", config.planes_per_die.to_string()),
        ("device.blocks_per_plane", config.blocks_per_plane.to_string()),
        ("device.pages_per_block", config.pages_per_block.to_string()),
        ("device.page_size", config.page_size.to_string()),
        ("device.summary_page", config.summary_page.to_string()),
        ("device.interleave", config.interleave.to_string()),
        ("device.logical_page", optional(config.logical_page)),
        ("device.page_span", config.page_span.unwrap_or(1).to_string()),
        ("device.pool", config.pool.to_string()),
        ("device.active_blocks", config.active_blocks.to_string()),
        ("device.stripe", optional(config.stripe)),
        ("device.free_order", config.free_order.to_string()),
        ("device.cleaning.copy_back", config.cleaning.copy_back.to_string()),
        ("device.cleaning.frontiers", config.frontiers().to_string()),
        ("device.cleaning.hot_cold.detector", config.cleaning.hot_cold.detector.to_string()),
        ("device.cleaning.hot_cold.memory", config.cleaning.hot_cold.memory.to_string()),
        (
            "device.cleaning.levelling.temperature",
            config.cleaning.levelling.temperature.to_string(),
        ),
        ("device.cleaning.min_free", config.min_free().to_string()),
        ("device.wear.rated_cycles", config.wear.rated_cycles.to_string()),
        ("device.wear.spread", config.wear.spread.to_string()),
        ("device.media.model", config.media.model.to_string()),
        (ORDER_KEY, config.persistence.is_ordered().to_string()),
        // In any notation.
        ("device.spare_factor, in pages exported", geometry.exported_pages().to_string()),
    ];
    let mut shape = pairs.map(|(key, value)| (key.to_owned(), value)).to_vec();
    if config.fdp.chooses() {
        let fdp = &config.fdp;
        shape.push(("device.fdp.handles".to_owned(), fdp.handles.to_string()));
        shape.push(("device.fdp.isolation".to_owned(), fdp.isolation.to_string()));
        if fdp.groups > 1 {
            shape.push(("device.fdp.groups".to_owned(), fdp.groups.to_string()));
        }
    }
    if Geometry::snapshots_kept(config) > 0 {
        shape.push(("device.snapshots.most".to_owned(), config.snapshots.most.to_string()));
    }
    if config.log_blocks.are_used() {
        // States without log blocks keep their former shape.
        let logs = &config.log_blocks;
        shape.push(("device.log_blocks.scheme".to_owned(), logs.scheme.to_string()));
        shape.push(("device.log_blocks.count".to_owned(), logs.count.to_string()));
    }
    shape
}

impl Ssd {
    /// True without operations: no request, no operation, no victim that is half moved, no page in
    /// the write buffer.
    pub(super) fn is_at_rest(&self) -> bool {
        self.front.is_idle()
            && self.front.first_done().is_none()
            && self.clock.next_at().is_none()
            && self.parts.is_none()
            && self.programming().is_empty()
            && self.seen().erasing().is_empty()
            && self.ftl.has_no_victim(&self.flash)
    }

    /// Reason why the state of an idle drive is incomplete.
    pub(super) fn lost_when_saved(&self) -> Option<&'static str> {
        if self.blocks.as_ref().is_some_and(|it| !it.is_empty()) {
            return Some("its block buffer holds data: shut it down");
        }
        if self.ftl.slc_blocks() > 0 {
            return Some("its SLC cache holds data, and a saved drive has folded them: clone it");
        }
        let has_snapshots = self.ftl.snapshots.as_ref().is_some_and(|it| it.are_there());
        has_snapshots.then_some("it has snapshots, and a saved drive has none: delete them")
    }

    /// State of an idle drive.
    pub(super) fn snapshot(&self) -> Snapshot {
        let is_fresh = self.clock.now == 0 && self.front.is_idle() && self.parts.is_none();
        assert!(is_fresh || self.is_at_rest(), "a drive is kept while it rests, in one piece");
        let shape = shape(&self.config, self.geometry());
        let patrol = self.buffered.patrol.as_ref().map(|patrol| patrol.keep());
        let gathered = self.blocks.as_ref().filter(|it| !it.is_empty());
        let has_snapshots = self.ftl.snapshots.as_ref().is_some_and(|it| it.are_there());
        let rests = self.ftl.rests_untimed() && self.ftl.slc_blocks() == 0 && !has_snapshots;
        if !rests || gathered.is_some() {
            // The saved state has erased victims, empty caches and no snapshots.
            let (mut ftl, mut flash) = (self.ftl.clone(), self.flash.clone());
            if let Some(blocks) = gathered {
                blocks.clone().empty_untimed((&mut ftl, &mut flash));
            }
            ftl.end_untimed(&mut flash);
            ftl.fold_all(&mut flash);
            ftl.drop_snapshots();
            let drive = Drive { flash: flash.keep(self.clock.now), ftl: ftl.keep(), patrol };
            return Snapshot { shape, drives: vec![drive], caches: Vec::new() };
        }
        let drive = Drive { flash: self.flash.keep(self.clock.now), ftl: self.ftl.keep(), patrol };
        Snapshot { shape, drives: vec![drive], caches: Vec::new() }
    }

    /// True if a state of this shape is one of this drive, and then whether its order of programs must
    /// be derived;
    /// or why this drive cannot take it up: the keys that differ.
    fn recognise(&self, mut theirs: Vec<(String, String)>) -> Result<bool, String> {
        if theirs.first().is_some_and(|(key, _)| key == ARRAY_KEY) {
            return Err("it is of an array, and this device is a single drive".to_owned());
        }
        let derives = self.config.persistence.is_ordered() && take_order_for_kept(&mut theirs);
        compare(&theirs, &shape(&self.config, self.geometry()))?;
        Ok(derives)
    }

    /// Limits of a state of this shape, or the reason why this drive cannot take it up.
    pub(super) fn room_of(&self, theirs: &[(String, String)]) -> Result<Room, String> {
        self.recognise(theirs.to_vec())?;
        let geometry = self.geometry();
        // Snapshots have numbers of pages too, and there can be more of these than pages.
        let snapshots = u64::from(Geometry::snapshots_kept(&self.config));
        let numbered = geometry.exported_pages() * (snapshots + 1);
        let longest = geometry.pages().max(numbered);
        Ok(Room {
            drives: 1,
            caches: 0,
            numbers: 0,
            table: Table { longest, wide: geometry.wide },
            list: self.ftl.longest_list(),
        })
    }

    /// Takes out the tables of pages, without which the drive can only be saved.
    pub fn lend_page_tables(&mut self) -> Vec<PageTable> {
        self.ftl.tables().into_iter().chain(self.flash.tables()).map(Numbers::lend).collect()
    }

    /// Returns the tables.
    pub fn return_page_tables(&mut self, tables: Vec<PageTable>) {
        let places = self.ftl.tables().into_iter().chain(self.flash.tables()).collect();
        put(places, tables).expect("the tables fit this drive");
    }

    /// Restores a state, or reports why this drive cannot; its pages are not checked.
    pub(super) fn restore_snapshot(&mut self, mut snapshot: Snapshot) -> Result<(), String> {
        let derives = self.recognise(std::mem::take(&mut snapshot.shape))?;
        let (Some(drive), true) = (snapshot.drives.pop(), snapshot.drives.is_empty()) else {
            return Err("it does not hold one drive".to_owned());
        };
        let (ftl, flash) = (&mut self.ftl, &mut self.flash);
        flash.restore(drive.flash, derives)?;
        ftl.restore(flash, drive.ftl)?;
        if let Some((patrol, state)) = self.buffered.patrol.as_mut().zip(drive.patrol) {
            patrol.restore(state);
        }
        if derives {
            ftl.derive_order(flash);
        }
        Ok(())
    }
}

//! Saved state of a cache or of two tiers: lists of numbers, beside the states of both devices.
//!
//! The device is idle, so all cached lines are clean or dirty. Times restart: dirty lines count as
//! dirty from the start. A list read from a file may hold anything, so whoever restores it checks
//! it.

use ssd::device::Model;
use ssd::snapshot::compare;
use ssd::{Room, Snapshot};

/// Key prefixes of the devices.
const NAMES: [&str; 2] = ["fast", "backing"];

/// Lists of numbers.
pub type Kept = Vec<Vec<u64>>;

/// Keys and values on which a saved state depends.
pub type Shape = Vec<(String, String)>;

/// Next list of a saved state.
///
/// # Errors
/// When there is no further list.
pub fn next(lists: &mut dyn Iterator<Item = Vec<u64>>) -> Result<Vec<u64>, String> {
    lists.next().ok_or_else(|| "a list is missing".to_owned())
}

/// A device's key, as a key of the whole device.
fn within(name: &str, key: &str) -> String {
    key.replacen("device.", &format!("device.{name}."), 1)
}

/// True for devices with saved state; service laws and disks have none.
fn has_state(device: &dyn Model) -> bool {
    device.facts().pages > 0
}

/// Saves both devices and the cache's own state, under their keys; `None` if a device cannot be
/// saved.
pub fn save(devices: &[Box<dyn Model>; 2], own: Shape, kept: Kept) -> Option<Snapshot> {
    let (mut shape, mut drives, mut caches) = (own, Vec::new(), vec![kept]);
    for (name, device) in NAMES.into_iter().zip(devices) {
        if has_state(&**device) {
            let of = device.save()?;
            shape.extend(of.shape.into_iter().map(|(key, value)| (within(name, &key), value)));
            drives.extend(of.drives);
            caches.extend(of.caches);
        }
    }
    Some(Snapshot { shape, drives, caches })
}

/// Keys of each device, from the keys of the whole device.
fn shapes(theirs: &[(String, String)], own: &[(String, String)]) -> Result<[Shape; 2], String> {
    let (of_all, rest) = theirs.split_at(own.len().min(theirs.len()));
    if of_all.iter().zip(own).any(|(there, here)| there.0 != here.0) {
        return Err("it is of another kind of device".to_owned());
    }
    compare(of_all, own)?;
    Ok(NAMES.map(|name| {
        let section = format!("device.{name}.");
        let of = rest.iter().filter(|(key, _)| key.starts_with(&section));
        of.map(|(key, value)| (key.replacen(&section, "device.", 1), value.clone())).collect()
    }))
}

fn of_device(name: &str, problem: &str) -> String {
    format!("{name}: {}", within(name, problem))
}

/// Memory for the saved state of each device that has one.
fn rooms(devices: &[Box<dyn Model>; 2], shapes: &[Shape; 2]) -> Result<[Option<Room>; 2], String> {
    let mut rooms = [None; 2];
    for (number, (device, shape)) in devices.iter().zip(shapes).enumerate() {
        if has_state(&**device) {
            let room = device.room(shape).map_err(|problem| of_device(NAMES[number], &problem))?;
            rooms[number] = Some(room);
        } else if !shape.is_empty() {
            let name = NAMES[number];
            return Err(format!("{name}: the device there has a state, and the one here has none"));
        }
    }
    Ok(rooms)
}

/// Memory for a saved state with these keys, and the maximum length of the own lists.
///
/// # Errors
/// The reason why this device cannot restore it.
pub fn room(
    devices: &[Box<dyn Model>; 2],
    own: &[(String, String)],
    theirs: &[(String, String)],
    longest: usize,
) -> Result<Room, String> {
    let each = rooms(devices, &shapes(theirs, own)?)?;
    Ok(each.into_iter().flatten().fold(Room::of_cache(longest), Room::beside))
}

/// Restores the states of both devices, and returns the own lists.
///
/// # Errors
/// The reason why this device cannot restore it.
pub fn restore(
    devices: &mut [Box<dyn Model>; 2],
    own: &[(String, String)],
    snapshot: Snapshot,
    of: impl Fn(&mut dyn Model, Snapshot) -> Result<(), String>,
) -> Result<Kept, String> {
    let shapes = shapes(&snapshot.shape, own)?;
    let rooms = rooms(devices, &shapes)?;
    let (mut drives, mut caches) = (snapshot.drives.into_iter(), snapshot.caches.into_iter());
    let kept = caches.next().ok_or("it has no lines")?;
    for (number, shape) in shapes.into_iter().enumerate() {
        let Some(room) = rooms[number] else { continue };
        let part = Snapshot {
            shape,
            drives: drives.by_ref().take(room.drives()).collect(),
            caches: caches.by_ref().take(room.caches()).collect(),
        };
        let taken = of(&mut *devices[number], part);
        taken.map_err(|problem| of_device(NAMES[number], &problem))?;
    }
    if drives.next().is_some() || caches.next().is_some() {
        return Err("it holds more drives than this device has".to_owned());
    }
    Ok(kept)
}

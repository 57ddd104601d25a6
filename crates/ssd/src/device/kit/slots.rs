//! The requests inside a device, each with a slot number that is stable until its removal.
//!
//! A number that has become free is given out again, the last one first, so a device in use allocates
//! nothing.

use std::ops::{Index, IndexMut};

/// Number of a request inside the device.
pub type Slot = u32;

/// Values by slot.
#[derive(Debug, Clone)]
pub struct Slots<T> {
    /// Values by slot; free slots have unused values.
    values: Vec<T>,
    free: Vec<Slot>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slots<T> {
    /// No values.
    pub fn new() -> Self {
        Slots::default()
    }

    /// Stores a value; its slot is not reused before its removal.
    #[inline]
    pub fn insert(&mut self, value: T) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.values[slot as usize] = value;
            return slot;
        }
        self.values.push(value);
        self.values.len() as Slot - 1
    }

    /// Takes out the value of a slot, which is free from now on; not of a free one.
    #[inline]
    pub fn remove(&mut self, slot: Slot) -> T {
        self.free.push(slot);
        self.values[slot as usize]
    }

    /// Frees a slot whose value was read.
    #[inline]
    pub fn release(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// True for a used slot.
    pub fn is_taken(&self, slot: Slot) -> bool {
        (slot as usize) < self.values.len() && !self.free.contains(&slot)
    }

    /// Used slots in order.
    pub fn taken(&self) -> Vec<Slot> {
        let mut is_free = memory::zeroed::<bool>(self.values.len());
        for slot in &self.free {
            is_free[*slot as usize] = true;
        }
        (0..self.values.len() as Slot).filter(|slot| !is_free[*slot as usize]).collect()
    }

    /// Slots that were ever given out at a time; some may be free.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True without used slots.
    pub fn is_empty(&self) -> bool {
        self.values.len() == self.free.len()
    }
}

impl<T> Index<Slot> for Slots<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: Slot) -> &T {
        &self.values[slot as usize]
    }
}

impl<T> IndexMut<Slot> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.values[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_keeps_its_value_until_it_is_removed_and_is_then_used_again() {
        let mut slots = Slots::new();
        assert!(slots.is_empty());
        let [a, b, c] = ["a", "b", "c"].map(|name| slots.insert(name));
        slots[b] = "B";
        assert_eq!((slots[a], slots[b], slots[c]), ("a", "B", "c"));
        assert_eq!((slots.remove(a), slots.remove(c)), ("a", "c"));
        assert_eq!(slots[b], "B");
        assert!(!slots.is_empty());
        // The last to become free is the first to be given out; then new ones.
        assert_eq!(["d", "e", "f"].map(|name| slots.insert(name)), [c, a, 3]);
        assert_eq!((slots[a], slots[b], slots[c], slots[3]), ("e", "B", "d", "f"));
        for slot in 0..4 {
            slots.remove(slot);
        }
        assert!(slots.is_empty());
    }
}

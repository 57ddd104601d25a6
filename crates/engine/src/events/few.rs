//! Few events in order: a short list. Each new event was inserted later than all events in the
//! list.

use super::key::{is_before, is_same};

/// Events in time order, in a ring buffer.
#[derive(Debug, Clone)]
pub(super) struct Few {
    keys: Box<[u128; PLACES]>,
    from: usize,
    count: usize,
}

const PLACES: usize = 32;

/// Maximum number of events. Inserting in the middle moves half of them, which for more events is
/// slower than the wheel.
pub(super) const MOST: usize = 20;

const _: () = assert!(MOST < PLACES && PLACES.is_power_of_two());

impl Default for Few {
    fn default() -> Self {
        Few { keys: Box::new([0; PLACES]), from: 0, count: 0 }
    }
}

impl Few {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Ring place of the event at an index; the index may be out of bounds on both sides.
    #[inline]
    fn place(&self, number: usize) -> usize {
        self.from.wrapping_add(number) % PLACES
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u128> {
        (self.count > 0).then(|| self.keys[self.from % PLACES])
    }

    /// Appends an event. Returns false if it does not belong at the end, or the list is full.
    #[inline]
    pub(super) fn push(&mut self, key: u128) -> bool {
        // In an empty list this compares with a former event, and either outcome is correct.
        let last = self.place(self.count.wrapping_sub(1));
        if is_before(key, self.keys[last]) || self.count >= MOST {
            return false;
        }
        let place = last.wrapping_add(1) % PLACES;
        self.keys[place] = key;
        self.count += 1;
        true
    }

    /// Inserts an event in order. Returns false if the list is full.
    pub(super) fn insert(&mut self, key: u128) -> bool {
        let (from, count) = (self.from, self.count);
        if count >= MOST {
            return false;
        }
        // The shorter half moves.
        if count > 0 && is_before(key, self.keys[self.place(count / 2)]) {
            self.from = from.wrapping_sub(1) % PLACES;
            let mut place = self.from;
            let mut next = from;
            while !is_before(key, self.keys[next]) {
                self.keys[place] = self.keys[next];
                place = next;
                next = next.wrapping_add(1) % PLACES;
            }
            self.keys[place] = key;
        } else {
            let mut place = self.place(count);
            for _ in 0..count {
                let before = place.wrapping_sub(1) % PLACES;
                if !is_before(key, self.keys[before]) {
                    break;
                }
                self.keys[place] = self.keys[before];
                place = before;
            }
            self.keys[place] = key;
        }
        self.count += 1;
        true
    }

    /// Removes the first event of a nonempty list. Returns the new first one.
    #[inline]
    pub(super) fn pass_first(&mut self) -> Option<u128> {
        self.from = self.from.wrapping_add(1) % PLACES;
        self.count = self.count.wrapping_sub(1);
        self.first()
    }

    /// Removes the first event and returns it.
    pub(super) fn take_first(&mut self) -> Option<u128> {
        let first = self.first()?;
        self.pass_first();
        Some(first)
    }

    /// Removes an event. Returns false if it is not there.
    pub(super) fn remove(&mut self, key: u128) -> bool {
        let is_it = |number: &usize| is_same(self.keys[self.place(*number)], key);
        let Some(number) = (0..self.count).find(is_it) else {
            return false;
        };
        for number in number..self.count - 1 {
            self.keys[self.place(number)] = self.keys[self.place(number + 1)];
        }
        self.count -= 1;
        true
    }
}

//! Adaptive replacement cache (ARC; Megiddo and Modha, FAST 2003). Lines used once are in one list,
//! lines used repeatedly in another. Each list remembers evicted lines, together as many as the
//! cache holds. A remembered line that returns lengthens the list that evicted it.

use super::kept::{self, Kept};
use super::lists::{Index, Lists, NONE, Slot};
use super::replacement::{LOOKED_AT, Replacement};

/// Lists: used once, and again.
const ONCE: usize = 0;
const AGAIN: usize = 1;

/// Both lists, and the evicted lines that they remember.
#[derive(Debug, Clone)]
pub struct Arc {
    lines: Lists,
    /// Remembered lines have separate slots.
    left: Lists,
    known: Index,
    free: Vec<Slot>,
    capacity: u32,
    /// Target length of the list of lines used once.
    target: f64,
    /// Line of the last adaptation: consecutive uses of a line adapt once.
    adapted: Option<u64>,
    remembered: u64,
}

impl Arc {
    pub fn new(slots: u32) -> Arc {
        Arc {
            lines: Lists::new(2, slots),
            left: Lists::new(2, slots + 1),
            known: Index::new(slots + 1),
            free: (1..=slots + 1).rev().collect(),
            capacity: slots,
            target: 0.0,
            adapted: None,
            remembered: 0,
        }
    }

    /// List and slot that remember an evicted line.
    fn left_from(&self, line: u64) -> Option<(usize, Slot)> {
        let place = self.known.find(line);
        (place != NONE).then(|| self.left.list_of(place).map(|list| (list, place)))?
    }

    fn forget(&mut self, place: Slot) {
        self.left.remove(place);
        self.known.remove(place);
        self.free.push(place);
    }

    /// Adapts the target length to an arriving line.
    fn adapt(&mut self, line: u64) {
        if self.adapted == Some(line) {
            return;
        }
        let Some((list, _)) = self.left_from(line) else { return };
        self.adapted = Some(line);
        self.remembered += 1;
        let (once, again) = (f64::from(self.left.len(ONCE)), f64::from(self.left.len(AGAIN)));
        let most = f64::from(self.capacity);
        self.target = if list == ONCE {
            (self.target + (again / once).max(1.0)).min(most)
        } else {
            (self.target - (once / again).max(1.0)).max(0.0)
        };
    }
}

impl Replacement for Arc {
    #[inline]
    fn hit(&mut self, slot: Slot) {
        if self.lines.list_of(slot).is_some() {
            self.lines.renew(AGAIN, slot);
        }
    }

    fn admit(&mut self, slot: Slot, line: u64) {
        self.adapt(line);
        self.adapted = None;
        let list = match self.left_from(line) {
            Some((_, place)) => {
                self.forget(place);
                AGAIN
            }
            None => {
                // A list and its remembered lines never exceed the cache size.
                while self.lines.len(ONCE) + self.left.len(ONCE) >= self.capacity
                    && self.left.len(ONCE) > 0
                {
                    self.forget(self.left.oldest(ONCE));
                }
                ONCE
            }
        };
        while self.left.len(ONCE) + self.left.len(AGAIN) > self.capacity {
            let list = if self.left.len(AGAIN) > 0 { AGAIN } else { ONCE };
            self.forget(self.left.oldest(list));
        }
        self.lines.push(list, slot);
    }

    fn victim(&mut self, line: u64, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        self.adapt(line);
        let was_again = self.left_from(line).is_some_and(|(list, _)| list == AGAIN);
        let once = f64::from(self.lines.len(ONCE));
        let from_once = once > 0.0 && (once > self.target || was_again && once >= self.target);
        let (first, second) = if from_once { (ONCE, AGAIN) } else { (AGAIN, ONCE) };
        self.lines.first(first, LOOKED_AT, may).or_else(|| self.lines.first(second, LOOKED_AT, may))
    }

    fn leave(&mut self, slot: Slot, line: u64, evicted: bool) {
        let Some(list) = self.lines.list_of(slot) else { return };
        self.lines.remove(slot);
        if !evicted {
            return;
        }
        if let Some(place) = self.free.pop() {
            self.known.insert(place, line);
            self.left.push(list, place);
        }
    }

    /// Saved state: both lists, their remembered lines, and three numbers. These are the target
    /// length as bits, the line of the last adaptation plus one, and the count of returned lines.
    fn keep(&self) -> Kept {
        let line = |place: u64| self.known.key(place as Slot);
        let left = |list| self.left.kept(list).into_iter().map(line).collect();
        let adapted = self.adapted.map_or(0, |line| line + 1);
        vec![
            self.lines.kept(ONCE),
            self.lines.kept(AGAIN),
            left(ONCE),
            left(AGAIN),
            vec![self.target.to_bits(), adapted, self.remembered],
        ]
    }

    fn restore_state(
        &mut self,
        lists: &mut dyn Iterator<Item = Vec<u64>>,
        holds: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String> {
        for list in [ONCE, AGAIN] {
            self.lines.restore_state(list, &kept::next(lists)?, holds)?;
        }
        for list in [ONCE, AGAIN] {
            for line in kept::next(lists)? {
                let place = self.free.pop().ok_or("more lines have left than are remembered")?;
                if self.known.find(line) != NONE {
                    return Err(format!("line {line} has left twice"));
                }
                self.known.insert(place, line);
                self.left.push(list, place);
            }
        }
        let rest = kept::next(lists)?;
        let [target, adapted, remembered] =
            rest.try_into().map_err(|_| "a list is cut short".to_owned())?;
        let target = f64::from_bits(target);
        if !(0.0..=f64::from(self.capacity)).contains(&target) {
            return Err(format!("{target} lines cannot be wanted"));
        }
        (self.target, self.adapted, self.remembered) = (target, adapted.checked_sub(1), remembered);
        Ok(())
    }

    fn remembered(&self) -> u64 {
        self.remembered
    }

    fn audit(&self) -> Result<u32, String> {
        let left = self.left.len(ONCE) + self.left.len(AGAIN);
        if left > self.capacity + 1 {
            return Err(format!("{left} lines are remembered, of a cache of {}", self.capacity));
        }
        Ok(self.lines.len(ONCE) + self.lines.len(AGAIN))
    }
}

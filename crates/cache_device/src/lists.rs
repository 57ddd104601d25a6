//! Linked lists of slots, each slot in at most one. Insertion, removal, and access to the oldest
//! take constant time.

/// Slot number, from 1.
pub type Slot = u32;

/// No slot.
pub const NONE: Slot = 0;

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    newer: Slot,
    older: Slot,
    /// List number, from 1; 0 if it is in no list.
    list: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    newest: Slot,
    oldest: Slot,
    len: u32,
}

/// Lists over a shared set of slots.
#[derive(Debug, Clone)]
pub struct Lists {
    /// One node per used slot: a nearly empty cache takes little memory.
    nodes: Vec<Node>,
    ends: Vec<Ends>,
    slots: u32,
}

impl Lists {
    /// Empty lists for slots from 1 to `slots`.
    pub fn new(lists: usize, slots: u32) -> Lists {
        Lists { nodes: Vec::new(), ends: memory::filled(Ends::default(), lists), slots }
    }

    /// List that contains a slot.
    #[inline]
    pub fn list_of(&self, slot: Slot) -> Option<usize> {
        (self.nodes.get(slot as usize)?.list as usize).checked_sub(1)
    }

    #[inline]
    pub fn len(&self, list: usize) -> u32 {
        self.ends[list].len
    }

    /// Oldest slot of a list, or `NONE`.
    #[inline]
    pub fn oldest(&self, list: usize) -> Slot {
        self.ends[list].oldest
    }

    /// Next newer slot in the same list, or `NONE`.
    #[inline]
    pub fn newer(&self, slot: Slot) -> Slot {
        self.nodes[slot as usize].newer
    }

    /// Appends an unlisted slot to a list, as the newest.
    #[inline]
    pub fn push(&mut self, list: usize, slot: Slot) {
        debug_assert_eq!(self.list_of(slot), None, "a slot is in one list");
        memory::grow(&mut self.nodes, slot as usize + 1, Node::default());
        let ends = &mut self.ends[list];
        self.nodes[slot as usize] = Node { newer: NONE, older: ends.newest, list: list as u32 + 1 };
        if ends.newest == NONE {
            ends.oldest = slot;
        } else {
            self.nodes[ends.newest as usize].newer = slot;
        }
        ends.newest = slot;
        ends.len += 1;
    }

    /// Removes a slot from its list, if any.
    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        let Some(list) = self.list_of(slot) else { return };
        let Node { newer, older, .. } = self.nodes[slot as usize];
        let ends = &mut self.ends[list];
        if newer == NONE {
            ends.newest = older;
        } else {
            self.nodes[newer as usize].older = older;
        }
        if older == NONE {
            ends.oldest = newer;
        } else {
            self.nodes[older as usize].newer = newer;
        }
        ends.len -= 1;
        self.nodes[slot as usize].list = 0;
    }

    /// Makes a slot the newest of its list.
    #[inline]
    pub fn renew(&mut self, list: usize, slot: Slot) {
        let ends = &mut self.ends[list];
        let newest = ends.newest;
        if newest == slot {
            return;
        }
        let Some(node) = self.nodes.get_mut(slot as usize) else {
            return self.change(list, slot);
        };
        let Node { newer, older, list: of } = *node;
        if of as usize != list + 1 {
            return self.change(list, slot);
        }
        // The slot stays in the list, behind a newer one.
        (node.newer, node.older) = (NONE, newest);
        ends.newest = slot;
        if older == NONE {
            ends.oldest = newer;
        } else {
            self.nodes[older as usize].newer = newer;
        }
        self.nodes[newer as usize].older = older;
        self.nodes[newest as usize].newer = slot;
    }

    /// Slots of a list, oldest first.
    pub fn kept(&self, list: usize) -> Vec<u64> {
        let mut slots = memory::with_capacity(self.len(list) as usize);
        let mut slot = self.oldest(list);
        while slot != NONE {
            slots.push(u64::from(slot));
            slot = self.newer(slot);
        }
        slots
    }

    /// Appends unlisted slots to a list, oldest first; `may` tells which slots are valid.
    ///
    /// # Errors
    /// For an invalid slot.
    pub fn restore_state(
        &mut self,
        list: usize,
        slots: &[u64],
        may: &dyn Fn(Slot) -> bool,
    ) -> Result<(), String> {
        for slot in slots {
            let is_known = (1..=u64::from(self.slots)).contains(slot);
            if !is_known || !may(*slot as Slot) || self.list_of(*slot as Slot).is_some() {
                return Err(format!("slot {slot} is in the wrong list"));
            }
            self.push(list, *slot as Slot);
        }
        Ok(())
    }

    /// Moves a slot to a list as its newest.
    #[inline(never)]
    fn change(&mut self, list: usize, slot: Slot) {
        self.remove(slot);
        self.push(list, slot);
    }

    /// The oldest slot of a list that satisfies `may`; examines at most `most` slots.
    #[inline]
    pub fn first(&self, list: usize, most: u32, may: &mut dyn FnMut(Slot) -> bool) -> Option<Slot> {
        let mut slot = self.oldest(list);
        for _ in 0..most {
            if slot == NONE {
                return None;
            }
            if may(slot) {
                return Some(slot);
            }
            slot = self.newer(slot);
        }
        None
    }
}

/// Index from content number to slot: hash chains.
#[derive(Debug, Clone)]
pub struct Index {
    heads: Vec<Slot>,
    /// One entry per used slot.
    holds: Vec<Held>,
    shift: u32,
}

/// Content number of a slot, and next slot in its chain.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    key: u64,
    next: Slot,
}

impl Index {
    /// An index over empty slots 1 to `slots`.
    pub fn new(slots: u32) -> Index {
        let heads = (slots as usize).next_power_of_two().max(2);
        Index {
            heads: memory::zeroed(heads),
            holds: Vec::new(),
            shift: 64 - heads.trailing_zeros(),
        }
    }

    #[inline]
    fn head(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// Slot with a content number, or `NONE`.
    #[inline]
    pub fn find(&self, key: u64) -> Slot {
        let mut slot = self.heads[self.head(key)];
        while slot != NONE {
            let held = &self.holds[slot as usize];
            if held.key == key {
                break;
            }
            slot = held.next;
        }
        slot
    }

    /// Current or last content number of a slot.
    #[inline]
    pub fn key(&self, slot: Slot) -> u64 {
        self.holds.get(slot as usize).map_or(0, |held| held.key)
    }

    /// Fills an empty slot with a new content number.
    pub fn insert(&mut self, slot: Slot, key: u64) {
        let head = self.head(key);
        memory::grow(&mut self.holds, slot as usize + 1, Held::default());
        self.holds[slot as usize] = Held { key, next: self.heads[head] };
        self.heads[head] = slot;
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: Slot) {
        let head = self.head(self.holds[slot as usize].key);
        let after = self.holds[slot as usize].next;
        let mut at = self.heads[head];
        if at == slot {
            self.heads[head] = after;
            return;
        }
        while at != NONE {
            let next = self.holds[at as usize].next;
            if next == slot {
                self.holds[at as usize].next = after;
                return;
            }
            at = next;
        }
    }
}

#[cfg(test)]
#[expect(clippy::map_entry, reason = "the model follows the list")]
mod tests {
    use super::*;
    use engine::{Random, Xoshiro256};
    use std::collections::BTreeMap;

    #[test]
    fn lists_are_those_of_a_simple_model() {
        let random = &mut Xoshiro256::new(1, 0);
        let mut lists = Lists::new(3, 20);
        let mut model: Vec<Vec<Slot>> = vec![Vec::new(); 3];
        for _ in 0..5_000 {
            let (slot, list) = (1 + random.below(20) as Slot, random.below(3) as usize);
            for it in &mut model {
                it.retain(|other| *other != slot);
            }
            if random.below(3) == 0 {
                lists.remove(slot);
            } else {
                lists.renew(list, slot);
                model[list].push(slot);
            }
            for (list, model) in model.iter().enumerate() {
                let mut seen = Vec::new();
                lists.first(list, 100, &mut |slot| {
                    seen.push(slot);
                    false
                });
                assert_eq!((&seen, lists.len(list) as usize), (model, model.len()));
                assert!(seen.iter().all(|slot| lists.list_of(*slot) == Some(list)));
            }
        }
    }

    #[test]
    fn an_index_is_a_map() {
        let random = &mut Xoshiro256::new(2, 0);
        let mut index = Index::new(50);
        let mut model = BTreeMap::new();
        for _ in 0..20_000 {
            let (slot, key) = (1 + random.below(50) as Slot, random.below(100));
            let held = model.iter().find(|(_, held)| **held == slot).map(|(key, _)| *key);
            if let Some(held) = held {
                index.remove(slot);
                model.remove(&held);
            } else if !model.contains_key(&key) {
                index.insert(slot, key);
                model.insert(key, slot);
            }
            let found = index.find(key);
            assert_eq!(Some(found).filter(|it| *it != NONE), model.get(&key).copied());
        }
    }
}

//! Map of the cache from lines to slots, with the state of each slot.

use super::lists::{Index, NONE, Slot};

/// State of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Empty.
    #[default]
    Free,
    /// A line is being written: not valid yet, and lost in a power cut.
    Coming,
    /// Equal to the backing device.
    Clean,
    /// Newer than the backing device.
    Dirty,
    /// Dropped, but still being read.
    Leaving,
}

/// Entry of a slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    pub state: State,
    /// True for a pinned line.
    pub held: bool,
    /// True while the host writes it.
    pub writing: bool,
    /// True while it is written back; and true if the host wrote it in the meantime.
    pub destaging: bool,
    pub rewritten: bool,
    /// Outstanding reads.
    pub pins: u32,
    /// Flush of the backing device that covers the line, for a line written to both devices.
    pub epoch: u64,
}

/// Slots, and an index of their lines.
#[derive(Debug, Clone)]
pub struct Table {
    index: Index,
    /// One entry per used slot, plus one for `NONE`.
    entries: Vec<Entry>,
    free: Vec<Slot>,
    /// Last slot ever used; later slots are free.
    used: Slot,
    slots: u32,
}

impl Table {
    pub fn new(slots: u32) -> Table {
        Table {
            index: Index::new(slots),
            entries: memory::filled(Entry::default(), 1),
            free: Vec::new(),
            used: 0,
            slots,
        }
    }

    /// Slot of a line, or `NONE`.
    #[inline]
    pub fn find(&self, line: u64) -> Slot {
        self.index.find(line)
    }

    #[inline]
    pub fn entry(&self, slot: Slot) -> &Entry {
        &self.entries[slot as usize]
    }

    /// Line of an occupied slot.
    #[inline]
    pub fn line(&self, slot: Slot) -> u64 {
        self.index.key(slot)
    }

    /// Takes a free slot.
    pub fn take_free(&mut self) -> Option<Slot> {
        self.free.pop().or_else(|| {
            (self.used < self.slots).then(|| {
                self.used += 1;
                memory::grow(&mut self.entries, self.used as usize + 1, Entry::default());
                self.used
            })
        })
    }

    /// Puts a line into a free slot.
    pub fn put(&mut self, slot: Slot, line: u64, state: State, held: bool) {
        self.index.insert(slot, line);
        self.entries[slot as usize] = Entry { state, held, ..Entry::default() };
    }

    /// Drops a line. Returns true if its slot is free at once, because it is not being read.
    pub fn drop_line(&mut self, slot: Slot) -> bool {
        self.index.remove(slot);
        let entry = &mut self.entries[slot as usize];
        let pins = entry.pins;
        let state = if pins > 0 { State::Leaving } else { State::Free };
        *entry = Entry { state, pins, ..Entry::default() };
        if pins == 0 {
            self.free.push(slot);
        }
        pins == 0
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    pub fn set_held(&mut self, slot: Slot, held: bool) {
        self.entries[slot as usize].held = held;
    }

    pub fn set(&mut self, slot: Slot, state: State) {
        self.entries[slot as usize].state = state;
    }

    pub fn set_writing(&mut self, slot: Slot, writing: bool) {
        let entry = &mut self.entries[slot as usize];
        entry.writing = writing;
        entry.rewritten |= writing && entry.destaging;
    }

    pub fn set_epoch(&mut self, slot: Slot, epoch: u64) {
        self.entries[slot as usize].epoch = epoch;
    }

    pub fn set_destaging(&mut self, slot: Slot, destaging: bool) {
        let entry = &mut self.entries[slot as usize];
        entry.destaging = destaging;
        entry.rewritten = false;
    }

    #[inline]
    pub fn pin(&mut self, slot: Slot, slots: u32) {
        for entry in &mut self.entries[slot as usize..][..slots as usize] {
            entry.pins += 1;
        }
    }

    #[inline]
    pub fn unpin(&mut self, slot: Slot, slots: u32) {
        for slot in slot..slot + slots {
            self.unpin_one(slot);
        }
    }

    /// Ends a read of a slot.
    #[inline]
    pub fn unpin_one(&mut self, slot: Slot) {
        let entry = &mut self.entries[slot as usize];
        entry.pins -= 1;
        if entry.pins == 0 && entry.state == State::Leaving {
            entry.state = State::Free;
            self.free.push(slot);
        }
    }

    /// Starts a read of a cached line. Returns its slot or `NONE`, and true if it is pinned.
    #[inline]
    pub fn begin_read(&mut self, line: u64) -> (Slot, bool) {
        let slot = self.index.find(line);
        let entry = &mut self.entries[slot as usize];
        if !matches!(entry.state, State::Clean | State::Dirty) {
            return (NONE, false);
        }
        entry.pins += 1;
        (slot, entry.held)
    }

    /// Handles a power cut: drops all operations in progress.
    pub fn lose_power(&mut self) {
        for slot in 1..=self.used {
            let entry = &mut self.entries[slot as usize];
            let Entry { state, held, epoch, .. } = *entry;
            *entry = Entry { state, held, epoch, ..Entry::default() };
            if state == State::Leaving {
                entry.state = State::Free;
                self.free.push(slot);
            }
        }
    }

    /// Saved state. For each used slot: (line + 1) x 2 + dirty bit, or 0 if empty. Then the free
    /// slots, in order of allocation.
    pub fn kept(&self) -> [Vec<u64>; 2] {
        let line = |slot: Slot| match self.entry(slot).state {
            State::Clean => (self.line(slot) + 1) << 1,
            State::Dirty => (self.line(slot) + 1) << 1 | 1,
            _ => 0,
        };
        let free = self.free.iter().map(|slot| u64::from(*slot));
        [(1..=self.used).map(line).collect(), free.collect()]
    }

    /// Restores the state of an empty table. `held` tells which lines are pinned, `all` is the
    /// number of lines.
    ///
    /// # Errors
    /// When the state is invalid.
    pub fn restore_state(
        &mut self,
        [lines, free]: [Vec<u64>; 2],
        held: &dyn Fn(u64) -> bool,
        all: u64,
    ) -> Result<(), String> {
        if lines.len() > self.slots as usize {
            return Err(format!("it has {} lines, and this cache {}", lines.len(), self.slots));
        }
        self.used = lines.len() as Slot;
        memory::grow(&mut self.entries, lines.len() + 1, Entry::default());
        for (number, slot) in lines.into_iter().zip(1..) {
            let Some(line) = (number >> 1).checked_sub(1) else { continue };
            if line >= all || self.find(line) != NONE {
                return Err(format!("line {line} is there twice, or none of the device"));
            }
            let state = if number & 1 == 1 { State::Dirty } else { State::Clean };
            self.put(slot, line, state, held(line));
        }
        for slot in free {
            let is_used = slot > 0 && slot <= u64::from(self.used);
            if !is_used || self.entry(slot as Slot).state != State::Free {
                return Err(format!("slot {slot} is not free"));
            }
            self.free.push(slot as Slot);
        }
        Ok(())
    }

    /// All slots that hold a line.
    pub fn lines(&self) -> impl Iterator<Item = (Slot, u64, &Entry)> {
        let holds = |slot: &Slot| {
            !matches!(self.entries[*slot as usize].state, State::Free | State::Leaving)
        };
        (1..=self.used).filter(holds).map(|it| (it, self.line(it), self.entry(it)))
    }

    /// Number of cached lines, and of dirty ones.
    pub fn counts(&self) -> (u64, u64) {
        self.lines().fold((0, 0), |(all, dirty), (_, _, entry)| {
            (all + 1, dirty + u64::from(entry.state == State::Dirty))
        })
    }

    /// Checks the table.
    ///
    /// # Errors
    /// On an inconsistency, which is a bug of this program.
    pub fn audit(&self) -> Result<(), String> {
        for (slot, line, _) in self.lines() {
            if self.find(line) != slot {
                return Err(format!("line {line} of slot {slot} is not found there"));
            }
        }
        let held = self.lines().count() + self.free.len();
        let leaving = (1..=self.used).filter(|it| self.entry(*it).state == State::Leaving).count();
        if held + leaving != self.used as usize {
            return Err(format!("{} slots were used, and {held} are known", self.used));
        }
        let stray = self.free.iter().find(|it| self.entry(**it).state != State::Free);
        stray.map_or(Ok(()), |slot| Err(format!("slot {slot} is free and is not")))
    }
}

const _: () = assert!(NONE == 0, "entry 0 is none");

//! Write counters by handle, and the trait of media that update them.

/// Counters of one handle, in pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandleAccount {
    /// Host writes with this handle.
    pub host: u64,
    /// Moved pages that were written with this handle.
    pub moved: u64,
    /// Pages moved by the cleaning of this handle's units.
    pub moved_because: u64,
    /// Superseded or trimmed pages written with this handle.
    pub invalidated: u64,
    /// Pages superseded by a write with another handle.
    pub foreign: u64,
    /// Units opened for writes of the host.
    pub opened: u64,
}

/// Counters since the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Counts by handle.
    pub handles: Vec<HandleAccount>,
    /// Pages moved by cleaning units that mix copies of all handles.
    pub moved_from_copies: u64,
    /// Number of erased units.
    pub erased: u64,
}

impl Account {
    /// An empty account for a number of handles.
    pub fn new(handles: u8) -> Account {
        let handles = vec![HandleAccount::default(); usize::from(handles)];
        Account { handles, ..Account::default() }
    }

    /// Counts a host write of a page.
    #[inline]
    pub fn wrote(&mut self, handle: usize) {
        self.handles[handle].host += 1;
    }

    /// Counts a page written with `before` that a write with `by` supersedes, or that is
    /// deallocated.
    #[inline]
    pub fn lost(&mut self, before: u8, by: Option<u8>) {
        let account = &mut self.handles[usize::from(before)];
        account.invalidated += 1;
        account.foreign += u64::from(by.is_some_and(|by| by != before));
    }

    /// Counts a unit opened for host writes.
    pub fn opened(&mut self, handle: usize) {
        self.handles[handle].opened += 1;
    }

    /// Counts a moved page of a handle.
    #[inline]
    pub fn moves(&mut self, handle: u8) {
        self.handles[usize::from(handle)].moved += 1;
    }

    /// Counts the cleaning of a unit and its `moved` pages; `owner` is no handle if the unit mixes
    /// copies.
    pub fn cleans(&mut self, owner: usize, moved: u64) {
        match self.handles.get_mut(owner) {
            Some(account) => account.moved_because += moved,
            None => self.moved_from_copies += moved,
        }
        self.erased += 1;
    }

    /// Pages written by the host.
    pub fn host(&self) -> u64 {
        self.handles.iter().map(|it| it.host).sum()
    }

    /// Pages moved by garbage collection.
    pub fn moved(&self) -> u64 {
        self.handles.iter().map(|it| it.moved).sum()
    }

    /// Device-level write amplification (DLWA): pages programmed / pages written by the host.
    pub fn dlwa(&self) -> f64 {
        let host = self.host();
        if host == 0 { 1.0 } else { (host + self.moved()) as f64 / host as f64 }
    }
}

/// Medium of a replay: a drive with handles, or a host log on zones.
pub trait Medium {
    /// Writes a page with a handle, or to a stream.
    fn write(&mut self, page: u32, handle: u8);
    /// Invalidates a page.
    fn trim(&mut self, page: u32);
    /// Prefetches the map entry of a logical page.
    fn prefetch(&self, page: u32);
    /// Prefetches the state of a logical page's old location.
    fn prefetch_old(&self, page: u32);
    /// Counters since the last reset.
    fn account(&self) -> &Account;
    /// Resets the counters.
    fn reset_account(&mut self);
    /// True after an invalid choice of the policy.
    fn has_ended(&self) -> bool {
        false
    }
}

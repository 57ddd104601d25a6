//! Account of writes by handle, and the medium that updates it.

/// Counts of one handle, in pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HandleAccount {
    /// Written by the host with this handle.
    pub host: u64,
    /// Moved pages written with this handle.
    pub moved: u64,
    /// Pages moved by the cleaning of this handle's units.
    pub moved_because: u64,
    /// Superseded or trimmed pages written with this handle.
    pub invalidated: u64,
    /// Pages that a write with another handle superseded.
    pub foreign: u64,
    /// Units opened for writes of the host.
    pub opened: u64,
}

/// Counts since the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Counts by handle.
    pub handles: Vec<HandleAccount>,
    /// Pages that were moved because a unit of copies was cleaned that belongs to no handle.
    pub moved_from_copies: u64,
    /// Units erased.
    pub erased: u64,
}

impl Account {
    /// An empty account of some handles.
    pub fn new(handles: u8) -> Account {
        let handles = vec![HandleAccount::default(); usize::from(handles)];
        Account { handles, ..Account::default() }
    }

    /// The host writes a page.
    #[inline]
    pub fn wrote(&mut self, handle: usize) {
        self.handles[handle].host += 1;
    }

    /// A page that `before` had written is superseded by `by`, or deallocated.
    #[inline]
    pub fn lost(&mut self, before: u8, by: Option<u8>) {
        let account = &mut self.handles[usize::from(before)];
        account.invalidated += 1;
        account.foreign += u64::from(by.is_some_and(|by| by != before));
    }

    /// A unit is opened for writes of the host.
    pub fn opened(&mut self, handle: usize) {
        self.handles[handle].opened += 1;
    }

    /// Cleaning moves a page of that handle.
    #[inline]
    pub fn moves(&mut self, handle: u8) {
        self.handles[usize::from(handle)].moved += 1;
    }

    /// Counts the cleaning of a unit of an owner, which is no handle where the unit mixes copies;
    /// `moved` pages are moved.
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

    /// Pages moved by cleaning.
    pub fn moved(&self) -> u64 {
        self.handles.iter().map(|it| it.moved).sum()
    }

    /// Device-level write amplification: programmed / written by the host.
    pub fn dlwa(&self) -> f64 {
        let host = self.host();
        if host == 0 { 1.0 } else { (host + self.moved()) as f64 / host as f64 }
    }
}

/// Medium of a replay: a drive with handles, or a host log on zones.
pub trait Medium {
    /// The host writes a page with a handle, or to a stream.
    fn write(&mut self, page: u32, handle: u8);
    /// Invalidates a page.
    fn trim(&mut self, page: u32);
    /// Begins to fetch where a logical page lies.
    fn prefetch(&self, page: u32);
    /// Prefetches the entry of a logical page.
    fn prefetch_old(&self, page: u32);
    /// Counts since the last reset.
    fn account(&self) -> &Account;
    /// Counts from here on.
    fn reset_account(&mut self);
    /// True after an invalid choice of the policy.
    fn has_ended(&self) -> bool {
        false
    }
}

//! The handle that wrote each host page, and each copy kept under another number.

use crate::ids::Lpn;

/// Writer of the initial data: no host, so that superseding them counts against no handle. To
/// everything else it is of handle 0.
pub const NOBODY: u8 = u8::MAX;

/// The handle that wrote each page, by its number; empty where there is one handle.
#[derive(Debug, Clone)]
pub struct Writers {
    of: Vec<u8>,
    /// Pages of the host; numbers behind them are of kept copies.
    hosts: usize,
    /// A page that the host is overwriting, of which a copy is kept, and its writer until now.
    displaced: Option<(Lpn, u8)>,
}

impl Writers {
    /// All pages are initial data.
    pub fn new(hosts: u64, numbered: u64) -> Writers {
        let of = memory::filled(NOBODY, numbered as usize);
        Writers { of, hosts: hosts as usize, displaced: None }
    }

    /// Writer of a page.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> u8 {
        self.of[lpn.at()]
    }

    /// Sets the writer of a page; returns the former one.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, writer: u8) -> u8 {
        std::mem::replace(&mut self.of[lpn.at()], writer)
    }

    /// Writers of the pages of the host.
    pub fn of_host(&self) -> &[u8] {
        &self.of[..self.hosts]
    }

    /// Restores the writers of the host pages; there are no copies.
    pub fn restore(&mut self, writers: &[u8]) {
        self.of[..self.hosts].copy_from_slice(writers);
        self.of[self.hosts..].fill(NOBODY);
    }

    /// The host is going to overwrite a page of which a copy is kept.
    pub fn displace(&mut self, lpn: Lpn) {
        self.displaced = Some((lpn, self.of(lpn)));
    }

    /// A copy of a page is kept under a separate number, for the handle that wrote it.
    pub fn keep(&mut self, lpn: Lpn, own: Lpn) {
        if self.of.is_empty() {
            return;
        }
        let displaced = self.displaced.take().filter(|(page, _)| *page == lpn);
        let writer = displaced.map_or_else(|| self.of(lpn), |(_, writer)| writer);
        self.set(own, writer);
    }
}

//! The ways to a live device: a socket of its own, or a door that it shares with others.

use super::place;
use super::settings::{Behind, LiveAddress, LiveSettings, from_nbd};
use crate::error::RunError;
use nbd::{Address, Entrance, Export, Listener};

/// What is open for clients; it is closed when it is dropped.
pub(super) struct Doors<'a> {
    address: Option<Address>,
    listener: Option<Listener>,
    shared: Option<&'a Behind>,
}

impl<'a> Doors<'a> {
    /// What the user wants to be opened, if it can be: whoever finds a door finds a server behind it, so
    /// they are opened last.
    pub(super) fn check(
        settings: &'a LiveSettings,
        warnings: &mut Vec<String>,
    ) -> Result<Self, RunError> {
        if let LiveAddress::Shared(behind) = &settings.address {
            return Ok(Doors { address: None, listener: None, shared: Some(behind) });
        }
        let address = place::address(&settings.address, false, warnings)?;
        Listener::check(&address).map_err(from_nbd)?;
        Ok(Doors { address: Some(address), listener: None, shared: None })
    }

    /// Whether clients come by TCP.
    pub(super) fn is_tcp(&self) -> bool {
        match self.shared {
            Some(behind) => behind.is_tcp,
            None => matches!(self.address, Some(Address::Tcp(..))),
        }
    }

    /// Opens what is its own; a door that is shared is opened when all behind it are ready.
    pub(super) fn open(&mut self, export: Export) -> Result<(), RunError> {
        if let Some(behind) = self.shared {
            // It is ready once.
            let _ = behind.export.set(export);
        }
        self.listener = self.address.as_ref().map(Listener::new).transpose().map_err(from_nbd)?;
        Ok(())
    }

    /// Where clients come.
    pub(super) fn entrance(&self) -> Option<&dyn Entrance> {
        match self.shared {
            Some(behind) => Some(&behind.arrivals),
            None => self.listener.as_ref().map(|it| it as &dyn Entrance),
        }
    }

    /// By what they find it; nothing as long as a shared door is not open.
    pub(super) fn uri(&self) -> String {
        let shared = self.shared.and_then(|behind| behind.uri.get().cloned());
        shared.or_else(|| self.listener.as_ref().map(Listener::uri)).unwrap_or_default()
    }
}

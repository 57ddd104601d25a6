//! The ways to a live device: a socket with NBD, a file, the disk of a virtual machine.

use super::place;
use super::settings::{LiveSettings, from_nbd};
use crate::error::RunError;
use engine::Device;
use nbd::{Address, Floor, Listener, Mount, Server, VhostUser, Witness};
use std::path::PathBuf;

/// What is open for clients; it is closed when it is dropped.
pub(super) struct Doors {
    address: Option<Address>,
    listener: Option<Listener>,
    mount: Option<Mount>,
    machine: Option<VhostUser>,
    /// What the way to the file takes.
    to_file: Floor,
}

impl Doors {
    /// What the user wants to be opened, if it can be: whoever finds a door finds a server behind it, so they
    /// are opened last.
    pub(super) fn check(
        settings: &LiveSettings,
        warnings: &mut Vec<String>,
    ) -> Result<Self, RunError> {
        let address = place::address(settings, warnings)?;
        if address.is_none() && settings.mount.is_none() && settings.vhost_user.is_none() {
            let problem = "nobody could reach it: a socket, a port or a directory is needed";
            return Err(RunError::Input(problem.to_owned()));
        }
        if let Some(address) = &address {
            Listener::check(address).map_err(from_nbd)?;
        }
        if let Some(path) = &settings.mount {
            Mount::check(path).map_err(from_nbd)?;
        }
        if let Some(path) = &settings.vhost_user {
            VhostUser::check(path).map_err(from_nbd)?;
        }
        Ok(Doors { address, listener: None, mount: None, machine: None, to_file: Floor::none() })
    }

    /// Measures what the way to clients takes, unless that is given: to those with a socket, or else
    /// to whoever uses the file. To a machine it is not known, so that its answers are never early.
    pub(super) fn measure(
        &mut self,
        settings: &LiveSettings,
        given: Option<Floor>,
    ) -> Result<Floor, RunError> {
        if let Some(given) = given {
            self.to_file = given.clone();
            return Ok(given);
        }
        if let Some(path) = &settings.mount {
            self.to_file = Floor::measure_mounted(path).map_err(from_nbd)?;
        }
        match &self.address {
            Some(address) => Floor::measure(matches!(address, Address::Tcp(..))).map_err(from_nbd),
            None => Ok(self.to_file.clone()),
        }
    }

    /// Opens all of them.
    pub(super) fn open<D: Device + ?Sized, W: Witness<D> + ?Sized>(
        &mut self,
        settings: &LiveSettings,
        server: &mut Server<'_, D, W>,
    ) -> Result<(), RunError> {
        self.listener = self.address.as_ref().map(Listener::new).transpose().map_err(from_nbd)?;
        if let Some(path) = &settings.mount {
            self.mount =
                Some(Mount::new(path, &server.local(self.to_file.clone())).map_err(from_nbd)?);
        }
        if let Some(path) = &settings.vhost_user {
            self.machine =
                Some(VhostUser::new(path, server.local(Floor::none())).map_err(from_nbd)?);
        }
        Ok(())
    }

    /// Where new clients of NBD come.
    pub(super) fn listener(&self) -> Option<&Listener> {
        self.listener.as_ref()
    }

    /// By what they find it.
    pub(super) fn uri(&self) -> Option<String> {
        self.listener.as_ref().map(Listener::uri)
    }

    /// The file that is the device.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.mount.as_ref().map(Mount::file)
    }

    /// Closes all of them, behind a server that has ended; what the user should know of that.
    pub(super) fn close(self) -> Vec<String> {
        self.mount.and_then(Mount::end).into_iter().collect()
    }
}

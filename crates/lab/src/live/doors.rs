//! Transports of a live device: its own or a shared socket, a mounted file, a virtual machine's
//! disk, an `NVMe` namespace.

use super::settings::{Among, Behind, LiveAddress, LiveNvme, LiveSettings, Ready, from_nbd};
use super::{parts, place};
use crate::error::RunError;
use engine::Device;
use nbd::{
    Address, Entrance, Export, Listener, Mount, NvmeTarget, Overhead, Server, VhostUser, Witness,
};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

/// Open transports, closed on drop.
pub(super) struct Doors<'a> {
    address: Option<Address>,
    listener: Option<Listener>,
    shared: Option<&'a Behind>,
    mount: Option<Mount>,
    machine: Option<VhostUser>,
    /// Address of its own NVMe listener, that listener, and a shared target.
    nvme: Option<Address>,
    target: Option<NvmeTarget>,
    among: Option<&'a Among>,
    /// Transport latency of the mounted file, and of NVMe/TCP.
    to_file: Overhead,
    to_host: Overhead,
}

impl<'a> Doors<'a> {
    /// Checks the sockets without opening them: they are opened last, so that a connecting client
    /// finds a server.
    pub(super) fn check(
        settings: &'a LiveSettings,
        warnings: &mut Vec<String>,
    ) -> Result<Self, RunError> {
        let (address, shared) = match &settings.address {
            Some(LiveAddress::Shared(behind)) => (None, Some(behind)),
            Some(address) => (Some(place::address(address, false, warnings)?), None),
            None if settings.mount.is_none()
                && settings.vhost_user.is_none()
                && settings.nvme.is_none() =>
            {
                let problem =
                    "no client could reach it: give a socket, a port or a mount directory";
                return Err(RunError::Input(problem.to_owned()));
            }
            None => (None, None),
        };
        if let Some(address) = &address {
            Listener::check(address).map_err(from_nbd)?;
        }
        if let Some(path) = &settings.mount {
            Mount::check(path).map_err(from_nbd)?;
        }
        if let Some(path) = &settings.vhost_user {
            VhostUser::check(path).map_err(from_nbd)?;
        }
        let (nvme, among) = match &settings.nvme {
            Some(LiveNvme::At(uri, allow_remote)) => {
                let address = place::nvme_address(uri, *allow_remote, warnings)?;
                NvmeTarget::check(&address).map_err(from_nbd)?;
                (Some(address), None)
            }
            Some(LiveNvme::Shared(among)) => (None, Some(&**among)),
            None => (None, None),
        };
        Ok(Doors {
            address,
            listener: None,
            shared,
            mount: None,
            machine: None,
            nvme,
            target: None,
            among,
            to_file: Overhead::none(),
            to_host: Overhead::none(),
        })
    }

    /// Measures the transport latency, unless it is stated: of the socket if there is one,
    /// otherwise of the mounted file or NVMe/TCP. For a virtual machine it is unknown, so replies
    /// are never sent early.
    pub(super) fn measure(
        &mut self,
        settings: &LiveSettings,
        given: Option<Overhead>,
    ) -> Result<Overhead, RunError> {
        if let Some(given) = given {
            (self.to_file, self.to_host) = (given.clone(), given.clone());
            return Ok(given);
        }
        if let Some(path) = &settings.mount {
            self.to_file = Overhead::measure_mounted(path).map_err(from_nbd)?;
        }
        if let Some(address) = self.nvme.as_ref().or(self.among.map(|it| &it.address)) {
            self.to_host = Overhead::measure_nvme(address).map_err(from_nbd)?;
        }
        let is_tcp = match (self.shared, &self.address) {
            (Some(behind), _) => behind.is_tcp,
            (None, Some(address)) => matches!(address, Address::Tcp(..)),
            (None, None) if self.nvme.is_some() || self.among.is_some() => {
                return Ok(self.to_host.clone());
            }
            (None, None) => return Ok(self.to_file.clone()),
        };
        Overhead::measure(is_tcp).map_err(from_nbd)
    }

    /// Opens the device's own listeners; a shared listener opens when all its devices are ready.
    pub(super) fn open<D: Device + ?Sized, W: Witness<D> + ?Sized>(
        &mut self,
        (settings, configured): (&LiveSettings, Option<&String>),
        export: Export,
        server: &mut Server<'_, D, W>,
    ) -> Result<(), RunError> {
        let wishes =
            parts::wishes(settings, configured, export.bytes, server.zone_limits().is_some())?;
        if let Some(behind) = self.shared {
            // This is the only place that sets it.
            let _ = behind.export.set(export);
        }
        self.listener = self.address.as_ref().map(Listener::new).transpose().map_err(from_nbd)?;
        if let Some(path) = &settings.mount {
            self.mount =
                Some(Mount::new(path, &server.local(self.to_file.clone())).map_err(from_nbd)?);
        }
        if let Some(path) = &settings.vhost_user {
            self.machine =
                Some(VhostUser::new(path, server.local(Overhead::none())).map_err(from_nbd)?);
        }
        if let Some(address) = &self.nvme {
            let namespaces = server.namespaces("", &self.to_host, &wishes);
            self.target = Some(NvmeTarget::new(address, namespaces, None).map_err(from_nbd)?);
        }
        if let Some(among) = self.among {
            let mut place = among.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            *place = server.namespaces(&among.name, &self.to_host, &wishes);
        }
        Ok(())
    }

    /// Source of new NBD clients.
    pub(super) fn entrance(&self) -> Option<&dyn Entrance> {
        match self.shared {
            Some(behind) => Some(&behind.arrivals),
            None => self.listener.as_ref().map(|it| it as &dyn Entrance),
        }
    }

    /// The address for NBD clients; `None` while a shared listener is not open.
    fn uri(&self) -> Option<String> {
        let shared = self.shared.and_then(|behind| behind.uri.get().cloned());
        shared.or_else(|| self.listener.as_ref().map(Listener::uri))
    }

    /// The address for NVMe/TCP hosts; `None` while a shared target is not open.
    fn nvme(&self) -> Option<String> {
        let shared = self.among.and_then(|among| among.uri.get().cloned());
        shared.or_else(|| self.target.as_ref().map(|it| it.uri().to_owned()))
    }

    /// Addresses of the opened device.
    pub(super) fn ready(
        &self,
        size_bytes: u64,
        warnings: Vec<String>,
        events: Option<Arc<AtomicU64>>,
    ) -> Ready {
        let (uri, nvme, file) = (self.uri(), self.nvme(), self.file());
        Ready { uri, nvme, file, size_bytes, warnings, events }
    }

    /// The file that exposes the device.
    fn file(&self) -> Option<PathBuf> {
        self.mount.as_ref().map(Mount::file)
    }

    /// Closes all transports after the server has ended, and returns messages for the user.
    pub(super) fn close(self) -> Vec<String> {
        self.mount.and_then(Mount::end).into_iter().collect()
    }
}

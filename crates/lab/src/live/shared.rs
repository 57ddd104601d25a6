//! Listeners shared by several live devices: exports by name with TLS, and namespaces of an `NVMe`
//! target.

use super::place;
use super::settings::{Among, Behind, LiveAddress, LiveNvme, from_nbd, system};
use crate::error::RunError;
use nbd::{
    Address, Control, Door, Export, Listener, NvmeTarget, Offer, Passage, Relays, Security, Tls,
};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Access between clients and the devices of a listener.
#[derive(Debug, Clone)]
pub struct LiveTls {
    tls: Tls,
    security: Security,
    verifies: bool,
}

impl LiveTls {
    /// TLS with the certificates of a directory; `verifies` demands client certificates, `required`
    /// refuses clients without TLS.
    ///
    /// # Errors
    /// When files are missing or invalid.
    pub fn new(directory: &Path, verifies: bool, required: bool) -> Result<Self, RunError> {
        let tls = Tls::new(directory, verifies).map_err(from_nbd)?;
        let security = if required { Security::Required } else { Security::Offered };
        Ok(LiveTls { tls, security, verifies })
    }

    /// True if clients must show a certificate.
    fn guards(&self) -> bool {
        self.verifies && self.security == Security::Required
    }
}

/// A device behind the listener.
struct Room {
    name: String,
    description: String,
    passage: Passage,
    export: Arc<OnceLock<Export>>,
    uri: Arc<OnceLock<String>>,
}

/// A listener that opens when all its devices are ready.
pub struct LiveDoor {
    address: Address,
    tls: Option<LiveTls>,
    rooms: Vec<Room>,
    control: Control,
    thread: Option<JoinHandle<Relays>>,
    relays: Option<Relays>,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl LiveDoor {
    /// A listener for an address, not yet open.
    ///
    /// # Errors
    /// When the address is in use or unavailable.
    pub fn new(address: &LiveAddress, tls: Option<LiveTls>) -> Result<Self, RunError> {
        let mut warnings = Vec::new();
        let is_guarded = tls.as_ref().is_some_and(LiveTls::guards);
        let address = place::address(address, is_guarded, &mut warnings)?;
        Listener::check(&address).map_err(from_nbd)?;
        if tls.is_some() {
            let words = "the latency of TLS is not part of the timing; clients see it in addition";
            warnings.push(words.to_owned());
        }
        let control = Control::new().map_err(|error| system(&error))?;
        let (thread, relays) = (None, None);
        Ok(LiveDoor { address, tls, rooms: Vec::new(), control, thread, relays, warnings })
    }

    /// Channel to a named device behind the listener.
    ///
    /// # Errors
    /// When the name is already used, or the system is out of file descriptors.
    pub fn way_to(&mut self, name: &str, description: &str) -> Result<LiveAddress, RunError> {
        if self.rooms.iter().any(|room| room.name == name) {
            let problem = format!("export {name}: this name is used twice");
            return Err(RunError::Input(problem));
        }
        let (passage, arrivals) = nbd::passage().map_err(from_nbd)?;
        let (export, uri) = (Arc::<OnceLock<_>>::default(), Arc::<OnceLock<_>>::default());
        self.rooms.push(Room {
            name: name.to_owned(),
            description: description.to_owned(),
            passage,
            export: Arc::clone(&export),
            uri: Arc::clone(&uri),
        });
        let is_tcp = matches!(self.address, Address::Tcp(..));
        Ok(LiveAddress::Shared(Behind { arrivals, is_tcp, export, uri }))
    }

    /// Opens the listener to clients. Returns the address of each device, in the order of
    /// [`way_to`](Self::way_to).
    ///
    /// # Errors
    /// When the address has become unavailable, or a name is invalid.
    pub fn open(&mut self) -> Result<Vec<String>, RunError> {
        let listener = Listener::new(&self.address).map_err(from_nbd)?;
        let (mut offers, mut uris) = (Vec::new(), Vec::new());
        for room in std::mem::take(&mut self.rooms) {
            let uri = listener.uri_of(&room.name, self.tls.is_some());
            // This is the only place that sets it.
            let _ = room.uri.set(uri.clone());
            uris.push(uri);
            let export = room.export.get().copied().unwrap_or_default();
            let offer = Offer { name: room.name, description: room.description, export };
            offers.push((offer, room.passage));
        }
        let tls = self.tls.as_ref().map(|it| (it.tls.clone(), it.security));
        let door = Door::new(listener, offers, tls, &self.control).map_err(from_nbd)?;
        let thread = std::thread::Builder::new().name("door".to_owned());
        self.thread = Some(thread.spawn(move || door.run()).map_err(|error| system(&error))?);
        Ok(uris)
    }

    /// Stops accepting clients; connected ones may stay.
    pub fn close(&mut self) {
        self.control.stop();
        if let Some(thread) = self.thread.take() {
            match thread.join() {
                Ok(relays) => self.relays = Some(relays),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    }

    /// Waits until the last replies of the devices, which have ended, have reached their clients.
    pub fn finish(mut self) {
        self.close();
        if let Some(relays) = self.relays.take() {
            relays.finish();
        }
    }
}

/// An NVMe/TCP target that opens when all its devices are ready.
pub struct LiveTarget {
    address: Address,
    tls: Option<Tls>,
    members: Vec<Arc<Among>>,
    target: Option<NvmeTarget>,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl LiveTarget {
    /// A target for an address, not yet open; `allow_remote` permits other machines, and `tls`
    /// encrypts connections.
    ///
    /// # Errors
    /// When the address is invalid, in use or unavailable.
    pub fn new(uri: &str, allow_remote: bool, tls: Option<LiveTls>) -> Result<Self, RunError> {
        let mut warnings = Vec::new();
        if tls.as_ref().is_some_and(|it| it.security == Security::Offered) {
            let problem = format!(
                "nvme {uri}: TLS is required there or off, because a host does not ask for it; use tls \"require\" \
                 or \"off\""
            );
            return Err(RunError::Input(problem));
        }
        let is_guarded = tls.as_ref().is_some_and(LiveTls::guards);
        let address = place::nvme_address(uri, allow_remote || is_guarded, &mut warnings)?;
        NvmeTarget::check(&address).map_err(from_nbd)?;
        let tls = tls.map(|it| it.tls);
        Ok(LiveTarget { address, tls, members: Vec::new(), target: None, warnings })
    }

    /// Reserves the next namespaces of the target for a named device.
    pub fn way_to(&mut self, name: &str) -> LiveNvme {
        let (namespaces, uri) = (Mutex::default(), OnceLock::new());
        let address = self.address.clone();
        let member = Arc::new(Among { name: name.to_owned(), address, namespaces, uri });
        self.members.push(Arc::clone(&member));
        LiveNvme::Shared(member)
    }

    /// Opens the listener to hosts; returns its address.
    ///
    /// # Errors
    /// When the address has become unavailable.
    pub fn open(&mut self) -> Result<String, RunError> {
        let taken = |it: &Arc<Among>| {
            std::mem::take(&mut *it.namespaces.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let namespaces = self.members.iter().flat_map(taken).collect();
        let target =
            NvmeTarget::new(&self.address, namespaces, self.tls.clone()).map_err(from_nbd)?;
        let uri = target.uri().to_owned();
        for member in &self.members {
            // This is the only place that sets it.
            let _ = member.uri.set(uri.clone());
        }
        self.target = Some(target);
        Ok(uri)
    }

    /// Ends all connections.
    pub fn close(&mut self) {
        self.target = None;
    }
}

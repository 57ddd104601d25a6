//! The device as a virtual machine's disk, without NBD: `vhost-user-blk`.
//!
//! The hypervisor connects to a Unix socket and shares its guest's memory; the guest's driver puts
//! requests into queues there (`virtio_disk.rs`). One thread accepts hypervisors, one at a time;
//! another talks to the hypervisor, and a third reads the guest's requests. The server writes
//! replies at their completion time.

use crate::control::Control;
use crate::error::{Error, reason};
use crate::listen::{Address, Listener};
use crate::local::{LocalClient, Reply};
use crate::virtio_disk::{self, FAILED, QUEUE_SIZE, QUEUES, Task};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{ShutdownHandle, VhostUserBackend, VhostUserDaemon, VringMutex, VringT};
use virtio_queue::{DescriptorChain, QueueT};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;

/// Event that ends a worker; lower numbers are the library's queues.
const FAREWELL: u16 = QUEUES + 1;
/// Maximum wait of a stopped queue for its outstanding requests.
const PATIENCE: Duration = Duration::from_secs(10);

type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
type Chain = DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>;

/// A socket for hypervisors; dropping it removes its path and disconnects the current hypervisor.
#[derive(Debug)]
pub struct VhostUser {
    control: Control,
    current: Current,
    thread: Option<JoinHandle<()>>,
}

/// Connection of the current hypervisor.
#[derive(Clone, Default)]
struct Current(Arc<Mutex<Option<ShutdownHandle>>>);

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Current")
    }
}

impl VhostUser {
    /// Checks that [`new`](VhostUser::new) would succeed now.
    ///
    /// # Errors
    /// As [`new`](VhostUser::new).
    pub fn check(path: &Path) -> Result<(), Error> {
        Listener::check(&Address::Unix(path.to_owned()))
    }

    /// Serves hypervisors at a Unix socket; the guest's disk is the client's device.
    ///
    /// # Errors
    /// When the path is in use or not available, or the system gives no thread.
    pub fn new(path: &Path, client: LocalClient) -> Result<Self, Error> {
        let system = |error: io::Error| Error::System(reason(&error));
        let listener = Listener::new(&Address::Unix(path.to_owned()))?;
        let control = Control::new().map_err(system)?;
        let current = Current::default();
        let (its_control, its_current) = (control.clone(), current.clone());
        let thread = std::thread::Builder::new().name("vhost-user".to_owned());
        let thread = thread.spawn(move || attend(&listener, &client, &its_control, &its_current));
        Ok(VhostUser { control, current, thread: Some(thread.map_err(system)?) })
    }
}

impl Drop for VhostUser {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(connection) = &*lock(&self.current.0) {
            connection.shutdown();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves hypervisors in turn until stopped.
fn attend(listener: &Listener, client: &LocalClient, control: &Control, current: &Current) {
    let Some(Ok(socket)) = listener.unix() else { return };
    // The listener's handle must block for the library's accept.
    if socket.set_nonblocking(false).is_err() {
        return;
    }
    let mut socket = vhost::vhost_user::Listener::from(socket);
    loop {
        let mut fds =
            [PollFd::new(control.wakes(), PollFlags::IN), PollFd::new(listener, PollFlags::IN)];
        let _ = poll(&mut fds, None);
        if control.is_stopped() {
            return;
        }
        if fds[1].revents().is_empty() {
            continue;
        }
        let disk = Arc::new(Disk::new(client.clone()));
        let memory = Memory::new(GuestMemoryMmap::new());
        let Ok(mut daemon) = Daemon::new(disk, memory) else { return };
        let daemon = &mut daemon.daemon;
        if daemon.start(&mut socket).is_err() {
            continue;
        }
        *lock(&current.0) = daemon.shutdown_handle();
        if control.is_stopped() {
            daemon.request_shutdown();
        }
        // Connection errors concern only the hypervisor.
        let _ = daemon.wait();
        *lock(&current.0) = None;
    }
}

/// A daemon whose worker ends on drop.
///
/// The library's own stop event is a descriptor that it never closes, one per connection. Instead
/// `handle_event` fails at this module's event, which ends the worker.
struct Daemon {
    daemon: VhostUserDaemon<Arc<Disk>>,
    farewell: OwnedFd,
}

impl Daemon {
    fn new(disk: Arc<Disk>, memory: Memory) -> io::Result<Self> {
        let farewell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let daemon = VhostUserDaemon::new("vhost-user".to_owned(), disk, memory);
        let daemon = daemon.map_err(|error| io::Error::other(error.to_string()))?;
        for worker in daemon.get_epoll_handlers() {
            let event = farewell.as_raw_fd();
            if let Err(error) = worker.register_listener(event, EventSet::IN, FAREWELL.into()) {
                // Dropping it would wait forever for a worker.
                std::mem::forget(daemon);
                return Err(error);
            }
        }
        Ok(Daemon { daemon, farewell })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // The write fails only if the counter is full, and then the worker is already awake.
        let _ = rustix::io::write(&self.farewell, &1u64.to_ne_bytes());
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of a queue: number of stops, and outstanding requests.
#[derive(Default)]
struct Asked {
    stops: u64,
    outstanding: u32,
}

/// Disk of a guest.
struct Disk {
    client: LocalClient,
    memory: Mutex<Option<Memory>>,
    by_index: AtomicBool,
    asked: Arc<(Mutex<[Asked; QUEUES as usize]>, Condvar)>,
}

impl Disk {
    fn new(client: LocalClient) -> Self {
        Disk {
            client,
            memory: Mutex::default(),
            by_index: AtomicBool::new(false),
            asked: Arc::default(),
        }
    }

    /// Accepts all requests in a queue. Returns true if there were any.
    fn take_all(&self, number: usize, vring: &VringMutex) -> bool {
        let Some(memory) = lock(&self.memory).clone() else { return false };
        let mut found = false;
        // A guest that keeps submitting must not keep the server from stopping.
        while !self.client.is_closed() {
            let chain = {
                let mut state = vring.get_mut();
                if !state.is_enabled() || !state.get_queue().ready() {
                    return false;
                }
                state.get_queue_mut().pop_descriptor_chain(memory.memory())
            };
            let Some(chain) = chain else { break };
            self.take(number, vring, chain);
            found = true;
        }
        found
    }

    fn take(&self, number: usize, vring: &VringMutex, chain: Chain) {
        let stops = {
            let asked = &mut lock(&self.asked.0)[number];
            asked.outstanding += 1;
            asked.stops
        };
        let owed =
            Owed { chain, vring: vring.clone(), asked: Arc::clone(&self.asked), number, stops };
        match virtio_disk::task(owed.chain.memory(), owed.chain.clone()) {
            Ok(Task::Name) => {
                let name = virtio_disk::name();
                owed.give(Ok(&name));
            }
            Ok(Task::Ask(mut wanted)) => {
                let reply: Reply = Box::new(move |outcome| owed.give(outcome.map_err(|_| FAILED)));
                match (wanted.pop(), wanted.is_empty()) {
                    (Some(only), true) => self.client.ask(only, reply),
                    (last, _) => {
                        wanted.extend(last);
                        self.client.ask_all(wanted.into_iter(), reply);
                    }
                }
            }
            Err(status) => owed.give(Err(status)),
        }
    }
}

/// Pending reply to a guest's request.
struct Owed {
    chain: Chain,
    vring: VringMutex,
    asked: Arc<(Mutex<[Asked; QUEUES as usize]>, Condvar)>,
    number: usize,
    /// Number of the queue's stops at submission.
    stops: u64,
}

impl Owed {
    fn give(self, outcome: Result<&[u8], u8>) {
        let is_stale = lock(&self.asked.0)[self.number].stops != self.stops;
        if !is_stale {
            let head = self.chain.head_index();
            let memory = self.chain.memory();
            let written = virtio_disk::answer(memory, self.chain.clone(), outcome);
            let mut state = self.vring.get_mut();
            // A guest with an invalid ring gets no notification.
            if state.add_used(head, written).is_ok() && state.needs_notification().unwrap_or(true) {
                let _ = state.signal_used_queue();
            }
        }
        lock(&self.asked.0)[self.number].outstanding -= 1;
        self.asked.1.notify_all();
    }
}

impl VhostUserBackend for Disk {
    type Bitmap = ();
    type Vring = VringMutex;

    fn num_queues(&self) -> usize {
        QUEUES.into()
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_SIZE.into()
    }

    fn features(&self) -> u64 {
        virtio_disk::features(self.client.export())
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
    }

    fn set_event_idx(&self, enabled: bool) {
        self.by_index.store(enabled, Ordering::Release);
    }

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        virtio_disk::config(self.client.export(), offset, size)
    }

    fn update_memory(&self, memory: Memory) -> io::Result<()> {
        *lock(&self.memory) = Some(memory);
        Ok(())
    }

    fn stop_vring(&self, number: u32) -> io::Result<()> {
        let number = number as usize;
        if number >= usize::from(QUEUES) {
            return Ok(());
        }
        // Replies so far are written to the guest's memory; later ones are dropped.
        let asked = lock(&self.asked.0);
        let waiting = |asked: &mut [Asked; QUEUES as usize]| asked[number].outstanding > 0;
        let waited = self.asked.1.wait_timeout_while(asked, PATIENCE, waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0[number].stops += 1;
        Ok(())
    }

    fn handle_event(
        &self,
        number: u16,
        events: EventSet,
        vrings: &[VringMutex],
        _: usize,
    ) -> io::Result<()> {
        if number == FAREWELL {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let number = usize::from(number);
        let Some(vring) = vrings.get(number).filter(|_| events.contains(EventSet::IN)) else {
            return Ok(());
        };
        if !self.by_index.load(Ordering::Acquire) {
            self.take_all(number, vring);
            return Ok(());
        }
        // Notifications are off during the loop; the last check comes after they are on again. A
        // ring that twice claims requests without having any is invalid.
        let mut empty = 0;
        while empty < 2 {
            let _ = vring.disable_notification();
            empty = if self.take_all(number, vring) { 0 } else { empty + 1 };
            if !vring.enable_notification().unwrap_or(false) {
                break;
            }
        }
        Ok(())
    }
}

//! Requests from clients within the process, on their way to the server.

use crate::asking::From;
use crate::attached::Background;
use crate::health::Health;
use crate::local::{Errand, LocalClient, Waiting};
use crate::nvme::{Namespace, QUEUES_IN_ALL};
use crate::overhead::Overhead;
use crate::placement::Placement;
use crate::protocol::{Asked, Command, Refusal};
use crate::server::Server;
use crate::setup::Witness;
use engine::{Device, Namespace as Part, NamespaceWish};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Maximum requests accepted from a client per turn.
const STRETCH: usize = 64;

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// A client without a socket; it lives as long as the server. It has a place like every client,
    /// and its own transport latency.
    pub fn local(&mut self, overhead: Overhead) -> LocalClient {
        let place = self.clients.reserve();
        let seen = (self.setup.export, self.clock);
        self.locals.add(place, overhead, self.control, seen)
    }

    /// Placement handles of the device, if any.
    pub fn placement(&mut self) -> Option<Placement> {
        self.witness.placement(self.device.device_mut())
    }

    /// Starts new reclaim units for placement handles. Returns true on success.
    fn next_units(&mut self, handles: &[u16]) -> bool {
        // A time after all submitted requests, so that a replay keeps the order.
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time() + 1);
        self.advance(now, Background::Alone);
        self.device.pass(now, self.witness);
        let device = self.device.device_mut();
        handles.iter().all(|handle| self.witness.next_unit(device, now, u32::from(*handle)))
    }

    /// Consecutive `NVMe` namespaces of the device, with a client per I/O queue. Without requested
    /// sizes, one namespace spans the device.
    pub fn namespaces(
        &mut self,
        name: &str,
        overhead: &Overhead,
        wishes: &[NamespaceWish],
    ) -> Vec<Namespace> {
        let clients: Vec<LocalClient> =
            (0..QUEUES_IN_ALL).map(|_| self.local(overhead.clone())).collect();
        let handles = self.placement().map(|it| it.naming);
        let zones = self.zone_limits();
        let whole = [NamespaceWish::whole(self.setup.export.bytes)];
        let mut first = 0;
        let mut next = |wish: &NamespaceWish| {
            let part = Part::new(first, *wish);
            first += wish.bytes;
            Namespace::new(name, clients.clone(), self.control.clone(), (handles, zones, part))
        };
        (if wishes.is_empty() { &whole[..] } else { wishes }).iter().map(&mut next).collect()
    }

    /// Health of the device for display.
    pub fn health(&mut self) -> Health {
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time());
        let health = self.witness.health(self.device.device_mut(), now);
        Health { served: self.device.served(), ..health.unwrap_or_default() }
    }

    /// Accepts requests of clients within the process, up to their limits.
    pub(crate) fn hear_locals(&mut self) {
        if self.locals.is_empty() {
            return;
        }
        for (number, place) in self.locals.places() {
            for taken in 0..STRETCH {
                if taken + 1 == STRETCH {
                    // The remaining requests must not wait for another wake-up.
                    self.control.wake();
                }
                let room = self.clients.room(place);
                let has_room = |own, asked: &Asked| room.admits(own, asked.charge());
                let Some(next) = self.locals.next(number, has_room) else { break };
                self.watch.last_message = self.clock.now();
                // Without power the request is lost; dropping it replies with an error.
                if !self.is_off {
                    self.ask_locally(place, next);
                }
            }
            // Due replies must not wait for other clients' requests.
            self.answer_due();
        }
    }

    fn ask_locally(&mut self, place: usize, waiting: Waiting) {
        let Waiting { mut asked, data, owed, received, held_back, errand } = waiting;
        let (mut reads_first, mut marks, mut wish) = (false, None, None);
        match errand {
            Errand::Request => {}
            Errand::SeeZones(it) => wish = Some(it),
            Errand::WriteIfSame(expected, differs) => {
                let mut found = Vec::new();
                let read = self.setup.store.read(asked.offset, asked.length, &mut found);
                let bytes = asked.offset..asked.offset + u64::from(asked.length);
                if read.is_ok() && found == expected && !self.marks.meet(&bytes) {
                    reads_first = true;
                } else {
                    // The write needs equal data; on a difference it becomes a read.
                    differs.store(true, Ordering::Relaxed);
                    asked = Asked { command: Command::Read, ..asked };
                }
            }
            Errand::Mark => marks = Some(asked.offset..asked.offset + u64::from(asked.length)),
            Errand::Peek => {
                let range = Some((asked.offset, asked.length));
                return owed.answer(None, range, &self.setup.store, &mut Vec::new());
            }
            Errand::NextUnits(handles) => {
                let refusal = (!self.next_units(&handles)).then_some(Refusal::Invalid);
                return owed.answer(refusal, None, &self.setup.store, &mut Vec::new());
            }
            Errand::SeePlacement(place) => {
                *place.lock().unwrap_or_else(PoisonError::into_inner) = self.placement();
                return owed.answer(None, None, &self.setup.store, &mut Vec::new());
            }
        }
        self.punctuality.held_back += u64::from(held_back);
        self.clients.asked_locally(place, asked.charge());
        let from = From { place, serial: 0, local: Some(owed), reads_first };
        let slot = self.take_in(from, asked, received);
        if let Some(range) = marks
            && !self.marks.add(range)
            && let Some(pending) = self.requests.at(slot)
        {
            pending.refuse(Refusal::NoSpace);
        }
        if let Some(wish) = wish
            && let Some(pending) = self.requests.at(slot)
        {
            pending.shows(wish);
        }
        if !asked.command.has_data() {
            return;
        }
        if let Some(pending) = self.requests.at(slot) {
            pending.data = data;
        }
        self.written(slot);
    }
}

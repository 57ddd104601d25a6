//! Requests of clients within the process, on their way to the server.

use crate::asking::From;
use crate::floor::Floor;
use crate::health::Health;
use crate::local::{LocalClient, Waiting};
use crate::nvme::{Namespace, QUEUES_IN_ALL};
use crate::protocol::{Asked, Command};
use crate::server::Server;
use crate::setup::Witness;
use engine::Device;

/// Maximum number of requests of a client per turn.
const STRETCH: usize = 64;

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// A client without a socket, which exists as long as the server. It has a place like all others,
    /// and a transport latency of its own.
    pub fn local(&mut self, floor: Floor) -> LocalClient {
        let place = self.clients.reserve();
        let seen = (self.setup.export, self.clock);
        self.locals.add(place, floor, self.control, seen)
    }

    /// The namespace that a target of `NVMe` makes of the device: a client for each of its I/O queues.
    pub fn namespace(&mut self, name: &str, floor: &Floor) -> Namespace {
        let clients = (0..QUEUES_IN_ALL).map(|_| self.local(floor.clone())).collect();
        Namespace::new(name, clients, self.control.clone())
    }

    /// What a look at the health of the device shows.
    pub fn health(&mut self) -> Health {
        let now = self.setup.scale.model(self.clock.now()).max(self.device.time());
        let health = self.witness.health(self.device.device_mut(), now);
        Health { served: self.device.served(), ..health.unwrap_or_default() }
    }

    /// Accepts requests of clients within the process, as far as their limits allow.
    pub(crate) fn hear_locals(&mut self) {
        if self.locals.is_empty() {
            return;
        }
        for (number, place) in self.locals.places() {
            for taken in 0..STRETCH {
                if taken + 1 == STRETCH {
                    // The rest must not wait until the server wakes for another reason.
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
            // Due replies must not wait for the requests of all other clients.
            self.answer_due();
        }
    }

    fn ask_locally(&mut self, place: usize, waiting: Waiting) {
        let Waiting { asked, data, owed, received, held_back, peeks } = waiting;
        if peeks {
            let range = Some((asked.offset, asked.length));
            return owed.answer(None, range, &self.setup.store, &mut Vec::new());
        }
        self.punctuality.held_back += u64::from(held_back);
        self.clients.asked_locally(place, asked.charge());
        let slot = self.take_in(From { place, serial: 0, local: Some(owed) }, asked, received);
        if asked.command != Command::Write {
            return;
        }
        if let Some(pending) = self.requests.at(slot) {
            pending.data = data;
        }
        self.written(slot);
    }
}

//! Requests of clients within the process, on their way to the server.

use crate::asking::From;
use crate::floor::Floor;
use crate::local::{LocalClient, Waiting};
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
        let Waiting { asked, data, owed, received, held_back } = waiting;
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

//! What clients within the process ask: on its way to the server's own.

use crate::asking::From;
use crate::floor::Floor;
use crate::local::{LocalClient, Waiting};
use crate::protocol::Command;
use crate::server::Server;
use crate::setup::Witness;
use engine::Device;

/// Requests of a client that are taken in a turn.
const STRETCH: usize = 64;

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// A client without a socket, which stays as long as the server; it has a place as all others, and
    /// a way of its own.
    pub fn local(&mut self, floor: Floor) -> LocalClient {
        let place = self.clients.reserve();
        let seen = (self.setup.export, self.clock);
        self.locals.add(place, floor, self.control, seen)
    }

    /// Takes what the clients within the process have asked, as far as there is room for it.
    pub(crate) fn hear_locals(&mut self) {
        if self.locals.is_empty() {
            return;
        }
        for (number, place) in self.locals.places() {
            for taken in 0..STRETCH {
                if taken + 1 == STRETCH {
                    // The rest is not forgotten while the server sleeps.
                    self.control.wake();
                }
                let (load, held) = (self.clients.load, self.clients.held(place));
                let has_room = |own| crate::connection::has_room(own, load, held);
                let Some(next) = self.locals.next(number, has_room) else { break };
                self.watch.last_message = self.clock.now();
                // Without power nobody answers, which is what dropping it says.
                if !self.is_off {
                    self.ask_locally(place, next);
                }
            }
            // Nobody's answer waits for all that others have to say.
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

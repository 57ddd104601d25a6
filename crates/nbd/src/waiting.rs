//! The server's waiting: for events, messages, and wake-ups by other threads.
//!
//! While messages arrive in quick succession, recent senders are read directly, without `poll`; a
//! full poll runs every few microseconds.

use crate::attached::Background;
use crate::clients::MOST_CLIENTS;
use crate::connection::{Connection, Flow};
use crate::entrance::{Entrance, Who};
use crate::orders::Orders;
use crate::server::Server;
use crate::setup::Witness;
use engine::Device;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;

/// A sleep ends this long before the next event, ns; then the clock is polled.
const MARGIN_NS: u64 = 40_000;
/// Polling time after the last message before the thread sleeps, ns.
const WATCH_NS: u64 = 30_000;
/// Interval between full polls, ns; in between only recent senders are read.
const ROUND_NS: u64 = 8_000;
/// Pause between empty polls, ns: clients need the processor too.
const PAUSE_NS: u64 = 1_000;
/// Maximum number of clients read directly; with more, every poll is full.
const MOST_WARM: usize = 4;
/// Minimum time to the next event for background work, and its minimum interval, ns. After four
/// intervals it runs even on a busy server.
const LEISURE_NS: u64 = 2_000_000;
const IDLE_EVERY_NS: u64 = 500_000_000;
/// The longest sleep, ns.
const LONG_NS: u64 = 500_000_000;

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// Waits for the next event, message or wake-up, and reads the messages.
    pub(crate) fn wait(&mut self, entrance: Option<&dyn Entrance>, reading: bool) {
        self.read_leftovers(reading);
        let mut now = self.clock.now();
        if let Some(rest) = self.watch.patience.rest(now) {
            std::thread::sleep(Duration::from_nanos(rest));
            now = self.clock.now();
        }
        if reading {
            self.hear_locals();
        }
        let timeout = self.timeout(now);
        let few = self.watch.warm.len() <= MOST_WARM;
        if timeout == 0 && reading && few && now < self.watch.last_round + ROUND_NS {
            if !self.read_warm() {
                self.pause();
            }
            return;
        }
        self.watch.last_round = now;
        if self.ask_all(entrance, reading, timeout) {
            self.hear_all(entrance);
        }
        if self.orders_due().is_some_and(|due| due <= now) {
            self.obey();
        }
    }

    /// Polls the clock for a moment, but not beyond the next event.
    fn pause(&mut self) {
        let until = self.clock.now() + PAUSE_NS;
        let until = self.next_instant().map_or(until, |next| next.min(until));
        while self.clock.now() < until {
            std::hint::spin_loop();
        }
    }

    /// Reads from recent senders. Returns true if a message arrived.
    fn read_warm(&mut self) -> bool {
        let before = self.watch.last_message;
        for number in 0..self.watch.warm.len() {
            let place = self.watch.warm[number];
            let room = self.clients.room(place);
            if self.clients.at(place).is_some_and(|it| it.has_room(room)) {
                self.read(place);
                // Other clients' requests must not delay due replies.
                self.answer_due();
            }
        }
        self.watch.last_message > before
    }

    /// Polls all descriptors for input and output room, for at most `timeout` ns. Returns true if
    /// any is ready.
    fn ask_all(&mut self, entrance: Option<&dyn Entrance>, reading: bool, timeout: u64) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.cast_signed() };
        let watch = &mut self.watch;
        watch.places.clear();
        watch.warm.clear();
        watch.events.clear();
        let mut fds = Vec::with_capacity(self.clients.places() + 4);
        fds.push(PollFd::new(self.control.wakes(), PollFlags::IN));
        for (place, connection) in self.clients.iter() {
            let room = connection.has_room(self.clients.room(place));
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, reading && room);
            wanted.set(PollFlags::OUT, connection.has_output());
            watch.places.push(place);
            if connection.heard + WATCH_NS > watch.last_round {
                watch.warm.push(place);
            }
            fds.push(PollFd::new(&connection.stream, wanted));
        }
        let orders = self.setup.orders.iter().flat_map(Orders::fds);
        fds.extend(orders.map(|(fd, wanted)| PollFd::from_borrowed_fd(fd, wanted)));
        if let Some(entrance) = entrance {
            fds.push(PollFd::from_borrowed_fd(entrance.as_fd(), PollFlags::IN));
        }
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(ready) if ready > 0) {
            return false;
        }
        watch.events.extend(fds.iter().map(PollFd::revents));
        true
    }

    /// Handles all descriptors that are ready.
    fn hear_all(&mut self, entrance: Option<&dyn Entrance>) {
        let (places, events) =
            (std::mem::take(&mut self.watch.places), std::mem::take(&mut self.watch.events));
        if !events[0].is_empty() {
            self.control.woken();
            self.synced();
            self.listen_within();
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        self.watch.first = (self.watch.first + 1) % places.len().max(1);
        let first = self.watch.first;
        for number in (first..places.len()).chain(0..first) {
            let (place, events) = (places[number], events[1 + number]);
            if events.contains(PollFlags::OUT)
                && let Some(connection) = self.clients.at(place)
            {
                connection.clogged = false;
            }
            if events.contains(PollFlags::IN) {
                self.read(place);
                // Other clients' requests must not delay due replies.
                self.answer_due();
            } else if events.intersects(gone) {
                self.disconnect(place);
            }
        }
        let rest = &events[1 + places.len()..];
        let (new, orders) = match (entrance, rest.split_last()) {
            (Some(entrance), Some((last, rest))) => ((!last.is_empty()).then_some(entrance), rest),
            _ => (None, rest),
        };
        if orders.iter().any(|events| !events.is_empty()) {
            self.obey();
        }
        if let Some(entrance) = new {
            // Several per turn, so that the last client soon gets its place or an error. If a
            // client has disconnected or the system is out of descriptors, the next turn retries.
            for _ in 0..MOST_CLIENTS {
                match entrance.next().map(|it| it.0) {
                    Ok(Who::Stranger(stream)) => drop(self.connect(stream)),
                    Ok(Who::Guest(connection)) => self.seat(*connection),
                    Err(_) => break,
                }
            }
        }
        (self.watch.places, self.watch.events) = (places, events);
    }

    /// Time at which the next control command may be executed.
    fn orders_due(&self) -> Option<u64> {
        self.setup.orders.as_ref().and_then(Orders::due)
    }

    /// Time of the device's next event or of the next reply. Without power the device has no
    /// requests, but clients wait for its recovery.
    fn next_instant(&self) -> Option<u64> {
        let is_awaited = self.is_off || !self.device.is_idle();
        let event = self.device.device().next_event().filter(|_| is_awaited);
        let ahead = self.device.ahead();
        let event = event.map(|at| self.setup.scale.wall(at).saturating_sub(ahead));
        event.into_iter().chain(self.requests.due()).min()
    }

    /// Sleep time, ns, below one second; 0 to poll.
    fn timeout(&mut self, now: u64) -> u64 {
        let next = self.next_instant();
        let since = now - self.watch.last_idle;
        if since > IDLE_EVERY_NS {
            let leisure = next.is_none_or(|next| next > now + LEISURE_NS);
            if leisure || since > 4 * IDLE_EVERY_NS {
                self.watch.last_idle = now;
                self.idle(now);
            }
        }
        let unsent = self.clients.iter().any(|(_, it)| it.has_output() && !it.clogged);
        let heard = now < self.watch.last_message + WATCH_NS && self.watch.patience.may_watch(now);
        let until_order = self.orders_due().map_or(LONG_NS, |due| due.saturating_sub(now));
        match next {
            _ if heard || unsent || !self.trimming.is_empty() => 0,
            Some(next) => next.saturating_sub(now + MARGIN_NS).min(until_order).min(LONG_NS),
            None => until_order.min(LONG_NS),
        }
    }

    /// Periodic background work.
    fn idle(&mut self, now: u64) {
        self.count_waiting();
        let model_now = self.setup.scale.model(now).max(self.device.time());
        if self.device.is_idle() {
            // Background work of the device while it is idle.
            self.advance(model_now, Background::Alone);
        }
        self.witness.idle(self.device.device_mut(), model_now, &self.punctuality);
        self.tell_altered();
        for place in self.clients.overdue(now) {
            self.disconnect(place);
        }
    }

    fn read(&mut self, place: usize) {
        let Some(mut connection) = self.clients.take(place) else { return };
        let before = connection.unread();
        let flow = connection.fill();
        if connection.unread() > before {
            let now = self.clock.now();
            self.watch.last_message = now;
            connection.heard = now;
            self.parse(place, &mut connection, now);
        }
        self.clients.put(place, connection);
        if flow == Flow::Gone {
            self.disconnect(place);
        }
    }

    /// Parses messages that were left because the client was at its limits.
    fn read_leftovers(&mut self, reading: bool) {
        self.clients.count_competitors();
        let places = self.clients.places();
        // Clients take turns at being served first.
        let first = self.watch.first % places.max(1);
        for place in (first..places).chain(0..first) {
            let room = self.clients.room(place);
            let waits = |connection: &mut Connection| {
                reading && connection.held_back && connection.has_room(room)
            };
            if !self.clients.at(place).is_some_and(waits) {
                continue;
            }
            let Some(mut connection) = self.clients.take(place) else { continue };
            self.parse(place, &mut connection, self.clock.now());
            self.clients.put(place, connection);
        }
    }
}

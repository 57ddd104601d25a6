//! Sends due replies.

use crate::connection::Flow;
use crate::pending::Pending;
use crate::protocol::Command;
use crate::punctuality::Delivered;
use crate::server::Server;
use crate::setup::Witness;
use engine::{Device, Op};
use std::sync::PoisonError;

impl<D: Device + ?Sized, W: Witness<D> + ?Sized> Server<'_, D, W> {
    /// Makes all replies whose time has come.
    pub(crate) fn answer_due(&mut self) {
        let Some(first) = self.requests.due() else { return };
        let mut now = self.clock.now();
        let mut due = Some(first);
        while let Some(target) = due {
            if target > now {
                now = self.clock.now();
                if target > now {
                    return;
                }
            }
            if let Some(pending) = self.requests.take_due() {
                self.answer(pending, now);
            }
            due = self.requests.due();
        }
    }

    fn answer(&mut self, pending: Pending, now: u64) {
        let Pending { asked, refusal, .. } = pending;
        let is_local = pending.local.is_some();
        if let (Some(it), Some(id)) = (&mut self.setup.recording, pending.recorded) {
            it.answered(id, refusal.is_some(), self.setup.scale.model(now));
        }
        let bytes = asked.charge();
        let client = self.clients.answered(pending.connection, pending.serial, bytes);
        let is_there = client.is_some() || is_local;
        if let Some(connection) = client {
            match (asked.command, refusal) {
                (Command::Read, None) => {
                    connection.replies.data(asked.answer(), asked.offset, asked.length);
                }
                _ => connection.replies.answer(asked.answer(), refusal),
            }
        }
        if let (Some(completion), true) = (&pending.completion, is_there) {
            let overhead = self.locals.overhead(pending.connection).unwrap_or(&self.setup.overhead);
            let outside = overhead.outside(pending.op, asked.length.into());
            let measured_ns = now - pending.received + outside;
            let answer = Delivered {
                op: pending.op,
                bytes: asked.length.into(),
                measured_ns,
                model_ns: self.setup.scale.wall(completion.at - pending.submitted),
                held_by_backing: pending.held_by_backing,
            };
            self.punctuality.record(&answer, overhead);
            self.witness.delivered(completion, self.setup.scale.model(measured_ns));
        }
        if let Some(wish) = &pending.sees
            && refusal.is_none()
        {
            let found = self.see_zones(&wish.query);
            *wish.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
        }
        if let Some(owed) = pending.local {
            if asked.command == Command::Zone(Op::Append) && refusal.is_none() {
                owed.tell(&asked.offset.to_le_bytes());
            } else {
                let data = (asked.command == Command::Read).then_some((asked.offset, asked.length));
                owed.answer(refusal, data, &self.setup.store, &mut self.stretch);
            }
        }
        self.requests.keep(pending.data);
    }

    /// Sends each client a part of its waiting replies.
    pub(crate) fn send_all(&mut self) {
        for place in 0..self.clients.places() {
            let Some(connection) = self.clients.at(place) else { continue };
            let flow = if connection.has_output() && !connection.clogged {
                connection.send(&self.setup.store, &mut self.stretch)
            } else {
                Flow::Open
            };
            let left = connection.leaving && connection.outstanding.requests == 0;
            if flow == Flow::Gone || left && !connection.has_output() {
                self.disconnect(place);
            }
        }
    }
}

//! Replies to a client; data are read from the store when the client receives them.
//!
//! A waiting reply takes a few bytes, regardless of its data. A client that receives nothing
//! therefore takes little memory. After a partial send the rest is read again, so one buffer serves
//! all clients.

use crate::answer::{Answer, HEAD_BYTES, Refusal, reply};
use crate::store::Store;
use std::collections::VecDeque;

/// Maximum bytes per client and turn.
const STRETCH_BYTES: usize = 256 << 10;
/// Maximum size of a reused buffer.
const SPARE_BYTES: usize = 4096;

/// An unsent or partly sent reply.
#[derive(Debug)]
enum Reply {
    /// Literal bytes.
    Words(Vec<u8>),
    /// Header and data of a range.
    Data { answer: Answer, offset: u64, length: u32 },
}

/// The replies to a client, in order.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    queue: VecDeque<Reply>,
    /// Sent bytes of the first reply.
    sent: usize,
    /// An empty buffer for reuse.
    spare: Vec<u8>,
    /// Bytes of data in all unsent replies.
    bytes: u64,
}

impl Replies {
    /// True if all replies are sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Number of waiting replies.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes of unsent data.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends literal bytes.
    pub(crate) fn say(&mut self, words: &[u8]) {
        match self.queue.back_mut() {
            Some(Reply::Words(last)) if last.len() < 1024 => last.extend_from_slice(words),
            _ => {
                let mut room = std::mem::take(&mut self.spare);
                room.extend_from_slice(words);
                self.queue.push_back(Reply::Words(room));
            }
        }
    }

    /// Appends a reply with the data of a range.
    pub(crate) fn data(&mut self, answer: Answer, offset: u64, length: u32) {
        self.bytes += u64::from(length);
        self.queue.push_back(Reply::Data { answer, offset, length });
    }

    /// Builds the next bytes to send.
    ///
    /// # Errors
    /// When data turn out unreadable after their header was sent.
    pub(crate) fn make(&mut self, store: &Store, out: &mut Vec<u8>) -> Result<(), Refusal> {
        out.clear();
        let mut sent = self.sent;
        let mut number = 0;
        while let Some(one) = self.queue.get_mut(number)
            && out.len() < STRETCH_BYTES
        {
            match one {
                Reply::Words(words) => out.extend_from_slice(&words[sent..]),
                Reply::Data { answer, offset, length } => {
                    let (before, room) = (out.len(), STRETCH_BYTES - out.len());
                    let mut head = [0; HEAD_BYTES];
                    let head = answer.head(*offset, *length, &mut head);
                    out.extend_from_slice(&head[sent.min(head.len())..]);
                    let done = sent.saturating_sub(head.len()) as u64;
                    let wanted = (u64::from(*length) - done).min(room as u64) as u32;
                    if let Err(refusal) = store.read(*offset + done, wanted, out) {
                        if sent > 0 {
                            return Err(refusal);
                        }
                        out.truncate(before);
                        let words = answer.refused(refusal);
                        out.extend_from_slice(&words);
                        self.bytes -= u64::from(*length);
                        *one = Reply::Words(words);
                    }
                }
            }
            sent = 0;
            number += 1;
        }
        Ok(())
    }

    /// Notes that `count` more bytes were sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.sent += count;
        while let Some(first) = self.queue.front() {
            let (whole, data) = match first {
                Reply::Words(words) => (words.len(), 0),
                Reply::Data { answer, length, .. } => {
                    (answer.head_bytes() + *length as usize, u64::from(*length))
                }
            };
            if self.sent < whole {
                return;
            }
            self.sent -= whole;
            self.bytes -= data;
            if let Some(Reply::Words(mut room)) = self.queue.pop_front()
                && room.capacity() <= SPARE_BYTES
            {
                room.clear();
                self.spare = room;
            }
        }
    }

    /// Appends a reply without data.
    pub(crate) fn answer(&mut self, answer: Answer, refusal: Option<Refusal>) {
        match refusal {
            Some(refusal) => self.say(&answer.refused(refusal)),
            None => self.say(&reply(answer.cookie, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn replies_are_the_same_however_they_are_split(
            pieces in prop::collection::vec(1usize..300_000, 1..40), structured in any::<bool>(),
        ) {
            let mut store = Store::memory();
            let data: Vec<u8> = (0..700_000u32).map(|it| (it * 7 / 3) as u8).collect();
            store.write(0, &data).unwrap();
            let answer = |cookie| Answer { cookie, structured };
            let mut replies = Replies::default();
            let mut expected = Vec::new();
            for (cookie, length) in [(1u64, 5u32), (2, 400_000), (3, 512), (4, 262_144), (5, 1)] {
                replies.data(answer(cookie), 3, length);
                let mut head = [0; HEAD_BYTES];
                expected.extend_from_slice(answer(cookie).head(3, length, &mut head));
                expected.extend_from_slice(&data[3..3 + length as usize]);
                replies.answer(answer(cookie + 10), None);
                expected.extend(reply(cookie + 10, None));
            }
            let (mut taken, mut out) = (Vec::new(), Vec::new());
            let mut sizes = pieces.iter().cycle();
            while !replies.is_empty() {
                replies.make(&store, &mut out).unwrap();
                prop_assert!(out.len() <= STRETCH_BYTES + HEAD_BYTES);
                let count = out.len().min(*sizes.next().unwrap());
                taken.extend_from_slice(&out[..count]);
                replies.sent(count);
            }
            prop_assert_eq!(replies.bytes(), 0);
            prop_assert!(taken == expected);
        }
    }
}

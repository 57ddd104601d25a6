//! Room in the device: limits that keep a client from delaying the others for long.

/// Total load above which only lightly loaded clients may submit.
const MOST_IN_ALL: Load = Load { requests: 4096, bytes: 128 << 20 };
const LITTLE: Load = Load { requests: 16, bytes: 1 << 20 };
/// More competing clients than this are a crowd. A crowd shares a total load of about 50 ms of a
/// drive's work, so that every newcomer is served soon.
const CROWD: u32 = 8;
const MOST_IN_CROWD: Load = Load { requests: 512, bytes: 8 << 20 };
const LITTLE_IN_CROWD: Load = Load { requests: 4, bytes: 64 << 10 };
/// Held bytes of a client's writes above which no more input is read.
const MOST_HELD_BYTES: usize = 1 << 20;

/// Requests in the device, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) requests: u32,
    pub(crate) bytes: u64,
}

impl Load {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.requests += 1;
        self.bytes += u64::from(bytes);
    }

    pub(crate) fn remove(&mut self, bytes: u32) {
        self.requests -= 1;
        self.bytes -= u64::from(bytes);
    }
}

/// Total load of the device and number of competing clients, as seen by one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    load: Load,
    competitors: u32,
    held: usize,
}

impl Room {
    /// Room for a client with `held` bytes of waiting writes, given the total `load` and the number
    /// of `competitors`.
    pub(crate) fn new(load: Load, competitors: u32, held: usize) -> Self {
        Room { load, competitors, held }
    }

    /// True if a client with `own` in the device may add `wanted` bytes.
    ///
    /// Requests are admitted whole. The load may therefore exceed the limit by one request, plus
    /// the small share of each client.
    pub(crate) fn admits(self, own: Load, wanted: u32) -> bool {
        let (most, little) = if self.competitors > CROWD {
            (MOST_IN_CROWD, LITTLE_IN_CROWD)
        } else {
            (MOST_IN_ALL, LITTLE)
        };
        let is_below = self.load.requests < most.requests && self.load.bytes < most.bytes;
        let is_little =
            own.requests < little.requests && own.bytes + u64::from(wanted) <= little.bytes;
        self.held < MOST_HELD_BYTES && (is_below || is_little)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::MOST_BYTES;
    use std::collections::VecDeque;

    /// Greedy clients with requests of `bytes` bytes on a device that serves one at a time. Returns
    /// the maximum load, and the completed requests of each client.
    fn crowded(greedy: usize, bytes: u32, turns: usize) -> (Load, Vec<u32>) {
        let mut own = vec![Load::default(); greedy];
        let mut room = Room { competitors: greedy as u32, ..Room::default() };
        let mut most = Load::default();
        let (mut device, mut done) = (VecDeque::new(), vec![0; greedy]);
        for turn in 0..turns {
            for place in (0..greedy).map(|it| (it + turn) % greedy) {
                while own[place].requests < 512
                    && own[place].bytes < MOST_BYTES
                    && room.admits(own[place], bytes)
                {
                    own[place].add(bytes);
                    room.load.add(bytes);
                    device.push_back(place);
                }
            }
            most.requests = most.requests.max(room.load.requests);
            most.bytes = most.bytes.max(room.load.bytes);
            assert!(room.admits(Load::default(), 4096), "a new client has to wait");
            let place = device.pop_front().expect("somebody has room");
            own[place].remove(bytes);
            room.load.remove(bytes);
            done[place] += 1;
        }
        (most, done)
    }

    #[test]
    fn a_crowd_leaves_the_device_free_for_who_comes() {
        // A drive of 200 MB/s works off this load in 100 ms, plus one request of any size.
        for bytes in [512, 4096, 65536, 1 << 20, 32 << 20] {
            let turns = 40_000;
            let (most, done) = crowded(50, bytes, turns);
            let fair = turns as u32 / 50;
            let worst = done.iter().min().expect("there are some");
            assert!(worst * 2 >= fair, "{bytes} bytes: {worst} of {fair} in the end: {done:?}");
            let beyond = u64::from(bytes) + 50 * LITTLE_IN_CROWD.bytes;
            assert!(most.bytes <= MOST_IN_CROWD.bytes + beyond, "{bytes}: {most:?}");
            assert!(most.bytes.saturating_sub(bytes.into()) < 20_000_000, "{most:?}");
            assert!(most.requests <= 512 + 50 * LITTLE_IN_CROWD.requests, "{most:?}");
        }
    }

    #[test]
    fn a_few_clients_have_the_device_to_themselves() {
        let (most, done) = crowded(4, 65536, 20_000);
        assert_eq!(most.bytes, 128 << 20);
        assert!(done.iter().all(|it| *it >= 2_500), "{done:?}");
    }
}

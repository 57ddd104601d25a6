//! The spindle: where the disk is at an instant, and how long it turns from there to elsewhere.
//!
//! Angles count in 1 / [`TURN`] of a turn, so that a nanosecond is a whole number of them and nothing
//! drifts, whatever the speed.

use engine::Time;

/// Nanoseconds of a minute: at n turns a minute an angle grows by n in a nanosecond.
const TURN: u64 = 60_000_000_000;

/// Nanoseconds by which a sector may have begun earlier.
const LATE: Time = 3;

/// A spindle of constant speed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spindle {
    rpm: u64,
    /// The angle at the beginning.
    phase: u64,
}

impl Spindle {
    /// A spindle with the given rpm, starting at a share of a turn.
    pub(super) fn new(rpm: u32, phase: f64) -> Spindle {
        Spindle { rpm: u64::from(rpm), phase: (phase * TURN as f64) as u64 % TURN }
    }

    /// From an instant until sector `turn` of a track of `on_track` sectors begins. One that began within
    /// the last [`LATE`] is still reached: instants are rounded.
    pub(super) fn wait(&self, at: Time, turn: u32, on_track: u32) -> Time {
        self.wait_for(at, Spindle::angle(turn, on_track))
    }

    /// The angle at which sector `turn` of a track of `on_track` sectors begins.
    pub fn angle(turn: u32, on_track: u32) -> u64 {
        u64::from(turn) * TURN / u64::from(on_track)
    }

    /// Time until an angle.
    fn wait_for(&self, at: Time, there: u64) -> Time {
        self.wait_from(self.at(at), 0, there)
    }

    /// The angle at an instant.
    pub fn at(&self, at: Time) -> u64 {
        ((at % TURN) * self.rpm + self.phase) % TURN
    }

    /// From some time after the instant at which the angle was `angle` until an angle. The time is at most some
    /// seconds.
    #[inline]
    pub fn wait_from(&self, angle: u64, after: Time, there: u64) -> Time {
        let now = (angle + after * self.rpm) % TURN;
        self.ahead(now, there).div_ceil(self.rpm)
    }

    /// Rotation between two angles; none to one that is still reached.
    #[inline]
    fn ahead(&self, angle: u64, there: u64) -> u64 {
        let ahead = between(angle, there);
        if ahead > TURN - LATE * self.rpm { 0 } else { ahead }
    }

    /// A whole revolution, seen from `angle`.
    #[inline]
    pub fn window(&self, angle: u64) -> Window {
        // A place that is still reached, and rounding, are included.
        let before = Turn::of(LATE * self.rpm).0 + ROUNDING;
        Window { first: Turn::of(angle).0.wrapping_sub(before), before, length: u32::MAX }
    }

    /// The transfer time of a number of sectors of a track.
    pub(super) fn pass(&self, sectors: u64, on_track: u32) -> Time {
        let each = u64::from(on_track) * self.rpm;
        match sectors.checked_mul(TURN) {
            Some(angle) => angle / each,
            None => (u128::from(sectors) * u128::from(TURN) / u128::from(each)) as Time,
        }
    }

    /// Whole sectors of a track that pass in a time.
    pub(super) fn sectors_in(&self, time: Time, on_track: u32) -> u64 {
        // One nanosecond more, because `pass` rounds down.
        let each = u64::from(on_track) * self.rpm;
        match (time + 1).checked_mul(each) {
            Some(angle) => angle / TURN,
            None => (u128::from(time + 1) * u128::from(each) / u128::from(TURN)) as u64,
        }
    }

    /// The time of a turn.
    pub(super) fn turn(&self) -> Time {
        TURN.div_ceil(self.rpm)
    }
}

/// An angle to 2^-32 of a turn, rounded down: a fast comparison.
#[derive(Debug, Clone, Copy)]
pub struct Turn(u32);

/// Maximum error of a difference of two angles, and of the length of a window.
const ROUNDING: u32 = 2;

impl Turn {
    #[inline]
    pub fn of(angle: u64) -> Turn {
        // A turn is less than 2^36 and has more than four factors of 2.
        Turn(((angle << 28) / (TURN >> 4)) as u32)
    }
}

/// Sectors that come round within some time, and a little more.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    first: u32,
    /// The part of the window before the observer's angle.
    before: u32,
    length: u32,
}

impl Window {
    /// Moves the end of the window to the angle after a time.
    #[inline]
    pub fn narrow(&mut self, spindle: &Spindle, time: Time) {
        let turned = time.saturating_mul(spindle.rpm);
        if turned < TURN {
            self.length = Turn::of(turned).0.saturating_add(ROUNDING + self.before);
        }
    }

    #[inline]
    pub fn has(&self, turn: Turn) -> bool {
        turn.0.wrapping_sub(self.first) <= self.length
    }
}

/// From an angle forward to another.
#[inline]
fn between(angle: u64, there: u64) -> u64 {
    let ahead = there.wrapping_sub(angle);
    if there < angle { ahead.wrapping_add(TURN) } else { ahead }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_comes_round_once_a_turn_and_never_drifts() {
        // 10,045 turns a minute have no whole number of nanoseconds.
        let spindle = Spindle::new(10_045, 0.25);
        for turns in [0, 1, 1_000, 10_045 * 60 * 24 * 365] {
            let exact = u128::from(TURN) * turns / 10_045;
            let wait = spindle.wait(exact as Time, 0, 254);
            let first = spindle.wait(0, 0, 254);
            assert!(wait.abs_diff(first) <= 1, "after {turns} turns: {wait}, not {first}");
        }
        assert_eq!(spindle.pass(254, 254), TURN / 10_045);
        assert_eq!(spindle.turn(), TURN / 10_045 + 1);
        for sectors in 0..600 {
            assert_eq!(spindle.sectors_in(spindle.pass(sectors, 254), 254), sectors);
        }
    }
}

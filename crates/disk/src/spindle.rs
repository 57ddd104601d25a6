//! Spindle: rotational position over time, and delay until a given position.
//!
//! The angle unit is 1 / [`TURN`] of a turn: a nanosecond is a whole number of units at any speed,
//! so nothing drifts.

use engine::Time;

/// Nanoseconds per minute: at n rpm the angle grows by n units per nanosecond.
const TURN: u64 = 60_000_000_000;

/// A sector that started up to this many nanoseconds ago is still reached.
const LATE: Time = 3;

/// A spindle of constant speed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spindle {
    rpm: u64,
    /// Initial angle.
    phase: u64,
}

impl Spindle {
    /// A spindle with the given rpm, and the initial angle as a share of a turn.
    pub(super) fn new(rpm: u32, phase: f64) -> Spindle {
        Spindle { rpm: u64::from(rpm), phase: (phase * TURN as f64) as u64 % TURN }
    }

    /// Time from `at` until sector `turn` of a track of `on_track` sectors starts. A sector that
    /// started within the last [`LATE`] is still reached, because times are rounded.
    pub(super) fn wait(&self, at: Time, turn: u32, on_track: u32) -> Time {
        self.wait_for(at, Spindle::angle(turn, on_track))
    }

    /// Angle at which sector `turn` of a track of `on_track` sectors starts.
    pub fn angle(turn: u32, on_track: u32) -> u64 {
        u64::from(turn) * TURN / u64::from(on_track)
    }

    /// Time until an angle passes.
    fn wait_for(&self, at: Time, there: u64) -> Time {
        self.wait_from(self.at(at), 0, there)
    }

    /// Angle at a point in time.
    pub fn at(&self, at: Time) -> u64 {
        ((at % TURN) * self.rpm + self.phase) % TURN
    }

    /// Delay until the angle `there`, counted from `after` ns behind a time with angle `angle`.
    /// `after` is a few seconds at most.
    #[inline]
    pub fn wait_from(&self, angle: u64, after: Time, there: u64) -> Time {
        let now = (angle + after * self.rpm) % TURN;
        self.ahead(now, there).div_ceil(self.rpm)
    }

    /// Rotation between two angles; 0 if the second has just passed but is still reached.
    #[inline]
    fn ahead(&self, angle: u64, there: u64) -> u64 {
        let ahead = between(angle, there);
        if ahead > TURN - LATE * self.rpm { 0 } else { ahead }
    }

    /// Window of a whole turn, seen from `angle`.
    #[inline]
    pub fn window(&self, angle: u64) -> Window {
        // Includes positions that are still reached, and rounding.
        let before = Turn::of(LATE * self.rpm).0 + ROUNDING;
        Window { first: Turn::of(angle).0.wrapping_sub(before), before, length: u32::MAX }
    }

    /// Transfer time of a number of sectors on a track.
    pub(super) fn pass(&self, sectors: u64, on_track: u32) -> Time {
        let each = u64::from(on_track) * self.rpm;
        match sectors.checked_mul(TURN) {
            Some(angle) => angle / each,
            None => (u128::from(sectors) * u128::from(TURN) / u128::from(each)) as Time,
        }
    }

    /// Whole sectors of a track that pass in the given time.
    pub(super) fn sectors_in(&self, time: Time, on_track: u32) -> u64 {
        // One nanosecond more, because `pass` rounds down.
        let each = u64::from(on_track) * self.rpm;
        match (time + 1).checked_mul(each) {
            Some(angle) => angle / TURN,
            None => (u128::from(time + 1) * u128::from(each) / u128::from(TURN)) as u64,
        }
    }

    /// Rotation time.
    pub(super) fn turn(&self) -> Time {
        TURN.div_ceil(self.rpm)
    }
}

/// An angle in units of 2^-32 turns, rounded down; fast to compare.
#[derive(Debug, Clone, Copy)]
pub struct Turn(u32);

/// Maximum error of an angle difference and of a window's length.
const ROUNDING: u32 = 2;

impl Turn {
    #[inline]
    pub fn of(angle: u64) -> Turn {
        // A turn is less than 2^36 and has more than four factors of 2.
        Turn(((angle << 28) / (TURN >> 4)) as u32)
    }
}

/// Positions that pass the heads within some time, with a safety margin.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    first: u32,
    /// Part of the window before the observer's angle.
    before: u32,
    length: u32,
}

impl Window {
    /// Ends the window at the angle after `time`.
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

/// Forward rotation from one angle to another.
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
        // 10,045 rpm have no whole number of nanoseconds per turn.
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

//! Hotness of extents: use counts that halve in each half-life.

use engine::Time;

#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    /// Number of half-lives from the start to the last use.
    at: u32,
    count: u32,
}

/// Hotness of all extents.
#[derive(Debug, Clone)]
pub struct Heat {
    half_life: Time,
    each: Vec<Uses>,
}

impl Heat {
    pub fn new(extents: usize, half_life: Time) -> Heat {
        Heat { half_life: half_life.max(1), each: memory::filled(Uses::default(), extents) }
    }

    /// Decayed use count of an extent.
    pub fn of(&self, extent: u32, now: Time) -> u32 {
        let Uses { at, count } = self.each[extent as usize];
        let halves = (now / self.half_life) as u32 - at;
        count.checked_shr(halves).unwrap_or(0)
    }

    /// Sets the initial use count of an extent.
    pub fn restore_state(&mut self, extent: u32, count: u32) {
        self.each[extent as usize] = Uses { at: 0, count };
    }

    /// Counts a use of an extent, and returns its decayed count.
    pub fn note(&mut self, extent: u32, now: Time) -> u32 {
        let count = self.of(extent, now).saturating_add(1);
        self.each[extent as usize] = Uses { at: (now / self.half_life) as u32, count };
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_uses_are_forgotten_in_each_half_life() {
        let mut heat = Heat::new(2, 1_000);
        let counts = [0, 0, 1, 999, 1_000, 1_999].map(|now| heat.note(1, now));
        assert_eq!(counts, [1, 2, 3, 4, 3, 4]);
        assert_eq!([2_000, 3_500, 5_000, 900_000].map(|now| heat.of(1, now)), [2, 1, 0, 0]);
        assert_eq!(heat.of(0, 5_000), 0);
    }
}

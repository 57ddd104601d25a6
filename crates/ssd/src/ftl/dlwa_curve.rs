//! Write amplification over host bytes: a point for each tenth of the capacity.
//!
//! A mean over a run hides the saw-tooth of sequential passes and the way to the steady state; the curve shows them.

/// Points of each capacity at first.
const POINTS_EACH: u64 = 10;
/// Points at most: then every second is dropped, and a step is twice as long.
const MOST_POINTS: usize = 1024;

/// Bytes written when the host had written a multiple of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvePoint {
    /// Bytes that the host wrote.
    pub host: u64,
    /// Bytes programmed for the host, and for moves.
    pub media: u64,
}

/// The curve of a drive.
#[derive(Debug, Clone)]
pub struct Curve {
    capacity: u64,
    step: u64,
    next: u64,
    points: Vec<CurvePoint>,
}

impl Curve {
    /// A curve of a drive with that capacity.
    pub fn new(capacity: u64) -> Curve {
        let step = (capacity / POINTS_EACH).max(1);
        Curve { capacity, step, next: step, points: Vec::new() }
    }

    /// True if the series needs a point at that number of bytes.
    #[inline]
    pub fn is_due(&self, asked: u64) -> bool {
        asked >= self.next
    }

    /// Adds a point at a number of host bytes.
    pub fn note(&mut self, asked: u64, point: CurvePoint) {
        self.points.push(point);
        if self.points.len() == MOST_POINTS {
            // Bytes written up to the last point of each pair.
            self.points = self.points.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
            self.step *= 2;
        }
        self.next = (asked / self.step + 1) * self.step;
    }

    /// Capacities written, and the bytes programmed for each that the host wrote, since the point before; the first
    /// since the beginning.
    pub fn slopes(&self) -> Vec<(f64, f64)> {
        let mut before = CurvePoint { host: 0, media: 0 };
        let mut found = Vec::new();
        for point in &self.points {
            let host = point.host - before.host;
            if host > 0 {
                let at = point.host as f64 / self.capacity as f64;
                found.push((at, (point.media - before.media) as f64 / host as f64));
            }
            before = *point;
        }
        found
    }

    /// Begins anew.
    pub fn forget(&mut self) {
        *self = Curve::new(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_fewer_points_and_the_same_sums() {
        let mut curve = Curve::new(10_000);
        let mut asked = 0;
        // Alternately no moves, and as many as writes.
        let mut media = 0;
        for number in 0..5000_u64 {
            asked += 1000;
            media += if number % 2 == 0 { 1000 } else { 2000 };
            if curve.is_due(asked) {
                curve.note(asked, CurvePoint { host: asked, media });
            }
        }
        let slopes = curve.slopes();
        assert!(slopes.len() < MOST_POINTS && slopes.len() > MOST_POINTS / 4);
        assert!(slopes.iter().all(|it| (it.1 - 1.5).abs() < 1e-12), "{slopes:?}");
        let mut short = Curve::new(10_000);
        for (asked, media) in [(1000, 1000), (2000, 3000), (3000, 4000)] {
            assert!(short.is_due(asked));
            short.note(asked, CurvePoint { host: asked, media });
        }
        assert_eq!(short.slopes(), [(0.1, 1.0), (0.2, 2.0), (0.3, 1.0)]);
    }
}

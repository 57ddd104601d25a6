//! Transport latency: the round trip to a client.
//!
//! It is stable: 10 to 20 us, plus 0.2 us per KiB for reads. The server replies earlier by this
//! time. Write data add nothing, because the transfer overlaps the service. `measure.rs` measures
//! it.

use engine::Op;

/// A piecewise linear function of points.
#[derive(Debug, Clone, Default, PartialEq)]
struct Curve(Vec<(u64, u64)>);

impl Curve {
    /// Interpolates between two points, and extrapolates the last two.
    fn at(&self, bytes: u64) -> u64 {
        let Some(first) = self.0.first() else { return 0 };
        if bytes <= first.0 || self.0.len() == 1 {
            return first.1;
        }
        let after = self.0.iter().position(|point| point.0 >= bytes);
        let after = after.unwrap_or(self.0.len() - 1);
        let ((x0, y0), (x1, y1)) = (self.0[after - 1], self.0[after]);
        let slope = (y1 as f64 - y0 as f64) / (x1 - x0) as f64;
        (y0 as f64 + slope * (bytes as f64 - x0 as f64)).max(0.0) as u64
    }
}

/// Latency of the transport, ns, by direction and size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overhead {
    /// Latency outside the server, for reads and for other requests.
    outside: [Curve; 2],
    /// Whole latency, for reads and for other requests.
    least: [Curve; 2],
}

impl Overhead {
    /// No overhead.
    pub fn none() -> Self {
        Overhead::default()
    }

    /// A constant overhead.
    pub fn constant(ns: u64) -> Self {
        let curve = || Curve(vec![(0, ns)]);
        Overhead { outside: [curve(), curve()], least: [curve(), curve()] }
    }

    /// Latency of a request outside the server.
    pub fn outside(&self, op: Op, bytes: u64) -> u64 {
        self.outside[usize::from(op != Op::Read)].at(bytes)
    }

    /// Shortest possible latency of a request for a client.
    pub fn least(&self, op: Op, bytes: u64) -> u64 {
        self.least[usize::from(op != Op::Read)].at(bytes)
    }

    /// Adds a measured point of a direction; sizes must ascend.
    pub fn add(&mut self, op: Op, bytes: u64, outside: u64, least: u64) {
        let direction = usize::from(op != Op::Read);
        self.outside[direction].0.push((bytes, outside));
        self.least[direction].0.push((bytes, least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overheads_are_extrapolated_beyond_their_points() {
        let curve = Curve(vec![(100, 10), (200, 20), (400, 60)]);
        let at: Vec<u64> = [0, 100, 150, 200, 300, 400, 500].map(|x| curve.at(x)).to_vec();
        assert_eq!(at, [10, 10, 15, 20, 40, 60, 80]);
        assert_eq!((Curve::default().at(7), Curve(vec![(1, 5)]).at(7)), (0, 5));
    }
}

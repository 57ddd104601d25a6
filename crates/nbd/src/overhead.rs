//! The transport latency: the round trip to a client.
//!
//! It is a stable offset: 10 to 20 us, and for reads about 0.2 us per KiB. The server replies earlier by
//! this time. The data of a write add nothing, because they are transferred while it is served.
//! How it is measured is in `measure.rs`.

use engine::Op;

/// A line through some points.
#[derive(Debug, Clone, Default, PartialEq)]
struct Curve(Vec<(u64, u64)>);

impl Curve {
    /// Between two points on their line, beyond the last on the line of the last two.
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
    /// The part outside the server, for reads and for others.
    outside: [Curve; 2],
    /// The whole overhead.
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

    /// Latency of a request outside of the server.
    pub fn outside(&self, op: Op, bytes: u64) -> u64 {
        self.outside[usize::from(op != Op::Read)].at(bytes)
    }

    /// The shortest possible latency for a client.
    pub fn least(&self, op: Op, bytes: u64) -> u64 {
        self.least[usize::from(op != Op::Read)].at(bytes)
    }

    /// Adds the latency of requests of a direction and size; sizes must ascend.
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

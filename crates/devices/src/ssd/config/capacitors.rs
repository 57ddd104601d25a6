//! The capacitors of a protected write buffer: for how long they keep the dies programming.

use engine::Time;
use options::{Capacitance, options};

options! {
    /// The capacitors behind a protected write buffer. What they hold, `C / 2 (V1^2 - V2^2)` times the
    /// efficiency, lasts for that divided by the power drawn; what is not programmed by then is lost.
    pub struct Capacitors as CapacitorsPartial {
        /// Capacitance of the capacitors; if not given they last until the buffer is empty.
        capacitance: Option<Capacitance> = None,
        /// Charge voltage of the capacitors, volts.
        voltage: f64 = 12.0,
        /// Cut-off voltage of the converter, volts.
        cutoff: f64 = 5.0,
        /// Power of the drive while it empties its buffer, watts.
        watts: f64 = 6.0,
        /// Efficiency of the converter, as a share.
        efficiency: f64 = 0.8,
    }
}

impl Capacitors {
    /// For how long the drive goes on without power, ns; for ever when nothing is said of them.
    pub fn lasts_ns(&self) -> Time {
        let Some(capacitance) = self.capacitance else { return Time::MAX };
        let squares = self.voltage * self.voltage - self.cutoff * self.cutoff;
        let joules = capacitance.farads() / 2.0 * squares * self.efficiency;
        (joules / self.watts * 1e9).round() as Time
    }
}

#[cfg(test)]
mod tests {
    use super::Capacitors;

    /// 1.2 mF from 12 to 5 V at 0.8 are 57 mJ: 9.5 ms at 6 W.
    #[test]
    fn energy_is_power_times_time() {
        let capacitors = Capacitors { capacitance: "1.2mF".parse().ok(), ..Capacitors::default() };
        assert_eq!(capacitors.lasts_ns(), 9_520_000);
        assert_eq!(Capacitors::default().lasts_ns(), u64::MAX);
    }
}

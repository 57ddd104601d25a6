//! Capacitors of a protected write buffer: the time for which they power the dies.

use super::SsdConfig;
use engine::Time;
use options::{Capacitance, OrPlain, Power, Voltage, conditions, options};

conditions! {
    Capacitors:
    CHARGED = "with device.power.capacitance", |c| c.capacitance.is_some();
}

options! {
    /// The capacitors behind a protected write buffer or block buffer. Their energy, `C / 2 (V1^2 - V2^2)` times
    /// the efficiency, lasts for that energy divided by the power; unprogrammed data are lost then.
    pub struct Capacitors as CapacitorsPartial {
        /// Capacitance of the capacitors; if not given they last until the buffer is empty.
        capacitance: Option<Capacitance> = None,
        /// Charge voltage of the capacitors.
        voltage: OrPlain<Voltage> where CHARGED = OrPlain(Voltage::from_smallest(12_000_000)),
        /// Cut-off voltage of the converter.
        cutoff: OrPlain<Voltage> where CHARGED = OrPlain(Voltage::from_smallest(5_000_000)),
        /// Power of the drive during the dump of its buffer.
        watts: OrPlain<Power> where CHARGED = OrPlain(Power::from_smallest(6_000_000)),
        /// Efficiency of the converter, as a share.
        efficiency: f64 as Ratio where CHARGED = 0.8,
    }
}

impl Capacitors {
    /// Time for which the drive works after a power cut, ns; unlimited without modelled capacitors.
    pub fn lasts_ns(&self) -> Time {
        let Some(capacitance) = self.capacitance else { return Time::MAX };
        let (high, low) = (self.voltage.0.volts(), self.cutoff.0.volts());
        let joules = capacitance.farads() / 2.0 * (high * high - low * low) * self.efficiency;
        (joules / self.watts.0.watts() * 1e9).round() as Time
    }
}

impl SsdConfig {
    /// Pages of a block buffer that lanes can program, each one after the other, while the capacitors last.
    pub(crate) fn saved_pages(&self, lanes: u32) -> u64 {
        let timing = &self.timing;
        let page = self.page_size.bytes() + self.spare_size.bytes();
        let each = timing.command.ns() + timing.transfer_ns(page) + timing.program.ns();
        (self.power.lasts_ns() / each.max(1)).saturating_mul(u64::from(lanes))
    }
}

#[cfg(test)]
mod tests {
    use super::Capacitors;

    /// 1.2 mF from 12 to 5 V at an efficiency of 0.8 are 57 mJ: 9.5 ms at 6 W.
    #[test]
    fn energy_is_power_times_time() {
        let capacitors = Capacitors { capacitance: "1.2mF".parse().ok(), ..Capacitors::default() };
        assert_eq!(capacitors.lasts_ns(), 9_520_000);
        assert_eq!(Capacitors::default().lasts_ns(), u64::MAX);
    }
}

//! Prices: the keys under `[cost]`. They have no defaults.

use options::{Invalid, options};

options! {
    /// Prices, for `ssdlab cost`. No price has a default, and no result of a run depends on one.
    pub struct Cost as CostPartial {
        /// Price of a device, dollars.
        device_dollars: Option<f64> = None,
        /// Price of a device per exported GB (1e9 bytes), dollars; instead of `device_dollars`.
        capacity_dollars_per_gb: Option<f64> = None,
        /// Power of a device, watts; from the energy in the results if not given.
        watts: Option<f64> = None,
        /// Price of electricity, dollars per kWh.
        power_dollars_per_kwh: Option<f64> = None,
        /// Power usage effectiveness (PUE): facility watts per device watt, cooling included, 1 or more; no
        /// cooling if not given.
        pue: Option<f64> = None,
        /// Period of the cost calculation, years.
        years: Option<f64> = None,
        /// Yearly maintenance, as a share of the purchase price of the devices.
        maintenance_share: Option<f64> as Ratio = None,
    }
}

impl Cost {
    /// True if no price is given.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Cost::default()
    }

    /// Refuses invalid prices.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let rows = [
            ("cost.device_dollars", self.device_dollars, 0.0),
            ("cost.capacity_dollars_per_gb", self.capacity_dollars_per_gb, 0.0),
            ("cost.watts", self.watts, 0.0),
            ("cost.power_dollars_per_kwh", self.power_dollars_per_kwh, 0.0),
            ("cost.pue", self.pue, 1.0),
            ("cost.years", self.years, 0.0),
            ("cost.maintenance_share", self.maintenance_share, 0.0),
        ];
        for (key, value, least) in rows {
            let Some(value) = value else { continue };
            if !value.is_finite() || value < least {
                let problem = format!("{value} is not a number, {least} or more");
                return Err(Invalid::new(&[key], problem));
            }
        }
        if self.years == Some(0.0) {
            return Err(Invalid::new(&["cost.years"], "0 years: expected more than 0"));
        }
        if self.device_dollars.is_some() && self.capacity_dollars_per_gb.is_some() {
            let keys = ["cost.capacity_dollars_per_gb", "cost.device_dollars"];
            return Err(Invalid::new(&keys, "a device has only one price; keep one of the two"));
        }
        Ok(())
    }
}

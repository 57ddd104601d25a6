//! What a drive takes of its supply: the keys under `device.energy`.

use options::{Current, Energy, Power, Voltage, options};

options! {
    /// What a drive takes of its supply. Nothing of it is known unless a key says so, and then results have
    /// a section `energy`; nothing else changes.
    pub struct SsdEnergy as SsdEnergyPartial {
        /// The supply of the flash.
        voltage: Voltage = Voltage::from_smallest(3_300_000),
        /// What an operation draws while the array senses.
        read: Current = Current::from_smallest(0),
        /// The same while it programs.
        program: Current = Current::from_smallest(0),
        /// The same while it erases.
        erase: Current = Current::from_smallest(0),
        /// The same while data cross the bus.
        bus: Current = Current::from_smallest(0),
        /// What each die draws all the time.
        standby: Current = Current::from_smallest(0),
        /// What the controller, with memory and link, takes all the time.
        controller: Power = Power::from_smallest(0),
        /// Sensing a page as measured, instead of current and time.
        page_read: Option<Energy> = None,
        /// The same of programming a page.
        page_program: Option<Energy> = None,
        /// The same of erasing a block.
        block_erase: Option<Energy> = None,
    }
}

impl SsdEnergy {
    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        let currents = [self.read, self.program, self.erase, self.bus, self.standby];
        let measured = [self.page_read, self.page_program, self.block_erase];
        currents.iter().any(|current| *current > Current::default())
            || self.controller > Power::default()
            || measured.iter().any(Option::is_some)
    }
}

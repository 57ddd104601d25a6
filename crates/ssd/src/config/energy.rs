//! Power consumption of a drive: the keys under `device.energy`.

use options::{Current, Energy, Power, Voltage, conditions, options};

conditions! {
    SsdEnergy:
    CURRENTS = "where a current is given", SsdEnergy::has_currents;
    READ_BY_CURRENT = "without device.energy.page_read", |c| c.page_read.is_none();
    PROGRAM_BY_CURRENT = "without device.energy.page_program", |c| c.page_program.is_none();
    ERASE_BY_CURRENT = "without device.energy.block_erase", |c| c.block_erase.is_none();
}

options! {
    /// Power consumption of a drive. Unknown unless a key sets it, and then results have
    /// a section `energy`; nothing else changes.
    pub struct SsdEnergy as SsdEnergyPartial {
        /// Supply voltage of the flash.
        voltage: Voltage where CURRENTS = Voltage::from_smallest(3_300_000),
        /// Current of a die during a read.
        read: Current where READ_BY_CURRENT = Current::from_smallest(0),
        /// Current of a die during a program.
        program: Current where PROGRAM_BY_CURRENT = Current::from_smallest(0),
        /// Current of a die during an erase.
        erase: Current where ERASE_BY_CURRENT = Current::from_smallest(0),
        /// Current during a bus transfer.
        bus: Current = Current::from_smallest(0),
        /// Standby current of each die.
        standby: Current = Current::from_smallest(0),
        /// Constant power of the controller, with memory and link.
        controller: Power = Power::from_smallest(0),
        /// Measured energy of a page read, instead of current and time.
        page_read: Option<Energy> = None,
        /// Measured energy of a page program.
        page_program: Option<Energy> = None,
        /// Measured energy of a block erase.
        block_erase: Option<Energy> = None,
    }
}

impl SsdEnergy {
    /// True if any energy is configured.
    pub fn is_known(&self) -> bool {
        let measured = [self.page_read, self.page_program, self.block_erase];
        self.has_currents()
            || self.controller > Power::default()
            || measured.iter().any(Option::is_some)
    }

    /// True if any current is configured.
    fn has_currents(&self) -> bool {
        let currents = [self.read, self.program, self.erase, self.bus, self.standby];
        currents.iter().any(|current| *current > Current::default())
    }
}

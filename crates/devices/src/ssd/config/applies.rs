//! Where the keys of a drive apply: the conditions that their rows name.

use super::*;
use options::conditions;

conditions! {
    SsdConfig:
    pub BUFFERED = "with a write buffer (device.buffer.size)", SsdConfig::is_buffered;
    pub UNBUFFERED = "without a write buffer (device.buffer.size = \"0B\")", |c| !c.is_buffered();
    pub SPANS = "without a write buffer where a logical page is several pages (device.logical_page)", |c| {
        let page = c.page_size.bytes();
        let several = c.logical_page.is_some_and(|it| it.bytes() > page);
        !c.is_buffered() && (several || c.gang == Gang::SharedControlSync)
    };
    pub POOLS = "without a write buffer where there are several pools (device.pool)",
        |c| !c.is_buffered() && c.pool != Pool::Ssd;
    pub TWO_PASS = "with a write buffer (device.buffer.size) and device.cell.program = \"two-pass\"",
        |c| c.is_buffered() && c.cell.program == Program::TwoPass;
    pub FILLED = "to a drive that holds data at the start (device.fill)", |c| c.fill.share() > 0.0;
    pub BACKGROUND = "without a write buffer and with background cleaning (device.cleaning.background)",
        |c| !c.is_buffered() && c.cleaning.background;
    pub STREAMS = "without a write buffer where packages share a bus and a pool: with \
        packages_per_channel of 2 or more, gang = \"shared-bus\" and pool = \"gang\" or \"ssd\"", |c| {
        let wide = matches!(c.pool, Pool::Gang | Pool::Ssd);
        !c.is_buffered() && wide && c.packages_per_channel > 1 && c.gang == Gang::SharedBus
    };
    pub HOT_COLD = "without a write buffer and with device.cleaning.frontiers = \"hot-cold\"",
        |c| !c.is_buffered() && c.cleaning.frontiers == Frontiers::HotCold;
    pub BURSTS = "with a write buffer and device.cleaning.pace = \"burst\" or \"adaptive\"",
        |c| c.is_buffered() && c.cleaning.pace != Pace::Token;
    pub METERED = "with a write buffer and device.cleaning.pace = \"token\" or \"adaptive\"",
        |c| c.is_buffered() && c.cleaning.pace != Pace::Burst;
    pub RECOVERS = "to a drive that recovers from power cuts (device.persistence.recovery)",
        |c| c.persistence.recovers();
    pub PAIRS = "without a write buffer to a drive that recovers from power cuts \
        (device.persistence.recovery)", |c| !c.is_buffered() && c.persistence.recovers();
    pub GUARDS = "where pages share cells (device.cell.pairing), without a write buffer, to a drive that \
        recovers from power cuts", |c| {
        !c.is_buffered() && c.persistence.recovers() && c.cell.pairing != Pairing::None
    };
    pub CAPACITORS = "with a protected write buffer (device.buffer.power_loss_protected) to a drive that \
        recovers from power cuts (device.persistence.recovery)", |c| {
        c.is_buffered() && c.buffer.power_loss_protected && c.persistence.recovers()
    };
}

conditions! {
    Suspend:
    pub SUSPENDS = "where programs or erases are suspended (device.suspend.program, erase)",
        |c| c.program.ns().is_some() || c.erase.ns().is_some();
    pub STOPS_PROGRAMS = "where programs are suspended (device.suspend.program)",
        |c| c.program.ns().is_some();
    pub STOPS_ERASES = "where erases are suspended (device.suspend.erase)", |c| c.erase.ns().is_some();
}

conditions! {
    Firmware:
    pub CORES_WORK = "where commands take core time (device.firmware.read, write, per_page)",
        |c| c.read.ns() + c.write.ns() + c.per_page.ns() > 0;
}

conditions! {
    Capacitors:
    pub CHARGED = "with device.power.capacitance", |c| c.capacitance.is_some();
}

conditions! {
    Timing:
    pub BY_BYTE = "where device.timing.bus_rate does not state the rate", |c| c.bus_rate.is_none();
}

conditions! {
    Cleaning:
    pub WINDOWED = "with device.cleaning.policy = \"windowed-greedy\"",
        |c| c.policy == Policy::WindowedGreedy;
    pub CHOICES = "with device.cleaning.policy = \"d-choices\"", |c| c.policy == Policy::DChoices;
    pub TIES = "to policies that compare blocks, all but random and fifo",
        |c| !matches!(c.policy, Policy::Random | Policy::Fifo);
}

conditions! {
    HotCold:
    pub BY_TABLE = "with the detector writes or recency", |c| c.detector != Detector::Address;
    pub BY_ADDRESS = "with the detector address", |c| c.detector == Detector::Address;
}

conditions! {
    Levelling:
    pub LEVELS = "with wear levelling (device.cleaning.levelling.rule)",
        |c| c.rule != LevellingRule::None;
    pub MIGRATES = "with device.cleaning.levelling.rule = \"migrate\"",
        |c| c.rule == LevellingRule::Migrate;
}

conditions! {
    Persistence:
    pub UNRECOVERED = "with device.persistence.recovery = \"none\"; it is always on with recovery",
        |c| !c.recovers();
    pub CHECKPOINTS = "with device.persistence.recovery = \"checkpoint\"",
        |c| c.recovery == Recovery::Checkpoint;
}

conditions! {
    SsdEnergy:
    pub CURRENTS = "where a current is given", SsdEnergy::has_currents;
    pub READ_BY_CURRENT = "without device.energy.page_read", |c| c.page_read.is_none();
    pub PROGRAM_BY_CURRENT = "without device.energy.page_program", |c| c.page_program.is_none();
    pub ERASE_BY_CURRENT = "without device.energy.block_erase", |c| c.block_erase.is_none();
}

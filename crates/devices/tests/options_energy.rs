//! Rows of the keys of energy.

use super::*;

pub fn rows() -> Vec<Row> {
    let more =
        |key, from: &str, to: &str, load| row(key, [json!(from), json!(to)], load, (JOULES, More));
    vec![
        more("device.energy.voltage", "1.8V", "3.3V", READS)
            .given("device.energy.read", json!("25mA")),
        more("device.energy.read", "15mA", "25mA", READS),
        more("device.energy.program", "15mA", "25mA", WRITES),
        more("device.energy.erase", "15mA", "25mA", WRITES),
        more("device.energy.bus", "15mA", "25mA", READS),
        more("device.energy.standby", "50uA", "100uA", READS),
        more("device.energy.controller", "100mW", "1W", READS),
        more("device.energy.page_read", "1uJ", "2uJ", READS),
        more("device.energy.page_program", "10uJ", "20uJ", WRITES),
        more("device.energy.block_erase", "10uJ", "20uJ", WRITES),
    ]
}

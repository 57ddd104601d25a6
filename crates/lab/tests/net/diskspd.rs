//! DiskSpd command lines: drawn from a separate generator, so that experiments of existing seeds do
//! not change.

use super::Config;
use super::dice::Dice;

/// The kind of workload that is drawn only here.
pub const KIND: &str = "diskspd";

/// Replaces the load of some experiments by a command line.
pub fn draw(config: &mut Config, seed: u64) {
    let mut dice = Dice::new(seed.rotate_left(40) ^ 0xD15C);
    if !dice.chance(0.03) {
        return;
    }
    config.0.retain(|(key, _)| !key.starts_with("workload.") || key == "workload.requests");
    config.set("workload.kind", format!("\"{KIND}\""));
    let block = dice.pick(&["512", "4K", "16K"]);
    let places = dice.pick(&["-r", "-r512", "-rs30", "-s", "-s64K", "-si", "-B1b"]);
    let threads = dice.pick(&["-t1", "-t3", "-F2"]);
    let depth = dice.pick(&[1, 2, 32]);
    let writes = dice.pick(&[0, 50, 100]);
    let pace = dice.pick(&["", "-g5000", "-g2000i", "-i8 -j1"]);
    let caching = dice.pick(&["-Su", "-Sh", "-Sw"]);
    config.set(
        "workload.command",
        format!(
            "\"diskspd -b{block} {places} {threads} -o{depth} -w{writes} {pace} {caching} -W0 -d1 #1\""
        ),
    );
}

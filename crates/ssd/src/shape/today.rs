//! Constraints on the keys of cells, processors and write buffer. Which keys apply with or without
//! a buffer is declared with the keys (`config/applies.rs`).

use super::groups::Groups;
use super::{ageing, conflicts};
use crate::config::{Frontiers, Program, Reclaim, SsdConfig};
use engine::Time;
use options::{Invalid, Size};

/// Shortest published program time of a word line, us, by bits per cell, with a margin. A shorter
/// value must be a single page's time.
const SHORTEST_WORD_LINE_US: [Time; 5] = [0, 150, 700, 4_000, 6_000];

/// Maximum number of cores, and of groups in either part of the buffer: more than any drive has.
/// Events have 20 bits for them.
const MOST_CORES: u32 = 1 << 16;
const MOST_GROUPS: u64 = 1 << 19;

/// Maximum pause.
const LONGEST_PAUSE_NS: Time = 3_600_000_000_000;

/// Checks a drive with or without a write buffer.
pub(super) fn check(config: &SsdConfig) -> Result<(), Invalid> {
    conflicts::check(config)?;
    let cleaning = &config.cleaning;
    if config.firmware.cores == 0 {
        let problem = "0 is not possible; it must be at least 1";
        return Err(Invalid::new(&["device.firmware.cores"], problem));
    }
    cells(config)?;
    ageing::chances(config)?;
    ageing::media(config)?;
    capacitors(config)?;
    if !config.is_buffered() {
        return Ok(());
    }
    slc_cache(config)?;
    ageing::check(config)?;
    if !(0.0..=1.0).contains(&cleaning.meter_above) {
        let problem = format!("{} is not a share from 0 to 1", cleaning.meter_above);
        return Err(Invalid::new(&["device.cleaning.meter_above"], problem));
    }
    let counts = [
        ("device.cleaning.read_batch", cleaning.read_batch),
        ("device.cleaning.meter_depth", cleaning.meter_depth),
        ("device.cleaning.quantum", cleaning.quantum),
        ("device.cell.distance", config.cell.distance),
    ];
    if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
        return Err(Invalid::new(&[key], "0 is not possible; it must be at least 1"));
    }
    Ok(())
}

/// Checks the SLC cache.
fn slc_cache(config: &SsdConfig) -> Result<(), Invalid> {
    let slc = &config.slc_cache;
    for (key, share) in [
        ("device.slc_cache.dynamic", slc.dynamic),
        ("device.slc_cache.gone_at", slc.gone_at),
        ("device.slc_cache.fold_share", slc.fold_share),
    ] {
        if !(0.0..=1.0).contains(&share) {
            return Err(Invalid::new(&[key], format!("{share} is not a share from 0 to 1")));
        }
    }
    if !slc.is_on() {
        return Ok(());
    }
    let refuse = |key: &'static str, problem: String| {
        let on =
            if slc.dynamic > 0.0 { "device.slc_cache.dynamic" } else { "device.slc_cache.static" };
        Err(Invalid::new(&[on, key], problem))
    };
    let bits = config.cell.bits;
    if bits < 2 {
        let problem = "cells of one bit have no faster mode; an SLC cache needs bits of 2 to 5";
        return refuse("device.cell.bits", problem.to_owned());
    }
    if config.cell.program != Program::OneShot {
        let problem = format!(
            "with an SLC cache a word line is programmed at once: program = \"one-shot\", not \"{}\"",
            config.cell.program
        );
        return refuse("device.cell.program", problem);
    }
    if config.cleaning.reclaim != Reclaim::Superblock {
        let problem = "the SLC cache has whole superblocks; use reclaim = \"superblock\"";
        return refuse("device.cleaning.reclaim", problem.to_owned());
    }
    slc_times(config)
}

/// Checks times with one bit per cell.
fn slc_times(config: &SsdConfig) -> Result<(), Invalid> {
    let (slc, bits) = (&config.slc_cache, config.cell.bits);
    let times = [("device.slc_cache.program", slc.program), ("device.slc_cache.read", slc.read)];
    for (key, time) in times {
        let Some(time) = time else {
            let problem =
                "an SLC cache needs it: the time of a page with one bit a cell".to_owned();
            return Err(Invalid::new(&[key], problem));
        };
        if time.ns() == 0 {
            return Err(Invalid::new(&[key], format!("{time} is no time")));
        }
    }
    let program = slc.program.map_or(0, options::Duration::ns);
    let native = config.timing.program.ns();
    if slc.rated_cycles == Some(0) {
        let problem = "0 is not possible; it must be at least 1";
        return Err(Invalid::new(&["device.slc_cache.rated_cycles"], problem));
    }
    if let Some(rated) = slc.rated_cycles.filter(|rated| *rated < config.wear.rated_cycles) {
        let problem = format!(
            "{rated} is less than the {} cycles of native blocks: one bit a cell wears less, not more",
            config.wear.rated_cycles
        );
        let keys = ["device.slc_cache.rated_cycles", "device.wear.rated_cycles"];
        return Err(Invalid::new(&keys, problem));
    }
    if program * u64::from(bits) > 2 * native {
        let most = options::Duration::from_ns(2 * native / u64::from(bits));
        let problem = format!(
            "{} is not a gain: a word line of {bits} bits takes {}, so that a page of one bit may take at \
             most {most} (2 x {} / {bits})",
            options::Duration::from_ns(program),
            config.timing.program,
            config.timing.program
        );
        return Err(Invalid::new(&["device.slc_cache.program", "device.timing.program"], problem));
    }
    if slc.fold_after.ns() > LONGEST_PAUSE_NS {
        let problem = format!("{} is too long; at most 1h", slc.fold_after);
        return Err(Invalid::new(&["device.slc_cache.fold_after"], problem));
    }
    Ok(())
}

/// Checks the capacitors of the buffer.
fn capacitors(config: &SsdConfig) -> Result<(), Invalid> {
    let power = &config.power;
    if power.cutoff.0 >= power.voltage.0 {
        let problem = format!(
            "the converter stops at {}, and the capacitors are charged to {}",
            power.cutoff, power.voltage
        );
        return Err(Invalid::new(&["device.power.cutoff", "device.power.voltage"], problem));
    }
    if power.watts.0.watts() == 0.0 {
        let problem = format!("{} is not a power above 0", power.watts);
        return Err(Invalid::new(&["device.power.watts"], problem));
    }
    if !(power.efficiency > 0.0 && power.efficiency <= 1.0) {
        let problem = format!("{} is not a share above 0", power.efficiency);
        return Err(Invalid::new(&["device.power.efficiency"], problem));
    }
    Ok(())
}

/// Checks cores, cells, and their times.
fn cells(config: &SsdConfig) -> Result<(), Invalid> {
    if config.firmware.cores > MOST_CORES {
        let problem = format!("{} is too many; at most {MOST_CORES}", config.firmware.cores);
        return Err(Invalid::new(&["device.firmware.cores"], problem));
    }
    let (cell, timing) = (&config.cell, &config.timing);
    if !(1..=5).contains(&cell.bits) {
        let problem = format!("{} is not possible; a cell holds 1 to 5 bits", cell.bits);
        return Err(Invalid::new(&["device.cell.bits"], problem));
    }
    let types = timing.read.count() as u32;
    if types > 1 && types != cell.bits {
        let problem = format!(
            "{} are {types} times, and a word line of {} bits a cell has {} types of page",
            timing.read, cell.bits, cell.bits
        );
        return Err(Invalid::new(&["device.timing.read", "device.cell.bits"], problem));
    }
    let shortest = SHORTEST_WORD_LINE_US[cell.bits as usize - 1];
    // Single one-bit pages may have any program time; with a buffer all planes take part.
    let is_word_line = cell.bits > 1 || config.is_buffered();
    if is_word_line && timing.program.ns() < shortest * 1000 {
        let problem = format!(
            "{} is too short for a word line of {} bits a cell; data sheets state the time of one \
             page: {} x {} = {}",
            timing.program,
            cell.bits,
            cell.bits,
            timing.program,
            options::Duration::from_ns(timing.program.ns() * u64::from(cell.bits))
        );
        return Err(Invalid::new(&["device.timing.program", "device.cell.bits"], problem));
    }
    Ok(())
}

/// Checks that the buffer can hold the data programmed at once.
pub(super) fn buffers(config: &SsdConfig, groups: &Groups) -> Result<(), Invalid> {
    let two_pass = config.cell.program == Program::TwoPass;
    if two_pass && !config.buffer.power_loss_protected {
        let problem = "between its two passes the data of a word line are in the buffer alone, and a \
                       flush would wait for word lines that nobody writes; use \
                       power_loss_protected = true or program = \"one-shot\"";
        let keys = ["device.buffer.power_loss_protected", "device.cell.program"];
        return Err(Invalid::new(&keys, problem));
    }
    let handles = u64::from(config.fdp.handles.max(1));
    let placements = u64::from(config.fdp.placements().max(1));
    // One group per handle may be open; between two passes there are word lines of each.
    let frontiers = match config.fdp.chooses() {
        true if two_pass => handles,
        true => 1,
        false => u64::from(config.frontiers().of_each_class()),
    };
    // Groups of the word lines between the passes, and the one being filled.
    let held = frontiers * if two_pass { u64::from(config.cell.distance) + 2 } else { 1 };
    let dies = u64::from(groups.dies);
    // Copies have another open block for cold data that moves into worn blocks.
    let of_copies = if config.fdp.chooses() {
        u64::from(config.destinations() + u32::from(config.gathers_cold()))
    } else {
        frontiers + u64::from(config.gathers_cold())
    };
    // Each separately cleaned part may have one open group of copies per open block, and another
    // being read.
    let filling = of_copies * dies / u64::from(groups.width);
    let fill = if config.fdp.chooses() { placements - 1 + u64::from(config.folds()) } else { 0 };
    let mut needed = vec![("device.buffer.size", config.buffer.size, dies * held + fill)];
    let between = if two_pass || !config.fdp.chooses() { of_copies } else { 1 };
    let copies = (dies * held / frontiers * between).max(filling + 1);
    needed.push(match config.buffer.copies {
        Some(size) => ("device.buffer.copies", size, copies),
        None => ("device.buffer.size", config.buffer.size, copies),
    });
    for (key, size, count) in needed {
        let least = groups.bytes().saturating_mul(count);
        if size.bytes() / groups.bytes() > MOST_GROUPS {
            let most = Size::from_bytes(MOST_GROUPS * groups.bytes());
            let problem = format!("{size} is too much; at most {most}, {MOST_GROUPS} groups");
            return Err(Invalid::new(&[key], problem));
        }
        if size.bytes() < least {
            let why = if count > dies * held && !two_pass {
                format!("the groups of copies that fill and one that is read: {count} x")
            } else if two_pass {
                let of_frontiers = if frontiers > 1 {
                    format!(", of {frontiers} frontiers,")
                } else {
                    String::new()
                };
                format!(
                    "a group for each die: {dies} dies x {held} word lines{of_frontiers} between two passes x"
                )
            } else if frontiers > 1 {
                format!(
                    "a group of each frontier for each die: {dies} dies x {frontiers} frontiers x"
                )
            } else {
                format!("a group for each die: {dies} dies x")
            };
            let problem = format!(
                "{size} is less than {why} {} ({} planes x {} x {}) = {}",
                Size::from_bytes(groups.bytes()),
                groups.planes,
                groups.rows,
                config.page_size,
                Size::from_bytes(least)
            );
            let mut keys =
                vec![key, "device.planes_per_die", "device.cell.bits", "device.page_size"];
            if config.fdp.chooses() {
                keys.insert(1, "device.fdp.handles");
            }
            return Err(Invalid::new(&keys, problem));
        }
    }
    Ok(())
}

/// A volatile buffer pads one or two groups of each open block before a victim is erased, which
/// must free more; `valid` is the used share of the blocks.
pub(super) fn gains(
    config: &SsdConfig,
    groups: &Groups,
    valid: f64,
    spare_key: &'static str,
) -> Result<(), Invalid> {
    let gained = f64::from(groups.per_block) * (1.0 - valid);
    let padded = 2 * config.frontiers_of_host();
    if !config.is_volatile() || gained >= f64::from(padded + 1) {
        return Ok(());
    }
    let problem = format!(
        "a block of {} groups gains {gained:.1} of them when it is cleaned, and a buffer that is not protected \
         fills up to {padded} with nothing before it is erased; use larger blocks, more spare space or \
         power_loss_protected = true",
        groups.per_block
    );
    let keys = ["device.buffer.power_loss_protected", "device.pages_per_block", spare_key];
    Err(Invalid::new(&keys, problem))
}

/// A block with a page in the buffer cannot be cleaned, and a word line's second pass waits for
/// later word lines. Besides buffer content and erased or open blocks, the spare space must
/// therefore leave superseded pages in cleanable blocks. Sizes are logical pages of a pool.
pub(super) fn held_programs(
    config: &SsdConfig,
    groups: &Groups,
    spare: u64,
    kept: u64,
    spare_key: &'static str,
) -> Result<(), Invalid> {
    let waits = config.cell.program == Program::TwoPass;
    let page = u64::from(groups.unit_bytes);
    let mut room = config.buffer.size.bytes() / page;
    if config.frontiers() != Frontiers::SeparateMoved && !config.fdp.chooses() {
        // Copies between passes occupy the host's room.
        room += config.buffer.copies.unwrap_or(config.buffer.size).bytes() / page;
    }
    if !waits || room + kept < spare {
        return Ok(());
    }
    let size = |pages: u64| Size::from_bytes(pages * page);
    let most = (spare - kept).saturating_sub(1);
    let least =
        u64::from(groups.dies) * (u64::from(config.cell.distance) + 2) * groups.bytes() / page;
    let remedy = if most >= least {
        format!("use at most {}, or more spare space", size(most))
    } else {
        "use more spare space".to_owned()
    };
    let problem = format!(
        "{} and the {} of blocks that cleaning keeps erased or open are not less than the spare space of {}: \
         between their two passes programs wait for later ones, and nothing superseded would be left \
         that can be cleaned; {remedy}",
        config.buffer.size,
        size(kept),
        size(spare)
    );
    Err(Invalid::new(&["device.buffer.size", "device.cell.program", spare_key], problem))
}

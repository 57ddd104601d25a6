//! Checks of keys shared by several workload kinds.
//!
//! Errors name the key, the value and the rule. Rules specific to one kind are checked by that
//! kind.

use crate::files::BLOCK_BYTES;
use crate::time_scale::TimeScale;
use engine::SECTOR_BYTES;
use options::{Invalid, Size};

/// Maximum 4 KiB blocks of a record or a request.
const MOST_BLOCKS: u64 = 1 << 18;

/// Refuses zero for a count.
pub(crate) fn positive(key: &str, value: u64) -> Result<(), Invalid> {
    if value == 0 {
        return Err(Invalid::new(&[key], "it is 0, but must be at least 1"));
    }
    Ok(())
}

/// Maximum number of requests, for workloads that can also end by themselves.
pub(crate) fn limit(requests: Option<u64>) -> Result<Option<u64>, Invalid> {
    if let Some(requests) = requests {
        positive("workload.requests", requests)?;
    }
    Ok(requests)
}

/// Refuses a count that is too low or too high.
pub(crate) fn within(key: &str, value: u64, least: u64, most: u64) -> Result<(), Invalid> {
    if !(least..=most).contains(&value) {
        let problem = format!("{value} is not possible; it must be from {least} to {most}");
        return Err(Invalid::new(&[key], problem));
    }
    Ok(())
}

/// Refuses a share outside 0 to 1.
pub(crate) fn share(key: &str, value: f64) -> Result<(), Invalid> {
    if !(0.0..=1.0).contains(&value) {
        let hint = options::percent_meant(value);
        return Err(Invalid::new(&[key], format!("{value} is not a share between 0 and 1{hint}")));
    }
    Ok(())
}

/// The number of 4 KiB blocks of a size; a fraction of a block or zero is refused.
pub(crate) fn blocks(key: &str, size: Size) -> Result<u64, Invalid> {
    let blocks = size.bytes() / BLOCK_BYTES;
    if blocks == 0 || !size.bytes().is_multiple_of(BLOCK_BYTES) || blocks > MOST_BLOCKS {
        let problem = format!("{size} is no multiple of 4KiB from 4KiB to 1GiB");
        return Err(Invalid::new(&[key], problem));
    }
    Ok(blocks)
}

/// The time scale of key `workload.time_scale`.
pub(crate) fn time_scale(value: f64) -> Result<TimeScale, Invalid> {
    TimeScale::new(value).ok_or_else(|| {
        Invalid::new(&["workload.time_scale"], format!("{value} is not a number above 0"))
    })
}

/// The sectors of key `workload.block_size`, at most `footprint_sectors`.
pub(crate) fn block_sectors(size: Size, footprint_sectors: u64) -> Result<u32, Invalid> {
    const KEY: &str = "workload.block_size";
    let bytes = size.bytes();
    if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
        let problem = format!("{size} is not a positive multiple of {SECTOR_BYTES}B");
        return Err(Invalid::new(&[KEY], problem));
    }
    let sectors = bytes / SECTOR_BYTES;
    if sectors > footprint_sectors {
        let footprint = Size::from_bytes(footprint_sectors.saturating_mul(SECTOR_BYTES));
        let problem = format!("{size} is larger than the footprint of {footprint}");
        return Err(Invalid::new(&[KEY, "workload.footprint"], problem));
    }
    u32::try_from(sectors)
        .map_err(|_| Invalid::new(&[KEY], format!("{size} is too large (it must stay below 2TiB)")))
}

/// Above this count, a message lists only the most similar words.
const FEW_WORDS: usize = 20;

/// The error for a word that is not one of `words`, with the most similar one as a suggestion.
pub(crate) fn unknown_word<'a>(
    key: &str,
    word: &str,
    words: impl Iterator<Item = &'a str>,
) -> Invalid {
    let list: Vec<&str> = words.collect();
    let near = options::nearest(word, list.iter().copied());
    let problem = match near {
        Some(near) if list.len() > FEW_WORDS => {
            format!("\"{word}\" is none of its {} words (did you mean \"{near}\"?)", list.len())
        }
        _ => {
            let hint = near.map_or(String::new(), |near| format!(" (did you mean \"{near}\"?)"));
            format!("\"{word}\" is not one of {}{hint}", list.join(", "))
        }
    };
    Invalid::new(&[key], problem)
}

/// The notice of writes that named a placement handle.
pub(crate) const NAMED_HANDLES: &str = "writes_with_handles";

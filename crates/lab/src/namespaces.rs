//! Namespaces of a device, as text.

use engine::{NAMESPACE_UNIT_BYTES, NamespaceWish};
use options::{Size, share};

/// Syntax of a namespace, for messages.
const FORM: &str = "SIZE [thin CAPACITY] [lba 512B|4KiB], with sizes such as 1GiB or 50%";
/// Maximum number of namespaces of a device.
const MOST: usize = 32;

/// Parses the namespaces of a device of `bytes` bytes.
///
/// # Errors
/// A sentence.
pub fn read(text: &str, bytes: u64) -> Result<Vec<NamespaceWish>, String> {
    let found: Vec<NamespaceWish> =
        text.split(',').map(|part| one(part, bytes)).collect::<Result<_, _>>()?;
    if found.len() > MOST {
        return Err(format!("{} are too many; at most {MOST}", found.len()));
    }
    let sum = found.iter().map(|it| it.bytes).fold(0, u64::saturating_add);
    if sum > bytes {
        return Err(format!("they have {sum} bytes, and the device has {bytes}"));
    }
    Ok(found)
}

fn one(part: &str, device: u64) -> Result<NamespaceWish, String> {
    let mut words = part.split_whitespace();
    let size = |text: Option<&str>| {
        let text = text.ok_or_else(|| format!("\"{}\": a size is missing; {FORM}", part.trim()))?;
        let of_share = text.ends_with('%').then(|| share(text)).flatten();
        let bytes = match of_share {
            Some(share) => {
                Some((device as f64 * share) as u64 / NAMESPACE_UNIT_BYTES * NAMESPACE_UNIT_BYTES)
            }
            None => text.parse::<Size>().ok().map(Size::bytes),
        };
        let whole = bytes.filter(|it| *it > 0 && it.is_multiple_of(NAMESPACE_UNIT_BYTES));
        whole.ok_or_else(|| {
            format!("\"{text}\" is no size in whole units of {NAMESPACE_UNIT_BYTES} bytes; {FORM}")
        })
    };
    let bytes = size(words.next())?;
    let mut wish = NamespaceWish::whole(bytes);
    while let Some(word) = words.next() {
        match word {
            "thin" => wish = NamespaceWish { capacity: size(words.next())?, ..wish },
            "lba" => {
                let block = match words.next() {
                    Some("512B" | "512") => 512,
                    Some("4KiB" | "4096B" | "4096") => 4096,
                    other => {
                        let other = other.unwrap_or_default();
                        return Err(format!("\"{other}\" is no format of blocks; 512B or 4KiB"));
                    }
                };
                wish = NamespaceWish { block, ..wish };
            }
            other => return Err(format!("\"{other}\" says nothing; {FORM}")),
        }
    }
    if wish.capacity > bytes {
        return Err(format!(
            "it cannot map {} bytes, more than the {bytes} that it addresses",
            wish.capacity
        ));
    }
    Ok(wish)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_read_with_their_capacity_and_format() {
        let found = read("50%, 1MiB thin 64KiB lba 4KiB, 2MiB lba 512B", 8 << 20).unwrap();
        let expected = [
            NamespaceWish::whole(4 << 20),
            NamespaceWish { bytes: 1 << 20, capacity: 64 << 10, block: 4096 },
            NamespaceWish::whole(2 << 20),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_none_is_refused_with_what_there_is() {
        for (text, why) in [
            ("", "a size is missing"),
            ("1MiB,", "a size is missing"),
            ("huge", "no size in whole units"),
            ("1000B", "no size in whole units"),
            ("1MiB thick 1MiB", "says nothing; SIZE [thin"),
            ("1MiB thin 2MiB", "cannot map"),
            ("1MiB lba 8KiB", "512B or 4KiB"),
            ("6MiB, 4MiB", "the device has 8388608"),
            (&["4KiB"; 33].join(","), "33 are too many"),
        ] {
            let problem = read(text, 8 << 20).unwrap_err();
            assert!(problem.contains(why), "{text}: {problem}");
        }
    }
}

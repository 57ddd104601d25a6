//! Tests of plain fields: they agree with the parsers of the formats.

use super::*;
use crate::read::fields::{Extent, decimal, integer};
use proptest::prelude::*;

/// The text, followed by more text as in a file.
fn behind(text: &str) -> Vec<u8> {
    format!("{text},and what follows\n").into_bytes()
}

#[test]
fn numbers_of_every_length_are_read() {
    for digits in 1..=DIGITS {
        for digit in ['0', '1', '9'] {
            let text: String = std::iter::repeat_n(digit, digits).collect();
            let bytes = behind(&text);
            let mut line = Plain::new(&bytes);
            assert_eq!(line.number(), text.parse().ok(), "{text}");
            assert_eq!((line.byte(b','), line.rest), (Some(()), &bytes[digits + 1..]));
        }
    }
    assert_eq!(Plain::new(&behind("11111111111111111111")).number(), None);
    assert_eq!(Plain::new(&behind("")).number(), None);
    assert_eq!(Plain::new(b"1234567").number(), None, "the end is not there");
}

#[test]
fn words_and_ends_are_found() {
    let mut line = Plain::new(b"Read,w x1 ,last\r\nnext");
    assert_eq!((line.direction(), line.byte(b',')), (Some(Op::Read), Some(())));
    assert_eq!(
        (line.direction(), line.blanks(), line.word()),
        (Some(Op::Write), Some(()), Some(&b"x1"[..]))
    );
    assert_eq!(line.until(b','), Some(&b" "[..]));
    assert_eq!((Plain { ..line }.until(b','), line.end()), (None, None));
    assert_eq!(
        (line.word(), line.end(), line.skip_to_end()),
        (Some(&b"last"[..]), Some(17), Some(17))
    );
}

proptest! {
    #[test]
    fn bytes_that_are_no_digits_end_a_number(text in proptest::collection::vec(any::<u8>(), 8..40)) {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let found = Plain::new(&text).number();
        if (1..=DIGITS).contains(&digits) && text.len() >= digits + 8 {
            prop_assert_eq!(found, integer(&text[..digits], 10).ok());
        } else if let Some(number) = found {
            prop_assert_eq!(Ok(number), integer(&text[..digits], 10));
        }
    }

    #[test]
    fn decimals_are_those_of_the_slow_reader(
        text in "[0-9]{0,21}(\\.[0-9]{0,21})?", places in prop::sample::select(vec![0_usize, 3, 6, 9]),
    ) {
        let bytes = behind(&text);
        let mut line = Plain::new(&bytes);
        if let Some(found) = line.decimal(places) && line.byte(b',').is_some() {
            prop_assert_eq!(Ok(found), decimal(text.as_bytes(), TENS[places]));
        }
    }

    #[test]
    fn whole_sectors_are_those_of_the_slow_reader(
        offset in any::<u64>(), bytes in any::<u64>(), low in 0..64_u32, shift in 0..10_u32,
    ) {
        let (offset, bytes) = (offset >> low >> shift << shift, bytes >> low >> shift << shift);
        let slow = Extent::of(offset, bytes).ok().filter(|extent| !extent.rounded);
        let found = of_bytes(1, 2, Op::Read, offset, bytes).map(|record| (record.sector, record.sectors));
        prop_assert_eq!(found, slow.map(|extent| (extent.sector, extent.sectors)));
    }
}

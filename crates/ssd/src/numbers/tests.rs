use super::*;
use proptest::prelude::*;
use serde::de::DeserializeSeed;
use std::collections::BTreeMap;

/// Past the first piece, and not a whole number of steps.
const LENGTH: u64 = PIECE + 3 * STEP as u64 + 7;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Both widths, their copies, and restored tables agree with an ordered map.
    #[test]
    fn both_widths_agree_with_a_map(
        steps in prop::collection::vec((0..LENGTH, any::<u32>(), any::<bool>()), 0..60),
    ) {
        let mut tables = [Numbers::new(LENGTH, false), Numbers::new(LENGTH, true)];
        let mut slow = BTreeMap::new();
        for (place, number, near) in steps {
            // Places near the edges of steps and pieces are where mistakes would show.
            let place = if near { place / STEP as u64 * STEP as u64 } else { place };
            let number = if near { number } else { number % 3 };
            for table in &mut tables {
                table.set(place, u64::from(number));
            }
            slow.insert(place, u64::from(number));
        }
        slow.retain(|_, number| *number != 0);
        for table in &tables {
            let read = serde_json::to_string(table).unwrap();
            let read = read_within(&read, LENGTH).unwrap();
            for table in [table, &table.clone(), &read] {
                prop_assert!(table.entries().eq(slow.iter().map(|(at, number)| (*at, *number))));
                prop_assert!(slow.iter().all(|(at, number)| table.get(*at) == *number));
                prop_assert_eq!(table.find(LENGTH), 0);
                prop_assert!(*table == tables[0] && *table == tables[1]);
            }
        }
    }
}

#[test]
fn wide_numbers_have_forty_bits() {
    let mut table = Numbers::new(7_500_000_000, true);
    let places = [0, 1, PIECE - 1, PIECE, 7_499_999_999];
    for (place, number) in places.into_iter().zip([LARGEST, 1, 1 << 32, LARGEST - 1, 1 << 39]) {
        table.set(place, number);
        assert_eq!(table.get(place), number);
    }
    assert_eq!(table.entries().map(|(at, _)| at).collect::<Vec<_>>(), places);
    let read = serde_json::to_string(&table).unwrap();
    assert!(read_within(&read, 7_500_000_000).unwrap() == table);
}

fn read_within(text: &str, longest: u64) -> Result<Numbers, serde_json::Error> {
    Table { longest, wide: true }.deserialize(&mut serde_json::Deserializer::from_str(text))
}

#[test]
fn narrow_drives_have_no_wide_tables() {
    let table = Table { longest: 10, wide: false };
    let read = |text| table.deserialize(&mut serde_json::Deserializer::from_str(text));
    assert!(read("[false,10,[]]").is_ok());
    assert!(read("[true,10,[]]").unwrap_err().to_string().contains("of a drive that needs 32"));
}

#[test]
fn a_dishonest_file_is_refused() {
    for (text, problem) in [
        ("[true,2000000000000,[]]", "a table of 2000000000000 pages, of a drive that has 10"),
        ("[false,11,[]]", "a table of 11 pages, of a drive that has 10"),
        ("[false,10,[[0,[0,0,0,0,0,0,0,0,0,0,0]]]]", "past the end of their table"),
        ("[false,10,[[18446744073709551615,[1]]]]", "past the end of their table"),
        ("[false,10,[[0,[4294967296]]]]", "4294967296 is not the number of a page"),
        ("[false,10,[[0,[5,-7]]]]", "-1 is not the number of a page"),
        ("[true,10,[[0,[9223372036854775807]]]]", "is not the number of a page"),
        ("[true]", "cut short"),
    ] {
        let error = read_within(text, 10).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

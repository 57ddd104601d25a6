//! Mistakes that are planted in the map cache and the SLC cache are found by the laws of these.

use crate::{buffered::slc, map};
use devices::ssd::ftl::planted::{Slip, plant};
use std::panic::{catch_unwind, set_hook, take_hook};

/// A law, and its name.
type Law = (&'static str, fn());

macro_rules! laws {
    ($($room:ident :: $law:ident),* $(,)?) => { &[$((stringify!($law), $room::$law as fn())),*] };
}

const LAWS: &[Law] = laws![
    map::uniform_reads_hit_as_much_as_memory_holds_and_a_miss_is_a_read,
    map::a_miss_takes_a_read_of_the_map_first,
    map::what_is_programmed_of_the_map_follows_from_what_leaves_it,
    slc::a_copy_falls_off_when_the_cache_is_full_to_a_block,
    slc::a_cache_without_a_limit_holds_the_free_space_over_the_bits,
    slc::a_cache_shrinks_as_the_drive_fills,
    slc::all_that_is_folded_is_programmed_twice,
];

/// Each is found by a law that holds without it.
#[test]
#[ignore = "needs mistakes to plant: make prove"]
fn planted_mistakes_of_caches_are_found() {
    for (_, law) in LAWS {
        law();
    }
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for slip in Slip::ALL {
        plant(Some(slip));
        let finds = LAWS.iter().find(|(_, law)| catch_unwind(law).is_err());
        match finds {
            Some((name, _)) => println!("{slip:?}: {name}"),
            None => missed.push(slip),
        }
    }
    plant(None);
    set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}

//! Mistakes that are planted in how data age are found by the laws beside this file.

use super::{ageing, failing, losses, scrub};
use devices::ssd::media::planted::{Mistake, plant};
use std::panic::{catch_unwind, set_hook, take_hook};

/// A law, and its name.
type Law = (&'static str, fn());

macro_rules! laws {
    ($($room:ident :: $law:ident),* $(,)?) => { &[$((stringify!($law), $room::$law as fn())),*] };
}

const LAWS: &[Law] = laws![
    ageing::a_new_drive_answers_as_one_whose_data_do_not_age,
    ageing::retries_are_those_of_the_integral,
    ageing::retries_are_a_part_of_the_latency_and_the_rest_is_as_before,
    ageing::ages_add_up_whatever_their_order_and_temperature,
    ageing::older_more_worn_and_hotter_pages_never_read_sooner,
    ageing::what_contradicts_itself_is_refused_with_both_numbers,
    ageing::retention_counts_from_the_program_of_the_block,
    ageing::erasures_wear,
    ageing::one_bit_a_cell_ages_less,
    ageing::a_write_in_part_takes_the_retries_of_what_it_reads,
    ageing::a_good_first_reference_saves_retries,
    ageing::a_block_that_was_open_has_an_old_and_a_young_part,
    losses::a_stronger_code_never_loses_a_page_more,
    losses::a_page_that_fails_goes_on_failing_in_time_and_without,
    losses::a_write_or_a_trim_heals_a_page_and_a_write_in_part_does_not,
    losses::cleaning_moves_what_is_lost_as_lost_and_the_rest_is_young_again,
    losses::a_saved_drive_is_as_old_when_it_is_restored,
    losses::parity_brings_back_what_is_lost_alone,
    losses::a_staggered_stripe_survives_a_bad_word_line,
    losses::what_is_erased_is_forgotten,
    losses::only_a_whole_write_or_a_trim_heals,
    losses::power_cuts_heal_nothing,
    losses::a_cut_makes_nothing_young,
    failing::few_drives_have_nearly_all_defects,
    failing::a_lost_die_takes_its_own_pages_and_parity_brings_them_back,
    failing::what_two_lost_dies_take_is_known_stripe_by_stripe,
    scrub::what_a_patrol_finds_old_is_as_new,
    scrub::a_block_that_is_read_often_is_moved_and_counts_anew,
];

/// Each is found by a law that holds without it.
#[test]
#[ignore = "takes minutes: make prove"]
fn planted_mistakes_of_ageing_are_found() {
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for mistake in Mistake::ALL {
        plant(Some(mistake));
        let finds = LAWS.iter().find(|(_, law)| catch_unwind(law).is_err());
        match finds {
            Some((name, _)) => println!("{mistake:?}: {name}"),
            None => missed.push(mistake),
        }
    }
    plant(None);
    set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}

//! Policies from outside the table: they decide as the built-in ones would, what they keep stays as it
//! was, and every broken rule is a failure that names it.

use crate::common::{Closed, run_closed, small};
use devices::array::ArrayConfig;
use devices::ssd::account::FlashCounts;
use devices::ssd::clean::{Answer, Cleaner, Custom, DomainState};
use devices::ssd::config::{Cleaning, Policy, TieBreak};
use devices::ssd::ids::BlockState;
use devices::ssd::{Ssd, SsdConfig, SsdReport};
use devices::{DeviceConfig, DeviceKind, Model, Supplied};
use engine::{Lba, Op, Random, Request, Xoshiro256};
use std::sync::{Arc, Mutex};

/// A policy made of a function.
struct Function<F>(F);

impl<F: FnMut(&DomainState) -> Result<Answer, String> + Send> Cleaner for Function<F> {
    fn step(&mut self, pool: &DomainState) -> Result<Answer, String> {
        (self.0)(pool)
    }
}

/// Blocks of the domain in a state, counted from its first.
fn blocks(pool: &DomainState, state: BlockState) -> impl Iterator<Item = u32> + '_ {
    let first = pool.first_block.0;
    (0..pool.blocks).filter(move |block| pool.state[(first + block) as usize] == state)
}

fn valid(pool: &DomainState, block: u32) -> u32 {
    pool.valid[(pool.first_block.0 + block) as usize]
}

/// Greedy with the tie-break `highest`.
fn greedy(pool: &DomainState) -> Result<Answer, String> {
    let closed = blocks(pool, BlockState::Closed);
    let best = closed.min_by_key(|block| (valid(pool, *block), u32::MAX - block));
    let best = best.ok_or("nothing is closed")?;
    let pays = valid(pool, best) < pool.data_pages;
    Ok(if pays { Answer::Clean(i64::from(best)) } else { Answer::Rest })
}

fn custom(step: impl FnMut(&DomainState) -> Result<Answer, String> + Send + 'static) -> Custom {
    Custom::new(Box::new(Function(step)))
}

fn config(policy: Policy) -> SsdConfig {
    SsdConfig { cleaning: Cleaning { policy, ..Cleaning::default() }, ..small() }
}

/// What a drive reports whose policy is one of the table.
fn run(policy: Policy) -> SsdReport {
    run_on(Ssd::new(&config(policy), 3).unwrap())
}

/// What a drive reports whose policy is `outside`.
fn run_outside(outside: &Custom) -> SsdReport {
    let config = config("tests:Function".parse().unwrap());
    let supplied = Supplied { policy: Some(outside.clone()) };
    run_on(Ssd::with(&config, 3, &supplied).unwrap())
}

/// Two overwrites in no time and a timed load, with audits.
fn run_on(mut ssd: Ssd) -> SsdReport {
    let pages = ssd.facts().pages;
    let mut random = Xoshiro256::new(3, 0);
    for _ in 0..2 * pages {
        ssd.overwrite_untimed(&[random.below(pages)], 0);
    }
    ssd.check().unwrap();
    let mut load =
        Closed::new(8, 4000, |id| Request::new(id, Op::Write, Lba(random.below(pages) * 8), 8));
    let (end, _) = run_closed(&mut ssd, &mut load);
    ssd.account(end)
}

#[test]
fn a_copy_of_greedy_is_greedy() {
    let outside = custom(greedy);
    assert_eq!(run_outside(&outside), run(Policy::Greedy));
    assert_eq!(outside.failure(), None);
}

#[test]
fn the_orders_that_a_policy_is_shown_are_those_of_the_built_in_policies() {
    let first = |block: Option<u32>| Ok(block.map_or(Answer::Rest, |it| Answer::Clean(it.into())));
    let emptiest = custom(move |pool| first(pool.index.emptiest_first(pool.domain).next()));
    let lowest = Cleaning { tie_break: TieBreak::Lowest, ..Cleaning::default() };
    let built_in = SsdConfig { cleaning: lowest.clone(), ..small() };
    let named = Cleaning { policy: "tests:Function".parse().unwrap(), ..lowest };
    let outside = SsdConfig { cleaning: named, ..small() };
    let supplied = Supplied { policy: Some(emptiest.clone()) };
    assert_eq!(
        run_on(Ssd::with(&outside, 3, &supplied).unwrap()),
        run_on(Ssd::new(&built_in, 3).unwrap())
    );
    let oldest = custom(move |pool| {
        first(pool.order.iter(pool.domain).next().map(|block| block - pool.first_block.0))
    });
    assert_eq!(run_outside(&oldest), run(Policy::Fifo));
    assert_eq!((emptiest.failure(), oldest.failure()), (None, None));
}

/// The failure of a policy, after a run that ended well because greedy stood in.
fn failure(step: impl FnMut(&DomainState) -> Result<Answer, String> + Send + 'static) -> String {
    let outside = custom(step);
    run_outside(&outside);
    outside.failure().expect("it breaks a rule")
}

#[test]
fn every_broken_rule_is_named_with_the_state_of_the_pool() {
    let in_state = |state| {
        move |pool: &DomainState| {
            let block = blocks(pool, state).next();
            block.map_or_else(|| greedy(pool), |block| Ok(Answer::Clean(i64::from(block))))
        }
    };
    let cases = [
        (failure(in_state(BlockState::Open)), "which is open"),
        (failure(in_state(BlockState::Free)), "which is free"),
        (failure(|pool| Ok(Answer::Clean(i64::from(pool.blocks)))), "the blocks of a domain are 0"),
        (failure(|_| Ok(Answer::Clean(-1))), "it chose block -1"),
        (failure(|_| Ok(Answer::Rest)), "it rests"),
        (failure(|_| Err("it is not in the mood".to_owned())), "not in the mood"),
        (
            failure(|pool| {
                let full = |block: &u32| valid(pool, *block) == pool.data_pages;
                let full = blocks(pool, BlockState::Closed).find(full);
                Ok(full.map_or(Answer::Rest, |block| Answer::Clean(i64::from(block))))
            }),
            "no progress",
        ),
    ];
    for (failure, rule) in cases {
        println!("{failure}\n");
        assert!(failure.contains(rule), "{failure}");
        assert!(failure.contains("State of domain"), "{failure}");
    }
}

#[test]
fn a_policy_may_rest_until_no_room_is_left() {
    let lazy = custom(|pool| if pool.urgent { greedy(pool) } else { Ok(Answer::Rest) });
    let report = run_outside(&lazy);
    assert_eq!(lazy.failure(), None);
    let eager = run(Policy::Greedy);
    // What is not kept erased is spare space for longer.
    assert!(report.write_amplification < eager.write_amplification);
}

#[test]
fn arrays_that_a_policy_keeps_do_not_change() {
    type Kept = Vec<(Arc<Vec<u32>>, Vec<u32>, Arc<Vec<u32>>, Vec<u32>)>;
    let kept: Arc<Mutex<Kept>> = Arc::default();
    let keeper = {
        let kept = Arc::clone(&kept);
        custom(move |pool| {
            let valid = (Arc::clone(&pool.valid), pool.valid.to_vec());
            let erases = (Arc::clone(&pool.erases), pool.erases.to_vec());
            kept.lock().unwrap().push((valid.0, valid.1, erases.0, erases.1));
            greedy(pool)
        })
    };
    assert_eq!(run_outside(&keeper), run(Policy::Greedy));
    let kept = kept.lock().unwrap();
    assert!(kept.len() > 100);
    assert!(kept.iter().all(|(valid, then, ..)| **valid == *then));
    assert!(kept.iter().all(|(.., erases, then)| **erases == *then));
    assert!(kept.windows(2).all(|pair| !Arc::ptr_eq(&pair[0].0, &pair[1].0)));
}

#[test]
fn nothing_is_copied_for_a_policy_that_keeps_nothing() {
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let watching = {
        let seen = Arc::clone(&seen);
        custom(move |pool| {
            let places = [
                pool.valid.as_ptr() as usize,
                pool.state.as_ptr() as usize,
                pool.sequence.as_ptr() as usize,
                pool.erases.as_ptr() as usize,
            ];
            seen.lock().unwrap().extend(places);
            greedy(pool)
        })
    };
    run_outside(&watching);
    let mut places = seen.lock().unwrap().clone();
    let steps = places.len() / 4;
    places.sort_unstable();
    places.dedup();
    assert!(steps > 100);
    assert_eq!(places.len(), 4, "four arrays, each where it always was");
}

#[test]
fn a_policy_that_is_named_and_not_supplied_is_refused() {
    let named: Policy = "mine:Policy".parse().unwrap();
    assert_eq!(named.to_string(), "mine:Policy");
    let refused = Ssd::new(&config(named), 3).unwrap_err();
    assert_eq!(refused.keys, ["device.cleaning.policy"]);
    let absent = Custom::absent();
    run_outside(&absent);
    assert!(absent.failure().unwrap().starts_with("it was not handed in"));
    for text in ["gredy", ":Class", "module:", ":", ""] {
        let refusal = text.parse::<Policy>().unwrap_err();
        assert!(refusal.contains("greedy, random"), "{refusal}");
        assert!(refusal.contains("module:Class"), "{refusal}");
    }
    assert!("gredy".parse::<Policy>().unwrap_err().contains("did you mean \"greedy\"?"));
}

#[test]
fn a_policy_that_nothing_names_is_not_asked() {
    let outside = custom(|_| Err("it was asked".to_owned()));
    let supplied = Supplied { policy: Some(outside.clone()) };
    run_on(Ssd::with(&config(Policy::Greedy), 3, &supplied).unwrap());
    assert_eq!(outside.failure(), None);
}

#[test]
fn the_members_of_an_array_share_a_policy() {
    let member = DeviceConfig::Ssd(Box::new(config("tests:Function".parse().unwrap())));
    let array = ArrayConfig { members: 2, member, ..ArrayConfig::default() };
    assert_eq!(array.policy_name().unwrap().as_str(), "tests:Function");
    let refused = array.build(3).err().expect("the policy is missing");
    assert_eq!(refused.keys, ["device.member.cleaning.policy"]);
    let asked = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&asked);
    let counting = custom(move |pool| {
        *counted.lock().unwrap() += 1;
        greedy(pool)
    });
    let mut device = array.build_with(3, &Supplied { policy: Some(counting) }).unwrap();
    let pages: Vec<u64> = (0..device.facts().pages).collect();
    let erased = |device: &dyn Model| FlashCounts::from(device.followed().unwrap()).block_erases;
    assert_eq!(erased(&*device), 0);
    for _ in 0..3 {
        device.overwrite_untimed(&pages, 0);
    }
    // Each erasure was asked for, on either member: half of them would be fewer questions.
    assert!(erased(&*device) > 0 && *asked.lock().unwrap() >= erased(&*device));
}

//! Comparison of the Monte Carlo simulation with closed forms, and with the optimism of these forms
//! according to the literature.

use super::*;

type Change = fn(&mut ReliabilitySettings);

fn settings(tolerated: u32) -> ReliabilitySettings {
    ReliabilitySettings {
        members: 8,
        tolerated,
        member_bytes: 1_000_000_000_000,
        life: "1000000h".into(),
        repair: "24h".into(),
        repairs_together: false,
        defects: None,
        scrub: None,
        defect_bytes: 4096,
        years: 10.0,
        groups: 60_000,
        seed: 1,
    }
}

fn run(settings: &ReliabilitySettings) -> Reliability {
    reliability(settings, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn near(found: f64, expected: f64, share: f64) {
    println!("{found} for {expected}");
    assert!((found / expected - 1.0).abs() < share, "{found} for {expected}");
}

/// Gibson 1992: `MTTF^2 / (N (N-1) MTTR)`, and for double parity `MTTF^3 / (N (N-1) (N-2) MTTR^2)`.
#[test]
fn exponential_times_give_the_closed_forms() {
    for (tolerated, years) in [(1, 84_879.0), (2, 5.89e8)] {
        let found = run(&settings(tolerated));
        near(found.mttdl_hours / YEAR, years, 0.002);
        near(10.0 / found.losses, years, 0.02);
        assert!(found.losses_error < 0.013 * found.losses, "{}", found.losses_error);
        assert!((0.69..0.71).contains(&found.member_failures));
        // A loss affects a terabyte of each missing member, excluding parity and the rebuilt part.
        let data = f64::from(tolerated + 1) * f64::from(8 - tolerated) / 8.0;
        assert!(found.bytes < data * 1e12 * found.losses && found.bytes > 0.1e12 * found.losses);
    }
    // Simultaneous repairs halve the time with two missing.
    let at_once = ReliabilitySettings { repairs_together: true, groups: 30_000, ..settings(2) };
    let together = run(&at_once);
    near(together.mttdl_hours / YEAR, 2.0 * 5.89e8, 0.002);
    near(10.0 / together.losses, 2.0 * 5.89e8, 0.05);
    near(run(&settings(0)).losses, 8.0 * 87_600.0 / 1e6, 0.01);
}

/// Frequent losses can be counted directly, and agree with the trials.
#[test]
fn trials_agree_with_direct_simulation() {
    let aging = ReliabilitySettings {
        life: "weibull(40000h, 1.4, 200h)".into(),
        repair: "weibull(600h, 2, 20h)".into(),
        defects: Some("20000h".into()),
        scrub: Some("weibull(168h, 3, 6h)".into()),
        groups: 2_000,
        ..settings(1)
    };
    for tolerated in [1, 2] {
        let found = run(&ReliabilitySettings { tolerated, ..aging.clone() });
        let seen = found.seen as f64 / 2_000.0;
        near(seen, found.losses, if tolerated == 1 { 0.03 } else { 0.1 });
        let together = ReliabilitySettings { tolerated, repairs_together: true, ..aging.clone() };
        assert!((run(&together).losses < 0.9 * found.losses) == (tolerated == 2));
        near(found.by_members + found.by_defects, found.losses, 1e-9);
        near(*found.by_year.last().unwrap(), found.losses, 1e-9);
        assert!(found.by_year[0] < found.by_year[9] / 10.0, "they age");
    }
}

/// A failure meets a defect with probability `1 - exp(-(N - 1) mean scrub / mean time between)`.
#[test]
fn latent_errors_give_their_closed_form() {
    for scrub in ["weibull(168h, 3, 6h)", "exponential(300h)"] {
        let found = run(&ReliabilitySettings {
            defects: Some("9259h".into()),
            scrub: Some(scrub.into()),
            life: "461386h".into(),
            groups: 30_000,
            ..settings(1)
        });
        let mean = Law::parse("--scrub", scrub).unwrap().mean();
        let chance = 1.0 - libm::exp(-7.0 * mean / 9259.0);
        // New members, and groups after a loss, have no defects.
        near(found.by_defects, found.member_failures * chance, 0.03);
    }
}

/// Elerath and Pecht (DSN 2007): 2 to 1,500 times as many losses as the formula expects.
#[test]
fn the_formula_expects_too_few_losses() {
    let base = ReliabilitySettings {
        life: "weibull(461386h, 1.12)".into(),
        repair: "weibull(12h, 2, 6h)".into(),
        groups: 5_000,
        ..settings(1)
    };
    let ratio = |defects: Option<&str>, scrub: Option<&str>| {
        let (defects, scrub) = (defects.map(String::from), scrub.map(String::from));
        let found = run(&ReliabilitySettings { defects, scrub, ..base.clone() });
        println!("{} losses per 1,000 groups", 1000.0 * found.losses);
        found.losses / 0.277e-3
    };
    let [alone, scrubbed, never] = [
        ratio(None, None),
        ratio(Some("9259h"), Some("weibull(168h, 3, 6h)")),
        ratio(Some("9259h"), None),
    ];
    println!("{alone} {scrubbed} {never} times the formula");
    assert!(alone < 2.0 && scrubbed > 100.0 && never > 1_500.0 && never > 3.0 * scrubbed);
}

#[test]
fn better_members_repair_and_scrubbing_reduce_losses() {
    let losses = |change: Change| {
        let mut base = ReliabilitySettings {
            defects: Some("20000h".into()),
            scrub: Some("300h".into()),
            groups: 2_000,
            ..settings(1)
        };
        change(&mut base);
        run(&base)
    };
    let base = losses(|_| ());
    assert!(losses(|it| it.life = "2000000h".into()).losses < base.losses);
    assert!(losses(|it| it.repair = "12h".into()).by_members < base.by_members);
    assert!(losses(|it| it.defects = Some("40000h".into())).by_defects < base.by_defects);
    assert!(losses(|it| it.scrub = Some("150h".into())).by_defects < base.by_defects);
    assert!(losses(|it| it.tolerated = 2).losses < base.losses / 10.0);
    assert!(losses(|it| it.members = 4).losses < base.losses);
    assert!(losses(|it| it.years = 5.0).losses < base.losses);
    assert!(losses(|it| it.member_bytes /= 2).bytes < base.bytes);
    assert!(losses(|it| it.defect_bytes *= 1_000_000).bytes > base.bytes);
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let few = ReliabilitySettings { groups: 500, ..settings(1) };
    assert_eq!(run(&few), run(&few));
    assert_ne!(run(&few), run(&ReliabilitySettings { seed: 2, ..few.clone() }));
    // Pinned bit patterns: equal on every machine.
    let found = run(&few);
    let bits = (found.losses.to_bits(), found.bytes.to_bits());
    assert_eq!(bits, (4_548_743_146_469_988_003, 4_727_231_537_296_129_448));
}

#[test]
fn an_interrupted_simulation_ends() {
    let mut told = Vec::new();
    let ended = reliability(&settings(1), &mut |done| {
        told.push(done);
        if done < 640 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!(ended, Err(RunError::Interrupted { requests: 640 }));
    assert_eq!(told.len(), 11);
}

#[test]
fn impossible_settings_are_refused() {
    let cases: [(Change, &str); 6] = [
        (|it| it.life = "constant(5y)".into(), "--life: needs a random distribution"),
        (|it| it.repair = "soon".into(), "--repair \"soon\": \"soon\" has no unit"),
        (|it| it.scrub = Some("1d".into()), "--scrub needs --defects"),
        (|it| it.years = 0.0, "--years 0: expected above 0"),
        (|it| it.groups = 0, "--groups 0: at least 1"),
        (
            |it| (it.tolerated, it.defects) = (0, Some("1y".into())),
            "--defects: an array without redundancy",
        ),
    ];
    for (change, problem) in cases {
        let mut wrong = settings(1);
        change(&mut wrong);
        let refusal = reliability(&wrong, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(refusal.to_string().contains(problem), "{refusal}");
    }
}

/// Settings that would take hours or unlimited memory are refused with a remedy.
#[test]
fn what_would_take_too_long_is_refused() {
    let refusals: [(Change, &str); 6] = [
        (|it| it.life = "1h".into(), "--life \"1h\": 60000 groups would have 4.0e10 failures"),
        (|it| it.life = "1h".into(), "use --groups 18, fewer --years or a longer --life"),
        (|it| it.life = "0.000000001h".into(), "use fewer --years or a longer --life"),
        (|it| it.groups = u64::MAX, "--groups 18446744073709551615: takes too long; at most"),
        (
            |it| it.defects = Some("0.00001h".into()),
            "--defects \"0.00001h\": a member would have 8.3e9",
        ),
        (|it| it.defects = Some("10h".into()), "--defects \"10h\": 60000 groups with"),
    ];
    for (change, part) in refusals {
        let mut asked = settings(1);
        change(&mut asked);
        let problem = reliability(&asked, &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert!(problem.to_string().contains(part), "{problem}");
    }
    // The suggested remedies finish.
    let ends = ReliabilitySettings { life: "1h".into(), groups: 1, ..settings(1) };
    assert!(run(&ends).losses > 0.0);
}

/// A single group may have millions of failures.
#[test]
fn a_group_can_be_given_up_in_its_life() {
    let asked = ReliabilitySettings { life: "1h".into(), groups: 1, ..settings(1) };
    let mut visits = 0;
    let given_up = reliability(&asked, &mut |_| {
        visits += 1;
        if visits < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(matches!(given_up, Err(RunError::Interrupted { .. })) && visits == 3);
}

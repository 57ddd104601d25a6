//! Resolution of layers to an experiment, and error messages about mistakes.

use crate::common::{audited, outcome};
use lab::{Experiment, Layer, RunError, RunSettings, preset_layer, run, set_layer};
use std::ops::ControlFlow;

fn file(text: &str) -> Layer {
    Layer::new("e.toml", text)
}

fn set(assignment: &str) -> Layer {
    set_layer(assignment).unwrap()
}

fn toml_of(layers: &[Layer]) -> toml::Table {
    Experiment::from_layers(layers).unwrap().to_toml().parse().unwrap()
}

/// The error for layers refused when they are resolved or run.
fn refusal(layers: &[Layer]) -> String {
    let experiment = match Experiment::from_layers(layers) {
        Ok(experiment) => experiment,
        Err(error) => return error.to_string(),
    };
    match outcome(&experiment, &RunSettings::default()) {
        Err(RunError::Input(message)) => message,
        other => panic!("not refused: {other:?}"),
    }
}

const SMALL: &str = "
[device]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 64
[workload]
kind = 'closed'
requests = 2000
outstanding = 4
";

#[test]
fn an_empty_experiment_runs_with_the_defaults() {
    let experiment = toml_of(&[]);
    assert_eq!(experiment["device"]["channels"].as_integer(), Some(8));
    assert_eq!(experiment["device"]["cleaning"]["time"].as_str(), Some("blocking"));
    assert_eq!(experiment["workload"]["kind"].as_str(), Some("open"));
    assert_eq!(experiment["run"]["seed"].as_integer(), Some(42));
}

#[test]
fn an_experiment_is_called_by_its_parts_unless_it_has_a_title() {
    let title = |layers: &[Layer]| toml_of(layers)["title"].as_str().unwrap().to_owned();
    assert_eq!(title(&[]), "agrawal2008 under mixed");
    assert_eq!(title(&[file(SMALL)]), "ssd under closed");
    assert_eq!(title(&[file("title = 'first try'"), set("device.channels=4")]), "first try");
    assert!(refusal(&[file("title = 3\n")]).contains("e.toml:1: title = 3: a title is text"));
}

#[test]
fn keys_refine_what_lies_below_and_names_replace_it() {
    let base = file("[device]\npreset = 'disksim-ssd'\nchannels = 4");
    let experiment = toml_of(std::slice::from_ref(&base));
    assert_eq!(experiment["device"]["channels"].as_integer(), Some(4));
    assert_eq!(experiment["device"]["host_link"]["queue_depth"].as_integer(), Some(20));
    // A layer that names another preset replaces the whole section...
    let chosen = preset_layer("device", "agrawal2008").unwrap();
    let experiment = toml_of(&[base.clone(), chosen, set("device.channels=3")]);
    assert_eq!(experiment["device"]["host_link"]["queue_depth"].as_str(), Some("unlimited"));
    assert_eq!(experiment["device"]["channels"].as_integer(), Some(3));
    // ... and so does one that names a kind, which starts from the defaults of that kind.
    let experiment = toml_of(&[base, file("[device]\nkind = 'ssd'")]);
    assert_eq!(experiment["device"]["channels"].as_integer(), Some(8));
    assert_eq!(experiment["device"]["cleaning"]["copy_back"].as_bool(), Some(false));
}

#[test]
fn spare_space_is_stated_in_one_way_at_a_time() {
    let chosen = preset_layer("device", "disksim-ssd").unwrap();
    let experiment = toml_of(&[chosen.clone(), set("spare_factor=0.3")]);
    let device = experiment["device"].as_table().unwrap();
    assert!(!device.contains_key("spare_blocks_per_plane"), "the upper layer replaces it");
    assert_eq!(device["spare_factor"].as_float(), Some(0.3));
    let both = file("[device]\nspare_factor = 0.1\nover_provisioning = 0.2");
    assert!(refusal(&[both]).starts_with("e.toml:2: device.spare_factor = 0.1 with"));
}

#[test]
fn a_resolved_experiment_reproduces_itself_and_its_results() {
    let first = Experiment::from_layers(&[file(SMALL)]).unwrap();
    let again = Experiment::from_layers(&[file(&first.to_toml())]).unwrap();
    assert_eq!(first.to_toml(), again.to_toml());
    assert_eq!(results_of(&first), results_of(&again));
}

const SMALL_ARRAY: &str = "
[device]
kind = 'array'
members = 3
[device.member]
kind = 'ssd'
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 64
[workload]
kind = 'closed'
requests = 2000
outstanding = 4
read_share = 0.5
";

#[test]
fn a_file_has_shares_in_percent() {
    let text = "[device]\nover_provisioning = '28%'\nfill = '50 %'\nwear.spread = '10%'\n\
                [workload]\nkind = 'closed'\nread_share = '30%'\nfootprint = '12.5%'";
    let table = toml_of(&[file(text)]);
    let share = |section: &str, key: &str| table[section][key].as_float();
    assert_eq!(share("device", "over_provisioning"), Some(0.28));
    assert_eq!(share("device", "fill"), Some(0.5));
    assert_eq!(table["device"]["wear"]["spread"].as_float(), Some(0.1));
    assert_eq!(share("workload", "read_share"), Some(0.3));
    assert_eq!(share("workload", "footprint"), Some(0.125));
    let error = refusal(&[file("[workload]\nread_share = 'half'")]);
    assert!(error.contains("or a share in percent such as \"28%\""), "{error}");
    let error = refusal(&[file("[workload]\nrequests = '28%'")]);
    assert!(error.contains("workload.requests = '28%': invalid type: string"), "{error}");
}

#[test]
fn a_member_of_an_array_is_a_device_of_its_own() {
    let member = |layers: &[Layer]| toml_of(layers)["device"]["member"].clone();
    assert_eq!(member(&[file(SMALL_ARRAY)])["channels"].as_integer(), Some(2));
    assert_eq!(
        member(&[file(SMALL_ARRAY), set("member.channels=4")])["channels"].as_integer(),
        Some(4)
    );
    // Keys alone refine the default; a preset or a kind replaces lower layers.
    let six = preset_layer("device", "agrawal2008-array-6").unwrap();
    let refined = [six.clone(), set("member.copy_back=true"), set("device.members=2")];
    assert_eq!(member(&refined)["cleaning"]["copy_back"].as_bool(), Some(true));
    assert_eq!(member(&refined)["cleaning"]["time"].as_str(), Some("blocking"));
    let kind = file("[device]\nkind = 'array'\n");
    assert_eq!(member(&[kind])["cleaning"]["time"].as_str(), Some("blocking"));
    let other = [six, set("member.channels=4"), set("member.preset=zeus-linear")];
    assert_eq!(member(&other)["kind"].as_str(), Some("law"));
    let nested = file("device.kind = 'array'\ndevice.member.preset = 'agrawal2008-array-6'");
    assert_eq!(member(&[nested])["member"]["channels"].as_integer(), Some(8));
    // A resolved experiment resolves to itself.
    let resolved = Experiment::from_layers(&[file(SMALL_ARRAY)]).unwrap().to_toml();
    assert_eq!(Experiment::from_layers(&[file(&resolved)]).unwrap().to_toml(), resolved);
}

#[test]
fn mistakes_in_a_member_are_named_in_full() {
    let array = |text: &str| refusal(&[file(&format!("[device]\nkind = 'array'\n{text}"))]);
    let rows = [
        ("member = 3", "e.toml:3: member = 3: member is a section of keys"),
        (
            "member.chanels = 3",
            "e.toml:3: unknown key device.member.chanels (did you mean channels?)",
        ),
        ("member.kind = 'sdd'", "e.toml:3: device.member.kind = \"sdd\": the kinds are"),
        ("member.preset = 'agraval'", "e.toml:3: device.member.preset = \"agraval\": there is no"),
        ("member.kind = 'ssd'\nmember.preset = 'agrawal2008'", "device.member has both a kind and"),
        ("member.channels = 0", "e.toml:3: device.member.channels = 0"),
        ("members = 0", "e.toml:3: device.members = 0: an array has 1 to 1024 members"),
        ("stripe = '1000B'", "e.toml:3: device.stripe = '1000B': 1000B is not a multiple"),
    ];
    for (text, expected) in rows {
        let message = array(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let plain = refusal(&[file("[device.member]\nchannels = 3\n")]);
    assert!(plain.contains("unknown key device.member"), "{plain}");
}

#[test]
fn an_array_reports_its_members_together() {
    let layers = [file(SMALL_ARRAY), set("run.precondition=random:2")];
    let results = results_of(&Experiment::from_layers(&layers).unwrap());
    let units = results["units"].as_array().unwrap();
    assert_eq!(units.len(), 6);
    assert_eq!(units[4]["name"], "member 2 package 0");
    assert!(results["flash"]["write_amplification"].as_f64().unwrap() > 1.0);
    assert!(results["wear"]["mean_erases"].as_f64().unwrap() > 2.0);
}

/// `digests.rs` runs every pair; `python/tests/test_api.py` runs them at full size.
#[test]
fn every_preset_says_what_it_is() {
    for (section, category) in [("device", "devices"), ("workload", "workloads")] {
        for (name, summary) in lab::list(category).unwrap() {
            let Some(chosen) = preset_layer(section, &name) else {
                assert!(name.starts_with("kind = "), "{name} is neither a preset nor a kind");
                continue;
            };
            assert!(summary.len() > 10, "{name} says what it is");
            Experiment::from_layers(&[chosen]).unwrap();
        }
    }
}

fn results_of(experiment: &Experiment) -> serde_json::Value {
    let mut results = outcome(experiment, &audited()).unwrap();
    results.as_object_mut().unwrap().remove("elapsed").unwrap();
    results
}

#[test]
fn mistakes_are_refused_with_their_place_their_value_and_the_choices() {
    let cases = [
        ("[device]\nchanels = 4", "e.toml:2: unknown key device.chanels (did you mean channels?)"),
        (
            "[device.timing]\n\nread = '25 parsec'",
            "e.toml:3: device.timing.read = '25 parsec': \"25 parsec\" is not a time: the unit is unknown (units: ns, us",
        ),
        (
            "[device]\nchannels = -1\n",
            "e.toml:2: device.channels = -1: invalid value: integer `-1`, expected a whole number from 0 to",
        ),
        (
            "[device]\nblocks_per_plane = 4000000000\n",
            "e.toml:2: device.blocks_per_plane = 4000000000 with device.channels: the drive has more than",
        ),
        ("[device]\nchannels = 0\n", "e.toml:2: device.channels = 0: 0 is not possible"),
        (
            "[device]\npool = 'plan'\n",
            "e.toml:2: device.pool = 'plan': \"plan\" is not one of plane, die, package, gang, ssd (did you mean \"plane\"?)",
        ),
        (
            "[device]\nspare_factor = 0.01\n",
            "e.toml:2: device.spare_factor = 0.01 with device.cleaning.min_free: the spare space of a pool",
        ),
        (
            "[device]\npreset = 'agraval'\n",
            "e.toml:2: device.preset = \"agraval\": there is no device preset",
        ),
        ("[device]\nkind = 'hdd'\n\n", "e.toml:2: device.kind = \"hdd\": the kinds are ssd, law"),
        ("[device]\nkind = 3\n\n", "e.toml:2: kind = 3: kind is a name in quotes"),
        (
            "[devise]\n\n",
            "e.toml:1: unknown section \"devise\"; the sections are device, workload, run, cost (did you mean device?)",
        ),
        ("version = 2\n\n", "e.toml:1: version = 2: this ssdlab reads version 1"),
        ("device = 3\n\n", "e.toml:1: device = 3: device is a section of keys, not a value"),
        ("[device\n\n", "e.toml:1: "),
        (
            "[workload]\nkind = 'clsed'\n",
            "e.toml:2: workload.kind = 'clsed': \"clsed\" is not one of closed, open, generators, trace",
        ),
        ("[workload]\nkind = 'closed'\nrequests = -5\n", "e.toml:3: workload.requests = -5: "),
        ("[workload]\nkind = 'closed'\noutstanding = 0\n", "e.toml:3: workload.outstanding = 0: "),
        (
            "[workload]\nkind = 'trace'\npath = 'absent.trace'\n",
            "cannot open trace absent.trace: No such file",
        ),
        (
            "[run]\nprecondition = 'random'\n",
            "e.toml:2: run.precondition = 'random': \"random\" is not \"none\"",
        ),
        (
            "[run]\ntimeline = '2ms..1ms'\n",
            "e.toml:2: run.timeline = '2ms..1ms': a window ends after it begins, and 1ms is not after",
        ),
        (
            "[run]\ntimeline = '2ms'\n",
            "e.toml:2: run.timeline = '2ms': \"2ms\" is not \"none\" or a window such as \"10ms..",
        ),
        (
            "[device]\nkind = 'linear'\n[run]\ntimeline = '0ms..1ms'\n",
            "e.toml:4: run.timeline = '0ms..1ms': a device of kind \"law\" has no flash",
        ),
        (
            "[run]\ntimed = false\ntimeline = '0ms..1ms'\n",
            "e.toml:3: run.timeline = '0ms..1ms': an untimed run (run.timed) has no timeline",
        ),
        ("[run]\nuntil = 'ever'\n", "e.toml:2: run.until = 'ever': \"ever\" is not a time: "),
        ("[run]\nsede = 1\n", "e.toml:2: unknown key run.sede (did you mean seed?)"),
        (
            "[device.host_link]\nqueue_depth = 0\n",
            "e.toml:2: device.host_link.queue_depth = 0: invalid value",
        ),
        ("[device]\nfill = 1.5\n", "e.toml:2: device.fill = 1.5: invalid value"),
    ];
    for (text, expected) in cases {
        let message = refusal(&[file(text)]);
        assert!(message.contains(expected), "\n{text}\ngives\n{message}\nnot\n{expected}");
        assert!(!message.contains('\n'), "one line: {message}");
    }
    let message = refusal(&[file(SMALL), set("device.channels=0")]);
    assert!(message.starts_with("--set device.channels=0: "), "{message}");
    assert!(!message.contains("device.channels = 0"), "the key is said once: {message}");
    let message = refusal(&[file(SMALL), set("device.channels=many")]);
    assert!(message.starts_with("--set device.channels=many: invalid"), "{message}");
    let message = refusal(&[file(SMALL), set("channels=0")]);
    assert!(message.starts_with("--set channels=0: device.channels = 0: "), "{message}");
}

#[test]
fn an_interrupted_run_says_how_far_it_came() {
    let layers = [file(SMALL), set("workload.requests=100000")];
    let experiment = Experiment::from_layers(&layers).unwrap();
    let stopped = run(&experiment, &RunSettings::default(), &mut |progress| {
        if progress.done > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(stopped, Err(RunError::Interrupted { requests }) if requests > 0));
}

#[test]
fn a_drive_that_is_being_built_can_be_given_up() {
    for order in ["device.fill_order=sequential", "device.fill_order=random"] {
        let experiment =
            Experiment::from_layers(&[set("device.preset=agrawal2008"), set(order)]).unwrap();
        let mut phases = Vec::new();
        let ended = run(&experiment, &RunSettings::default(), &mut |progress| {
            phases.push(progress.phase);
            ControlFlow::Break(())
        });
        assert!(matches!(ended, Err(RunError::Interrupted { requests: 0 })), "{ended:?}");
        assert_eq!(phases, ["building"]);
    }
}

/// A write whose garbage collection reclaims little takes as long as thousands of others.
#[test]
fn preconditioning_asks_after_few_writes_whether_to_go_on() {
    let layers = [file(SMALL), set("run.precondition=random:1")];
    let experiment = Experiment::from_layers(&layers).unwrap();
    let (mut before, mut longest, mut expected) = (0, 0, 0);
    run(&experiment, &RunSettings::default(), &mut |progress| {
        if progress.phase == "preconditioning" {
            longest = longest.max(progress.done - before);
            before = progress.done;
            expected = progress.expected.unwrap();
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(expected > 4000 && before > expected - 300, "{before} of {expected}");
    assert!(longest <= 256, "{longest} writes without a question");
}

#[test]
fn the_flash_over_time_adds_up_to_the_flash_in_all() {
    let layers =
        ["workload.requests=40000", "workload.read_share=0.3", "run.precondition=random:1"];
    for array in [&[][..], &["device.kind=array", "device.members=2"]] {
        let keys = array.iter().chain(&layers).map(|assignment| set(assignment));
        let layers: Vec<_> = if array.is_empty() {
            std::iter::once(file(SMALL)).chain(keys).collect()
        } else {
            let member = ["device.member.kind=ssd", "device.member.blocks_per_plane=64"];
            keys.chain(member.map(set)).collect()
        };
        let results = results_of(&Experiment::from_layers(&layers).unwrap());
        let series = &results["time_series"];
        let column = |key: &str| -> Vec<u64> {
            let values = series[key].as_array().unwrap();
            values.iter().map(|value| value.as_u64().unwrap()).collect()
        };
        let total = |key: &str| column(key).iter().sum::<u64>();
        let flash = &results["flash"];
        assert_eq!(total("host_pages_written"), flash["host_pages_written"].as_u64().unwrap());
        assert_eq!(total("pages_programmed"), flash["page_programs"].as_u64().unwrap());
        assert_eq!(total("blocks_erased"), flash["block_erases"].as_u64().unwrap());
        assert!(total("blocks_erased") > 0);
        assert!(column("requests").len() > 10);
        assert_eq!(column("requests").len(), column("free_blocks").len());
        let blocks: u64 = if array.is_empty() { 128 } else { 2 * 64 * 8 * 8 };
        let free = column("free_blocks");
        let (least, most) = (*free.iter().min().unwrap(), *free.iter().max().unwrap());
        assert!(least < most && most < blocks / 4, "{least} to {most} of {blocks} blocks are free");
        let map = results["wear"]["map"].as_array().unwrap();
        let most = map.iter().flat_map(|row| row["max_erases"].as_array().unwrap());
        assert_eq!(
            most.map(serde_json::Value::as_u64).max().unwrap(),
            results["wear"]["max_erases"].as_u64()
        );
        let rows = results["units"].as_array().unwrap().iter().map(|unit| &unit["name"]);
        assert!(rows.eq(map.iter().map(|row| &row["name"])));
    }
}

#[test]
fn the_run_section_changes_results() {
    let with = |assignments: &[&str]| {
        let mut layers = vec![file(SMALL), set("workload.read_share=0.0")];
        layers.extend(assignments.iter().map(|assignment| set(assignment)));
        results_of(&Experiment::from_layers(&layers).unwrap())
    };
    let base = with(&[]);
    let amplification =
        |results: &serde_json::Value| results["flash"]["write_amplification"].as_f64().unwrap();
    assert_ne!(with(&["run.seed=43"])["host"], base["host"]);
    assert!(base.get("timeline").is_none());
    let recorded = with(&["run.timeline=2ms..4ms"]);
    assert_eq!(recorded["host"], base["host"], "who watches changes nothing");
    let operations = &recorded["timeline"]["operations"];
    let starts = operations["start_ns"].as_array().unwrap();
    let ends = operations["end_ns"].as_array().unwrap();
    assert!(!starts.is_empty() && starts.len() == ends.len());
    assert!(starts.iter().all(|start| start.as_u64().unwrap() < 4_000_000));
    assert!(ends.iter().all(|end| end.as_u64().unwrap() > 2_000_000));
    let worn = with(&["run.precondition=random:3"]);
    assert!(amplification(&worn) > amplification(&base) + 0.2);
    let sequential = with(&["run.precondition=sequential"]);
    assert!(sequential["wear"]["mean_erases"].as_f64() > base["wear"]["mean_erases"].as_f64());
    let short = with(&["run.until=10ms"]);
    assert!(short["host"]["all"]["requests"].as_u64() < Some(500));
    assert!(short["simulated_seconds"].as_f64().unwrap() < 0.02);
}

/// Current drives support snapshots; others name the contradicting key.
#[test]
fn presets_of_drives_keep_snapshots_or_say_why_not() {
    let mut kept = Vec::new();
    for (name, _) in lab::list("devices").unwrap() {
        let sets = ["snapshots.most=2", "snapshots.every=256KiB", "blocks_per_plane=32"];
        let Some(preset) = preset_layer("device", &name) else { continue };
        let mut layers = vec![preset];
        layers.extend(sets.map(|it| set(&format!("device.{it}"))));
        layers.push(set("device.spare_factor=0.3"));
        layers.push(file("[workload]\nkind = 'closed'\nrequests = 2000\nread_share = 0.2"));
        let Ok(experiment) = Experiment::from_layers(&layers) else { continue };
        match outcome(&experiment, &audited()) {
            Ok(results) => {
                let snapshots = &results["flash"]["snapshots"];
                assert!(snapshots["made"].as_u64() > Some(2), "{name}: {snapshots}");
                kept.push(name);
            }
            Err(RunError::Input(message)) => {
                println!("{name}: {message}");
                assert!(message.contains("device.snapshots.most"), "{name}: {message}");
            }
            Err(other) => panic!("{name}: {other}"),
        }
    }
    println!("{kept:?}");
    for name in ["agrawal2008", "tlc-enterprise", "qlc-enterprise", "micron-7450-pro"] {
        assert!(kept.iter().any(|it| it == name), "{name}");
    }
}

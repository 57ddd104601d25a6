//! Assignments of one layer have equal rank: their order never matters, and contradictions are
//! refused with their keys.

use crate::depth::depth;
use lab::{Experiment, Layer, peers, set_layer, set_layers};
use std::ops::ControlFlow;

fn file(text: &str) -> Layer {
    Layer::new("e.toml", text)
}

/// The result of a file and assignments: the whole experiment, or the message.
fn outcome(below: &[Layer], assignments: &[&str]) -> Result<String, String> {
    let peers = set_layers(assignments).map_err(|error| error.to_string())?;
    let layers = [below, &[peers]].concat();
    let experiment = Experiment::from_layers(&layers).map_err(|error| error.to_string())?;
    // This contradiction is only detected when the device is built, which takes time.
    let spare = |it: &&&str| ["spare_", "over_p"].iter().any(|key| it.contains(key));
    if assignments.iter().filter(spare).count() > 1 {
        experiment
            .capacity_bytes(&mut || ControlFlow::Continue(()))
            .map_err(|error| error.to_string())?;
    }
    Ok(experiment.to_toml())
}

fn resolved(below: &[Layer], assignments: &[&str]) -> toml::Table {
    outcome(below, assignments).unwrap().parse().unwrap()
}

fn refusal(below: &[Layer], assignments: &[&str]) -> String {
    outcome(below, assignments).unwrap_err()
}

/// A separate generator, so that the cases stay fixed.
struct Draws(u64);

impl Draws {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }

    fn shuffle(&mut self, assignments: &mut [&str]) {
        for last in (1..assignments.len()).rev() {
            assignments.swap(last, self.below(last + 1));
        }
    }
}

/// Kinds, presets, keys that only some of them have, contradictions, abbreviations and mistakes.
const POOL: &[&str] = &[
    "device.kind=ssd",
    "device.kind=array",
    "device.kind=linear",
    "device.preset=agrawal2008-array-6",
    "device.preset=usb-stick",
    "device.member.kind=ssd",
    "device.member.preset=zeus-linear",
    "device.channels=4",
    "channels=4",
    "device.channels=2",
    "device.members=3",
    "device.member.channels=2",
    "device.member.spare_factor=0.2",
    "device.member.over_provisioning=0.2",
    "device.spare_factor=0.2",
    "device.over_provisioning=0.25",
    "device.spare_blocks_per_plane=300",
    "device.cleaning.policy=fifo",
    "cleaning.policy=greedy",
    "device.timing.read=30us",
    "device.timing.read=\"soon\"",
    "workload.kind=closed",
    "workload.kind=trace",
    "workload.preset=random-write",
    "workload.requests=3000",
    "workload.read_share=0.0",
    "workload.outstanding=2",
    "workload.path=x.csv",
    "run.seed=7",
    "run.timed=false",
    "run.until=1s",
    "nonsense=1",
    "device.chanels=3",
    "device.member={kind=\"linear\"}",
];

#[test]
fn the_order_of_assignments_never_matters() {
    let files = [
        vec![],
        vec![file("[device]\nkind = 'array'\n[device.member]\nchannels = 2\n")],
        vec![file("[workload]\nkind = 'open'\n[device]\nspare_factor = 0.3\n")],
    ];
    let mut draws = Draws(88_172_645_463_325_252);
    let (mut accepted, mut refused) = (0, 0);
    let cases = depth(20, 60, 300) as usize;
    for case in 0..cases {
        let below = &files[case % files.len()];
        let mut drawn: Vec<&str> =
            (0..2 + case % 4).map(|_| POOL[draws.below(POOL.len())]).collect();
        let first = outcome(below, &drawn);
        *(if first.is_ok() { &mut accepted } else { &mut refused }) += 1;
        for _ in 0..4 {
            draws.shuffle(&mut drawn);
            assert_eq!(outcome(below, &drawn), first, "{drawn:?}");
        }
    }
    let enough = |some: usize| 6 * some > cases;
    assert!(enough(accepted) && enough(refused), "{accepted} accepted, {refused} refused");
}

#[test]
fn a_kind_that_comes_last_keeps_what_came_before() {
    let words = ["workload.requests=3000", "workload.read_share=0.0", "workload.kind=closed"];
    let workload = resolved(&[], &words)["workload"].clone();
    assert_eq!(workload["requests"].as_integer(), Some(3000));
    assert_eq!(workload["read_share"].as_float(), Some(0.0));
    let words = ["device.members=2", "device.member.channels=3", "device.kind=array"];
    let device = resolved(&[], &words)["device"].clone();
    assert_eq!(device["members"].as_integer(), Some(2));
    assert_eq!(device["member"]["channels"].as_integer(), Some(3));
    let words = ["member.size=1GiB", "member.kind=linear", "device.kind=array"];
    let member = resolved(&[], &words)["device"]["member"].clone();
    assert_eq!(member["size"].as_str(), Some("1GiB"));
    let words = ["device.channels=3", "device.preset=disksim-ssd"];
    let device = resolved(&[], &words)["device"].clone();
    assert_eq!(device["channels"].as_integer(), Some(3));
    assert_eq!(device["host_link"]["queue_depth"].as_integer(), Some(20));
}

#[test]
fn a_kind_replaces_what_lower_layers_say() {
    let below = file("[workload]\nkind = 'closed'\nrequests = 17\n");
    let workload = resolved(&[below], &["workload.outstanding=2", "workload.kind=closed"]);
    assert_eq!(workload["workload"]["outstanding"].as_integer(), Some(2));
    assert_ne!(workload["workload"]["requests"].as_integer(), Some(17));
}

#[test]
fn a_key_of_another_kind_is_refused_and_its_kind_named() {
    let message = refusal(&[], &["workload.outstanding=3", "workload.kind=open"]);
    let start = "--set workload.outstanding=3: unknown key workload.outstanding: a workload of \
                 kind open has none, kind";
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("closed"), "{message}");
    let message = refusal(&[], &["device.timing.read=3us", "device.kind=linear"]);
    assert!(
        message.contains("device.timing: a device of kind law has none, kinds ssd, zoned"),
        "{message}"
    );
    let words = ["member.channels=3", "member.kind=linear", "device.kind=array"];
    let message = refusal(&[], &words);
    assert!(message.contains("device.member.channels: a device of kind law has none"));
    // A key of no kind is a mistake, and the most similar key is suggested.
    let slip = file("[workload]\nkind = 'closed'\noutstandig = 1\n");
    let message = refusal(&[slip], &[]);
    assert!(message.contains("(did you mean outstanding?)"), "{message}");
}

#[test]
fn a_key_with_two_values_is_refused_and_both_are_named() {
    let message = refusal(&[], &["device.channels=4", "channels=8"]);
    let expected = "--set channels=8 and --set device.channels=4: device.channels is set twice, and \
                    their order does not count; keep one";
    assert_eq!(message, expected);
    // Equal values are no contradiction, in any notation.
    let twice = resolved(&[], &["device.channels=4", "channels=4", "device.channels = 4"]);
    assert_eq!(twice["device"]["channels"].as_integer(), Some(4));
    let whole = ["device.member={channels=2}", "device.member.channels=2", "device.kind=array"];
    assert!(refusal(&[], &whole).contains("device.member.channels is set twice"));
}

#[test]
fn one_layer_states_the_spare_space_once() {
    let words = ["device.spare_factor=0.2", "device.over_provisioning=0.3"];
    let message = refusal(&[], &words);
    let start = "--set device.spare_factor=0.2 with \
                 device.over_provisioning: the spare space is stated more than once";
    assert!(message.starts_with(start), "{message}");
    let words = words.map(|word| word.replace("device.", "device.member."));
    let words = [words[1].as_str(), words[0].as_str(), "device.kind=array"];
    let message = refusal(&[], &words);
    assert!(message.contains("device.member.spare_factor=0.2 with device.member.over_prov"));
    // A higher layer overrides a lower one.
    let below = file("[device]\nspare_blocks_per_plane = 300\n");
    let device = resolved(&[below], &["spare_factor=0.2"])["device"].clone();
    assert_eq!(device["spare_factor"].as_float(), Some(0.2));
    assert!(!device.as_table().unwrap().contains_key("spare_blocks_per_plane"));
}

#[test]
fn a_kind_and_a_preset_in_one_layer_are_refused() {
    let message = refusal(&[], &["device.preset=usb-stick", "device.kind=ssd"]);
    let expected = "--set device.kind=ssd: device.kind = \"ssd\" with device.preset = \
                    \"usb-stick\": device has both a kind and a preset; a preset has its kind";
    assert_eq!(message, expected);
}

#[test]
fn assignments_that_were_merged_are_merged_again() {
    let layer = |text| set_layer(text).unwrap();
    let inner = peers(&[layer("run.seed=7"), layer("device.channels=4")]).unwrap();
    let all = peers(&[layer("workload.requests=9"), inner]).unwrap();
    assert_eq!(all.text, "device.channels = 4\nrun.seed = 7\nworkload.requests = 9");
    assert!(all.code);
    let text = set_layer("title=two\nlines").or_else(|_| set_layer("workload.path=two\nlines"));
    assert_eq!(text.unwrap().text, "workload.path = \"two\\nlines\"");
}

/// The Python policy of the experiment: whether it is created.
fn made(layers: &[Layer]) -> Result<bool, String> {
    let experiment = Experiment::from_layers(layers).unwrap();
    let mut asked = false;
    let made = experiment.load_policy(|_| {
        asked = true;
        Err("made".to_owned())
    });
    match made {
        Err(error) if !asked => Err(error.to_string()),
        _ => Ok(asked),
    }
}

#[test]
fn only_a_layer_that_may_names_code() {
    let attack = "[device.cleaning]\npolicy = \"subprocess:Popen(args='x', shell=True)\"\n";
    let message = made(&[file(attack)]).unwrap_err();
    let start = "e.toml:2: device.cleaning.policy = \"subprocess:Popen(args='x', shell=True)\": ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("--allow-code"), "{message}");
    assert_eq!(made(&[Layer { code: true, ..file(attack) }]), Ok(true));
    assert_eq!(made(&[set_layer("cleaning.policy=mine:Greedy").unwrap()]), Ok(true));
    // Only the layer that states the name counts, not a layer above or below.
    let named = set_layer("cleaning.policy=mine:Greedy").unwrap();
    assert_eq!(made(&[file(attack), named.clone()]), Ok(true));
    assert!(made(&[named.clone(), file(attack)]).is_err());
    assert!(made(&[file(attack), set_layer("device.channels=4").unwrap()]).is_err());
    assert_eq!(made(&[file(attack), set_layer("device.kind=ssd").unwrap()]), Ok(false));
    // A member's policy is code as well.
    let member = "[device]\nkind = 'array'\n[device.member.cleaning]\npolicy = 'mine:Greedy'\n";
    let message = made(&[file(member)]).unwrap_err();
    assert!(message.starts_with("e.toml:4: device.member.cleaning.policy = 'mine:Greedy': "));
    assert!(made(&[named, file(member)]).is_err());
}

//! Members of an array that are unlike the others.

use crate::common::{self, Closed, run_closed};
use devices::array::{ArrayConfig, Layout, Redundancy, Unlike};
use devices::law::LawConfig;
use devices::ssd::SsdConfig;
use devices::{DeviceConfig, DeviceKind, Model};
use engine::{Lba, Op, Random, Request, Xoshiro256};
use options::Size;

fn law(mib: u64) -> DeviceConfig {
    let size = Size::from_bytes(mib << 20);
    DeviceConfig::Law(Box::new(LawConfig { size, ..LawConfig::default() }))
}

fn array(redundancy: Redundancy, each: Vec<(u32, DeviceConfig)>) -> ArrayConfig {
    ArrayConfig {
        members: 4,
        redundancy,
        member: law(64),
        each: Unlike(each),
        ..ArrayConfig::default()
    }
}

fn build(config: &ArrayConfig) -> Box<dyn Model> {
    config.build(9).unwrap_or_else(|refusal| panic!("{refusal}"))
}

#[test]
fn the_smallest_member_decides_how_much_of_each_is_used() {
    for (layout, redundancy, data) in [
        (Layout::Striped, Redundancy::None, 4),
        (Layout::Concatenated, Redundancy::None, 4),
        (Layout::Striped, Redundancy::Mirror, 2),
        (Layout::Striped, Redundancy::Parity, 3),
    ] {
        let config = ArrayConfig { layout, ..array(redundancy, vec![(2, law(16))]) };
        assert_eq!(build(&config).capacity_sectors(), data * (16 << 20) / 512, "{redundancy}");
        let larger = ArrayConfig { layout, ..array(redundancy, vec![(2, law(160))]) };
        assert_eq!(build(&larger).capacity_sectors(), data * (64 << 20) / 512, "{redundancy}");
    }
}

/// Disks beside an SSD: each chunk has the latency of its member.
#[test]
fn each_member_answers_in_its_own_time() {
    let disk = || DeviceConfig::Disk(Box::default());
    let ssd = DeviceConfig::Ssd(Box::new(SsdConfig { blocks_per_plane: 256, ..common::small() }));
    let each = vec![(0, disk()), (1, ssd), (3, disk())];
    let mut device = build(&array(Redundancy::None, each));
    let mut random = Xoshiro256::new(3, 0);
    let stripes = device.capacity_sectors() / 512;
    let mut load = Closed::new(1, 800, |id| {
        let lba = random.below(stripes) * 512 + id % 4 * 128;
        Request::new(id, Op::Read, Lba(lba), 8)
    });
    let (end, done) = run_closed(&mut *device, &mut load);
    let mean = |member: u64| {
        let own = done.iter().filter(|it| it.request.id % 4 == member);
        own.map(|it| it.latency() as f64).sum::<f64>() / 200.0
    };
    assert!(mean(0) > 3e6 && mean(3) > 3e6, "disks: {} {}", mean(0), mean(3));
    assert!(mean(1) < 2e5, "an SSD: {}", mean(1));
    assert_eq!(device.report(end).count("disk.disks"), 2);
    let report = device.report(end);
    let names = report.list("units").iter().map(|unit| unit.value("name").to_string());
    assert!(names.clone().count() > 0 && names.clone().all(|it| it.starts_with("\"member 1 ")));
    device.audit().unwrap();
    assert!(device.save().is_none());
    assert!(!array(Redundancy::None, vec![(1, disk())]).has_flash());
}

#[test]
fn impossible_members_are_refused_with_their_keys() {
    let refused = |each| array(Redundancy::Mirror, each).build(0).err().unwrap();
    let beyond = refused(vec![(4, law(1))]);
    assert_eq!(beyond.keys, ["device.each", "device.members"]);
    assert!(beyond.problem.contains("no member 4; they are 0 to 3"), "{beyond}");
    let twice = refused(vec![(1, law(1)), (1, law(2))]);
    assert!(twice.problem.contains("member 1 stands there twice"), "{twice}");
    let broken = DeviceConfig::Ssd(Box::new(SsdConfig { channels: 0, ..SsdConfig::default() }));
    let broken = refused(vec![(3, broken)]);
    assert!(broken.problem.starts_with("member 3, channels: 0 is not possible"), "{broken}");
}

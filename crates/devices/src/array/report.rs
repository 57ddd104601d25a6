//! The accounts of an array's members as one.

use ssd::power::PowerReport;
use ssd::{
    LifetimeReport, Milestone, REMAINING_STEPS, SpareReport, SsdReport, UnitReport, WearMap,
    WearReport,
};

/// Sums of counts, means over all blocks, and the units of each member by its number.
///
/// Members are named by their numbers; those without flash have nothing to add.
pub(super) fn together(all: Vec<Option<SsdReport>>) -> Option<SsdReport> {
    let numbers = all.iter().enumerate().filter(|it| it.1.is_some()).map(|it| it.0);
    let numbers: Vec<usize> = numbers.collect();
    let members: Vec<SsdReport> = all.into_iter().flatten().collect();
    if members.is_empty() {
        return None;
    }
    let (wear, spare) = (wear(&members), spare(&members));
    let mut all = SsdReport {
        wear,
        spare,
        power: power(&members),
        slc_cache: None,
        queues: Vec::new(),
        ..members[0].clone()
    };
    for member in &members[1..] {
        all.add(member);
        all.health = all.health.together(member.health);
    }
    all.bus_busy = members.iter().flat_map(|it| it.bus_busy.iter().copied()).collect();
    all.units = numbers.into_iter().zip(members).flat_map(units).collect();
    Some(all)
}

/// Of members whose power went together; nothing where it did not.
fn power(members: &[SsdReport]) -> Option<PowerReport> {
    let mut all = PowerReport::default();
    members.iter().filter_map(|it| it.power.as_ref()).for_each(|it| all.add(it));
    (all.cuts > 0).then_some(all)
}

fn units((number, member): (usize, SsdReport)) -> impl Iterator<Item = UnitReport> {
    let named = move |unit: UnitReport| UnitReport {
        name: format!("member {number} {}", unit.name),
        ..unit
    };
    member.units.into_iter().map(named)
}

/// Identical members have the same shares of spare space, of which not the same may be in effect.
fn spare(members: &[SsdReport]) -> SpareReport {
    let sum = |of: fn(&SpareReport) -> u64| members.iter().map(|it| of(&it.spare)).sum();
    let count = members.len() as f64;
    SpareReport {
        effective: members.iter().map(|it| it.spare.effective).sum::<f64>() / count,
        blocks: members.iter().map(|it| it.spare.blocks).sum(),
        blocks_asked_erased: sum(|it| it.blocks_asked_erased),
        blocks_kept_erased: sum(|it| it.blocks_kept_erased),
        blocks_open: sum(|it| it.blocks_open),
        ..members[0].spare
    }
}

/// Identical members have equally many blocks, so means of means are means.
fn wear(members: &[SsdReport]) -> WearReport {
    let count = members.len() as f64;
    let moments = |of: fn(&WearReport) -> (f64, f64)| {
        let all = members.iter().map(|it| of(&it.wear));
        let mean = all.clone().map(|(mean, _)| mean).sum::<f64>() / count;
        let square = all.map(|(mean, std)| mean * mean + std * std).sum::<f64>() / count;
        (mean, (square - mean * mean).max(0.0).sqrt())
    };
    let (mean_erases, std_erases) = moments(|it| (it.mean_erases, it.std_erases));
    let (mean_remaining, std_remaining) = moments(|it| (it.mean_remaining, it.std_remaining));
    let steps = |of: fn(&WearReport) -> [u64; REMAINING_STEPS]| {
        let all: Vec<_> = members.iter().map(|it| of(&it.wear)).collect();
        std::array::from_fn(|step| all.iter().map(|counts| counts[step]).sum())
    };
    WearReport {
        mean_erases,
        std_erases,
        max_erases: members.iter().map(|it| it.wear.max_erases).max().unwrap_or(0),
        mean_remaining,
        std_remaining,
        expired_blocks: members.iter().map(|it| it.wear.expired_blocks).sum(),
        retired_blocks: members.iter().map(|it| it.wear.retired_blocks).sum(),
        spare_blocks: members.iter().map(|it| it.wear.spare_blocks).min().unwrap_or(0),
        ended: members.iter().any(|it| it.wear.ended),
        // Of each block against the mean of its own member.
        remaining_of_mean: steps(|it| it.remaining_of_mean),
        remaining_of_rated: steps(|it| it.remaining_of_rated),
        blocks_by_erases: WearReport::counted(
            members.iter().flat_map(|it| it.wear.blocks_by_erases.iter().copied()),
        ),
        lifetime: lifetime(members),
        map: WearMap::together(members.iter().map(|it| &it.wear.map)),
    }
}

/// What happens to the first member happens to the array, when the others have taken as much.
fn lifetime(members: &[SsdReport]) -> LifetimeReport {
    let count = members.len() as f64;
    let all = || members.iter().map(|it| &it.wear.lifetime);
    let earliest = |of: fn(&LifetimeReport) -> Option<Milestone>| {
        all().filter_map(of).min_by(|a, b| a.drive_writes.total_cmp(&b.drive_writes))
    };
    // Requests to the whole array are taken to be spread evenly.
    let of_all = |first: Milestone| Milestone { host_bytes: first.host_bytes * count, ..first };
    let least = earliest(|it| it.estimate);
    // The member that decides; where nothing was written, any.
    let decides = all().find(|it| it.estimate == least).unwrap_or(&members[0].wear.lifetime);
    LifetimeReport {
        estimate: least.map(of_all),
        physical_bytes: all().map(|it| it.physical_bytes).sum(),
        erases: all().map(|it| it.erases).sum(),
        first_expiry: earliest(|it| it.first_expiry).map(of_all),
        spare_gone: earliest(|it| it.spare_gone).map(of_all),
        ..decides.clone()
    }
}

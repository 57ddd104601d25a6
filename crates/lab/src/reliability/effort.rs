//! How much work a question is, reckoned before it is begun: what would go on for days is refused, with the way out.

use super::ReliabilitySettings;
use super::group::Group;
use super::law::Law;
use crate::error::InputError;
use engine::Xoshiro256;

/// Looks at a member, or draws of a defect, at most: a minute of work, or a few.
const MOST: f64 = 1e8;
/// Defects of a member between two looks at most: each is kept.
const MOST_DEFECTS: f64 = 1e6;
/// Draws of which a mean is taken.
const DRAWS: u32 = 1_000;
/// Their stream.
const STREAM: u64 = 23;

/// Refuses what would take too long.
pub(super) fn check(
    settings: &ReliabilitySettings,
    group: &Group,
    end: f64,
) -> Result<(), InputError> {
    let members = f64::from(group.members);
    let seen = group.defects.as_ref().map_or(0.0, |defects| {
        let kept = defects.scrub.as_ref().map_or(end, |law| law.most().min(end));
        kept / mean_within(&defects.between, kept)
    });
    let option = |name: &str, text: &str| format!("{name} \"{text}\"");
    if seen > MOST_DEFECTS {
        let text = settings.defects.as_deref().unwrap_or_default();
        let problem = format!(
            "{}: a member would have {seen:.1e} defects at a time, and at most {MOST_DEFECTS:.0e} are \
             simulated; use a longer time, or a shorter --scrub",
            option("--defects", text)
        );
        return Err(InputError(problem));
    }
    let failures = members * end / mean_within(&group.life, end);
    let of_group = members * (1.0 + failures * (1.0 + seen));
    let groups = settings.groups as f64;
    if of_group * groups <= MOST {
        return Ok(());
    }
    let fewer = (MOST / of_group).floor();
    let out = if fewer >= 1.0 { format!("use --groups {fewer:.0}, ") } else { "use ".to_owned() };
    let problem = if failures > 10.0 {
        format!(
            "{}: {} groups would have {:.1e} failures of members in {} years, which takes too long; {out}fewer \
             --years or a longer --life",
            option("--life", &settings.life),
            settings.groups,
            failures * groups,
            settings.years
        )
    } else if seen > 10.0 {
        let text = settings.defects.as_deref().unwrap_or_default();
        format!(
            "{}: {} groups with {seen:.1e} defects of a member at a time take too long; {out}a longer time or a \
             shorter --scrub",
            option("--defects", text),
            settings.groups
        )
    } else {
        format!("--groups {}: takes too long; at most {fewer:.0} of this array", settings.groups)
    };
    Err(InputError(problem))
}

/// The mean of a time of which no more than `most` counts: where a few last longer than all of the mission, the
/// mean of the law says little of how many fit into it.
fn mean_within(law: &Law, most: f64) -> f64 {
    let mut random = Xoshiro256::new(0, STREAM);
    (0..DRAWS).map(|_| law.sample(&mut random).min(most)).sum::<f64>() / f64::from(DRAWS)
}

/// Refuses a fleet that would take too long: `looks` at dies and months of each of so many drives.
pub(super) fn check_fleet(drives: u64, looks: f64) -> Result<(), InputError> {
    let most = (MOST / looks.max(1.0)).floor();
    if drives as f64 <= most {
        return Ok(());
    }
    Err(InputError(format!("--drives {drives}: takes too long; at most {most:.0} of this device")))
}

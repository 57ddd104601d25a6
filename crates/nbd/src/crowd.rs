//! Replacement of silent connections when all places are taken.

/// A connection has this long to speak before it may have to leave for another one, ns.
const GRACE_NS: u64 = 20_000_000;

/// The connection that is replaced by a new one. `all` has the place of each connection without an
/// export, its age, and whether it has sent data: the newest that had time to speak leaves, and one
/// that is silent before one that has spoken. A crowd that comes again and again so takes places
/// from itself alone.
pub(crate) fn leaves(all: impl Iterator<Item = (usize, u64, bool)>, now: u64) -> Option<usize> {
    let had_time = all.filter(|(_, since, _)| now >= since + GRACE_NS);
    had_time.max_by_key(|(_, since, has_spoken)| (!has_spoken, *since)).map(|it| it.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_silent_connection_leaves_first() {
        let mut all = vec![(0, 0, false), (1, 5, false), (2, 9, true)];
        assert_eq!(leaves(all.iter().copied(), GRACE_NS - 1), None, "all may still speak");
        assert_eq!(leaves(all.iter().copied(), GRACE_NS), Some(0), "the others may still speak");
        assert_eq!(leaves(all.iter().copied(), GRACE_NS + 9), Some(1));
        all.truncate(1);
        all.push((1, 5, true));
        assert_eq!(leaves(all.iter().copied(), GRACE_NS + 9), Some(0), "that one has spoken");
        all.remove(0);
        assert_eq!(leaves(all.iter().copied(), GRACE_NS + 9), Some(1), "nobody is silent");
    }

    /// Fifty hosts come beside 500 connections a second that say nothing, each of which speaks 10 ms
    /// after it came and is greeted by its second word, 10 ms later.
    #[test]
    fn hosts_are_greeted_beside_a_crowd_that_reconnects() {
        const MS: u64 = 1_000_000;
        let (mut places, mut greeted, mut sent_away) = (Vec::<(u64, bool)>::new(), 0, 0);
        for now in (0..10_000).map(|ms| ms * MS) {
            for (since, is_host) in [(now, false), (now, true)] {
                let comes =
                    if is_host { now / MS % 200 == 100 } else { (now / MS).is_multiple_of(2) };
                if !comes {
                    continue;
                }
                if places.len() >= 64 {
                    let all = places.iter().enumerate().map(|(place, (since, is_host))| {
                        (place, *since, *is_host && now >= since + 10 * MS)
                    });
                    if let Some(place) = leaves(all, now) {
                        places.remove(place);
                    } else {
                        sent_away += u32::from(is_host);
                        continue;
                    }
                }
                places.push((since, is_host));
            }
            let before = places.len();
            places.retain(|(since, is_host)| !is_host || now < since + 20 * MS);
            greeted += before - places.len();
        }
        assert_eq!((greeted, sent_away), (50, 0));
    }
}

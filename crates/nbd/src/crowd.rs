//! Replacement of silent connections when all places are taken.

/// Time that a connection has to speak before it may be replaced, ns.
const GRACE_NS: u64 = 20_000_000;

/// The connection that a new one replaces. `all` lists each connection without an export: its
/// place, its age, and true if it has sent data. Silent connections are replaced before others, and
/// among those with time to speak the newest goes first. Clients that reconnect in a crowd so
/// displace each other, not others.
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
        assert_eq!(leaves(all.iter().copied(), GRACE_NS + 9), Some(1), "no client is silent");
    }

    /// Fifty hosts connect beside 500 silent connections per second. Each host speaks 10 ms after
    /// it connects, and its second message, 10 ms later, completes its greeting.
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

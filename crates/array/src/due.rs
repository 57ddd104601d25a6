//! Next event time of each member, in a tournament tree whose root is the earliest.
//!
//! A change moves up the tree only while it changes the winner of a node. An array therefore
//! queries only the members that changed.

use engine::Time;

/// Next event time of each member; the end of time without an event.
#[derive(Debug, Clone)]
pub struct Due {
    /// Tree over a power of two of leaves; node n holds the earlier of nodes 2n and 2n + 1.
    tree: Vec<Time>,
    leaves: usize,
    members: usize,
}

impl Due {
    /// Members without events.
    pub fn new(members: usize) -> Due {
        let leaves = members.next_power_of_two();
        Due { tree: memory::filled(Time::MAX, 2 * leaves), leaves, members }
    }

    /// Sets the time of a member's next event.
    #[inline]
    pub fn set(&mut self, member: usize, at: Option<Time>) {
        let mut node = self.leaves + member;
        let mut winner = at.unwrap_or(Time::MAX);
        while self.tree[node] != winner {
            self.tree[node] = winner;
            if node == 1 {
                return;
            }
            winner = winner.min(self.tree[node ^ 1]);
            node /= 2;
        }
    }

    /// Time of the earliest event.
    #[inline]
    pub fn first(&self) -> Option<Time> {
        Some(self.tree[1]).filter(|at| *at < Time::MAX)
    }

    /// First member at or after `from` with an event up to `now`.
    #[inline]
    pub fn next_from(&self, from: usize, now: Time) -> Option<usize> {
        if self.tree[1] > now || from >= self.members {
            return None;
        }
        // Climbs until a subtree at or behind `from` has an event, then descends to its first leaf.
        let mut node = if from == 0 { 1 } else { self.leaves + from };
        while self.tree[node] > now {
            while node & 1 == 1 {
                node /= 2;
                if node <= 1 {
                    return None;
                }
            }
            node += 1;
        }
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] > now);
        }
        Some(node - self.leaves)
    }

    /// Next event time of a member.
    pub fn of(&self, member: usize) -> Option<Time> {
        Some(self.tree[self.leaves + member]).filter(|at| *at < Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Random as _, Xoshiro256};

    #[test]
    fn the_tournament_agrees_with_a_list() {
        let mut random = Xoshiro256::new(3, 0);
        for members in [1, 2, 3, 5, 8, 13] {
            let mut due = Due::new(members);
            let mut list = vec![None; members];
            for _ in 0..500 {
                let member = random.below(members as u64) as usize;
                let at = Some(random.below(20)).filter(|at| *at < 17);
                due.set(member, at);
                list[member] = at;
                assert_eq!(due.first(), list.iter().copied().flatten().min());
                for (from, now) in [(0, 5), (1, 11), (member, 3), (members, 30)] {
                    let known = list.iter().enumerate().skip(from);
                    let next = known.filter_map(|(n, at)| at.filter(|at| *at <= now).map(|_| n));
                    assert_eq!(due.next_from(from, now), next.min(), "{list:?} {from} {now}");
                }
                assert!((0..members).all(|member| due.of(member) == list[member]));
            }
        }
    }
}

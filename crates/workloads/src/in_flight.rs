//! Data of outstanding requests, by request number.

use std::collections::VecDeque;

/// Values by consecutive request numbers, from the issue of a request to its completion.
///
/// Memory grows with the distance from the oldest outstanding request to the newest one.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    first: u64,
    values: VecDeque<Option<T>>,
    limit: u64,
}

impl<T> InFlight<T> {
    /// Empty, with at most `limit` requests if given.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        InFlight { first: 0, values: VecDeque::new(), limit: limit.unwrap_or(u64::MAX) }
    }

    /// Maximum number of requests, if limited.
    pub(crate) fn limit(&self) -> Option<u64> {
        Some(self.limit).filter(|limit| *limit < u64::MAX)
    }

    /// True if all requests were issued.
    pub(crate) fn is_spent(&self) -> bool {
        self.next_id() == self.limit
    }

    /// The number of the next request, which is the number of requests issued before.
    fn next_id(&self) -> u64 {
        self.first + self.values.len() as u64
    }

    /// Stores the value of the next request and returns its number.
    pub(crate) fn issue(&mut self, value: T) -> u64 {
        let id = self.next_id();
        self.values.push_back(Some(value));
        id
    }

    /// Removes the most recently issued request, which was never submitted.
    pub(crate) fn withdraw(&mut self) {
        self.values.pop_back().flatten().expect("the request was issued and not answered");
    }

    /// Removes and returns the value of a completed request.
    pub(crate) fn complete(&mut self, id: u64) -> T {
        let index = id.checked_sub(self.first).expect("the request was answered before");
        let value = self.values[index as usize].take().expect("the request was answered before");
        while let Some(None) = self.values.front() {
            self.values.pop_front();
            self.first += 1;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_requests_are_found_in_any_order_of_answers() {
        let mut in_flight = InFlight::new(Some(6));
        for id in 0..4 {
            assert_eq!(in_flight.issue(id * 10), id);
        }
        for id in [2, 0, 3, 1] {
            assert_eq!(in_flight.complete(id), id * 10);
        }
        assert_eq!(in_flight.values.len(), 0);
        in_flight.issue(50);
        in_flight.withdraw();
        assert_eq!(in_flight.issue(40), 4);
        assert_eq!(in_flight.complete(4), 40);
        assert!(!in_flight.is_spent());
        assert_eq!(in_flight.issue(50), 5);
        assert!(in_flight.is_spent());
    }
}

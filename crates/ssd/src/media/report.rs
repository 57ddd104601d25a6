//! What the media of a drive came to.

/// What the media came to. The many fields are the rows of the section `media` of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MediaReport {
    /// Days on the clock of retention: at 30 degrees.
    pub clock_days: f64,
    /// Raw error rates of the pages that hold data: mean, 99th percentile, highest.
    pub rber: [f64; 3],
    /// Steps that the best references have moved: mean, highest.
    pub drift: [f64; 2],
    /// The spread of the error rates between pages.
    pub spread_errors: f64,
    /// Of pages that hold data, a sample: how many, and those of them that would take retries if they were read now, and
    /// those that could not be read, also not from parity.
    pub sample: [u64; 3],
    /// Flash pages that the host read, by the retries that each took.
    pub retries: Vec<u64>,
    /// Those of them that needed soft decoding.
    pub soft_reads: u64,
    /// Searched.
    pub searched: u64,
    /// Beyond correction, or copies of what was.
    pub uncorrectable: u64,
    /// Those that parity brought back.
    pub rebuilt: u64,
    /// Reads of logical pages that failed.
    pub unreadable: u64,
    /// Logical pages beyond correction that the host wrote anew.
    pub healed: u64,
    /// Copies in the flash of pages that could not be read when they were moved.
    pub poisoned: u64,
    /// Dies that were lost, bad blocks of other sick dies, and defects, where anything fails.
    pub failures: Option<[u64; 3]>,
    /// Pages read on patrol.
    pub patrol_reads: u64,
    /// Blocks whose data were refreshed, and reclaimed because of reads.
    pub moved_blocks: [u64; 2],
}

impl MediaReport {
    /// Flash pages that the host read, and those of them that took retries.
    pub fn reads(&self) -> [u64; 2] {
        let all: u64 = self.retries.iter().sum();
        [all, all - self.retries.first().copied().unwrap_or(0)]
    }

    /// The shares of pages that would take retries now, and that could not be read.
    pub fn shares_now(&self) -> Option<[f64; 2]> {
        let [all, retried, lost] = self.sample.map(|count| count as f64);
        (all > 0.0).then(|| [retried / all, lost / all])
    }

    /// Adds what another drive came to; rates are the worse of both.
    pub fn add(&mut self, other: &MediaReport) {
        self.clock_days = self.clock_days.max(other.clock_days);
        memory::grow(&mut self.retries, other.retries.len(), 0);
        for (count, more) in self.retries.iter_mut().zip(&other.retries) {
            *count += more;
        }
        for (count, more) in self.sample.iter_mut().zip(other.sample) {
            *count += more;
        }
        for (rate, other) in self.rber.iter_mut().zip(other.rber) {
            *rate = rate.max(other);
        }
        for (drift, other) in self.drift.iter_mut().zip(other.drift) {
            *drift = drift.max(other);
        }
        self.soft_reads += other.soft_reads;
        self.searched += other.searched;
        self.uncorrectable += other.uncorrectable;
        self.rebuilt += other.rebuilt;
        self.unreadable += other.unreadable;
        self.healed += other.healed;
        self.poisoned += other.poisoned;
        self.patrol_reads += other.patrol_reads;
        self.failures = match (self.failures, other.failures) {
            (Some(one), Some(two)) => Some([0, 1, 2].map(|at| one[at] + two[at])),
            (one, two) => one.or(two),
        };
        for (count, more) in self.moved_blocks.iter_mut().zip(other.moved_blocks) {
            *count += more;
        }
    }
}

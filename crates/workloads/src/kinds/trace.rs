//! Replays a trace: the requests of a recorded workload at their recorded times.
//!
//! The keys, and their effects on the stream, are in `replay/`.

use crate::error::BuildError;
use crate::kind::{Context, WorkloadKind};
pub use crate::read::stated::{BlockEvent, TimeUnit};
pub use crate::replay::{
    Beyond, Combine, Devices, Gaps, Limit, Spreading, Start, Trace, TraceReader,
};
use engine::Workload;

impl WorkloadKind for Trace {
    const SUMMARY: &'static str = "a recorded trace, replayed at its recorded times";

    fn draws(&self) -> bool {
        // Reads are drawn if the file lacks directions.
        self.read_share.is_some()
    }

    fn build(&self, context: &Context) -> Result<Box<dyn Workload>, BuildError> {
        self.check()?;
        Ok(Box::new(TraceReader::new(self, context)?))
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "trace_recorded_tests.rs"]
mod recorded_tests;

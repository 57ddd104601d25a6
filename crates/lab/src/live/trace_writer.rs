//! Trace of client requests, written by a separate thread.

use super::settings::system;
use crate::error::{RunError, reason};
use crate::trace::{Output, target_format};
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use workloads::{Losses, Record};

/// Maximum number of requests queued for writing; beyond it, the device waits for the host's disk.
const MOST_UNWRITTEN: usize = 1 << 18;

/// A thread that writes the trace.
pub(super) struct TraceWriter {
    pub(super) records: SyncSender<Record>,
    thread: JoinHandle<io::Result<(Losses, Option<String>)>>,
    target: String,
}

impl TraceWriter {
    pub(super) fn start(target: &str) -> Result<Self, RunError> {
        let (format, compression) = target_format(target, None)
            // Only the file name determines the format here.
            .map_err(|problem| problem.replace("; use --to: ", "; such are: "))
            .map_err(|problem| RunError::Input(format!("--record {problem}")))?;
        let Some(write) = format.write else { unreachable!("only such formats are chosen") };
        let mut output = Output::create(target, compression).map_err(|error| {
            RunError::Input(format!("--record {target}: cannot be written: {error}"))
        })?;
        let (records, incoming) = sync_channel::<Record>(MOST_UNWRITTEN);
        let thread = std::thread::Builder::new().name("record".to_owned());
        let thread = thread.spawn(move || {
            let losses = write(&mut incoming.into_iter().fuse(), &mut output)?;
            let moved = output.finish()?;
            Ok((losses, moved))
        });
        let thread = thread.map_err(|error| system(&error))?;
        Ok(TraceWriter { records, thread, target: target.to_owned() })
    }

    /// Completes the trace; returns its path and the data lost by its format, or the error.
    pub(super) fn finish(self) -> Result<(String, Losses), String> {
        drop(self.records);
        let outcome = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match outcome {
            Ok((losses, None)) => Ok((self.target, losses)),
            Ok((_, Some(moved))) => Err(format!("{}: {moved}", self.target)),
            Err(error) => Err(format!("{}: cannot be written: {}", self.target, reason(&error))),
        }
    }
}

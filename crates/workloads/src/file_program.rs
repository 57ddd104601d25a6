//! A program that uses files: its file operations become the requests of a closed loop.

use crate::closed_loop::{Draw, Notices};
use crate::files::Files;
use engine::Request;

/// Accesses of a program to its files, step by step.
pub(crate) trait Program {
    /// Performs the next file operation; returns `false` when the program has finished.
    fn step(&mut self, files: &mut Files) -> bool;

    /// Notices: named counts reported beside the requests.
    fn notices(&self) -> Notices {
        Vec::new()
    }
}

/// A running program with its file system.
pub(crate) struct Running<P> {
    files: Files,
    program: P,
}

impl<P: Program> Running<P> {
    /// A program before its first access.
    pub(crate) fn new(files: Files, program: P) -> Self {
        Running { files, program }
    }
}

impl<P: Program> Draw for Running<P> {
    fn continues(&mut self) -> bool {
        while !self.files.has_requests() {
            if !self.program.step(&mut self.files) {
                return false;
            }
        }
        true
    }

    fn draw(&mut self, id: u64) -> Request {
        self.files.fetch(id).expect("it goes on")
    }

    fn notices(&self) -> Notices {
        self.program.notices()
    }
}

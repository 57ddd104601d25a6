//! A program that uses files: its steps become the requests of a closed loop.

use crate::closed_loop::{Draw, Notices};
use crate::files::Files;
use engine::Request;

/// What a program does with its files, step by step.
pub(crate) trait Program {
    /// Does the next operation on the files; `false` when the program is over.
    fn step(&mut self, files: &mut Files) -> bool;

    /// What is counted beside requests.
    fn notices(&self) -> Notices {
        Vec::new()
    }
}

/// A program with its file system, while it runs.
pub(crate) struct Running<P> {
    files: Files,
    program: P,
}

impl<P: Program> Running<P> {
    /// A program that has done nothing yet.
    pub(crate) fn new(files: Files, program: P) -> Self {
        Running { files, program }
    }
}

impl<P: Program> Draw for Running<P> {
    fn draw(&mut self, id: u64) -> Option<Request> {
        loop {
            if let Some(request) = self.files.fetch(id) {
                return Some(request);
            }
            if !self.program.step(&mut self.files) {
                return None;
            }
        }
    }

    fn notices(&self) -> Notices {
        self.program.notices()
    }
}

//! Two-plane commands.

use options::choices;

choices! {
    /// Execution of simultaneous operations on a pair of planes.
    pub enum PairCommands {
        /// One command per plane: a plane programs once its page is loaded.
        Separate = "separate",
        /// One two-plane command: both program when both pages are loaded, and end together.
        TwoPlane = "two-plane",
    }
}

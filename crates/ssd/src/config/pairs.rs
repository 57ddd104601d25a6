//! Two-plane commands.

use options::choices;

choices! {
    /// How the planes of a pair do what they begin together.
    pub enum PairCommands {
        /// Each by a command of its own: a plane programs once its page is loaded.
        Separate = "separate",
        /// By a two-plane command: both program when both pages are loaded, and end together.
        TwoPlane = "two-plane",
    }
}

//! The warning about workload parameters without a source.

use crate::warnings::Warning;
use serde_json::json;

/// Warning about default values of the workload that were not measured.
pub fn warning(keys: &[&'static str]) -> Option<Warning> {
    if keys.is_empty() {
        return None;
    }
    let message = format!(
        "no publication states {}: these are guesses of this program; give values that were measured, or vary them to \
         see what depends on them",
        keys.join(", ")
    );
    Some(Warning::new("guessed_parameters", message, json!({ "keys": keys })))
}

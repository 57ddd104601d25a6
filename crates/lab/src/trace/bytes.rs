//! Numbers of bytes in JSON.

use serde_json::{Value, json};

/// A number of bytes: a JSON integer up to 64 bits, beyond that a float.
pub(super) fn number(bytes: u128) -> Value {
    u64::try_from(bytes).map_or_else(|_| json!(bytes as f64), Value::from)
}

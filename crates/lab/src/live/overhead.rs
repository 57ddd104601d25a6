//! The transport latency of a client, as measured by that client (`ssdlab serve overhead`).

use crate::error::RunError;
use engine::Op;
use nbd::Overhead;
use serde_json::Value;
use std::path::Path;

/// Reads the file: by direction and size, the latency outside the server and the total latency, us.
/// The section was formerly called `floor`.
#[expect(clippy::disallowed_methods, reason = "the lab opens files")]
pub(super) fn read(path: &Path) -> Result<Overhead, RunError> {
    let name = path.display();
    let refuse = |problem: String| RunError::Input(format!("overhead {name}: {problem}"));
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
    let section = value.get("overhead").unwrap_or(&value["floor"]);
    let mut overhead = Overhead::none();
    for op in [Op::Read, Op::Write] {
        let rows = section[op.name()].as_array();
        let rows = rows.filter(|rows| !rows.is_empty());
        let rows = rows.ok_or_else(|| {
            refuse(format!(
                "no rows for {}s; create the file with `ssdlab serve overhead`",
                op.name()
            ))
        })?;
        let mut before = 0;
        for row in rows {
            let number = |key: &str| row[key].as_f64().filter(|it| (0.0..1e9).contains(it));
            let (Some(bytes), Some(outside), Some(least)) =
                (row["bytes"].as_u64(), number("outside_us"), number("least_us"))
            else {
                return Err(refuse("a row needs bytes, outside_us and least_us".to_owned()));
            };
            if bytes <= before {
                return Err(refuse("the sizes must rise".to_owned()));
            }
            before = bytes;
            overhead.add(op, bytes, (outside * 1e3) as u64, (least * 1e3) as u64);
        }
    }
    Ok(overhead)
}

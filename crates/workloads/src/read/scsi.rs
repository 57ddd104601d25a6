//! SCSI commands by operation code, as in traces of virtual disks (SPC-4, SBC-3).

use engine::Op;

/// Operation of a command, or `None` if it neither moves, discards nor flushes blocks.
pub(crate) fn operation(code: u64) -> Option<Op> {
    match code {
        0x08 | 0x28 | 0xA8 | 0x88 => Some(Op::Read),
        0x0A | 0x2A | 0xAA | 0x8A | 0x2E | 0x8E => Some(Op::Write),
        0x42 => Some(Op::Trim),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

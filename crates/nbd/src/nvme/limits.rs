//! Limits of a target, and its subsystem names.

/// Maximum I/O queues per controller.
pub const MOST_QUEUES: u16 = 16;
/// Maximum I/O queues of all controllers together.
pub const QUEUES_IN_ALL: usize = 32;
/// Maximum entries of a queue.
pub const QUEUE_ENTRIES: u16 = 128;
/// Maximum number of connections.
pub const MOST_LINKS: usize = 64;
/// Maximum number of controllers.
pub const MOST_CONTROLLERS: usize = 16;
/// Maximum transfer of 2^8 pages of 4 KiB: 1 MiB.
pub const TRANSFER_POWER: u8 = 8;
/// Maximum data of a command in bytes.
pub const MOST_BYTES: u32 = 4096 << TRANSFER_POWER;
/// Error log entries per controller.
pub const MOST_ERRORS: usize = 16;
/// Maximum outstanding requests for asynchronous events.
pub const MOST_EVENTS: usize = 4;
/// Name of the discovery subsystem.
pub const DISCOVERY_NAME: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Name of the subsystem of devices; its domain is reserved for private use.
pub const SUBSYSTEM_NAME: &str = "nqn.2024-07.internal.ssdlab:drive";
/// Maximum bytes of an atomic compare and write: a capsule's data.
pub const ATOMIC_BYTES: u64 = 8192;
/// Maximum bytes of a deallocated range: the limit of a server request.
pub const MOST_RANGE_BYTES: u32 = 1 << 30;
/// Copy limits: number of ranges, bytes per range, and bytes in total.
pub const MOST_COPIED_RANGES: usize = 128;
pub const MOST_COPIED_EACH: u32 = 1 << 20;
pub const MOST_COPIED: u32 = 4 << 20;
/// Copy range formats: same namespace, any namespace; and both as bits of Identify.
pub const COPY_SAME: u32 = 0;
pub const COPY_ANY: u32 = 2;
pub const COPY_FORMATS: u16 = 1 << COPY_SAME | 1 << COPY_ANY;

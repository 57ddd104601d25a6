//! Limits of a target, and names of its subsystems.

/// I/O queues of a controller, and of all together.
pub const MOST_QUEUES: u16 = 16;
/// I/O queues of all controllers.
pub const QUEUES_IN_ALL: usize = 32;
/// Entries of a queue.
pub const QUEUE_ENTRIES: u16 = 128;
/// Connections at once.
pub const MOST_LINKS: usize = 64;
/// Controllers at once.
pub const MOST_CONTROLLERS: usize = 16;
/// A transfer has at most 2^8 pages of 4 KiB, 1 MiB.
pub const TRANSFER_POWER: u8 = 8;
/// The most data of a command.
pub const MOST_BYTES: u32 = 4096 << TRANSFER_POWER;
/// Stored errors of a controller.
pub const MOST_ERRORS: usize = 16;
/// Requests for asynchronous events at once.
pub const MOST_EVENTS: usize = 4;
/// The name of the subsystem for discovery.
pub const DISCOVERY_NAME: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// The name of the subsystem with the devices; the domain is one for private use.
pub const SUBSYSTEM_NAME: &str = "nqn.2024-07.internal.ssdlab:drive";
/// Maximum bytes of an atomic compare and write: the data of a capsule.
pub const ATOMIC_BYTES: u64 = 8192;
/// Most bytes in a range that is deallocated: the limit of a server request.
pub const MOST_RANGE_BYTES: u32 = 1 << 30;
/// Limits of Copy: ranges at most, bytes of each, and bytes of all.
pub const MOST_COPIED_RANGES: usize = 128;
pub const MOST_COPIED_EACH: u32 = 1 << 20;
pub const MOST_COPIED: u32 = 4 << 20;
/// Formats of ranges: of the same namespace, and of any; and both as the bits of Identify.
pub const COPY_SAME: u32 = 0;
pub const COPY_ANY: u32 = 2;
pub const COPY_FORMATS: u16 = 1 << COPY_SAME | 1 << COPY_ANY;

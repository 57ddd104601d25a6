//! The limits of a target, and the names of its subsystems.

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
/// Errors of a controller that are kept.
pub const MOST_ERRORS: usize = 16;
/// Requests for asynchronous events at once.
pub const MOST_EVENTS: usize = 4;
/// The name of the subsystem for discovery.
pub const DISCOVERY_NAME: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// The name of the subsystem with the devices; the domain is one for private use.
pub const SUBSYSTEM_NAME: &str = "nqn.2024-07.internal.ssdlab:drive";

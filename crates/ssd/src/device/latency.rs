//! The parts into which devices divide a latency: the table behind a [`Breakdown`].

use engine::{Breakdown, Part};

/// A row of the table: where a part of a latency is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyPart {
    /// Index in a [`Breakdown`].
    pub part: Part,
    /// Name in results.
    pub key: &'static str,
    /// Label in charts and in the terminal.
    pub label: &'static str,
    /// Description of the time.
    pub doc: &'static str,
    /// Omitted from results when zero: only some devices have it.
    pub may_be_left_out: bool,
}

macro_rules! latency_parts {
    ($($NAME:ident: $key:literal, $label:literal, $doc:literal $(, $left_out:ident)?;)*) => {
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "numbers the constants")]
        enum Place { $($NAME),* }

        $(
            #[doc = concat!("`", $key, "`: ", $doc, ".")]
            pub const $NAME: Part = Part(Place::$NAME as u8);
        )*

        /// All parts, in the order of a request's path.
        pub const LATENCY_PARTS: &[LatencyPart] =
            &[$(LatencyPart {
                part: $NAME,
                key: $key,
                label: $label,
                doc: $doc,
                may_be_left_out: latency_parts!(@ $($left_out)?),
            }),*];
    };
    (@ may_be_left_out) => { true };
    (@) => { false };
}

latency_parts! {
    HOST_QUEUE: "host_queue", "waiting for the host queue",
        "waiting in the host for a free slot in the device queue";
    HOST_LINK: "host_link", "on the host link",
        "transfer on the host link, waiting included";
    FIRMWARE: "firmware", "in the controller's firmware",
        "processing on a controller core, waiting included", may_be_left_out;
    MAP: "map", "looking up the map",
        "looking up pages in the map, of which memory does not hold all", may_be_left_out;
    BUFFER: "buffer", "waiting for the write buffer",
        "waiting for room in the write buffer", may_be_left_out;
    UNIT_WAIT: "unit_wait", "waiting for a busy unit",
        "waiting for a unit that serves other requests";
    CLEANING_WAIT: "cleaning_wait", "waiting for cleaning", "waiting for a unit that is cleaning";
    SUSPEND: "suspend", "waiting for a suspension",
        "waiting for a program or erase to suspend", may_be_left_out;
    BUS: "bus", "on the bus", "transfer on the flash bus, waiting included";
    CELL: "cell", "in the flash cells", "read, program or erase in the cell array";
    RETRY: "retry", "in read retries",
        "further senses of aged pages, with their decoding", may_be_left_out;
    REBUILD: "rebuild", "in rebuilds from parity",
        "reading the rest of a stripe for a page beyond correction", may_be_left_out;
    FAST: "fast_device", "on the fast device of the cache",
        "being served by the fast device of a cache", may_be_left_out;
    BACKING: "backing_device", "on the backing device of the cache",
        "being served by the backing device of a cache", may_be_left_out;
}

const _: () =
    assert!(LATENCY_PARTS.len() == Breakdown::PARTS, "Breakdown::PARTS is the number of rows");

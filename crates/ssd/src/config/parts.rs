//! NAND parts by name: read, program and bus times of a die, with sources.
//!
//! A row is data for the keys of `[device.timing]` and `[device.cell]`, without logic. The program
//! time is per page of each plane; a test compares it with `die_mb_per_s`, where a source states
//! that. Values without a source are guesses, named in `guesses`.

use super::SsdPartial;
use options::{BusRate, Duration, PageTimes, Size};

/// A named NAND part.
///
/// Published tPROG is the time of *one page* per plane. A word line of `bits` pages is programmed
/// at once, so [`Part::program_ns`] is `bits` times that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Name in the configuration.
    pub name: &'static str,
    /// Bits per cell: pages per word line and plane.
    pub bits: u32,
    /// Sense times in nanoseconds: one for all pages of a word line, or one per page type.
    pub read_ns: &'static [u64],
    /// Published program time in nanoseconds per page of each plane.
    pub program_page_ns: u64,
    /// Erasing a block, in nanoseconds.
    pub erase_ns: u64,
    /// Planes per die.
    pub planes: u32,
    /// Data of a page, in bytes.
    pub page_bytes: u64,
    /// Transfer rate of the bus between controller and die; each transfer moves a byte.
    pub bus_mt_per_s: u32,
    /// Published program throughput of a die, MB/s.
    pub die_mb_per_s: Option<f64>,
    /// Source of the values.
    pub source: &'static str,
    /// Fields without a source.
    pub guesses: &'static [&'static str],
}

impl Part {
    /// Summary: source, and guesses.
    pub fn summary(&self) -> String {
        let reads = self.read_ns.iter().map(|ns| Duration::from_ns(*ns).to_string());
        let guesses = match self.guesses {
            [] => String::new(),
            guesses => format!("; guessed: {}", guesses.join(", ")),
        };
        format!(
            "{} bit{}, {} planes x {}, read {}, word line {}, {}MT/s ({}{guesses})",
            self.bits,
            if self.bits == 1 { "" } else { "s" },
            self.planes,
            Size::from_bytes(self.page_bytes),
            reads.collect::<Vec<_>>().join(" / "),
            Duration::from_ns(self.program_ns()),
            self.bus_mt_per_s,
            self.source,
        )
    }

    /// Writes the part's values into a configuration layer.
    pub(crate) fn lay_on(&self, layer: &mut SsdPartial) {
        let times: Vec<_> = self.read_ns.iter().map(|ns| Duration::from_ns(*ns)).collect();
        layer.planes_per_die = Some(self.planes);
        layer.page_size = Some(Size::from_bytes(self.page_bytes));
        layer.cell.bits = Some(self.bits);
        layer.timing.read = PageTimes::each(&times);
        layer.timing.read_part = None;
        layer.timing.program = Some(Duration::from_ns(self.program_ns()));
        layer.timing.erase = Some(Duration::from_ns(self.erase_ns));
        layer.timing.bus_rate = Some(BusRate::of(self.bus_mt_per_s));
    }

    /// Program time of a word line of all planes, in nanoseconds.
    pub const fn program_ns(&self) -> u64 {
        self.program_page_ns * self.bits as u64
    }

    /// Data of a word line of all planes, in bytes.
    pub const fn group_bytes(&self) -> u64 {
        self.planes as u64 * self.bits as u64 * self.page_bytes
    }

    /// Sustained program rate of one die, bytes per second.
    #[cfg(test)]
    fn die_bytes_per_second(&self) -> f64 {
        self.group_bytes() as f64 * 1e9 / self.program_ns() as f64
    }
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const KIB: u64 = 1_024;

const AGRAWAL: &str = "Agrawal et al., USENIX ATC 2008, Table 1: two dies of SLC, 40 MHz bus";
const MQSIM: &str = "MQSim (FAST'18), its default device: planar MLC";
const ISSCC_TLC: &str = "ISSCC paper of the part, as tabulated by AnandTech (ISSCC 2021)";
const ISSCC_QLC: &str = "ISSCC paper of the part, as tabulated by ComputerBase (ISSCC 2021)";
const PAGE_TYPES: &str = "reads by page type: SimpleSSD and FEMU, timing tables of 3D TLC";
const MICRON: &str = "Micron, 232-layer announcement: six planes, ONFI 5.0, twice the write rate a \
     die of its 176 layers";
const ISSCC_24: &str = "ISSCC 2024, as in FEMU (99ce4fb); die rate of 300 MiB/s";
const ISSCC_24_QLC: &str = "ISSCC 2024, as in FEMU (99ce4fb)";
const XL_FLASH: &str = "Kioxia at ISSCC 2020, as in FEMU (99ce4fb)";
const Z_NAND: &str = "Samsung at ISSCC 2018";

/// Values for 3D parts without a source: the only published block erase of their kind, 3.5 ms
/// (Samsung V7), and the ONFI bus of their year.
const ERASE_3D: u64 = 3_500 * US;

/// A part with 16 KiB pages whose source states sense time, program time, planes, bus and
/// throughput.
const fn isscc(name: &'static str, bits: u32, read_ns: &'static [u64]) -> Part {
    Part {
        name,
        bits,
        read_ns,
        program_page_ns: 0,
        erase_ns: ERASE_3D,
        planes: 4,
        page_bytes: 16 * KIB,
        bus_mt_per_s: 1200,
        die_mb_per_s: None,
        source: if bits == 4 { ISSCC_QLC } else { ISSCC_TLC },
        guesses: &["erase_ns"],
    }
}

/// All named parts, oldest first and by bits per cell.
pub const PARTS: &[Part] = &[
    Part {
        program_page_ns: 200 * US,
        erase_ns: 1_500 * US,
        page_bytes: 4 * KIB,
        bus_mt_per_s: 40,
        source: AGRAWAL,
        guesses: &[],
        ..isscc("slc-2008", 1, &[25 * US])
    },
    Part {
        program_page_ns: 750 * US,
        erase_ns: 3_800 * US,
        planes: 2,
        page_bytes: 8 * KIB,
        bus_mt_per_s: 333,
        source: MQSIM,
        guesses: &[],
        ..isscc("mlc-planar", 2, &[75 * US])
    },
    Part {
        program_page_ns: 575 * US,
        planes: 2,
        bus_mt_per_s: 533,
        die_mb_per_s: Some(57.0),
        ..isscc("kioxia-96l-tlc", 3, &[58 * US])
    },
    Part {
        program_page_ns: 575 * US,
        planes: 2,
        bus_mt_per_s: 533,
        source: PAGE_TYPES,
        guesses: &["program_page_ns", "erase_ns", "planes", "bus_mt_per_s"],
        ..isscc("tlc-by-page-type", 3, &[56_500, 77_500, 106_000])
    },
    Part {
        program_page_ns: 400 * US,
        planes: 2,
        die_mb_per_s: Some(82.0),
        ..isscc("samsung-v6-tlc", 3, &[45 * US])
    },
    Part {
        program_page_ns: 496 * US,
        bus_mt_per_s: 1066,
        die_mb_per_s: Some(132.0),
        ..isscc("kioxia-128l-tlc", 3, &[56 * US])
    },
    Part {
        program_page_ns: 390 * US,
        bus_mt_per_s: 1600,
        die_mb_per_s: Some(168.0),
        ..isscc("hynix-176l-tlc", 3, &[50 * US])
    },
    Part {
        program_page_ns: 356 * US,
        bus_mt_per_s: 2000,
        die_mb_per_s: Some(184.0),
        guesses: &["planes"],
        ..isscc("samsung-v7-tlc", 3, &[40 * US])
    },
    Part {
        program_page_ns: 292 * US,
        planes: 6,
        bus_mt_per_s: 2400,
        source: MICRON,
        guesses: &["read_ns", "program_page_ns", "erase_ns"],
        ..isscc("micron-232l-tlc", 3, &[50 * US])
    },
    Part {
        program_page_ns: 312_333,
        planes: 6,
        bus_mt_per_s: 3200,
        die_mb_per_s: Some(314.6),
        source: ISSCC_24,
        guesses: &["erase_ns", "planes"],
        ..isscc("tlc-2024", 3, &[32 * US])
    },
    Part {
        program_page_ns: 2_080 * US,
        bus_mt_per_s: 800,
        die_mb_per_s: Some(31.0),
        guesses: &["erase_ns", "bus_mt_per_s"],
        ..isscc("intel-96l-qlc", 4, &[90 * US])
    },
    Part {
        program_page_ns: 3_380 * US,
        planes: 2,
        bus_mt_per_s: 533,
        die_mb_per_s: Some(9.7),
        guesses: &["erase_ns", "bus_mt_per_s"],
        ..isscc("kioxia-96l-qlc", 4, &[160 * US])
    },
    Part {
        program_page_ns: 1_630 * US,
        die_mb_per_s: Some(40.0),
        guesses: &["erase_ns", "bus_mt_per_s"],
        ..isscc("intel-144l-qlc", 4, &[85 * US])
    },
    Part {
        program_page_ns: 1_630 * US,
        bus_mt_per_s: 3200,
        source: ISSCC_24_QLC,
        guesses: &["program_page_ns", "erase_ns", "planes"],
        ..isscc("samsung-280l-qlc", 4, &[85 * US])
    },
    Part {
        program_page_ns: 75 * US,
        erase_ns: 2 * MS,
        planes: 16,
        page_bytes: 4 * KIB,
        source: XL_FLASH,
        guesses: &["erase_ns", "bus_mt_per_s"],
        ..isscc("xl-flash", 1, &[4 * US])
    },
    Part {
        program_page_ns: 100 * US,
        erase_ns: 2 * MS,
        planes: 2,
        page_bytes: 4 * KIB,
        bus_mt_per_s: 800,
        source: Z_NAND,
        guesses: &["erase_ns", "planes", "page_bytes", "bus_mt_per_s"],
        ..isscc("z-nand", 1, &[3 * US])
    },
];

#[cfg(test)]
mod tests {
    use super::{PARTS, Part};

    /// All values of a row that may be guesses, by field name.
    fn numbers(cell: &Part) -> [(&'static str, u64); 6] {
        [
            ("read_ns", cell.read_ns.iter().sum()),
            ("program_page_ns", cell.program_page_ns),
            ("erase_ns", cell.erase_ns),
            ("planes", u64::from(cell.planes)),
            ("page_bytes", cell.page_bytes),
            ("bus_mt_per_s", u64::from(cell.bus_mt_per_s)),
        ]
    }

    #[test]
    fn a_die_programs_at_the_published_rate() {
        for cell in PARTS {
            let Some(published) = cell.die_mb_per_s else { continue };
            let derived = cell.die_bytes_per_second() / 1e6;
            let error = (derived / published - 1.0).abs();
            assert!(error < 0.03, "{}: {derived:.1} MB/s, published {published}", cell.name);
        }
    }

    #[test]
    fn every_row_is_whole_and_has_its_own_name() {
        for (place, cell) in PARTS.iter().enumerate() {
            assert!(PARTS[..place].iter().all(|other| other.name != cell.name), "{}", cell.name);
            assert!(numbers(cell).iter().all(|(_, value)| *value > 0), "{}", cell.name);
            assert!(!cell.source.is_empty(), "{}", cell.name);
            let reads = cell.read_ns.len();
            assert!(reads == 1 || reads == cell.bits as usize, "{}: {reads} reads", cell.name);
            assert!(cell.read_ns.iter().all(|&read| read < cell.program_page_ns), "{}", cell.name);
            assert!(cell.program_ns() >= cell.program_page_ns, "{}", cell.name);
        }
    }

    #[test]
    fn guesses_are_names_of_fields() {
        for cell in PARTS {
            for guess in cell.guesses {
                let known = numbers(cell).iter().any(|(field, _)| field == guess);
                assert!(known, "{}: {guess}", cell.name);
            }
        }
    }

    #[test]
    fn a_word_line_takes_its_pages_times() {
        let qlc = PARTS.iter().find(|cell| cell.name == "intel-144l-qlc").expect("a row");
        assert_eq!(qlc.program_ns(), 6_520_000); // 4 x 1630 us, ISSCC 2021
        assert_eq!(qlc.group_bytes(), 4 * 4 * 16 * 1_024);
    }
}

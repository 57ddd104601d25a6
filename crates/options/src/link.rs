//! Named host links, accepted as bandwidths.

use crate::nearest;

/// A named link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Name in a configuration.
    pub name: &'static str,
    /// Bytes per second in one direction, after line encoding and framing, before protocol
    /// overhead.
    pub bytes_per_second: u64,
    /// Source of the rate.
    pub source: &'static str,
}

const USB_1: &str = "USB 1.1, table 5-9: 19 bulk packets of 64 B in a frame of 1 ms";
const USB_2: &str = "USB 2.0, table 5-10: 13 bulk packets of 512 B in a microframe of 125 us";
const USB_3: &str = "USB 3.0: 5 Gb/s, 8b/10b";
const ATA: &str = "ATA/ATAPI-6 and 7, Ultra DMA modes 2, 4, 5 and 6";
const SATA: &str = "Serial ATA 3.0: 1.5, 3 and 6 Gb/s, 8b/10b";
const SAS: &str = "SAS-1, 2 and 3: 3, 6 and 12 Gb/s, 8b/10b";
const FIBRE: &str =
    "Fibre Channel at 2.125, 4.25 and 8.5 Gb/s, 8b/10b, less framing: as FC-PI names it";
const PCIE_1: &str = "PCI Express 1.1: 2.5 GT/s a lane, 8b/10b";
const PCIE_2: &str = "PCI Express 2.0: 5 GT/s a lane, 8b/10b";
const PCIE_3: &str = "PCI Express 3.0: 8 GT/s a lane, 128b/130b";
const PCIE_4: &str = "PCI Express 4.0: 16 GT/s a lane, 128b/130b";
const PCIE_5: &str = "PCI Express 5.0: 32 GT/s a lane, 128b/130b";
const PCIE_6: &str = "PCI Express 6.0: 64 GT/s a lane, flits of 256 B less 14 B of CRC and FEC";

/// Bytes per second per lane. From generation 6.0 on there is no line encoding (PAM4, 1b/1b). Of a
/// flit's 256 B, 236 are packets and 6 belong to the data link layer, whose traffic always shares
/// the lane with packets.
const LANE_3: u64 = 8_000_000_000 / 8 * 128 / 130;
const LANE_4: u64 = 16_000_000_000 / 8 * 128 / 130;
const LANE_5: u64 = 32_000_000_000 / 8 * 128 / 130;
const LANE_6: u64 = 64_000_000_000 / 8 * 242 / 256;

const fn link(name: &'static str, bytes_per_second: u64, source: &'static str) -> Link {
    Link { name, bytes_per_second, source }
}

/// All named links.
pub const LINKS: &[Link] = &[
    link("usb-1", 1_216_000, USB_1),
    link("usb-2", 53_248_000, USB_2),
    link("usb-3", 500_000_000, USB_3),
    link("ata-33", 33_300_000, ATA),
    link("ata-66", 66_700_000, ATA),
    link("ata-100", 100_000_000, ATA),
    link("ata-133", 133_300_000, ATA),
    link("sata-150", 150_000_000, SATA),
    link("sata-300", 300_000_000, SATA),
    link("sata-600", 600_000_000, SATA),
    link("sas-300", 300_000_000, SAS),
    link("sas-600", 600_000_000, SAS),
    link("sas-1200", 1_200_000_000, SAS),
    link("fc-200", 200_000_000, FIBRE),
    link("fc-400", 400_000_000, FIBRE),
    link("fc-800", 800_000_000, FIBRE),
    link("pcie-x1", 250_000_000, PCIE_1),
    link("pcie-x4", 1_000_000_000, PCIE_1),
    link("pcie-x8", 2_000_000_000, PCIE_1),
    link("pcie-x16", 4_000_000_000, PCIE_1),
    link("pcie2-x1", 500_000_000, PCIE_2),
    link("pcie2-x4", 2_000_000_000, PCIE_2),
    link("pcie2-x8", 4_000_000_000, PCIE_2),
    link("pcie3-x1", LANE_3, PCIE_3),
    link("pcie3-x2", 2 * LANE_3, PCIE_3),
    link("pcie3-x4", 4 * LANE_3, PCIE_3),
    link("pcie3-x8", 8 * LANE_3, PCIE_3),
    link("pcie3-x16", 16 * LANE_3, PCIE_3),
    link("pcie4-x1", LANE_4, PCIE_4),
    link("pcie4-x2", 2 * LANE_4, PCIE_4),
    link("pcie4-x4", 4 * LANE_4, PCIE_4),
    link("pcie4-x8", 8 * LANE_4, PCIE_4),
    link("pcie4-x16", 16 * LANE_4, PCIE_4),
    link("pcie5-x1", LANE_5, PCIE_5),
    link("pcie5-x2", 2 * LANE_5, PCIE_5),
    link("pcie5-x4", 4 * LANE_5, PCIE_5),
    link("pcie5-x8", 8 * LANE_5, PCIE_5),
    link("pcie5-x16", 16 * LANE_5, PCIE_5),
    link("pcie6-x1", LANE_6, PCIE_6),
    link("pcie6-x2", 2 * LANE_6, PCIE_6),
    link("pcie6-x4", 4 * LANE_6, PCIE_6),
    link("pcie6-x8", 8 * LANE_6, PCIE_6),
    link("pcie6-x16", 16 * LANE_6, PCIE_6),
];

/// The link with a name.
pub(crate) fn find(name: &str) -> Option<&'static Link> {
    LINKS.iter().find(|link| link.name == name)
}

/// Links that a misspelt name probably means: prefixes first, then the nearest.
pub(crate) fn near(typo: &str) -> Option<String> {
    let names = || LINKS.iter().map(|link| link.name);
    let begun: Vec<&str> =
        names().filter(|name| !typo.is_empty() && name.starts_with(typo)).collect();
    match begun.split_last() {
        None => nearest(typo, names()).map(str::to_owned),
        Some((last, [])) => Some((*last).to_owned()),
        Some((last, rest)) => Some(format!("{} or {last}", rest.join(", "))),
    }
}

//! Compares the protocol's numbers with other implementations, to find mistakes on either side.
//!
//! Sources: the headers of libnvme (src/nvme/types.h: statuses, opcodes, identify structures, log
//! pages, features, directives, zones), of SPDK (`nvme_spec.h`: FDP Disabled, Invalid Placement
//! Handle List) and of the Windows driver kit (nvme.h: notice of changed zones). Names are those
//! headers' names without a prefix.

use super::command::{Status, admin, fabrics, io};
use super::{controller, identify, logs, placement, zones};
use crate::zones::{ZoneLimits, ZoneList, ZoneSeen};
use engine::{Namespace as Part, NamespaceWish as Wish, Status as Refused, ZoneState};

#[test]
fn statuses_are_those_of_the_standard() {
    // Generic: type 0.
    for (ours, name, code) in [
        (Status::SUCCESS, "SUCCESS", 0x00),
        (Status::INVALID_OPCODE, "INVALID_OPCODE", 0x01),
        (Status::INVALID_FIELD, "INVALID_FIELD", 0x02),
        (Status::INTERNAL_ERROR, "INTERNAL", 0x06),
        (Status::FAILED_FUSED, "FUSED_FAIL", 0x09),
        (Status::MISSING_FUSED, "FUSED_MISSING", 0x0a),
        (Status::INVALID_NAMESPACE, "INVALID_NS", 0x0b),
        (Status::SEQUENCE_ERROR, "CMD_SEQ_ERROR", 0x0c),
        (Status::SGL_LENGTH_INVALID, "SGL_INVALID_DATA", 0x0f),
        (Status::SGL_TYPE_INVALID, "SGL_INVALID_TYPE", 0x11),
        (Status::ATOMIC_UNIT_EXCEEDED, "AWU_EXCEEDED", 0x14),
        (Status::SGL_OFFSET_INVALID, "SGL_INVALID_OFFSET", 0x16),
        (Status::WRITE_PROTECTED, "NS_WRITE_PROTECTED", 0x20),
        (Status::TRANSIENT_TRANSPORT_ERROR, "TRAN_TPORT_ERROR", 0x22),
        (Status::FDP_DISABLED, "FDP_DISABLED", 0x29),
        (Status::LBA_OUT_OF_RANGE, "LBA_RANGE", 0x80),
        (Status::CAPACITY_EXCEEDED, "CAP_EXCEEDED", 0x81),
        (Status::NAMESPACE_NOT_READY, "NS_NOT_READY", 0x82),
        // Command-specific statuses: type 1.
        (Status::EVENT_LIMIT_EXCEEDED, "ASYNC_LIMIT", 0x105),
        (Status::INVALID_LOG_PAGE, "INVALID_LOG_PAGE", 0x109),
        (Status::FEATURE_NOT_CHANGEABLE, "FEATURE_NOT_CHANGEABLE", 0x10e),
        (Status::CONNECT_INCOMPATIBLE_FORMAT, "CONNECT_FORMAT", 0x180),
        (Status::CONNECT_BUSY, "CONNECT_CTRL_BUSY", 0x181),
        (Status::CONNECT_INVALID_PARAMETERS, "CONNECT_INVALID_PARAM", 0x182),
        (Status::READ_ONLY_RANGE, "READ_ONLY", 0x182),
        (Status::COMMAND_SIZE_LIMIT, "CMD_SIZE_LIMIT_EXCEEDED", 0x183),
        // Media statuses: type 2.
        (Status::WRITE_FAULT, "WRITE_FAULT", 0x280),
        (Status::UNRECOVERED_READ_ERROR, "READ_ERROR", 0x281),
        (Status::COMPARE_FAILURE, "COMPARE_FAILED", 0x285),
        // Statuses of devices, namespaces and zones.
        (Status::of_device(Refused::OutOfRange), "LBA_RANGE", 0x80),
        (Status::of_device(Refused::CapacityExceeded), "CAP_EXCEEDED", 0x81),
        (Status::of_device(Refused::AtomicExceeded), "AWU_EXCEEDED", 0x14),
        (Status::of_device(Refused::SizeLimit), "CMD_SIZE_LIMIT_EXCEEDED", 0x183),
        (Status::of_device(Refused::CompareFailure), "COMPARE_FAILED", 0x285),
        (Status::of_device(Refused::InvalidField), "INVALID_FIELD", 0x02),
        (Status::of_device(Refused::InvalidZoneOperation), "ZNS_INVALID_OP_REQUEST", 0x1b6),
        (Status::of_device(Refused::NoWindow), "ZNS_ZRWA_RESOURCES_UNAVAILABLE", 0x1b7),
        (Status::of_device(Refused::ZoneBoundary), "ZNS_BOUNDARY_ERROR", 0x1b8),
        (Status::of_device(Refused::ZoneFull), "ZNS_FULL", 0x1b9),
        (Status::of_device(Refused::ZoneReadOnly), "ZNS_READ_ONLY", 0x1ba),
        (Status::of_device(Refused::ZoneOffline), "ZNS_OFFLINE", 0x1bb),
        (Status::of_device(Refused::InvalidWrite), "ZNS_INVALID_WRITE", 0x1bc),
        (Status::of_device(Refused::TooManyActive), "ZNS_TOO_MANY_ACTIVE", 0x1bd),
        (Status::of_device(Refused::TooManyOpen), "ZNS_TOO_MANY_OPENS", 0x1be),
        (Status::of_device(Refused::InvalidTransition), "ZNS_INVAL_TRANSITION", 0x1bf),
    ] {
        assert_eq!(ours, Status(code), "{name}");
    }
    // Do Not Retry is bit 14 of the status, above the phase bit.
    assert_eq!(Status::INVALID_FIELD.field(), 0x2 << 1 | 0x4000 << 1);
}

#[test]
fn opcodes_pages_and_features_are_those_of_the_standard() {
    for (ours, name, number) in [
        (admin::GET_LOG_PAGE, "admin get_log_page", 0x02),
        (admin::IDENTIFY, "admin identify", 0x06),
        (admin::ABORT, "admin abort_cmd", 0x08),
        (admin::SET_FEATURES, "admin set_features", 0x09),
        (admin::GET_FEATURES, "admin get_features", 0x0a),
        (admin::ASYNC_EVENT_REQUEST, "admin async_event", 0x0c),
        (admin::KEEP_ALIVE, "admin keep_alive", 0x18),
        (admin::DIRECTIVE_SEND, "admin directive_send", 0x19),
        (admin::DIRECTIVE_RECEIVE, "admin directive_recv", 0x1a),
        (super::command::FABRICS, "admin fabrics", 0x7f),
        (fabrics::PROPERTY_SET, "fabrics property_set", 0x00),
        (fabrics::CONNECT, "fabrics connect", 0x01),
        (fabrics::PROPERTY_GET, "fabrics property_get", 0x04),
        (io::FLUSH, "cmd flush", 0x00),
        (io::WRITE, "cmd write", 0x01),
        (io::READ, "cmd read", 0x02),
        (io::WRITE_UNCORRECTABLE, "cmd write_uncor", 0x04),
        (io::COMPARE, "cmd compare", 0x05),
        (io::WRITE_ZEROES, "cmd write_zeroes", 0x08),
        (io::DATASET_MANAGEMENT, "cmd dsm", 0x09),
        (io::VERIFY, "cmd verify", 0x0c),
        (io::MANAGEMENT_RECEIVE, "cmd io_mgmt_recv", 0x12),
        (io::COPY, "cmd copy", 0x19),
        (io::MANAGEMENT_SEND, "cmd io_mgmt_send", 0x1d),
        (io::ZONE_SEND, "zns cmd_mgmt_send", 0x79),
        (io::ZONE_RECEIVE, "zns cmd_mgmt_recv", 0x7a),
        (io::ZONE_APPEND, "zns cmd_append", 0x7d),
        (identify::NAMESPACE, "CNS_NS", 0x00),
        (identify::CONTROLLER, "CNS_CTRL", 0x01),
        (identify::ACTIVE, "CNS_NS_ACTIVE_LIST", 0x02),
        (identify::DESCRIPTORS, "CNS_NS_DESC_LIST", 0x03),
        (identify::NAMESPACE_OF_SET, "CNS_CSI_NS", 0x05),
        (identify::CONTROLLER_OF_SET, "CNS_CSI_CTRL", 0x06),
        (identify::ACTIVE_OF_SET, "CNS_CSI_NS_ACTIVE_LIST", 0x07),
        (identify::NAMESPACE_IN_GENERAL, "CNS_CSI_INDEPENDENT_ID_NS", 0x08),
        (identify::COMMAND_SETS, "CNS_COMMAND_SET_STRUCTURE", 0x1c),
        (identify::BLOCKS, "CSI_NVM", 0),
        (identify::ZONES, "CSI_ZNS", 2),
        (logs::SUPPORTED, "LID_SUPPORTED_LOG_PAGES", 0x00),
        (logs::ERRORS, "LID_ERROR", 0x01),
        (logs::HEALTH, "LID_SMART", 0x02),
        (logs::FIRMWARE, "LID_FW_SLOT", 0x03),
        (logs::EFFECTS, "LID_CMD_EFFECTS", 0x05),
        (placement::CONFIGURATIONS, "LID_FDP_CONFIGS", 0x20),
        (placement::USAGE, "LID_FDP_RUH_USAGE", 0x21),
        (placement::STATISTICS, "LID_FDP_STATS", 0x22),
        (placement::EVENTS, "LID_FDP_EVENTS", 0x23),
        (logs::DISCOVERY, "LID_DISCOVER", 0x70),
        (logs::CHANGED_ZONES, "LID_ZNS_CHANGED_ZONES", 0xbf),
        (controller::ARBITRATION, "FID_ARBITRATION", 0x01),
        (controller::POWER, "FID_POWER_MGMT", 0x02),
        (controller::TEMPERATURE, "FID_TEMP_THRESH", 0x04),
        (controller::ERROR_RECOVERY, "FID_ERR_RECOVERY", 0x05),
        (controller::WRITE_CACHE, "FID_VOLATILE_WC", 0x06),
        (controller::QUEUES, "FID_NUM_QUEUES", 0x07),
        (controller::ATOMICITY, "FID_WRITE_ATOMIC", 0x0a),
        (controller::EVENTS, "FID_ASYNC_EVENT", 0x0b),
        (controller::KEEP_ALIVE, "FID_KATO", 0x0f),
        (controller::COMMAND_SETS, "FID_IOCS_PROFILE", 0x19),
        (controller::PLACEMENT, "FID_FDP", 0x1d),
    ] {
        assert_eq!(ours, number, "{name}");
    }
}

/// A field of a structure: name, offset, and bytes.
type Field = (&'static str, usize, &'static [u8]);

fn check(page: &[u8], fields: &[Field]) {
    let mut known = vec![false; page.len()];
    for (name, at, bytes) in fields {
        assert_eq!(&&page[*at..*at + bytes.len()], bytes, "{name}");
        known[*at..*at + bytes.len()].fill(true);
    }
    let other = page.iter().zip(known).position(|(byte, known)| *byte != 0 && !known);
    assert_eq!(other, None, "a field that is not in the table");
}

const ZONED: ZoneLimits = ZoneLimits {
    size: 4 << 20,
    capacity: 3 << 20,
    open: 4,
    active: 5,
    append: 256 << 10,
    read_across: true,
    windows: 2,
    window: 256 << 10,
    granularity: 64 << 10,
};

#[test]
fn fields_of_namespaces_are_where_the_standard_has_them() {
    let part = Part::new(0, Wish { bytes: 64 << 20, capacity: 1 << 20, block: 4096 });
    part.map(0, 4096).unwrap();
    check(
        &identify::namespace(&part, true, &[7; 16], (3, None)),
        &[
            ("nsze", 0, &[0, 64]),
            ("ncap", 8, &[0, 1]),
            ("nuse", 16, &[1]),
            ("nsfeat: thin", 24, &[1]),
            ("dlfeat: zeroes, write zeroes deallocates", 33, &[1 | 1 << 3]),
            ("mssrl", 74, &[0, 1]),
            ("mcl", 76, &[0, 4]),
            ("msrc", 80, &[127]),
            ("nsattr: write protected", 99, &[1]),
            ("endgid", 102, &[3]),
            ("nguid", 104, &[7; 16]),
            ("lbaf[0].ds", 130, &[12]),
        ],
    );
    check(&identify::in_general(true), &[("nsattr", 8, &[1]), ("nstat: ready", 14, &[1])]);
    let page = identify::zoned(&ZONED, 512);
    check(
        &page,
        &[
            ("ozcs: across borders, windows", 2, &[3]),
            ("mar", 4, &[4]),
            ("mor", 8, &[3]),
            ("numzrwa", 44, &[1]),
            ("zrwafg", 48, &[128]),
            ("zrwasz", 50, &[0, 2]),
            ("zrwacap: explicit", 52, &[1]),
            ("lbafe[0].zsze", 2816, &[0, 32]),
        ],
    );
    check(&identify::zoned_limits(ZONED.append), &[("zasl: 4 KiB << 6", 0, &[6])]);
    check(&identify::zoned_limits(1 << 20), &[]);
    check(&identify::command_sets(true), &[("one of blocks and zones", 0, &[1 | 1 << 2])]);
    let descriptors = identify::descriptors(&[7; 16], 2);
    let ids: &[u8] = &[7; 16];
    for (at, kind, bytes) in [(0, 2, ids), (20, 3, ids), (40, 4, &[2])] {
        assert_eq!(descriptors[at..at + 4], [kind, bytes.len() as u8, 0, 0]);
        assert_eq!(&descriptors[at + 4..at + 4 + bytes.len()], bytes);
    }
}

#[test]
fn changed_zones_are_told_as_the_standard_has_it() {
    // Type notice, zone descriptor changed, log page.
    assert_eq!(controller::ALTERED_EVENT, 0x00bf_ef02);
    assert_eq!(controller::ALTERED_BIT, 1 << 27);
    let page = logs::changed_zones(Some(&[5, 0x300]));
    check(&page, &[("nrzid", 0, &[2]), ("zid[0]", 8, &[5]), ("zid[1]", 16, &[0, 3])]);
    check(&logs::changed_zones(None), &[("nrzid: too many", 0, &[0xff, 0xff])]);
    check(&logs::changed_zones(Some(&[1; 512])), &[("nrzid: too many", 0, &[0xff, 0xff])]);
    assert_eq!(logs::changed_zones(Some(&[1; 511]))[..2], [0xff, 1]);
}

#[test]
fn a_report_of_zones_is_as_the_standard_has_it() {
    let states = [
        (ZoneState::Empty, 0x10),
        (ZoneState::Implicit, 0x20),
        (ZoneState::Explicit, 0x30),
        (ZoneState::Closed, 0x40),
        (ZoneState::Full, 0xe0),
        (ZoneState::ReadOnly, 0xd0),
        (ZoneState::Offline, 0xf0),
    ];
    for (number, (state, code)) in states.into_iter().enumerate() {
        let zone = ZoneSeen {
            state,
            begins: 4 << 20,
            capacity: 3 << 20,
            pointer: (4 << 20) + 512,
            has_window: true,
            window_end: 0,
            finished_by_controller: true,
        };
        let list = ZoneList { count: 9, zones: vec![zone] };
        let page = zones::page(&list, false, (0, 512));
        let has_pointer = number < 4;
        let pointer: &[u8] = if has_pointer { &[1, 0x20] } else { &[0xff; 8] };
        let pointer: &'static [u8] = pointer.to_vec().leak();
        check(
            &page,
            &[
                ("nr_zones", 0, &[9]),
                ("zt", 64, &[2]),
                ("zs", 65, vec![code].leak()),
                ("za: finished by controller, window", 66, &[1 | 1 << 3]),
                ("zcap", 72, &[0, 0x18]),
                ("zslba", 80, &[0, 0x20]),
                ("wp", 88, pointer),
            ],
        );
        assert_eq!(zones::page(&list, true, (0, 512))[0], 1);
    }
}

//! Requests of well-behaved and of malicious guests.

use super::*;
use proptest::prelude::*;
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, GuestAddress};

const MEMORY_BYTES: usize = 4 << 20;
const TABLE: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEAD: u64 = 0x10_000;
const DATA: u64 = 0x20_000;
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const EXPORT: Export = Export { bytes: 1 << 20, read_only: false };

/// Descriptor: address, length, flags, next.
type Piece = (u64, u32, u16, u16);

fn guest() -> GuestMemoryMmap {
    GuestMemoryMmap::from_ranges(&[(GuestAddress(0), MEMORY_BYTES)]).unwrap()
}

/// A chain that starts at the first descriptor.
fn chain<'a>(
    memory: &'a GuestMemoryMmap,
    pieces: &[Piece],
) -> Option<DescriptorChain<&'a GuestMemoryMmap>> {
    for (number, (address, length, flags, next)) in (0..).zip(pieces) {
        let mut words = address.to_le_bytes().to_vec();
        words.extend(length.to_le_bytes());
        words.extend(flags.to_le_bytes());
        words.extend(next.to_le_bytes());
        memory.write_slice(&words, GuestAddress(TABLE + 16 * number)).unwrap();
    }
    // One available entry: the first descriptor.
    memory.write_slice(&[0, 0, 1, 0, 0, 0], GuestAddress(AVAILABLE)).unwrap();
    let mut queue = Queue::new(QUEUE_SIZE).unwrap();
    queue.try_set_desc_table_address(GuestAddress(TABLE)).unwrap();
    queue.try_set_avail_ring_address(GuestAddress(AVAILABLE)).unwrap();
    queue.try_set_used_ring_address(GuestAddress(USED)).unwrap();
    queue.set_ready(true);
    queue.pop_descriptor_chain(memory)
}

fn head(memory: &GuestMemoryMmap, kind: u32, sector: u64) {
    let mut words = kind.to_le_bytes().to_vec();
    words.extend([0; 4]);
    words.extend(sector.to_le_bytes());
    memory.write_slice(&words, GuestAddress(HEAD)).unwrap();
}

/// Parses a request with one data buffer and a status.
fn request(
    memory: &GuestMemoryMmap,
    (kind, sector): (u32, u64),
    data: u32,
    flags: u16,
) -> Result<Task, u8> {
    head(memory, kind, sector);
    let pieces =
        [(HEAD, 16, NEXT, 1), (DATA, data, NEXT | flags, 2), (DATA + 0x20_0000, 1, WRITE, 0)];
    task(memory, chain(memory, &pieces).unwrap())
}

#[test]
fn each_request_is_what_the_driver_means() {
    let memory = guest();
    let ask = |wanted| Ok(Task::Ask(vec![wanted]));
    let read = request(&memory, (VIRTIO_BLK_T_IN, 3), 1024, WRITE);
    assert_eq!(read, ask(Wanted::new(Command::Read, 1536, 1024)));
    memory.write_slice(&[7; 512], GuestAddress(DATA)).unwrap();
    let write = request(&memory, (VIRTIO_BLK_T_OUT, 1), 512, 0);
    assert_eq!(write, ask(Wanted::write(512, vec![7; 512])));
    assert_eq!(
        request(&memory, (VIRTIO_BLK_T_FLUSH, 0), 0, 0),
        ask(Wanted::new(Command::Flush, 0, 0))
    );
    assert_eq!(request(&memory, (VIRTIO_BLK_T_GET_ID, 0), 20, WRITE), Ok(Task::Name));
    for (kind, flags, command) in [
        (VIRTIO_BLK_T_DISCARD, 0, Command::Trim),
        (VIRTIO_BLK_T_WRITE_ZEROES, 0, Command::WriteZeroes { keep: true }),
        (VIRTIO_BLK_T_WRITE_ZEROES, 1, Command::WriteZeroes { keep: false }),
    ] {
        let mut ranges = Vec::new();
        for sector in [8u64, 100] {
            ranges.extend(sector.to_le_bytes());
            ranges.extend([16u32, flags].map(u32::to_le_bytes).concat());
        }
        memory.write_slice(&ranges, GuestAddress(DATA)).unwrap();
        let expected = [8, 100].map(|it| Wanted::new(command, it * 512, 8192)).to_vec();
        assert_eq!(request(&memory, (kind, 0), 32, 0), Ok(Task::Ask(expected)));
    }
}

#[test]
fn malformed_requests_are_answered_by_an_error() {
    let memory = guest();
    for (kind, sector, data, flags, status) in [
        // Invalid: no sectors, out of range, no buffer, above the limit.
        (VIRTIO_BLK_T_IN, 0, 100, WRITE, FAILED),
        (VIRTIO_BLK_T_IN, u64::MAX, 512, WRITE, FAILED),
        (VIRTIO_BLK_T_OUT, 0, 511, 0, FAILED),
        (VIRTIO_BLK_T_OUT, 0, 64 << 20, 0, FAILED),
        (VIRTIO_BLK_T_DISCARD, 0, 15, 0, FAILED),
        (VIRTIO_BLK_T_DISCARD, 0, 0, 0, FAILED),
        (VIRTIO_BLK_T_DISCARD, 0, 16 * 17, 0, FAILED),
        (77, 0, 512, 0, UNSUPPORTED),
    ] {
        let found = request(&memory, (kind, sector), data, flags);
        assert_eq!(found, Err(status), "{kind} {sector} {data}");
    }
    // Discards have no flags, and a range must not overflow.
    memory.write_slice(&[1; 16], GuestAddress(DATA)).unwrap();
    assert_eq!(request(&memory, (VIRTIO_BLK_T_DISCARD, 0), 16, 0), Err(UNSUPPORTED));
    memory.write_slice(&[0, 0, 0, 0], GuestAddress(DATA + 12)).unwrap();
    assert_eq!(request(&memory, (VIRTIO_BLK_T_DISCARD, 0), 16, 0), Err(FAILED));
    // No status byte, and a header that is too short.
    let bare = chain(&memory, &[(HEAD, 16, 0, 0)]).unwrap();
    assert_eq!(task(&memory, bare.clone()), Err(FAILED));
    assert_eq!(answer(&memory, bare, Err(FAILED)), 0);
    let short = chain(&memory, &[(HEAD, 15, NEXT, 1), (DATA, 1, WRITE, 0)]).unwrap();
    assert_eq!(task(&memory, short.clone()), Err(FAILED));
    assert_eq!(answer(&memory, short, Err(FAILED)), 1);
    // A buffer outside guest memory, and an endless chain.
    let outside =
        [(HEAD, 16, NEXT, 1), (u64::MAX - 100, 512, NEXT | WRITE, 2), (DATA, 1, WRITE, 0)];
    assert_eq!(task(&memory, chain(&memory, &outside).unwrap()), Err(FAILED));
    let circle = chain(&memory, &[(HEAD, 16, NEXT, 1), (DATA, 512, NEXT | WRITE, 0)]).unwrap();
    assert_eq!(task(&memory, circle.clone()), Err(FAILED));
    assert!(answer(&memory, circle, Ok(&[1; 512])) <= 513);
}

#[test]
fn an_answer_ends_with_its_status() {
    let memory = guest();
    let pieces =
        [(HEAD, 16, NEXT, 1), (DATA, 700, NEXT | WRITE, 2), (DATA + 0x1000, 325, WRITE, 0)];
    let status = GuestAddress(DATA + 0x1000 + 324);
    let found = answer(&memory, chain(&memory, &pieces).unwrap(), Ok(&[9; 1024]));
    assert_eq!((found, memory.read_obj::<u8>(status).unwrap()), (1025, DONE));
    assert_eq!(memory.read_obj::<u8>(GuestAddress(DATA + 699)).unwrap(), 9);
    assert_eq!(memory.read_obj::<u8>(GuestAddress(DATA + 700)).unwrap(), 0);
    assert_eq!(answer(&memory, chain(&memory, &pieces).unwrap(), Err(UNSUPPORTED)), 1);
    assert_eq!(memory.read_obj::<u8>(status).unwrap(), UNSUPPORTED);
    // The guest has shrunk the buffer since.
    let found = answer(&memory, chain(&memory, &pieces).unwrap(), Ok(&[9; 1025]));
    assert_eq!((found, memory.read_obj::<u8>(status).unwrap()), (1, FAILED));
}

#[test]
fn the_driver_reads_what_the_disk_is() {
    let all = config(EXPORT, 0, 60);
    assert_eq!(all.len(), 60);
    assert_eq!((le64(&all), le32(&all[12..]), le32(&all[20..])), (2048, SEGMENTS, 512));
    assert_eq!((all[34], le32(&all[36..]), all[56]), (16, RANGE_SECTORS, 1));
    assert_eq!(config(EXPORT, 20, 4), 512u32.to_le_bytes());
    assert_eq!(config(EXPORT, 56, 100)[..2], [1, 0]);
    assert_eq!(config(EXPORT, 4000, 96), [0; 96]);
    let fixed = Export { read_only: true, ..EXPORT };
    assert_eq!(features(EXPORT) & 1 << VIRTIO_BLK_F_RO, 0);
    assert_ne!(features(fixed) & 1 << VIRTIO_BLK_F_RO, 0);
    assert_eq!(features(fixed) & 1 << VIRTIO_BLK_F_DISCARD, 0);
}

fn any_piece() -> impl Strategy<Value = Piece> {
    let address = prop_oneof![
        Just(HEAD),
        0..MEMORY_BYTES as u64,
        Just(MEMORY_BYTES as u64 - 1),
        any::<u64>(),
    ];
    let length = prop_oneof![Just(16u32), Just(512), Just(1), 0..5000u32, any::<u32>()];
    let flags =
        prop_oneof![Just(NEXT), Just(NEXT | WRITE), Just(WRITE), Just(INDIRECT), any::<u16>()];
    (address, length, flags, prop_oneof![0..8u16, any::<u16>()])
}

proptest! {
    #[test]
    fn a_guest_may_write_what_it_likes(
        pieces in prop::collection::vec(any_piece(), 1..8),
        kind in prop_oneof![0..14u32, any::<u32>()],
        sector in prop_oneof![0..4096u64, any::<u64>()],
        noise in prop::collection::vec(any::<u8>(), 256),
        answered in 0usize..3000,
    ) {
        let memory = guest();
        memory.write_slice(&noise, GuestAddress(DATA)).unwrap();
        head(&memory, kind, sector);
        if let Some(chain) = chain(&memory, &pieces) {
            if let Ok(Task::Ask(wanted)) = task(&memory, chain.clone()) {
                prop_assert!(!wanted.is_empty() && wanted.len() <= RANGES as usize);
                let bytes: usize = wanted.iter().map(|it| it.data.len()).sum();
                prop_assert!(bytes <= MOST_DATA_BYTES as usize);
            }
            let written = answer(&memory, chain.clone(), Ok(&vec![1; answered]));
            prop_assert!(written as usize <= answered + 1);
            answer(&memory, chain, Err(FAILED));
        }
    }
}

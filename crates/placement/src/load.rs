//! Writes and trims of a trace, eight bytes each, on touched pages only.

use std::collections::BTreeMap;
use std::fmt;

/// Page size in bytes, the unit of placement.
pub const PAGE_BYTES: u64 = 4096;
/// Pages per chunk of the address space; a chunk has a bitmap of touched pages.
const CHUNK: u64 = 1 << 15;
const WORDS: usize = (CHUNK / 64) as usize;
/// Bits of a page address, and bits of a page count.
const ADDRESS_BITS: u32 = 40;
const COUNT_BITS: u32 = 16;
const MOST_PAGES: u64 = (1 << COUNT_BITS) - 1;
/// Bits of the address within one device of a trace.
const DEVICE_BITS: u32 = 34;
/// Maximum number of devices.
const DEVICES: usize = 1 << (ADDRESS_BITS - DEVICE_BITS);

/// Requests that a load cannot contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadError {
    /// A request at or beyond 64 TiB.
    Beyond,
    /// More than 64 devices.
    Devices,
    /// No writes.
    NoWrites,
    /// A handle above 62.
    Handle(u8),
    /// 2^32 - 1 or more touched or written pages.
    TooMany,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Beyond => {
                f.write_str("a request lies beyond 64 TiB, more than is supported")
            }
            LoadError::Devices => {
                write!(f, "it has more than {DEVICES} devices: choose some with --devices")
            }
            LoadError::Handle(handle) => {
                write!(
                    f,
                    "a request names placement handle {handle}; at most {LARGEST_HANDLE} is supported"
                )
            }
            LoadError::NoWrites => f.write_str("no request writes: there is nothing to place"),
            LoadError::TooMany => f.write_str(
                "it touches or writes 2^32 pages of 4 KiB or more; select a part with --requests",
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// A write or trim of consecutive pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// First page, as a rank among the touched pages.
    pub first: u32,
    /// Number of pages.
    pub pages: u32,
    /// True for a trim.
    pub is_trim: bool,
    /// True for a write forced to the medium.
    pub fua: bool,
    /// Handle in the trace, if any.
    pub handle: Option<u8>,
}

/// A request in 64 bits: 40 of address, 16 of length, and flags.
#[derive(Debug, Clone, Copy)]
struct Packed(u64);

const TRIM: u64 = 1 << 56;
const FUA: u64 = 1 << 57;
/// Bit position of the handle plus one, and its maximum.
const HANDLE_BIT: u32 = 58;
const LARGEST_HANDLE: u8 = 62;

impl Packed {
    fn new(address: u64, pages: u64, flags: u64) -> Packed {
        Packed(address | pages << ADDRESS_BITS | flags)
    }

    fn address(self) -> u64 {
        self.0 & ((1 << ADDRESS_BITS) - 1)
    }

    fn pages(self) -> u64 {
        self.0 >> ADDRESS_BITS & MOST_PAGES
    }
}

/// Builds a load from a trace's requests, in order.
#[derive(Debug, Default)]
pub struct Builder {
    writes: Vec<Packed>,
    touched: BTreeMap<u64, Box<[u64; WORDS]>>,
    written: u64,
    bytes: u64,
    /// Bitmap of written devices, and the numbers of all devices in the trace.
    devices: u64,
    numbers: Vec<u32>,
}

impl Builder {
    /// Adds a read, which only touches pages.
    ///
    /// # Errors
    /// When the address is beyond the limit.
    pub fn read(&mut self, device: u32, offset: u64, bytes: u64) -> Result<(), LoadError> {
        let (first, pages) = self.pages(device, offset, bytes)?;
        self.touch(first, pages);
        Ok(())
    }

    /// Adds a write or trim.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(
        &mut self,
        device: u32,
        (offset, bytes): (u64, u64),
        (is_trim, fua): (bool, bool),
    ) -> Result<(), LoadError> {
        self.write_with(device, (offset, bytes), (is_trim, fua), None)
    }

    /// Adds a write with the handle in the trace.
    ///
    /// # Errors
    /// As [`read`](Self::read), and for a handle above the limit.
    pub fn write_with(
        &mut self,
        device: u32,
        (offset, bytes): (u64, u64),
        (is_trim, fua): (bool, bool),
        handle: Option<u8>,
    ) -> Result<(), LoadError> {
        if let Some(large) = handle.filter(|it| *it > LARGEST_HANDLE) {
            return Err(LoadError::Handle(large));
        }
        let (mut first, mut pages) = self.pages(device, offset, bytes)?;
        if is_trim {
            // Partly trimmed pages stay valid.
            let end = (offset + bytes) / PAGE_BYTES;
            let begin = offset.div_ceil(PAGE_BYTES);
            if end <= begin {
                return Ok(());
            }
            first += begin - offset / PAGE_BYTES;
            pages = end - begin;
        } else {
            self.written += pages;
            self.bytes += bytes;
            self.devices |= 1 << (first >> DEVICE_BITS);
            self.touch(first, pages);
        }
        let named = handle.map_or(0, |it| u64::from(it) + 1);
        let flags =
            if is_trim { TRIM } else { 0 } | if fua { FUA } else { 0 } | named << HANDLE_BIT;
        while pages > 0 {
            let part = pages.min(MOST_PAGES);
            self.writes.push(Packed::new(first, part, flags));
            first += part;
            pages -= part;
        }
        Ok(())
    }

    /// Address of a request's first page, including the device; and number of pages.
    fn pages(&mut self, device: u32, offset: u64, bytes: u64) -> Result<(u64, u64), LoadError> {
        let end = offset.checked_add(bytes).ok_or(LoadError::Beyond)?.div_ceil(PAGE_BYTES);
        if end >= 1 << DEVICE_BITS {
            return Err(LoadError::Beyond);
        }
        let place = self.numbers.iter().position(|it| *it == device).unwrap_or_else(|| {
            self.numbers.push(device);
            self.numbers.len() - 1
        });
        if place >= DEVICES {
            return Err(LoadError::Devices);
        }
        let first = offset / PAGE_BYTES;
        Ok(((place as u64) << DEVICE_BITS | first, end - first))
    }

    fn touch(&mut self, first: u64, pages: u64) {
        let mut page = first;
        let end = first + pages;
        while page < end {
            let chunk = page / CHUNK;
            let bits = self.touched.entry(chunk).or_insert_with(|| Box::new([0; WORDS]));
            let last = end.min((chunk + 1) * CHUNK);
            for page in page..last {
                bits[(page % CHUNK / 64) as usize] |= 1 << (page % 64);
            }
            page = last;
        }
    }

    /// Finishes the load; addresses become ranks among touched pages.
    ///
    /// # Errors
    /// For a load without writes, or beyond the limits.
    pub fn finish(mut self) -> Result<Load, LoadError> {
        if self.written == 0 {
            return Err(LoadError::NoWrites);
        }
        let mut pages = 0u64;
        let places = std::mem::take(&mut self.touched).into_iter().map(|(number, bits)| {
            let chunk = Chunk::new(number, pages, bits);
            pages += chunk.pages();
            chunk
        });
        let touched: Vec<Chunk> = places.collect();
        if pages >= u64::from(u32::MAX) || self.written >= u64::from(u32::MAX) {
            return Err(LoadError::TooMany);
        }
        let mut last = 0;
        for write in &mut self.writes {
            let begin = place_of(&touched, &mut last, write.address());
            let end = match write.0 & TRIM {
                0 => begin + write.pages(),
                // Trimmed pages that are never read or written hold no data.
                _ => place_of(&touched, &mut last, write.address() + write.pages()),
            };
            *write = Packed::new(
                begin,
                end - begin,
                write.0 & !((1 << (ADDRESS_BITS + COUNT_BITS)) - 1),
            );
        }
        Ok(Load {
            writes: self.writes,
            pages: pages as u32,
            written: self.written as u32,
            bytes: self.bytes,
            devices: self.devices.count_ones(),
            numbers: self.numbers,
            touched,
        })
    }
}

/// Rank of an address: the number of touched pages before it. `last` caches the chunk found last.
fn place_of(touched: &[Chunk], last: &mut usize, address: u64) -> u64 {
    let number = address / CHUNK;
    if touched.get(*last).is_none_or(|chunk| chunk.number != number) {
        *last = touched.partition_point(|chunk| chunk.number < number);
    }
    match touched.get(*last) {
        Some(chunk) if chunk.number == number => chunk.place_of(address % CHUNK),
        Some(chunk) => chunk.first,
        None => touched.last().map_or(0, |chunk| chunk.first + chunk.pages()),
    }
}

/// A chunk of the address space: bitmap of touched pages, and rank at each word of the bitmap.
#[derive(Debug)]
struct Chunk {
    number: u64,
    /// Rank of the chunk's first touched page.
    first: u64,
    bits: Box<[u64; WORDS]>,
    before: Box<[u16; WORDS]>,
}

impl Chunk {
    fn new(number: u64, first: u64, bits: Box<[u64; WORDS]>) -> Chunk {
        let mut before = Box::new([0; WORDS]);
        let mut sum = 0;
        for (word, before) in bits.iter().zip(before.iter_mut()) {
            *before = sum;
            sum += word.count_ones() as u16;
        }
        Chunk { number, first, bits, before }
    }

    fn pages(&self) -> u64 {
        u64::from(self.before[WORDS - 1]) + u64::from(self.bits[WORDS - 1].count_ones())
    }

    fn place_of(&self, within: u64) -> u64 {
        let word = (within / 64) as usize;
        let part = self.bits[word] & ((1 << (within % 64)) - 1);
        self.first + u64::from(self.before[word]) + u64::from(part.count_ones())
    }
}

/// Writes and trims of a trace.
#[derive(Debug)]
pub struct Load {
    writes: Vec<Packed>,
    /// Number of touched pages.
    pub pages: u32,
    /// Pages written per pass.
    pub written: u32,
    /// Bytes written per pass.
    pub bytes: u64,
    /// Number of written devices.
    pub devices: u32,
    /// Device numbers in the trace, by rank.
    pub numbers: Vec<u32>,
    touched: Vec<Chunk>,
}

impl Load {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Always false: a load has at least one request.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Request by index.
    #[inline]
    pub fn get(&self, at: usize) -> Write {
        let packed = self.writes[at];
        Write {
            first: packed.address() as u32,
            pages: packed.pages() as u32,
            is_trim: packed.0 & TRIM != 0,
            fua: packed.0 & FUA != 0,
            handle: (packed.0 >> HANDLE_BIT).checked_sub(1).map(|it| it as u8),
        }
    }

    /// All requests in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Write> + ExactSizeIterator + '_ {
        (0..self.writes.len()).map(|at| self.get(at))
    }

    /// True if pages are written in passes, at least two, in an order other than by address. Each
    /// pass writes every page once before any is rewritten, as fio does without `norandommap`.
    pub fn is_permutation(&self) -> bool {
        if self.repeats_early() {
            return false;
        }
        let mut times = vec![0u32; self.pages as usize];
        let (mut written, mut jumps, mut requests, mut last) = (0u64, 0u64, 0u64, u32::MAX);
        for write in self.iter().filter(|write| !write.is_trim) {
            requests += 1;
            jumps += u64::from(write.first != last);
            last = write.first + write.pages;
            for page in write.first..last {
                times[page as usize] += 1;
                written += 1;
            }
        }
        let most = times.iter().copied().max().unwrap_or(0);
        let distinct = times.iter().filter(|it| **it > 0).count() as u64;
        // All pages are written equally often, except in the current pass.
        let least = times.iter().copied().filter(|it| *it > 0).min().unwrap_or(0);
        if most < 2 || most > least + 1 || 2 * jumps < requests {
            return false;
        }
        // And in this order: no write of a pass precedes the end of the previous one.
        times.fill(0);
        let mut now = 0;
        let writes = self.iter().filter(|write| !write.is_trim);
        let early =
            writes.flat_map(|write| write.first..write.first + write.pages).filter(|page| {
                let own = &mut times[*page as usize];
                let early = u64::from(*own) > now / distinct;
                *own += 1;
                now += 1;
                early
            });
        early.count() as u64 * 100 <= written
    }

    /// True if pages are rewritten before half of all pages are written; most loads show this soon.
    fn repeats_early(&self) -> bool {
        let mut is_written = vec![false; self.pages as usize];
        let (mut repeats, mut written) = (0u64, 0u64);
        for write in self.iter().filter(|write| !write.is_trim) {
            for page in write.first..write.first + write.pages {
                written += 1;
                repeats += u64::from(std::mem::replace(&mut is_written[page as usize], true));
            }
            if 100 * repeats > written + 10_000 {
                return true;
            }
            if 2 * written > u64::from(self.pages) {
                break;
            }
        }
        false
    }

    fn chunk_of(&self, place: u32) -> &Chunk {
        let behind = self.touched.partition_point(|chunk| chunk.first <= u64::from(place));
        &self.touched[behind - 1]
    }

    /// Device and byte offset of a touched page.
    pub fn address(&self, place: u32) -> (u32, u64) {
        let chunk = self.chunk_of(place);
        let left = u64::from(place) - chunk.first;
        let word = chunk.before.partition_point(|before| u64::from(*before) <= left) - 1;
        let nth = left - u64::from(chunk.before[word]);
        let bits = chunk.bits[word];
        let bit = (0..64).filter(|bit| bits >> bit & 1 == 1).nth(nth as usize).unwrap_or(0);
        let page = chunk.number * CHUNK + word as u64 * 64 + bit;
        let within = page & ((1 << DEVICE_BITS) - 1);
        (self.numbers[(page >> DEVICE_BITS) as usize], within * PAGE_BYTES)
    }

    /// Index of a touched page's device in `numbers`.
    pub fn device(&self, place: u32) -> u32 {
        ((self.chunk_of(place).number * CHUNK) >> DEVICE_BITS) as u32
    }
}

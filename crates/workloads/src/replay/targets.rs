//! Targets of a trace's requests on the device: volume, address in the volume, and splitting.

use super::keys::Trace;
use super::moves::{LoopPlaces, Moves};
use super::placement::{Beyond, Dense, FixedPlace, Misplaced, chunk};
use super::selection::{Combine, Spans};
use crate::kind::Context;
use crate::record::Record;
use crate::units::PAGE_SECTORS;
use engine::SECTOR_BYTES;
use options::Invalid;
use std::collections::BTreeMap;

/// Mapping of all requests.
pub(super) struct Targets {
    /// The volumes of the device that are in use.
    volumes: Vec<Target>,
    volume_sectors: u64,
    /// Start of each device, unless all start at the first volume.
    places: BTreeMap<u32, Place>,
    align_shift: u64,
    /// Address shift of this repetition, if repetitions are shifted.
    moves: Option<Moves>,
    beyond: Beyond,
    /// True if the trace's spans are known.
    is_surveyed: bool,
    /// The pieces of the last request, if it was split.
    pieces: Vec<(u64, u32)>,
    shifted: u64,
    misaligned: u64,
    moved: u64,
    split: u64,
}

/// Address mapping of a volume.
enum Target {
    Fixed(FixedPlace),
    Dense(Dense, u64),
}

impl Target {
    fn capacity(&self) -> u64 {
        match *self {
            Target::Dense(_, capacity)
            | Target::Fixed(
                FixedPlace::Refuse { capacity }
                | FixedPlace::Wrap { capacity }
                | FixedPlace::Shrink { capacity, .. },
            ) => capacity,
        }
    }
}

/// Start of a traced device.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    volume: usize,
    sector: u64,
}

impl Targets {
    /// Targets on the device of `context`; `spans` are given if the keys need them.
    ///
    /// # Errors
    /// When the trace has more devices than the device has volumes, and each needs its own.
    pub(super) fn new(
        options: &Trace,
        context: &Context,
        spans: Option<&Spans>,
    ) -> Result<Self, Invalid> {
        let (volumes, places) = places(options, context, spans)?;
        let span = own_span(options, spans);
        let moves = || Moves::new(span, context.pass.wrapping_mul(options.loops));
        Ok(Targets {
            moves: (options.loop_places == LoopPlaces::Moved).then(moves),
            volumes,
            volume_sectors: context.capacity_sectors / u64::from(context.volumes),
            places,
            align_shift: options.align_shift,
            beyond: options.beyond,
            is_surveyed: spans.is_some(),
            pieces: Vec::new(),
            shifted: 0,
            misaligned: 0,
            moved: 0,
            split: 0,
        })
    }

    /// Begins the next repetition.
    pub(super) fn repeat(&mut self) {
        if let Some(moves) = &mut self.moves {
            moves.repeat();
        }
    }

    /// The pieces of the last request, as first sector and length, if it was split.
    pub(super) fn pieces(&self) -> &[(u64, u32)] {
        &self.pieces
    }

    /// Determines the destination of a request: its first sector, or `None` if it was split into
    /// [`Targets::pieces`].
    #[inline]
    pub(super) fn place(&mut self, record: &Record) -> Result<Option<u64>, Misplaced> {
        let start = if self.places.is_empty() {
            Place::default()
        } else {
            self.places.get(&record.device).copied().unwrap_or_default()
        };
        let moved = start.sector.checked_add(self.align_shift);
        let sector = moved.and_then(|by| record.sector.checked_add(by));
        let sector = sector.ok_or(Misplaced::Beyond)?;
        let sector = self.moves.as_ref().map_or(sector, |it| it.place(sector, record.sectors));
        self.shifted += u64::from(self.align_shift > 0);
        let misaligned = !(sector | u64::from(record.sectors)).is_multiple_of(PAGE_SECTORS);
        self.misaligned += u64::from(misaligned);
        let volume = start.volume as u64 * self.volume_sectors;
        match &mut self.volumes[start.volume] {
            Target::Fixed(placement) => {
                let place = placement.place(sector, record.sectors)?;
                let everything = matches!(placement, FixedPlace::Shrink { .. });
                self.moved += u64::from(everything || place != sector);
                Ok(Some(place + volume))
            }
            Target::Dense(dense, _) => {
                self.pieces.clear();
                dense.place(sector, record.sectors, &mut self.pieces)?;
                self.moved += u64::from(self.pieces[0].0 != sector);
                self.split += u64::from(self.pieces.len() > 1);
                self.pieces.iter_mut().for_each(|(place, _)| *place += volume);
                Ok(None)
            }
        }
    }

    /// Explains a misplaced request in a sentence.
    #[cold]
    pub(super) fn explain(&self, misplaced: Misplaced, record: &Record) -> String {
        // All volumes have equal capacity.
        let capacity = self.volumes[0].capacity();
        let what = if self.volumes.len() > 1 { "volume" } else { "device" };
        let device = format!(
            "the {what}'s {capacity} sectors ({:.2} GiB)",
            capacity as f64 * SECTOR_BYTES as f64 / f64::from(1 << 30)
        );
        let Record { sector, sectors, .. } = *record;
        match misplaced {
            Misplaced::Beyond => format!(
                "the request of {sectors} sectors from sector {sector} ends beyond {device}; {}",
                if self.beyond == Beyond::Span && !self.is_surveyed {
                    "what is read only once is not looked through first: give a file, and its addresses are \
                     scaled to the device"
                } else {
                    "workload.beyond = \"span\" scales its addresses to the device, \"wrap\" takes them modulo \
                     the capacity, \"dense\" renumbers the pages touched"
                }
            ),
            Misplaced::TooLarge => format!("the request of {sectors} sectors exceeds {device}"),
            Misplaced::Full => format!(
                "the pages touched up to here are more than {device} hold; workload.beyond = \
                 \"wrap\" takes addresses modulo the capacity, \"scale\" shrinks them to it"
            ),
        }
    }

    /// Name of the address mapping, and for scaled ones the bytes of a chunk.
    pub(super) fn mapping(&self) -> (&'static str, Option<u64>) {
        match self.volumes[0] {
            Target::Fixed(FixedPlace::Shrink { capacity, .. }) => {
                ("scaled", Some(chunk(capacity) * SECTOR_BYTES))
            }
            Target::Fixed(FixedPlace::Wrap { .. }) => ("wrapped", None),
            Target::Fixed(FixedPlace::Refuse { .. }) => ("recorded", None),
            Target::Dense(..) => ("dense", None),
        }
    }

    /// Number of relocated requests, by reason.
    pub(super) fn notices(&self) -> [(&'static str, u64); 4] {
        let moved = match self.volumes[0] {
            // Results report the default mapping separately.
            Target::Fixed(FixedPlace::Shrink { .. }) if self.beyond == Beyond::Span => "",
            Target::Fixed(FixedPlace::Shrink { .. }) => "scaled_requests",
            Target::Fixed(FixedPlace::Refuse { .. } | FixedPlace::Wrap { .. }) => {
                "wrapped_requests"
            }
            Target::Dense(..) => "compacted_requests",
        };
        [
            ("shifted_requests", self.shifted),
            ("misaligned_requests", self.misaligned),
            (moved, if moved.is_empty() { 0 } else { self.moved }),
            ("split_requests", self.split),
        ]
    }
}

/// The volumes, and the start of each traced device.
fn places(
    options: &Trace,
    context: &Context,
    spans: Option<&Spans>,
) -> Result<(Vec<Target>, BTreeMap<u32, Place>), Invalid> {
    let mut capacity = context.capacity_sectors;
    let mut volumes = 1;
    let (span, places) = match (spans, options.combine) {
        (Some(spans), Combine::Concatenate) => {
            let (span, starts) = spans.concatenated(PAGE_SECTORS);
            let place = |(device, sector)| (device, Place { volume: 0, sector });
            (span, starts.into_iter().map(place).collect())
        }
        (Some(spans), Combine::Separate) => {
            let devices = spans.devices();
            volumes = devices.len().max(1);
            capacity /= u64::from(context.volumes);
            if volumes > context.volumes as usize {
                return Err(too_few_volumes(volumes, context.volumes));
            }
            let place = |(volume, device)| (device, Place { volume, sector: 0 });
            (spans.largest(), devices.enumerate().map(place).collect())
        }
        (Some(spans), Combine::Overlay) => (spans.largest(), BTreeMap::new()),
        (None, _) => (0, BTreeMap::new()),
    };
    let mut span = span.saturating_add(options.align_shift);
    if options.beyond == Beyond::Span {
        // The span applies to the full-size device, of which this is a part.
        span = span.max(capacity.saturating_mul(u64::from(context.scale)));
    }
    let target = || match options.beyond {
        Beyond::Wrap => Target::Fixed(FixedPlace::Wrap { capacity }),
        Beyond::Span | Beyond::Scale if span > capacity => {
            Target::Fixed(FixedPlace::Shrink { capacity, span })
        }
        Beyond::Span | Beyond::Error | Beyond::Scale => {
            Target::Fixed(FixedPlace::Refuse { capacity })
        }
        Beyond::Dense => Target::Dense(Dense::new(capacity), capacity),
    };
    Ok(((0..volumes).map(|_| target()).collect(), places))
}

/// The end of all requests in a volume, sectors.
fn own_span(options: &Trace, spans: Option<&Spans>) -> u64 {
    let of = |spans: &Spans| match options.combine {
        Combine::Concatenate => spans.concatenated(PAGE_SECTORS).0,
        Combine::Separate | Combine::Overlay => spans.largest(),
    };
    spans.map_or(0, of).saturating_add(options.align_shift)
}

#[cold]
fn too_few_volumes(devices: usize, volumes: u32) -> Invalid {
    let has = match volumes {
        1 => "the device is one piece".to_owned(),
        _ => format!("the device has {volumes} volumes"),
    };
    let problem = format!(
        "the trace has {devices} devices and {has}; each needs a volume of its own, which an array \
         (device.kind = \"array\") of at least {devices} members with device.layout = \
         \"concatenated\" has"
    );
    Invalid::new(&["workload.combine", "device.layout", "device.members"], problem)
}

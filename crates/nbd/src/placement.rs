//! Placement handles of a device, as a drive reports them to its host.

/// Placement handles of a drive. Sizes are bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// All handles, ordered by reclaim group.
    pub handles: Vec<PlacementHandle>,
    /// Encoding of placements in writes.
    pub naming: Naming,
    /// Size of a reclaim unit.
    pub unit_bytes: u64,
    /// Maximum open time of a reclaim unit, s; 0 for no limit.
    pub limit_seconds: u32,
    /// Bytes written by the host.
    pub host_bytes: u64,
    /// Bytes programmed, including garbage collection.
    pub media_bytes: u64,
    /// Bytes erased.
    pub erased_bytes: u64,
    /// Latest events caused by the host, oldest first.
    pub hosts_events: Vec<PlacementEvent>,
    /// Latest events caused by the drive itself.
    pub own_events: Vec<PlacementEvent>,
}

/// Encoding of a write's placement: a handle in a reclaim group.
///
/// Internally a placement's number is group x handles + handle. An `NVMe` placement identifier has
/// the group in its upper bits, as many as the number of groups needs.
/// group in its upper bits, as many as the number of groups takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// Handles per reclaim group.
    pub handles: u32,
    /// Number of reclaim groups.
    pub groups: u32,
}

impl Default for Naming {
    fn default() -> Naming {
        Naming { handles: 0, groups: 1 }
    }
}

impl Naming {
    /// Number of placements.
    pub fn count(self) -> usize {
        self.handles as usize * self.groups as usize
    }

    /// Bits of an identifier for the group (RGIF).
    pub fn bits_of_group(self) -> u32 {
        self.groups.next_power_of_two().trailing_zeros()
    }

    /// Group and handle of a placement.
    pub fn parts(self, placement: u32) -> (u32, u32) {
        let handles = self.handles.max(1);
        (placement / handles, placement % handles)
    }

    /// Placement identifier.
    pub fn identifier(self, placement: u32) -> u16 {
        let (group, handle) = self.parts(placement);
        (group << (u16::BITS - self.bits_of_group()) | handle) as u16
    }

    /// Placement of an identifier, if valid.
    pub fn placement(self, identifier: u16) -> Option<u32> {
        let below = u16::BITS - self.bits_of_group();
        let (group, handle) =
            (u32::from(identifier) >> below, u32::from(identifier) & ((1 << below) - 1));
        (group < self.groups && handle < self.handles).then(|| group * self.handles + handle)
    }
}

/// A placement handle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementHandle {
    /// True if garbage collection keeps pages of the handle apart (persistently isolated).
    pub persistent: bool,
    /// Writable bytes left in its reclaim unit.
    pub left_bytes: u64,
    /// Remaining open time of that unit, s; 0 for no limit.
    pub left_seconds: u32,
}

/// An event of placement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacementEvent {
    /// Event type in the log page.
    pub code: u8,
    /// Handle concerned, if any.
    pub handle: Option<u8>,
    /// Handle named by the write.
    pub named: Option<u8>,
    /// First sector concerned, if known.
    pub sector: Option<u64>,
    /// Number of sectors.
    pub sectors: u32,
    /// Host bytes written before the event.
    pub after_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::Naming;

    #[test]
    fn identifiers_and_placements_are_inverse_to_each_other() {
        for (handles, groups) in [(1, 1), (3, 1), (64, 1), (3, 2), (8, 5), (64, 2), (1, 128)] {
            let naming = Naming { handles, groups };
            let named: Vec<u32> =
                (0..=u16::MAX).filter_map(|identifier| naming.placement(identifier)).collect();
            assert_eq!(named, (0..naming.count() as u32).collect::<Vec<_>>());
            let back = |it: &u32| naming.placement(naming.identifier(*it)) == Some(*it);
            assert!(named.iter().all(back), "{naming:?}");
        }
        let naming = Naming { handles: 8, groups: 5 };
        assert_eq!((naming.bits_of_group(), naming.identifier(11)), (3, 1 << 13 | 3));
    }
}

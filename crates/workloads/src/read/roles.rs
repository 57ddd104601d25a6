//! Roles of columns, and the column names that imply them.

/// Declares the roles of columns with their words and the usual column names, reduced to letters
/// and digits. "block" and "lba" are not among them, because their size is ambiguous.
macro_rules! roles {
    ($($role:ident = $word:literal: $names:literal;)*) => {
        /// Role of a column.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Role { $($role),* }

        impl Role {
            pub(crate) const ALL: [Role; 11] = [$(Role::$role),*];

            /// The word of the role.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Role::$role => $word),* }
            }

            fn names(self) -> &'static str {
                match self { $(Role::$role => $names),* }
            }
        }
    };
}

roles! {
    Time = "time": "time timestamp ts at arrival arrivaltime start starttime issuetime datetime date \
        begin atns arrivalns timens timeus timems times timestampns timestampus timestampms timestamps \
        tsns tsus tsms tss seconds";
    Op = "op": "op operation opcode optype iotype type rw rwbs direction cmd command action requesttype \
        readwrite readorwrite iswrite isread";
    Offset = "offset": "offset offsetbytes byteoffset offsetinbytes startoffset address addr position pos \
        sector sectornumber startsector firstsector offsetsectors";
    Size = "size": "size sizebytes length len lengthbytes bytes nbytes iosize requestsize sectors nrsectors \
        nsectors numsectors sectorcount sizesectors";
    Device = "device": "device deviceid dev disk diskid disknumber volume volumeid vol lun asu vm vmid \
        drive driveid devicename";
    Handle = "handle": "handle handles placementhandle ruhandle reclaimunithandle";
    Fua = "fua": "fua forceunitaccess isfua";
    End = "end": "end endns endus endms ends endtime timeend";
    Latency = "latency": "latency latencyns latencyus latencyms lat latns latus latms";
    Queued = "queued": "queued";
    Event = "event": "event";
}

impl Role {
    /// The role with this word.
    pub(crate) fn named(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == word)
    }

    /// True if a column of this name has the role.
    pub(crate) fn fits(self, name: &str) -> bool {
        let name = plain(name);
        self.names().split_ascii_whitespace().any(|known| known == name)
    }
}

/// Letters and digits of a column name.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

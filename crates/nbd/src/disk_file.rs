//! The device as the only file of a FUSE file system.
//!
//! It behaves like a disk: its size is fixed, and `O_TRUNC` has no effect. Reads and writes bypass
//! the page cache and run in parallel. Punching a hole is a trim; zeroing a range is a write that
//! keeps the range allocated.

use crate::local::{LocalClient, Reply, Wanted};
use crate::protocol::{Command, Refusal};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use rustix::fs::FallocateFlags;
use rustix::process::{getgid, getuid};
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FILE: INodeNo = INodeNo(2);
/// Cache time of the attributes in the kernel; they never change.
const FOR_LONG: Duration = Duration::from_secs(86_400);
/// Maximum data per kernel request, and maximum background requests.
const MOST_WRITE_BYTES: u32 = 1 << 20;
const MOST_IN_BACKGROUND: u16 = 512;
/// Maximum size of one piece of a hole.
const PIECE_BYTES: u64 = 1 << 30;

pub(crate) struct DiskFile {
    client: LocalClient,
    name: &'static str,
}

impl DiskFile {
    pub(crate) fn new(client: LocalClient, name: &'static str) -> Self {
        DiskFile { client, name }
    }

    fn bytes(&self) -> u64 {
        self.client.export().bytes
    }

    fn attributes(&self, of: INodeNo) -> Option<FileAttr> {
        let is_root = of == INodeNo::ROOT;
        if !is_root && of != FILE {
            return None;
        }
        let size = if is_root { 0 } else { self.bytes() };
        let perm = match (is_root, self.client.export().read_only) {
            (true, _) => 0o700,
            (false, true) => 0o400,
            (false, false) => 0o600,
        };
        Some(FileAttr {
            ino: of,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_root { FileType::Directory } else { FileType::RegularFile },
            perm,
            nlink: if is_root { 2 } else { 1 },
            uid: getuid().as_raw(),
            gid: getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Submits a long range in pieces, and replies after the last piece.
    fn forget(&self, command: Command, offset: u64, length: u64, reply: ReplyEmpty) {
        let pieces = length.div_ceil(PIECE_BYTES) as usize;
        let wanted = (0..pieces).map(|piece| {
            let done = piece as u64 * PIECE_BYTES;
            Wanted::new(command, offset + done, (length - done).min(PIECE_BYTES) as u32)
        });
        self.client.ask_all(wanted, empty(reply));
    }
}

/// Success or failure for the kernel.
fn empty(reply: ReplyEmpty) -> Reply {
    Box::new(move |outcome| match outcome {
        Ok(_) => reply.ok(),
        Err(refusal) => reply.error(errno(refusal)),
    })
}

/// Errno of a refusal.
fn errno(refusal: Refusal) -> Errno {
    match refusal {
        Refusal::NotPermitted => Errno::EROFS,
        Refusal::Io => Errno::EIO,
        Refusal::Invalid | Refusal::Zone(_) => Errno::EINVAL,
        Refusal::NoSpace => Errno::ENOSPC,
        Refusal::NotSupported => Errno::EOPNOTSUPP,
    }
}

/// Bytes of the range from `offset` that lie within `size`.
fn within(size: u64, offset: u64, length: u64) -> u64 {
    length.min(size.saturating_sub(offset))
}

impl Filesystem for DiskFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Features that the kernel lacks stay off.
        let _ = config.set_max_write(MOST_WRITE_BYTES);
        let _ = config.set_max_background(MOST_IN_BACKGROUND);
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE).filter(|_| parent == INodeNo::ROOT && name == self.name) {
            Some(found) => reply.entry(&FOR_LONG, &found, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(of) {
            Some(found) => reply.attr(&FOR_LONG, &found),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        of: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let is_kept = size.is_none_or(|size| size == 0 || size == self.bytes());
        if mode.is_some() || uid.is_some() || gid.is_some() || of != FILE {
            reply.error(Errno::EPERM);
        } else if !is_kept {
            reply.error(Errno::EINVAL);
        } else {
            // A disk cannot be truncated.
            self.getattr(request, of, handle, reply);
        }
    }

    fn open(&self, _: &Request, of: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let writes = flags.acc_mode() != OpenAccMode::O_RDONLY;
        if of != FILE {
            reply.error(Errno::EISDIR);
        } else if writes && self.client.export().read_only {
            reply.error(Errno::EROFS);
        } else {
            let past_the_cache = FopenFlags::FOPEN_DIRECT_IO
                | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
                | FopenFlags::FOPEN_NOFLUSH;
            reply.opened(FileHandle(0), past_the_cache);
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let bytes = within(self.bytes(), offset, size.into()) as u32;
        if bytes == 0 {
            return reply.data(&[]);
        }
        let answered: Reply = Box::new(move |outcome| match outcome {
            Ok(data) => reply.data(data),
            Err(refusal) => reply.error(errno(refusal)),
        });
        self.client.ask(Wanted::new(Command::Read, offset, bytes), answered);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = within(self.bytes(), offset, data.len() as u64) as usize;
        if bytes == 0 {
            return if data.is_empty() { reply.written(0) } else { reply.error(Errno::ENOSPC) };
        }
        let answered: Reply = Box::new(move |outcome| match outcome {
            Ok(_) => reply.written(bytes as u32),
            Err(refusal) => reply.error(errno(refusal)),
        });
        self.client.ask(Wanted::write(offset, data[..bytes].to_vec()), answered);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Closing the file needs no request.
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.client.ask(Wanted::new(Command::Flush, 0, 0), empty(reply));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let command = match mode.difference(FallocateFlags::KEEP_SIZE) {
            FallocateFlags::PUNCH_HOLE => Command::Trim,
            FallocateFlags::ZERO_RANGE => Command::WriteZeroes { keep: true },
            // The whole range is inside.
            rest if rest.is_empty() && within(self.bytes(), offset, length) == length => {
                return reply.ok();
            }
            rest if rest.is_empty() => return reply.error(Errno::ENOSPC),
            _ => return reply.error(Errno::EOPNOTSUPP),
        };
        match within(self.bytes(), offset, length) {
            0 => reply.error(Errno::ENOSPC),
            bytes => self.forget(command, offset, bytes, reply),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if of != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let root = INodeNo::ROOT;
        let (up, file) = (FileType::Directory, FileType::RegularFile);
        let entries = [(root, up, "."), (root, up, ".."), (FILE, file, self.name)];
        for (number, (inode, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(inode, number, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(self.bytes() / 4096, 0, 0, 1, 0, 4096, 255, 4096);
    }
}

//! The device as a file, without NBD: a directory that shows one file, by FUSE.
//!
//! A thread passes the kernel's requests to the server, which replies to the kernel directly.
//! `disk_file.rs` defines the behaviour of the file, this module mounts and unmounts. The directory
//! is unmounted however the server ends; after a kill this needs `fusermount3`.

use crate::disk_file::DiskFile;
use crate::error::{Error, reason};
use crate::local::LocalClient;
use fuser::{BackgroundSession, Config, MountOption, Session};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::geteuid;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Name of the file.
const NAME: &str = "disk";
const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";
/// Time limit for the unmounted directory to become empty and for its thread to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// A mounted directory, unmounted on drop.
#[derive(Debug)]
pub struct Mount {
    path: PathBuf,
    session: Option<BackgroundSession>,
    /// Process that unmounts after this process has ended.
    watcher: Option<Child>,
    /// Device number of the mounted file system.
    number: u64,
}

impl Mount {
    /// Checks that a directory can be mounted on, before a long preparation.
    ///
    /// # Errors
    /// When the directory does not exist, is not empty, is in use, or this user cannot use FUSE.
    pub fn check(path: &Path) -> Result<(), Error> {
        let refuse = |problem: String| Err(refused(path, &problem));
        let (name, helper) = (path.display(), helper());
        match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotConnected => {
                return refuse(format!(
                    "still mounted by a server that was killed; {HELPER} -u {name} unmounts it"
                ));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return refuse(format!("no such directory; create it with mkdir {name}"));
            }
            Err(error) => return refuse(reason(&error)),
            Ok(found) if !found.is_dir() => return refuse("not a directory".to_owned()),
            Ok(_) => {}
        }
        match fs::read_dir(path).map(|mut it| it.next()) {
            Err(error) => return refuse(format!("cannot be read: {}", reason(&error))),
            Ok(Some(_)) => {
                return refuse(
                    "not empty, or something is mounted there; its files would be hidden"
                        .to_owned(),
                );
            }
            Ok(None) => {}
        }
        match fs::OpenOptions::new().read(true).write(true).open(DEVICE) {
            Err(error) if error.kind() == ErrorKind::NotFound => refuse(format!(
                "there is no {DEVICE}; the kernel has no FUSE, or its module is not loaded (modprobe \
                 fuse)"
            )),
            Err(error) => refuse(format!("{DEVICE} cannot be opened: {}", reason(&error))),
            Ok(_) if helper.is_none() && !geteuid().is_root() => refuse(format!(
                "{HELPER} is not installed (Debian's package fuse3); without it only root can mount"
            )),
            Ok(_) => Ok(()),
        }
    }

    /// Mounts a client's device as a file in a directory.
    ///
    /// # Errors
    /// As [`check`](Mount::check), and errors of the system.
    pub fn new(path: &Path, client: &LocalClient) -> Result<Self, Error> {
        Mount::with(path, client, true)
    }

    /// Mounts without the process that unmounts after a kill; for short use.
    pub(crate) fn unwatched(path: &Path, client: &LocalClient) -> Result<Self, Error> {
        Mount::with(path, client, false)
    }

    fn with(path: &Path, client: &LocalClient, watched: bool) -> Result<Self, Error> {
        Mount::check(path)?;
        let path = path.canonicalize().map_err(|error| refused(path, &reason(&error)))?;
        let before = device_number(&path);
        let session = open(&path, client);
        let session = session.map_err(|error| {
            let said = error.to_string();
            let said = said.trim().split(" (os error").next().unwrap_or_default().to_owned();
            refused(&path, &format!("cannot be mounted on: {said}"))
        })?;
        let number = device_number(&path).filter(|it| Some(*it) != before).unwrap_or_default();
        let watcher = watched.then(|| watcher(&path)).flatten();
        Ok(Mount { path, session: Some(session), watcher, number })
    }

    /// Path of the file.
    pub fn file(&self) -> PathBuf {
        self.path.join(NAME)
    }

    /// Unmounts. Open files stay open, but only closing them works; returns a warning if there are
    /// open files.
    pub fn end(mut self) -> Option<String> {
        self.unmount()
    }

    fn is_there(&self) -> bool {
        device_number(&self.path) == Some(self.number)
    }

    fn unmount(&mut self) -> Option<String> {
        let thread = leave(self.session.take()?);
        let busy = self.is_there();
        if busy && unmount(&self.path, UnmountFlags::DETACH).is_err() {
            let _ = detaching(&self.path).status();
        }
        wait_until(|| busy || thread.is_finished());
        if thread.is_finished() {
            let _ = thread.join();
        }
        // The directory must be free for the next mount.
        if let Some(mut watcher) = self.watcher.take() {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
        busy.then(|| {
            let name = self.path.display();
            format!("{name} was unmounted while in use; programs that use it get errors now")
        })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn open(path: &Path, client: &LocalClient) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("ssdlab".to_owned()),
        MountOption::Subtype("ssdlab".to_owned()),
        MountOption::DefaultPermissions,
        if client.export().read_only { MountOption::RO } else { MountOption::RW },
    ];
    Session::new(DiskFile::new(client.clone(), NAME), path, &config)?.spawn()
}

/// Starts a process that unmounts once this one has ended for any reason. It ignores signals of the
/// terminal. Without it, a killed server leaves its mount behind.
fn watcher(path: &Path) -> Option<Child> {
    let detach = detaching(path);
    let mut shell = Command::new("sh");
    shell.args(["-c", "read -r _; exec \"$@\"", "sh"]);
    shell.arg(detach.get_program()).args(detach.get_args()).process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// Command that unmounts a busy or abandoned file system.
fn detaching(path: &Path) -> Command {
    let (program, words) = match helper() {
        Some(helper) => (helper, ["-u", "-z", "--"].as_slice()),
        None => (PathBuf::from("umount"), ["-l", "--"].as_slice()),
    };
    let mut command = Command::new(program);
    command.args(words);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Unmounts an unused file system in a thread.
fn leave(session: BackgroundSession) -> JoinHandle<io::Result<()>> {
    session.guard
}

fn wait_until(done: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Device number of the file system that contains a directory.
fn device_number(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.dev())
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::Input(format!("mount point {}: {problem}", path.display()))
}

/// Path of `fusermount3`, if installed.
fn helper() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|it| it.join(HELPER)).find(|it| it.is_file())
}

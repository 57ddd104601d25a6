//! The device as a file, without NBD: a directory that shows one file, by FUSE.
//!
//! A thread takes what the kernel asks and hands it to the server, which answers the kernel itself.
//! What the file says is in `disk_file.rs`. Here is how it comes and goes: it is
//! unmounted however the server ends, also when it is killed, where `fusermount3` is there to see it.

use crate::disk_file::DiskFile;
use crate::error::{Error, reason};
use crate::local::LocalClient;
use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::geteuid;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The name of the file.
const NAME: &str = "disk";
const DEVICE: &str = "/dev/fuse";
const HELPER: &str = "fusermount3";
/// So long it may take until an unmounted directory is empty again, and its thread has ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// A mounted directory, which is unmounted when it is dropped.
#[derive(Debug)]
pub struct Mount {
    path: PathBuf,
    session: Option<BackgroundSession>,
    /// The file system that is seen there.
    number: u64,
}

impl Mount {
    /// Whether a directory can be mounted on; it is known before a long preparation.
    ///
    /// # Errors
    /// When it is not there, not empty or in use, or when there is no FUSE for this user.
    pub fn check(path: &Path) -> Result<(), Error> {
        let refuse = |problem: String| Err(refused(path, &problem));
        let (name, helper) = (path.display(), helper());
        match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotConnected => {
                return refuse(format!(
                    "a server that has died left its mount there; {HELPER} -u {name} takes it away"
                ));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return refuse(format!("there is no such directory; mkdir {name} makes it"));
            }
            Err(error) => return refuse(reason(&error)),
            Ok(found) if !found.is_dir() => return refuse("not a directory".to_owned()),
            Ok(_) => {}
        }
        match fs::read_dir(path).map(|mut it| it.next()) {
            Err(error) => return refuse(format!("cannot be looked into: {}", reason(&error))),
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

    /// Shows a client's device as a file in a directory.
    ///
    /// # Errors
    /// Those of [`check`](Mount::check), and what the system says.
    pub fn new(path: &Path, client: LocalClient) -> Result<Self, Error> {
        Mount::with(path, &client, helper().is_some())
    }

    /// The same for a moment: nobody is there to unmount it if the server dies.
    pub(crate) fn unwatched(path: &Path, client: LocalClient) -> Result<Self, Error> {
        Mount::with(path, &client, false)
    }

    fn with(path: &Path, client: &LocalClient, watched: bool) -> Result<Self, Error> {
        Mount::check(path)?;
        let path = path.canonicalize().map_err(|error| refused(path, &reason(&error)))?;
        let before = device_number(&path);
        // With its own process beside the server, which unmounts when that is gone; only where others may
        // see the file, though its mode lets none of them but root. What refuses it: no `fusermount3`, or
        // no `user_allow_other` in /etc/fuse.conf for other users than root.
        let session = if watched {
            open(&path, client, true).or_else(|_| open(&path, client, false))
        } else {
            open(&path, client, false)
        };
        let session = session.map_err(|error| {
            let said = error.to_string();
            let said = said.trim().split(" (os error").next().unwrap_or_default().to_owned();
            refused(&path, &format!("cannot be mounted on: {said}"))
        })?;
        let number = device_number(&path).filter(|it| Some(*it) != before).unwrap_or_default();
        Ok(Mount { path, session: Some(session), number })
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.path.join(NAME)
    }

    /// Unmounts. What is open stays open until it is closed, and can only be closed; then a text says so.
    pub fn end(mut self) -> Option<String> {
        self.unmount()
    }

    fn is_there(&self) -> bool {
        device_number(&self.path) == Some(self.number)
    }

    fn unmount(&mut self) -> Option<String> {
        let thread = leave(self.session.take()?);
        // Who has mounted it for us unmounts it a moment later.
        wait_until(|| !self.is_there());
        let busy = self.is_there();
        if busy {
            if unmount(&self.path, UnmountFlags::DETACH).is_err() {
                let mut helper = Command::new(HELPER);
                helper.args(["-u", "-z"]).arg(&self.path);
                let _ = helper.stdout(Stdio::null()).stderr(Stdio::null()).status();
            }
        } else {
            wait_until(|| thread.is_finished());
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
        busy.then(|| {
            let name = self.path.display();
            format!("{name} was unmounted while it was in use; who uses it has errors now")
        })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn open(path: &Path, client: &LocalClient, watched: bool) -> io::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("ssdlab".to_owned()),
        MountOption::Subtype("ssdlab".to_owned()),
        MountOption::DefaultPermissions,
        if client.export().read_only { MountOption::RO } else { MountOption::RW },
    ];
    if watched {
        config.mount_options.push(MountOption::AutoUnmount);
        config.acl = SessionACL::RootAndOwner;
    }
    let file = DiskFile::new(client.clone(), NAME);
    Session::new(file, path, &config)?.spawn()
}

/// Unmounts what is not in use; the thread of the session.
fn leave(session: BackgroundSession) -> JoinHandle<io::Result<()>> {
    session.guard
}

fn wait_until(done: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number of the file system in which a directory lies.
fn device_number(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.dev())
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::Input(format!("mount point {}: {problem}", path.display()))
}

/// The program that mounts for users, if it is installed.
fn helper() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|it| it.join(HELPER)).find(|it| it.is_file())
}

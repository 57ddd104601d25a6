//! The folder of the cache: entries by name, their sizes, and eviction.

use super::CacheSettings;
use super::entry;
use crate::error::reason;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const STATE: &str = "state";
/// Subfolder and extension of the traces that Python converted from tables.
const TRACES: (&str, &str) = ("traces", "parquet");
/// File beside an entry, with one byte per use.
const HITS: &str = "hits";
const TEMPORARY: &str = "tmp";
const LOCK: &str = "lock";
/// Files of killed processes are deleted after this time.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Content of an entry, and its use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheEntry {
    /// Name, a hash of the identifying text.
    pub name: String,
    /// Title of the first experiment that needed it.
    pub title: String,
    /// Capacity of the drive.
    pub capacity_bytes: u64,
    /// Preconditioning.
    pub precondition: String,
    /// Duration of the preparation, s.
    pub prepared_seconds: f64,
    /// Size of the entry on the disk.
    pub bytes: u64,
    /// Number of reuses.
    pub hits: u64,
    /// Last use, seconds since 1970.
    pub last_used: f64,
    /// Keys of the experiment that identify it, as JSON; `None` if the entry cannot be read.
    pub decided_by: Option<String>,
}

/// Notices for the user, each issued once.
#[derive(Default)]
struct Notices {
    waiting: Vec<String>,
    said: BTreeSet<String>,
}

static NOTICES: Mutex<Option<Notices>> = Mutex::new(None);

/// Queues a notice for the user, once per process.
fn say(kind: &str, notice: String) {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    let notices = notices.get_or_insert_default();
    if notices.said.insert(kind.to_owned()) {
        notices.waiting.push(notice);
    }
}

/// Cache problems since the last call, one line each.
pub fn take_notices() -> Vec<String> {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    notices.as_mut().map(|it| std::mem::take(&mut it.waiting)).unwrap_or_default()
}

/// The file of an entry.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.{STATE}"))
}

/// Records a use of an entry.
pub fn used(path: &Path) {
    #[expect(clippy::disallowed_methods, reason = "when an entry was used decides which leave")]
    let now = SystemTime::now();
    #[expect(clippy::disallowed_methods, reason = "the lab opens files")]
    let file = File::open(path);
    // Errors are harmless: the entry is evicted earlier.
    let _ = file.and_then(|file| file.set_modified(now));
    let hits = path.with_extension(HITS);
    if hits.exists() && !hits.is_file() {
        return;
    }
    let hits = OpenOptions::new().create(true).append(true).open(hits);
    let _ = hits.and_then(|mut file| file.write_all(b"."));
}

/// Deletes an unreadable entry, with a notice.
pub fn discard(path: &Path, problem: &str) {
    remove(path);
    let name = path.display();
    say(
        &name.to_string(),
        format!("{name}: {problem}; it was removed, and the drive is prepared anew"),
    );
}

fn remove(path: &Path) -> bool {
    let is_gone = fs::remove_file(path).is_ok();
    let _ = fs::remove_file(path.with_extension(HITS));
    is_gone
}

/// Stores an entry atomically, after evicting others. Errors become notices.
pub fn store(settings: &CacheSettings, path: &Path, write: impl FnOnce(&File) -> io::Result<()>) {
    let folder = &settings.folder;
    let stored = fs::create_dir_all(folder).and_then(|()| {
        let named = format!(".{TEMPORARY}");
        let file = tempfile::Builder::new().prefix(".").suffix(&named).tempfile_in(folder)?;
        write(file.as_file())?;
        let bytes = file.as_file().metadata()?.len();
        let bound = bound(settings, bytes);
        if bytes > bound {
            return Ok(());
        }
        file.as_file().sync_all()?;
        make_room(folder, bound - bytes);
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    if let Err(error) = stored {
        let problem = reason(&error);
        say(&problem, format!("{}: prepared drives cannot be kept: {problem}", folder.display()));
    }
}

/// Evicts entries for a converted trace of this size, which is already written; returns false if it
/// can never fit.
pub fn cache_make_room(settings: &CacheSettings, bytes: u64) -> bool {
    let bound = bound(settings, bytes);
    if bytes <= bound {
        make_room(&settings.folder, bound - bytes);
    }
    bytes <= bound
}

/// Limit of the total size of entries, before a new file of `written` bytes.
fn bound(settings: &CacheSettings, written: u64) -> u64 {
    let taken: u64 = kept(&settings.folder).iter().map(|it| it.bytes).sum();
    let share = free_bytes(&settings.folder)
        .map_or(u64::MAX, |free| ((free + taken + written) as f64 * settings.most_of_free) as u64);
    settings.most_bytes.min(share)
}

/// Free disk space available to the user.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail * found.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Deletes states and traces, least recently used ones first, until the rest is within the limit.
fn make_room(folder: &Path, most: u64) {
    let mut entries = kept(folder);
    entries.sort_by_key(|it| it.used);
    let mut taken: u64 = entries.iter().map(|it| it.bytes).sum();
    for entry in entries {
        if taken <= most {
            break;
        }
        if remove(&entry.path) {
            taken -= entry.bytes;
        }
    }
    for path in abandoned(folder) {
        let _ = fs::remove_file(path);
    }
}

/// A file of the cache.
struct Stored {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// States and converted traces.
fn kept(folder: &Path) -> Vec<Stored> {
    let mut found = files(folder);
    found.extend(ending(&folder.join(TRACES.0), TRACES.1));
    found
}

fn files(folder: &Path) -> Vec<Stored> {
    ending(folder, STATE)
}

fn ending(folder: &Path, ending: &str) -> Vec<Stored> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|it| it.path().extension().is_some_and(|word| word == ending));
    let stored = named.filter_map(|it| {
        let metadata = it.metadata().ok()?;
        let used = metadata.modified().unwrap_or(UNIX_EPOCH);
        Some(Stored { path: it.path(), bytes: metadata.len(), used })
    });
    stored.collect()
}

/// Temporary files of killed processes.
fn abandoned(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_old = |path: &Path| {
        let age = path.metadata().and_then(|it| it.modified()).map(|it| it.elapsed());
        age.is_ok_and(|age| age.is_ok_and(|age| age > ABANDONED))
    };
    let ours = entries.map(|it| it.path()).filter(|path| {
        let word = path.extension().and_then(|word| word.to_str());
        match word {
            Some(TEMPORARY | LOCK) => is_old(path),
            Some(HITS) => !path.with_extension(STATE).exists(),
            _ => false,
        }
    });
    ours.collect()
}

/// Entries of a cache, most recently used first.
pub fn cache_entries(folder: &Path) -> Vec<CacheEntry> {
    let mut found = files(folder);
    found.sort_by(|one, other| (other.used, &one.path).cmp(&(one.used, &other.path)));
    let entries = found.into_iter().map(|it| {
        let name = it.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let hits = fs::metadata(it.path.with_extension(HITS)).map_or(0, |it| it.len());
        let last_used = it.used.duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64());
        let head = entry::head(&it.path).ok().map(|(head, _)| head);
        let of = |text: fn(&entry::Head) -> &str| {
            head.as_ref().map_or_else(|| "damaged".to_owned(), |it| text(it).to_owned())
        };
        CacheEntry {
            name,
            title: of(|it| &it.title),
            precondition: of(|it| &it.precondition),
            capacity_bytes: head.as_ref().map_or(0, |it| it.capacity_bytes),
            prepared_seconds: head.as_ref().map_or(0.0, |it| it.seconds),
            bytes: it.bytes,
            hits,
            last_used,
            decided_by: head.map(|it| it.key),
        }
    });
    entries.collect()
}

/// Entries of a cache as a JSON list.
///
/// # Panics
/// Never: an entry is texts and numbers.
pub fn cache_json(folder: &Path) -> String {
    serde_json::to_string(&cache_entries(folder)).expect("entries are texts and numbers")
}

/// Removes all entries of a cache; returns their number and their total size.
///
/// # Errors
/// When an entry cannot be removed.
pub fn cache_clear(folder: &Path) -> io::Result<(u64, u64)> {
    let mut removed = (0, 0);
    for entry in files(folder) {
        match fs::remove_file(&entry.path) {
            Ok(()) => removed = (removed.0 + 1, removed.1 + entry.bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let _ = fs::remove_file(entry.path.with_extension(HITS));
    }
    for path in abandoned(folder) {
        let _ = fs::remove_file(path);
    }
    Ok(removed)
}

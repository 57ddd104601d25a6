//! Location and size limit of prepared states.

use crate::error::InputError;
use options::Size;
use std::env;
use std::path::PathBuf;

/// Minimum pages written by a preparation: repeating a smaller one is faster than reading its
/// state.
const LEAST_WRITES: u64 = 1 << 18;
/// Default limits.
const MOST_BYTES: u64 = 10_000_000_000;
const MOST_OF_FREE: f64 = 0.1;

/// The cache of prepared states.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheSettings {
    /// Folder of the entries.
    pub folder: PathBuf,
    /// Limit of their total size; least recently used entries are deleted first.
    pub most_bytes: u64,
    /// Maximum share of the disk space that is free without the entries, if the system reports it.
    pub most_of_free: f64,
    /// Minimum pages written by a preparation whose state is stored.
    pub least_writes: u64,
}

impl CacheSettings {
    /// The cache in a folder, with default limits.
    pub fn new(folder: PathBuf) -> CacheSettings {
        CacheSettings {
            folder,
            most_bytes: MOST_BYTES,
            most_of_free: MOST_OF_FREE,
            least_writes: LEAST_WRITES,
        }
    }

    /// The folder of the cache, in use or not, if the environment names one: `SSDLAB_CACHE`,
    /// `ssdlab` in `XDG_CACHE_HOME`, or the user's cache folder.
    pub fn folder_of_user() -> Option<PathBuf> {
        let named = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        if let Some(folder) = named("SSDLAB_CACHE").filter(|it| it.as_os_str() != "off") {
            return Some(folder);
        }
        let absolute = |name: &str| named(name).filter(|it| it.is_absolute());
        let own = absolute("XDG_CACHE_HOME").or_else(|| {
            if cfg!(windows) {
                return absolute("LOCALAPPDATA");
            }
            let below = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
            absolute("HOME").map(|home| home.join(below))
        });
        own.map(|folder| folder.join("ssdlab"))
    }

    /// Cache settings from the environment: none with `SSDLAB_CACHE=off`.
    ///
    /// # Errors
    /// When `SSDLAB_CACHE_SIZE` is not a size.
    pub fn of_user() -> Result<Option<CacheSettings>, InputError> {
        if env::var_os("SSDLAB_CACHE").is_some_and(|it| it == "off") {
            return Ok(None);
        }
        let Some(folder) = CacheSettings::folder_of_user() else { return Ok(None) };
        let mut settings = CacheSettings::new(folder);
        if let Some(text) = env::var_os("SSDLAB_CACHE_SIZE").filter(|it| !it.is_empty()) {
            let text = text.to_string_lossy();
            let size: Size = text
                .parse()
                .map_err(|error| InputError(format!("SSDLAB_CACHE_SIZE={text}: {error}")))?;
            (settings.most_bytes, settings.most_of_free) = (size.bytes(), 1.0);
        }
        Ok(Some(settings))
    }
}

//! Where a live device is found, how large it is, and where its data are.

use super::settings::{LiveAddress, LiveSettings, from_nbd};
use crate::error::RunError;
use engine::SECTOR_BYTES;
use nbd::{Address, Store};
use options::Size;
use std::net::IpAddr;

/// The address to listen on, if it is allowed; without a warning if clients must show certificates.
pub(super) fn address(
    address: &LiveAddress,
    is_guarded: bool,
    warnings: &mut Vec<String>,
) -> Result<Address, RunError> {
    match address {
        LiveAddress::Shared(_) => {
            Err(RunError::Input("a device on a shared socket has no address of its own".to_owned()))
        }
        LiveAddress::Socket(path) => Ok(Address::Unix(path.clone())),
        LiveAddress::Port { port, host, allow_remote } => {
            let ip: IpAddr =
                if host == "localhost" { Ok([127, 0, 0, 1].into()) } else { host.parse() }
                    .map_err(|_| {
                        RunError::Input(format!("host {host}: neither an IP address nor localhost"))
                    })?;
            if !ip.is_loopback() {
                if !allow_remote {
                    return Err(RunError::Input(format!(
                        "host {host}: other machines could read and write the device, because NBD has \
                         no authentication; use 127.0.0.1, or --allow-remote if that is intended"
                    )));
                }
                if !is_guarded {
                    warnings.push(format!(
                        "listening on {host}: everyone who reaches it can read and write the device"
                    ));
                }
            }
            Ok(Address::Tcp(ip, *port))
        }
    }
}

/// How large the user wants the device to be for its clients.
pub(super) fn wanted_bytes(
    settings: &LiveSettings,
    capacity: u64,
) -> Result<Option<u64>, RunError> {
    let Some(text) = &settings.size else { return Ok(None) };
    let size: Size = text.parse().map_err(|e| RunError::Input(format!("size: {e}")))?;
    let refuse = |problem: String| RunError::Input(format!("size {text}: {problem}"));
    if size.bytes() == 0 || !size.bytes().is_multiple_of(SECTOR_BYTES) {
        return Err(refuse(format!("not a multiple of {SECTOR_BYTES} bytes")));
    }
    if size.bytes() > capacity {
        let hint = "give a smaller size or a larger device";
        return Err(refuse(format!("the device has only {capacity} bytes; {hint}")));
    }
    Ok(Some(size.bytes()))
}

/// Where the data are, and how large the device is for its clients.
pub(super) fn storage(
    settings: &LiveSettings,
    wanted: Option<u64>,
    capacity: u64,
) -> Result<(Store, u64), RunError> {
    let Some(path) = &settings.backing else {
        return Ok((Store::memory(), wanted.unwrap_or(capacity)));
    };
    let (store, bytes) = Store::file(path, wanted, capacity).map_err(from_nbd)?;
    if bytes > capacity || !bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(RunError::Input(format!(
            "backing file {}: it has {bytes} bytes and the device {capacity}: give a size of at \
             most both, in whole sectors of {SECTOR_BYTES} bytes",
            path.display()
        )));
    }
    Ok((store, bytes))
}

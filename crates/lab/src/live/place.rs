//! Address, size and storage of a live device.

use super::settings::{LiveAddress, LiveSettings, from_nbd};
use crate::error::RunError;
use engine::SECTOR_BYTES;
use nbd::{Address, Store};
use options::Size;
use std::net::IpAddr;

/// Permitted listening address; without a warning if clients must show certificates.
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
            let ip = host_address(host, *allow_remote, "NBD", is_guarded, warnings)?;
            Ok(Address::Tcp(ip, *port))
        }
    }
}

/// The address of a host; an error if it is invalid or reachable from other machines without
/// permission.
fn host_address(
    host: &str,
    allow_remote: bool,
    protocol: &str,
    is_guarded: bool,
    warnings: &mut Vec<String>,
) -> Result<IpAddr, RunError> {
    let ip: IpAddr = if host == "localhost" { Ok([127, 0, 0, 1].into()) } else { host.parse() }
        .map_err(|_| {
            RunError::Input(format!("host {host}: neither an IP address nor localhost"))
        })?;
    if !ip.is_loopback() {
        if !allow_remote {
            return Err(RunError::Input(format!(
                "host {host}: other machines could read and write the device, because {protocol} has \
                 no authentication; use 127.0.0.1, or --allow-remote if that is intended"
            )));
        }
        if !is_guarded {
            warnings.push(format!(
                "listening on {host}: everyone who reaches it can read and write the device"
            ));
        }
    }
    Ok(ip)
}

/// The address of an NVMe/TCP target, from a URI.
pub fn nvme_address(
    uri: &str,
    allow_remote: bool,
    warnings: &mut Vec<String>,
) -> Result<Address, RunError> {
    let refuse = |problem: &str| {
        let forms = "tcp://127.0.0.1:4420 (port 0: any that is free) or unix:///PATH";
        RunError::Input(format!("nvme {uri}: {problem}; it is written {forms}"))
    };
    if let Some(path) = uri.strip_prefix("unix://") {
        return if path.is_empty() {
            Err(refuse("the path is missing"))
        } else {
            Ok(Address::Unix(path.into()))
        };
    }
    let Some(place) = uri.strip_prefix("tcp://") else {
        return Err(refuse("an address begins with tcp:// or unix://"));
    };
    let Some((host, port)) = place.trim_end_matches('/').rsplit_once(':') else {
        return Err(refuse("the port is missing"));
    };
    let port: u16 = port.parse().map_err(|_| refuse("a port is a number from 0 to 65535"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip = host_address(host, allow_remote, "this target of NVMe", false, warnings)?;
    Ok(Address::Tcp(ip, port))
}

/// Size of the device for its clients, if requested.
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

/// Storage of the data, and size of the device for its clients.
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

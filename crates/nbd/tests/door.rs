//! A shared listener for two servers: the choice of an export, and input sent along with it.

use crate::common::{READ, Seen, WRITE, device, message};
use nbd::{
    Address, Control, Door, Export, Listener, Offer, Overhead, Scale, Server, Setup, Store, passage,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const BYTES: u64 = 1 << 20;

/// Chooses an export by the oldest option and sends `then` with it. Returns the size of the export.
fn choose(path: &Path, name: &str, then: &[u8]) -> std::io::Result<(UnixStream, u64)> {
    let mut stream = UnixStream::connect(path)?;
    let mut words = b"\0\0\0\x03IHAVEOPT\0\0\0\x01".to_vec();
    words.extend((name.len() as u32).to_be_bytes());
    words.extend(name.as_bytes());
    words.extend(then);
    stream.write_all(&words)?;
    let mut greeting = [0; 28];
    stream.read_exact(&mut greeting)?;
    let size = u64::from_be_bytes(greeting[18..26].try_into().expect("eight bytes"));
    Ok((stream, size))
}

#[test]
fn each_client_goes_on_to_the_server_of_its_export() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let listener = Listener::new(&Address::Unix(path.clone())).unwrap();
    let (mut rooms, mut arrivals) = (Vec::new(), Vec::new());
    for (name, bytes) in [("one", BYTES), ("two", 2 * BYTES)] {
        let (there, here) = passage().unwrap();
        let export = Export { bytes, read_only: false };
        rooms.push((Offer { name: name.to_owned(), description: String::new(), export }, there));
        arrivals.push((here, export));
    }
    let controls = [(); 3].map(|()| Control::new().unwrap());
    let door = Door::new(listener, rooms, None, &controls[2]).unwrap();
    let seen = std::thread::scope(|scope| {
        let servers: Vec<_> = arrivals
            .into_iter()
            .zip(&controls)
            .map(|((arrivals, export), control)| {
                scope.spawn(move || {
                    let (mut device, mut seen) = (device(0), Seen::default());
                    let (scale, overhead) = (Scale::new(1.0).unwrap(), Overhead::none());
                    let store = Store::memory();
                    let setup =
                        Setup { store, export, scale, overhead, orders: None, recording: None };
                    let mut server = Server::new(&mut *device, &mut seen, setup, control).unwrap();
                    server.run(Some(&arrivals));
                    drop(server);
                    seen.submitted.len()
                })
            })
            .collect();
        let door = scope.spawn(|| door.run());
        let outcome = std::panic::catch_unwind(|| {
            // Part of the write arrives with the choice, the rest later.
            let write = message(WRITE, 0, 9, 0, 512, &[5; 512]);
            let (mut two, size) = choose(&path, "two", &write[..100]).unwrap();
            assert_eq!(size, 2 * BYTES);
            two.write_all(&write[100..]).unwrap();
            let mut answer = [0; 16];
            two.read_exact(&mut answer).unwrap();
            assert_eq!(answer[4..8], [0; 4]);
            for (name, size, first) in [("", BYTES, 0), ("one", BYTES, 0), ("two", 2 * BYTES, 5)] {
                let (mut it, found) =
                    choose(&path, name, &message(READ, 0, 1, 0, 512, &[])).unwrap();
                let mut data = [1; 528];
                it.read_exact(&mut data).unwrap();
                assert_eq!((found, data[16]), (size, first), "{name}");
            }
            assert!(choose(&path, "three", &[]).is_err());
        });
        controls.iter().for_each(Control::stop);
        door.join().expect("no panic").finish();
        let seen: Vec<usize> = servers.into_iter().map(|it| it.join().expect("no panic")).collect();
        outcome.map_or_else(|panic| std::panic::resume_unwind(panic), |()| seen)
    });
    assert_eq!(seen, [2, 2]);
    assert!(!path.exists());
}

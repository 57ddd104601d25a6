//! Serves a linear device as a file and as the disk of a virtual machine, for measurements of both:
//! `doors NS DIRECTORY SOCKET [VHOST_SOCKET]`, until standard input ends. Then it says how punctual it was.

use devices::DeviceKind;
use devices::linear::LinearConfig;
use engine::{Completion, Request, Time};
use nbd::{
    Address, Control, Export, Floor, Listener, Mount, Punctuality, Scale, Server, Setup, Store,
    VhostUser, Witness,
};
use options::Duration;
use std::path::Path;

struct Nobody;

impl<D: ?Sized> Witness<D> for Nobody {
    fn submitted(&mut self, _: Time, _: &Request, _: bool) {}

    fn completed(&mut self, _: &Completion) {}

    fn delivered(&mut self, _: &Completion, _: Time) {}

    fn idle(&mut self, _: &mut D, _: Time, _: &Punctuality) {}
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut config = LinearConfig::default();
    let ns = arguments[1].parse().expect("nanoseconds");
    for pattern in [
        &mut config.random_read,
        &mut config.random_write,
        &mut config.sequential_read,
        &mut config.sequential_write,
    ] {
        pattern.fixed = Duration::from_ns(ns);
        pattern.per_kib = Duration::from_ns(0);
    }
    let mut device = config.build(0).expect("it is valid");
    let directory = Path::new(&arguments[2]);
    let setup = Setup {
        store: Store::memory(),
        export: Export { bytes: 256 << 20, read_only: false },
        scale: Scale::new(1.0).expect("a scale"),
        floor: Floor::measure(false).expect("a floor"),
        orders: None,
        recording: None,
    };
    let to_file = Floor::measure_mounted(directory).expect("a floor");
    eprintln!("to a client of NBD: {:?}\nto the file: {to_file:?}", setup.floor);
    let control = Control::new().expect("a descriptor");
    let mut witness = Nobody;
    let mut server = Server::new(&mut *device, &mut witness, setup, &control).expect("a server");
    let listener = Listener::new(&Address::Unix(arguments[3].as_str().into())).expect("a socket");
    let mount = Mount::new(directory, server.local(to_file)).expect("a mount");
    let machine = arguments.get(4).map(|path| {
        VhostUser::new(Path::new(path), server.local(Floor::none())).expect("a socket")
    });
    let its_control = control.clone();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        its_control.stop();
    });
    eprintln!("serving");
    let punctuality = server.run(Some(&listener));
    drop(server);
    eprintln!("{:?}", mount.end());
    drop(machine);
    eprintln!("{punctuality:?} {:?}", punctuality.verdict());
}

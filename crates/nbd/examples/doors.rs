//! Serves a device that takes the same time for everything, one after the other, as a file and as the disk of a virtual machine, for measurements of both:
//! `doors NS DIRECTORY SOCKET [VHOST_SOCKET]`, until standard input ends. Then it says how punctual it was.

use engine::{Breakdown, Completion, Device, Part, Request, Status, Time};
use nbd::{
    Address, Control, Export, Floor, Listener, Mount, Punctuality, Scale, Server, Setup, Store,
    VhostUser, Witness,
};
use std::collections::VecDeque;
use std::path::Path;

/// A device that serves one request at a time.
struct Constant {
    service_ns: Time,
    free_at: Time,
    asked: VecDeque<(Time, Time, Request)>,
}

impl Device for Constant {
    fn submit(&mut self, now: Time, request: Request) {
        self.free_at = self.free_at.max(now) + self.service_ns;
        self.asked.push_back((now, self.free_at, request));
    }

    fn next_event(&self) -> Option<Time> {
        self.asked.front().map(|it| it.1)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion>) {
        while let Some((submitted, at, request)) = self.asked.pop_front_if(|it| it.1 <= to) {
            let breakdown = Breakdown::of(Part(0), at - submitted);
            completions.push(Completion { request, submitted, at, breakdown, status: Status::Ok });
        }
    }

    fn capacity_sectors(&self) -> u64 {
        u64::MAX
    }
}

struct Nobody;

impl<D: ?Sized> Witness<D> for Nobody {
    fn submitted(&mut self, _: Time, _: &Request, _: bool) {}

    fn completed(&mut self, _: &Completion) {}

    fn delivered(&mut self, _: &Completion, _: Time) {}

    fn idle(&mut self, _: &mut D, _: Time, _: &Punctuality) {}
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let service_ns = arguments[1].parse().expect("nanoseconds");
    let mut device = Constant { service_ns, free_at: 0, asked: VecDeque::new() };
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
    let mut server = Server::new(&mut device, &mut witness, setup, &control).expect("a server");
    let listener = Listener::new(&Address::Unix(arguments[3].as_str().into())).expect("a socket");
    let mount = Mount::new(directory, &server.local(to_file)).expect("a mount");
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

//! Clients within the process: replies, their timing, and limits.

use crate::common::{Seen, device};
use engine::Op;
use nbd::{
    Command, Control, Export, LocalClient, Overhead, Punctuality, Refusal, Scale, Server, Setup,
    Store, Wanted,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BYTES: u64 = 64 << 20;

/// Serves a local client. Returns the observed requests.
fn serve(
    service_ns: u64,
    read_only: bool,
    client: impl FnOnce(LocalClient) + Send,
) -> (Seen, Punctuality) {
    let control = Control::new().unwrap();
    let (mut seen, mut device) = (Seen::default(), device(service_ns));
    let setup = Setup {
        store: Store::memory(),
        export: Export { bytes: BYTES, read_only },
        scale: Scale::new(1.0).unwrap(),
        overhead: Overhead::none(),
        orders: None,
        recording: None,
    };
    let mut server = Server::new(&mut *device, &mut seen, setup, &control).unwrap();
    let local = server.local(Overhead::none());
    let punctuality = std::thread::scope(|scope| {
        let control = &control;
        let thread = scope.spawn(move || {
            let run = std::panic::AssertUnwindSafe(|| client(local));
            let outcome = std::panic::catch_unwind(run);
            control.stop();
            outcome
        });
        let punctuality = server.run(None);
        drop(server);
        if let Err(panic) = thread.join().unwrap() {
            std::panic::resume_unwind(panic);
        }
        punctuality
    });
    (seen, punctuality)
}

type Outcome = Result<Vec<u8>, Refusal>;

fn ask(client: &LocalClient, wanted: Wanted) -> Receiver<Outcome> {
    let (sender, receiver) = channel();
    client.ask(
        wanted,
        Box::new(move |outcome| {
            let _ = sender.send(outcome.map(<[u8]>::to_vec));
        }),
    );
    receiver
}

fn get(client: &LocalClient, wanted: Wanted) -> Outcome {
    ask(client, wanted).recv_timeout(Duration::from_secs(60)).unwrap()
}

#[test]
fn data_come_back_and_the_device_is_asked() {
    let (seen, punctuality) = serve(0, false, |client| {
        let data: Vec<u8> = (0..3_000_000u32).map(|it| (it * 7 / 3) as u8).collect();
        assert_eq!(get(&client, Wanted::write(1000, data.clone())), Ok(vec![]));
        assert_eq!(get(&client, Wanted::new(Command::Read, 1000, 3_000_000)), Ok(data));
        assert_eq!(get(&client, Wanted::new(Command::Trim, 1024, 4096)), Ok(vec![]));
        assert_eq!(get(&client, Wanted::new(Command::Read, 1024, 4096)), Ok(vec![0; 4096]));
        let durable = Wanted { fua: true, ..Wanted::write(0, vec![1; 512]) };
        assert_eq!(get(&client, durable), Ok(vec![]));
        assert_eq!(get(&client, Wanted::new(Command::Flush, 0, 0)), Ok(vec![]));
    });
    let asked: Vec<_> =
        seen.submitted.iter().map(|(_, it, fua)| (it.op, it.lba.0, it.sectors, *fua)).collect();
    let expected = [
        (Op::Write, 1, 5861, false),
        (Op::Read, 1, 5861, false),
        (Op::Trim, 2, 8, false),
        (Op::Read, 2, 8, false),
        (Op::Write, 0, 1, true),
        (Op::Flush, 0, 0, false),
    ];
    assert_eq!(asked, expected);
    assert_eq!((punctuality.requests, seen.completed.len()), (6, 6));
}

#[test]
fn impossible_servers_are_refused() {
    serve(0, false, |client| {
        let beyond = BYTES - 512;
        for (wanted, refusal) in [
            (Wanted::new(Command::Read, beyond, 1024), Refusal::Invalid),
            (Wanted::new(Command::Read, u64::MAX, 512), Refusal::Invalid),
            (Wanted::new(Command::Read, 0, 0), Refusal::Invalid),
            (Wanted::new(Command::Read, 0, 33 << 20), Refusal::Invalid),
            (Wanted::new(Command::Write, 0, 512), Refusal::Invalid),
            (Wanted::new(Command::Extents { one: true }, 0, 512), Refusal::Invalid),
            (Wanted::write(beyond, vec![0; 1024]), Refusal::NoSpace),
            (Wanted::new(Command::Trim, beyond, 1024), Refusal::Invalid),
        ] {
            assert_eq!(get(&client, wanted.clone()), Err(refusal), "{wanted:?}");
        }
    });
    serve(0, true, |client| {
        let write = Wanted::write(0, vec![0; 512]);
        assert_eq!(get(&client, write), Err(Refusal::NotPermitted));
        assert_eq!(get(&client, Wanted::new(Command::Read, 0, 512)), Ok(vec![0; 512]));
    });
}

#[test]
fn answers_come_at_the_device_s_time() {
    const SERVICE_NS: u64 = 3_000_000;
    serve(SERVICE_NS, false, |client| {
        let started = Instant::now();
        let answers = [0, 4096].map(|at| ask(&client, Wanted::new(Command::Read, at, 512)));
        for (number, answer) in (1..).zip(answers) {
            answer.recv().unwrap().unwrap();
            assert!(started.elapsed() >= Duration::from_nanos(number * SERVICE_NS));
        }
    });
}

#[test]
fn a_client_with_too_many_requests_outstanding_waits() {
    const SERVICE_NS: u64 = 1_000_000;
    let (_, punctuality) = serve(SERVICE_NS, false, |client| {
        // The device serves one request at a time, so 512 cannot complete at once.
        let (asked, answered) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
        for number in 0..700 {
            let counter = Arc::clone(&answered);
            let wanted = Wanted::new(Command::Read, number * 512, 512);
            client.ask(
                wanted,
                Box::new(move |_| {
                    counter.fetch_add(1, Ordering::SeqCst);
                }),
            );
            let inside = asked.fetch_add(1, Ordering::SeqCst) + 1 - answered.load(Ordering::SeqCst);
            assert!(inside <= 512 + 1, "{inside}");
        }
        // Requests of 16 MiB are limited by their bytes.
        let (sender, receiver) = channel();
        for _ in 0..8 {
            let sender = sender.clone();
            let reply = move |outcome: Result<&[u8], _>| {
                let _ = sender.send(outcome.map(<[u8]>::len));
            };
            client.ask(Wanted::new(Command::Read, 0, 16 << 20), Box::new(reply));
        }
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [Ok(16 << 20); 8]);
        assert_eq!(answered.load(Ordering::SeqCst), 700);
    });
    assert!((1..=708).contains(&punctuality.held_back), "{}", punctuality.held_back);
    assert_eq!(punctuality.requests, 708);
}

#[test]
fn each_request_is_answered_once_however_the_server_ends() {
    const THREADS: u64 = 4;
    let answers = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::new(Mutex::new(None));
    let asked = Arc::new(AtomicU64::new(0));
    let (answers_of, kept_of, asked_of) = (answers.clone(), kept.clone(), asked.clone());
    serve(50_000, false, move |client| {
        *kept_of.lock().unwrap() = Some(client.clone());
        for thread in 0..THREADS {
            let (client, answers, asked) = (client.clone(), answers_of.clone(), asked_of.clone());
            // It keeps submitting after the server has stopped.
            std::thread::spawn(move || {
                let mut more = 100;
                while more > 0 {
                    more -= u32::from(client.is_closed());
                    let number = asked.fetch_add(1, Ordering::SeqCst);
                    let answers = answers.clone();
                    let reply = Box::new(move |outcome: Result<&[u8], Refusal>| {
                        answers.lock().unwrap().push((number, outcome.err()));
                    });
                    client.ask(Wanted::new(Command::Read, thread * 4096, 512), reply);
                }
            });
        }
        // The server ends in the middle of it, once it has answered some.
        let patience = Instant::now() + Duration::from_secs(60);
        while answers_of.lock().unwrap().len() < 500 {
            assert!(Instant::now() < patience);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let client = kept.lock().unwrap().take().unwrap();
    assert!(client.is_closed());
    assert_eq!(get(&client, Wanted::new(Command::Flush, 0, 0)), Err(Refusal::Io));
    // The threads end on their own.
    let patience = Instant::now() + Duration::from_secs(60);
    while Arc::strong_count(&asked) > 1 {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut answers = answers.lock().unwrap().clone();
    answers.sort_unstable_by_key(|it| it.0);
    let numbers: Vec<u64> = answers.iter().map(|it| it.0).collect();
    assert_eq!(numbers, (0..asked.load(Ordering::SeqCst)).collect::<Vec<_>>());
    assert!(answers.iter().any(|it| it.1.is_none()));
    assert!(answers.iter().any(|it| it.1 == Some(Refusal::Io)));
}

#[test]
fn requests_sent_together_are_answered_once() {
    serve(0, false, |client| {
        let get = |wanted: Vec<Wanted>| {
            let (sender, receiver) = channel();
            let reply = move |outcome: Result<&[u8], Refusal>| {
                let _ = sender.send(outcome.err());
            };
            client.ask_all(wanted.into_iter(), Box::new(reply));
            receiver.recv().unwrap()
        };
        let trims = |last| [0, 8192, last].map(|at| Wanted::new(Command::Trim, at, 4096)).to_vec();
        assert_eq!(get(vec![]), None);
        assert_eq!(get(trims(16384)), None);
        assert_eq!(get(trims(BYTES)), Some(Refusal::Invalid));
    });
}

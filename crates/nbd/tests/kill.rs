//! No flushed write is lost when the server is killed.
//!
//! The test starts itself again as a server with a backing file, writes to it, and kills it with
//! SIGKILL after a random time, 200 times. Each sector holds the number of its last write, so the
//! file shows which writes it contains.

use crate::common::{Client, FUA, device, serve};
use engine::{Random, Xoshiro256};
use nbd::Store;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const KILLS: u64 = 200;
const SERVER: &str = "NBD_KILL_TEST";
const BLOCK_BYTES: usize = 4096;
const BLOCKS: usize = 64;
const BYTES: u64 = (BLOCK_BYTES * BLOCKS) as u64;

/// The server process to kill. As a test it does nothing, unless the other test starts it.
#[test]
fn server() {
    let Some(directory) = std::env::var_os(SERVER) else { return };
    let directory = Path::new(&directory);
    let (store, _) = Store::file(&directory.join("data"), Some(BYTES), 0).unwrap();
    serve(device(20_000), store, BYTES, &directory.join("socket"), || {
        std::thread::sleep(Duration::from_secs(60));
    });
}

fn start(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::server"])
        .env(SERVER, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn connect(directory: &Path) -> Client {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match Client::new(&directory.join("socket")) {
            Ok(client) => return client,
            Err(error) if Instant::now() > until => panic!("no server: {error}"),
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Expected content of a block in the file.
#[derive(Clone, Copy, Default)]
struct Block {
    /// Newest write covered by a flush or FUA.
    durable: u64,
    /// Newest acknowledged write.
    answered: u64,
    /// Newest submitted write.
    sent: u64,
}

/// Writes, some with FUA, until the server is killed.
fn write(
    client: &mut Client,
    blocks: &mut [Block],
    number: &mut u64,
    random: &mut Xoshiro256,
) -> io::Result<()> {
    loop {
        let place = random.below(BLOCKS as u64) as usize;
        let fua = random.below(8) == 0;
        *number += 1;
        blocks[place].sent = *number;
        let data = number.to_le_bytes().repeat(BLOCK_BYTES / 8);
        client.write(if fua { FUA } else { 0 }, (place * BLOCK_BYTES) as u64, &data)?;
        blocks[place].answered = *number;
        if fua {
            blocks[place].durable = *number;
        }
        if random.below(8) == 0 {
            client.flush()?;
            for block in &mut *blocks {
                block.durable = block.answered;
            }
        }
    }
}

#[test]
fn what_was_flushed_outlives_the_server() {
    let seed = std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("it is later");
        since.as_nanos() as u64
    });
    println!("SEED={seed} brings this run back, but for the instants of the kills");
    let directory = tempfile::tempdir().unwrap();
    let mut random = Xoshiro256::new(seed, 0);
    let mut blocks = [Block::default(); BLOCKS];
    let (mut number, mut durable_writes) = (0, 0);
    for kill in 0..KILLS {
        let mut server = start(directory.path());
        let mut client = connect(directory.path());
        let wait = Duration::from_micros(random.below(10_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(wait);
            server.kill().unwrap();
            server.wait().unwrap();
        });
        write(&mut client, &mut blocks, &mut number, &mut random).unwrap_err();
        killer.join().unwrap();
        let data = std::fs::read(directory.path().join("data")).unwrap();
        for (place, block) in blocks.iter_mut().enumerate() {
            let bytes = &data[place * BLOCK_BYTES..(place + 1) * BLOCK_BYTES];
            for word in bytes.as_chunks::<8>().0 {
                let found = u64::from_le_bytes(*word);
                assert!(
                    (block.durable..=block.sent).contains(&found),
                    "kill {kill} of seed {seed}: block {place} holds write {found}, and must hold \
                     one from {} to {}",
                    block.durable,
                    block.sent
                );
            }
            durable_writes += u64::from(block.durable > 0);
            // The next server starts with the content found.
            let found = u64::from_le_bytes(*bytes.first_chunk().unwrap());
            *block = Block { durable: found, answered: found, sent: block.sent };
        }
    }
    assert!(durable_writes > KILLS, "the servers lived too short to be of interest");
}

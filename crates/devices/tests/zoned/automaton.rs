//! The states of zones against the table of the standard (NVMe Zoned Namespace Command Set), written here a second
//! time, as text.

use devices::ssd::zoned::{Limits, State, Zones};
use engine::{Op, Random, Status, Xoshiro256};
use std::collections::BTreeMap;

/// A cell is the state that follows, `same`, a status code, or `-` where the event cannot come. A star: from empty the
/// zone needs an active and an open resource, from closed an open one.
const TABLE: &str = "
event      | empty | iopen  | eopen  | closed | full | ro | offline
write      | iopen*| same   | same   | iopen* | B9   | BA | BB
append     | iopen*| same   | same   | iopen* | B9   | BA | BB
elsewhere  | BC    | BC     | BC     | BC     | B9   | BA | BB
past       | B8    | B8     | B8     | B8     | B9   | BA | BB
last       | -     | full   | full   | -      | -    | -  | -
open       | eopen*| eopen  | same   | eopen* | BF   | BF | BF
close      | BF    | closed | closed | same   | BF   | BF | BF
finish     | full  | full   | full   | full   | same | BF | BF
reset      | same  | empty  | empty  | empty  | empty| BF | BF
offline    | BF    | BF     | BF     | BF     | BF   | offline | same
takes      | -     | closed | -      | -      | -    | -  | -
program    | -     | ro     | ro     | ro     | ro   | -  | -
erase      | offline | -    | -      | -      | -    | offline | -
";

const STATES: [(&str, State); 7] = [
    ("empty", State::Empty),
    ("iopen", State::Implicit),
    ("eopen", State::Explicit),
    ("closed", State::Closed),
    ("full", State::Full),
    ("ro", State::ReadOnly),
    ("offline", State::Offline),
];

const ZONES: u32 = 7;
const SIZE: u64 = 40;
const CAPACITY: u64 = 24;

fn limits() -> Limits {
    Limits {
        zones: ZONES,
        size: SIZE,
        capacity: CAPACITY,
        open: 2,
        active: 4,
        append: 16,
        read_across: true,
        windows: 0,
        window: 0,
        granularity: 1,
    }
}

/// What is known of a zone by the table alone.
#[derive(Debug, Clone, Copy)]
struct Known {
    state: &'static str,
    pointer: u64,
    used: u64,
}

struct Model {
    table: BTreeMap<(&'static str, &'static str), &'static str>,
    zones: Vec<Known>,
    writes: u64,
    met: BTreeMap<(&'static str, &'static str), u64>,
}

fn is_open(state: &str) -> bool {
    state == "iopen" || state == "eopen"
}

fn code(status: Status) -> String {
    let (kind, code) = status.nvme().expect("zones refuse with a code");
    assert_eq!(kind, 1, "{status:?}");
    format!("{code:02X}")
}

impl Model {
    fn new() -> Model {
        let mut lines = TABLE.trim().lines().map(|line| line.split('|').map(str::trim));
        let names: Vec<_> = lines.next().unwrap().skip(1).collect();
        assert_eq!(names, STATES.map(|(name, _)| name));
        let mut table = BTreeMap::new();
        for mut line in lines {
            let event = line.next().unwrap();
            table.extend(names.iter().zip(line).map(|(state, cell)| ((event, *state), cell)));
        }
        let zones = Vec::new();
        Model { table, zones, writes: 0, met: BTreeMap::new() }
    }

    fn begin(&mut self) {
        self.zones = vec![Known { state: "empty", pointer: 0, used: 0 }; ZONES as usize];
    }

    /// What an event makes of a zone: the state that follows, or a status.
    fn expect(&mut self, event: &'static str, zone: usize) -> Result<(), String> {
        let state = self.zones[zone].state;
        let cell = self.table[&(event, state)];
        *self.met.entry((event, state)).or_default() += 1;
        if cell.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit()) {
            return Err(cell.to_owned());
        }
        if cell.ends_with('*') {
            let active = |it: &&Known| is_open(it.state) || it.state == "closed";
            if state == "empty" && self.zones.iter().filter(active).count() == 4 {
                return Err("BD".to_owned());
            }
            if self.zones.iter().filter(|it| is_open(it.state)).count() == 2 {
                let implicit = (0..ZONES as usize).filter(|it| self.zones[*it].state == "iopen");
                let Some(oldest) = implicit.min_by_key(|it| self.zones[*it].used) else {
                    return Err("BE".to_owned());
                };
                self.expect("takes", oldest)?;
            }
        }
        match cell.trim_end_matches('*') {
            "same" => {}
            next => self.zones[zone].state = STATES.iter().find(|it| it.0 == next).unwrap().0,
        }
        Ok(())
    }

    /// The same of a write of so many sectors, which may be the last of its zone.
    fn expect_write(
        &mut self,
        event: &'static str,
        zone: usize,
        sectors: u64,
    ) -> Result<(), String> {
        self.expect(event, zone)?;
        self.writes += 1;
        self.zones[zone].pointer += sectors;
        self.zones[zone].used = self.writes;
        if self.zones[zone].pointer == CAPACITY {
            self.expect("last", zone)?;
        }
        Ok(())
    }

    fn check(&self, zones: &Zones, after: &str) {
        for (number, known) in self.zones.iter().enumerate() {
            let look = zones.look(number as u32);
            let expected = STATES.iter().find(|it| it.0 == known.state).unwrap().1;
            assert_eq!(look.state, expected, "zone {number} {after}");
            if is_open(known.state) || known.state == "closed" {
                assert_eq!(look.pointer, known.pointer, "zone {number} {after}");
            }
        }
        zones.audit().unwrap();
    }
}

/// A random command, to the zones and to the table.
fn command(random: &mut Xoshiro256, zones: &mut Zones, model: &mut Model) {
    let zone = random.below(u64::from(ZONES));
    let (number, at) = (zone as usize, zone * SIZE);
    let pointer = model.zones[number].pointer.min(CAPACITY);
    let room = CAPACITY - pointer;
    let events = [
        "write",
        "write",
        "write",
        "append",
        "append",
        "elsewhere",
        "past",
        "open",
        "close",
        "finish",
        "reset",
        "reset",
        "offline",
        "program",
        "erase",
    ];
    let event = events[random.below(events.len() as u64) as usize];
    let sectors = 1 + random.below(room.clamp(1, 16));
    let (expected, found) = match event {
        // What comes to a zone without room is one of the two kinds of write elsewhere.
        "write" | "append" if room == 0 && model.zones[number].state != "full" => return,
        "write" => {
            let expected = model.expect_write("write", number, sectors);
            (expected, zones.write(at + pointer.min(CAPACITY - 1), sectors).map(drop))
        }
        "append" => {
            let expected = model.expect_write("append", number, sectors);
            (expected, zones.append(at, sectors).map(drop))
        }
        "elsewhere" => {
            let place = (pointer + 1 + random.below(CAPACITY - 1)) % CAPACITY;
            if place == pointer {
                return;
            }
            (model.expect("elsewhere", number), zones.write(at + place, 1).map(drop))
        }
        "past" => (
            model.expect("past", number),
            zones.write(at + pointer, CAPACITY - pointer + 1).map(drop),
        ),
        "program" | "erase" => {
            // Failures are rare, and only where something is programmed or erased.
            if random.below(40) > 0 || model.table[&(event, model.zones[number].state)] == "-" {
                return;
            }
            if event == "program" {
                zones.fail_program(number as u32);
            } else {
                zones.fail_erase(number as u32, CAPACITY);
            }
            (model.expect(event, number), Ok(()))
        }
        _ => {
            let op = Op::ALL.into_iter().find(|op| op.name() == event).unwrap();
            let expected = model.expect(event, number);
            if expected.is_ok() && event == "reset" {
                model.zones[number].pointer = 0;
            }
            (expected, zones.manage(op, at, 1).map(drop))
        }
    };
    let after = format!("after {event} of {sectors} sectors to zone {number}");
    assert_eq!(found.map_err(code), expected, "{after}");
    model.check(zones, &after);
}

#[test]
fn a_million_commands_do_what_the_table_of_the_standard_says_and_every_cell_is_met() {
    let mut model = Model::new();
    let mut random = Xoshiro256::new(11, 0);
    for _ in 0..2_000 {
        model.begin();
        let mut zones = Zones::new(limits());
        for _ in 0..500 {
            command(&mut random, &mut zones, &mut model);
        }
    }
    for (cell, value) in model.table.clone() {
        let met = model.met.get(&cell).copied().unwrap_or(0);
        assert_eq!(met > 0, value != "-", "{cell:?}, {value}: met {met} times");
    }
}

/// A command to all zones does to each in a state that allows it what a command to it alone would do.
#[test]
fn a_command_to_all_zones_acts_on_those_in_a_state_that_allows_it() {
    let mut random = Xoshiro256::new(12, 0);
    let mut met = [0; 5];
    let ops = [Op::Open, Op::Close, Op::Finish, Op::Reset, Op::Offline];
    for _ in 0..5_000 {
        let mut model = Model::new();
        model.begin();
        let mut zones = Zones::new(limits());
        for _ in 0..60 {
            command(&mut random, &mut zones, &mut model);
        }
        let before: Vec<State> = (0..ZONES).map(|zone| zones.look(zone).state).collect();
        let which = random.below(5) as usize;
        let all = zones.manage_all(ops[which]);
        let after: Vec<State> = (0..ZONES).map(|zone| zones.look(zone).state).collect();
        let to = match ops[which] {
            Op::Open => {
                let wanted =
                    before.iter().filter(|it| **it == State::Closed || **it == State::Explicit);
                if wanted.count() > 2 {
                    assert_eq!((all, after), (Err(Status::TooManyOpen), before));
                    continue;
                }
                // Zones that were opened by writes may be closed for these.
                assert!(before.iter().zip(&after).all(|(was, is)| match was {
                    State::Closed => *is == State::Explicit,
                    State::Implicit => matches!(is, State::Implicit | State::Closed),
                    _ => was == is,
                }));
                met[which] += 1;
                continue;
            }
            Op::Close => |was: State| if was.is_open() { State::Closed } else { was },
            Op::Finish => |was: State| if was.is_active() { State::Full } else { was },
            Op::Reset => {
                |was: State| if was.is_active() || was == State::Full { State::Empty } else { was }
            }
            _ => |was: State| if was == State::ReadOnly { State::Offline } else { was },
        };
        assert_eq!(
            after,
            before.iter().map(|was| to(*was)).collect::<Vec<_>>(),
            "{:?}",
            ops[which]
        );
        let changed = before.iter().zip(&after).filter(|(was, is)| was != is).count();
        met[which] += u64::from(changed > 0);
    }
    assert!(met.iter().all(|count| *count > 20), "{met:?}");
}

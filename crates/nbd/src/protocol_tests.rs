use super::*;
use crate::answer::SIMPLE_REPLY_MAGIC;
use crate::catalogue::{Offer, Security};
use crate::negotiation::*;
use proptest::prelude::*;

const BYTES: u64 = 1 << 20;

/// A conversation and its greeting.
fn conversation() -> (Conversation, Vec<u8>) {
    let mut out = Vec::new();
    (Conversation::new(Some(Export { bytes: BYTES, read_only: false }), &mut out), out)
}

/// All events and replies of a conversation for an input in pieces of `piece` bytes.
fn feed(conversation: &mut Conversation, input: &[u8], piece: usize) -> (Vec<Event>, Vec<u8>) {
    let (mut events, mut out, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in input.chunks(piece.max(1)) {
        waiting.extend_from_slice(chunk);
        loop {
            let (consumed, event) = conversation.next(&waiting, &mut out);
            waiting.drain(..consumed);
            match event {
                Event::More => break,
                // Data events depend on the pieces.
                Event::Handled | Event::Data(false) => {}
                Event::Close => {
                    events.push(event);
                    return (events, out);
                }
                _ => events.push(event),
            }
        }
    }
    (events, out)
}

fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"IHAVEOPT".to_vec();
    bytes.extend(option.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    bytes
}

fn go(name: &str, infos: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend((infos.len() as u16).to_be_bytes());
    for info in infos {
        data.extend(info.to_be_bytes());
    }
    data
}

fn request(flags: u16, command: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(command.to_be_bytes());
    bytes.extend(7u64.to_be_bytes());
    bytes.extend(offset.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes
}

/// A conversation whose client has chosen the export.
fn open() -> Conversation {
    let (mut conversation, _) = conversation();
    let words = [vec![0, 0, 0, 3], option(OPT_GO, &go("", &[]))].concat();
    feed(&mut conversation, &words, 1000);
    assert!(conversation.is_open());
    conversation
}

/// Types of the option replies.
fn kinds(mut out: &[u8]) -> Vec<u32> {
    let mut kinds = Vec::new();
    while !out.is_empty() {
        assert_eq!(be64(out), OPTION_REPLY_MAGIC);
        kinds.push(be32(&out[12..]));
        out = &out[20 + be32(&out[16..]) as usize..];
    }
    kinds
}

/// Error of the only simple reply.
fn error(out: &[u8]) -> u32 {
    assert_eq!((out.len(), be32(out), be64(&out[8..])), (16, SIMPLE_REPLY_MAGIC, 7));
    be32(&out[4..])
}

#[test]
fn the_greeting_is_fixed_newstyle() {
    assert_eq!(conversation().1, b"NBDMAGICIHAVEOPT\0\x03");
}

#[test]
fn a_client_may_list_the_exports_and_leave() {
    let (mut conversation, _) = conversation();
    let words = [
        vec![0, 0, 0, 3],
        option(8, &[]),
        option(OPT_LIST, &[]),
        option(OPT_INFO, &go("", &[INFO_BLOCK_SIZE])),
        option(OPT_GO, &go("", &[])),
        request(0, 3, 0, 0),
    ];
    let (events, out) = feed(&mut conversation, &words.concat(), 3);
    let replies = [REP_ACK, REP_SERVER, REP_ACK, REP_INFO, REP_INFO, REP_ACK, REP_INFO, REP_ACK];
    assert_eq!(kinds(&out), replies);
    let asked = Asked {
        command: Command::Flush,
        fua: false,
        handle: engine::Handle::NONE,
        cookie: 7,
        offset: 0,
        length: 0,
        structured: false,
    };
    assert_eq!(events, [Event::Request(asked)]);
}

#[test]
fn the_oldest_way_to_choose_an_export_works() {
    for (flags, zeroes) in [(3, 0), (1, 124)] {
        let (mut conversation, _) = conversation();
        let words = [vec![0, 0, 0, flags], option(OPT_EXPORT_NAME, &[])].concat();
        let (events, out) = feed(&mut conversation, &words, 1000);
        assert!(events.is_empty() && conversation.is_open());
        assert_eq!(out.len(), 10 + zeroes);
        assert_eq!((be64(&out), be16(&out[8..])), (BYTES, TRANSMISSION_FLAGS));
    }
}

#[test]
fn what_cannot_be_negotiated_is_refused() {
    let long = vec![0; MOST_OPTION_BYTES as usize + 1];
    let mut short = go("", &[]);
    short.pop();
    let rows: [(Vec<u8>, u32); 6] = [
        (option(OPT_GO, &go("other", &[])), REP_ERR_UNKNOWN),
        (option(OPT_GO, &short), REP_ERR_INVALID),
        (option(OPT_INFO, &go("", &[1])[..6]), REP_ERR_INVALID),
        (option(OPT_LIST, b"x"), REP_ERR_INVALID),
        (option(OPT_GO, &long), REP_ERR_TOO_BIG),
        (option(99, b"what"), REP_ERR_UNSUP),
    ];
    for (words, expected) in rows {
        let (mut conversation, _) = conversation();
        feed(&mut conversation, &[0, 0, 0, 3], 4);
        let (events, out) = feed(&mut conversation, &words, 1000);
        assert_eq!((events, kinds(&out)), (vec![], vec![expected]));
        // The client may continue the negotiation.
        let (_, out) = feed(&mut conversation, &option(OPT_GO, &go("", &[])), 1000);
        assert_eq!(kinds(&out), [REP_INFO, REP_ACK]);
    }
}

#[test]
fn clients_that_do_not_speak_nbd_are_disconnected() {
    let flags = vec![0, 0, 0, 3];
    let rows = [
        vec![0, 0, 0, 0],
        vec![0xFF, 0, 0, 3],
        b"GET / HTTP/1.1\r\n".to_vec(),
        [flags.clone(), b"IHAVEOPX00000000".to_vec()].concat(),
        [flags.clone(), option(OPT_EXPORT_NAME, b"other")].concat(),
        [flags, option(OPT_ABORT, &[])].concat(),
    ];
    for words in rows {
        let (mut conversation, _) = conversation();
        let (events, _) = feed(&mut conversation, &words, 1000);
        assert_eq!(events, [Event::Close], "{}", words.escape_ascii());
        assert_eq!(conversation.next(b"more", &mut Vec::new()), (4, Event::Close));
    }
    let mut conversation = open();
    assert_eq!(feed(&mut conversation, &[0x55; 28], 28).0, [Event::Close]);
}

#[test]
fn wrong_requests_are_answered_and_the_next_is_heard() {
    let (invalid, no_space) = (Refusal::Invalid.number(), Refusal::NoSpace.number());
    let end = BYTES;
    let rows = [
        (0, 0, end, 1, invalid),
        (0, 0, end - 1, 2, invalid),
        (0, 0, u64::MAX, u32::MAX, invalid),
        (0, 0, 0, MOST_DATA_BYTES + 1, invalid),
        (0, 0, 0, 0, invalid),
        (0, 1, end, 512, no_space),
        (0, 1, 0, MOST_DATA_BYTES + 1, invalid),
        (0, 4, end - 1, 2, invalid),
        (0, 6, end, 1, no_space),
        (0, 5, 0, 1, invalid),
        (0, 7, 0, 1, invalid),
        (0, 99, 0, 1, invalid),
        // Zeroing with allocation is as slow as a write.
        (CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO, 6, 0, 512, Refusal::NotSupported.number()),
        (32, 6, 0, 1, invalid),
        (CMD_FLAG_FAST_ZERO, 4, 0, 512, invalid),
        (CMD_FLAG_NO_HOLE, 1, 0, 512, invalid),
        (0xFF00, 0, 0, 512, invalid),
    ];
    for (flags, command, offset, length, expected) in rows {
        let mut conversation = open();
        let mut words = request(flags, command, offset, length);
        if command == 1 {
            words.extend(vec![0; length as usize]);
        }
        let (events, out) = feed(&mut conversation, &words, 1 << 16);
        assert_eq!((events, error(&out)), (vec![], expected), "{command} {offset} {length}");
        let (events, _) = feed(&mut conversation, &request(0, 0, 0, 512), 5);
        assert!(matches!(events[..], [Event::Request(Asked { command: Command::Read, .. })]));
    }
}

#[test]
fn the_data_of_a_write_follow_it() {
    let mut conversation = open();
    let write = [request(CMD_FLAG_FUA, 1, 512, 1000), vec![9; 1000]].concat();
    let both = [write, request(0, 2, 0, 0)].concat();
    let (events, out) = feed(&mut conversation, &both, 77);
    let asked = Asked {
        command: Command::Write,
        fua: true,
        handle: engine::Handle::NONE,
        cookie: 7,
        offset: 512,
        length: 1000,
        structured: false,
    };
    assert_eq!(events, [Event::Request(asked), Event::Data(true), Event::Close]);
    assert!(out.is_empty());
}

/// Possible client messages, valid and invalid.
fn word() -> impl Strategy<Value = Vec<u8>> {
    let near = prop_oneof![Just(0u64), 0..2 * BYTES, any::<u64>()];
    let length = prop_oneof![0u32..3000, any::<u32>()];
    prop_oneof![
        (0u32..12, prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(o, d)| option(o, &d)),
        Just(option(OPT_GO, &go("", &[INFO_BLOCK_SIZE]))),
        (0u16..4, 0u16..9, near, length).prop_map(|(f, c, o, l)| request(f, c, o, l)),
        prop::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #[test]
    fn requests_are_read_alike_however_their_bytes_are_split(
        words in prop::collection::vec(word(), 0..20),
        fixed in any::<bool>(),
        piece in 1usize..100,
    ) {
        let start = if fixed { vec![0, 0, 0, 3] } else { Vec::new() };
        let input = [start, words.concat()].concat();
        let (mut whole, _) = conversation();
        let (mut cut, _) = conversation();
        let expected = feed(&mut whole, &input, input.len());
        prop_assert_eq!(feed(&mut cut, &input, piece), expected);
    }
}

/// Data of a context option.
fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend((queries.len() as u32).to_be_bytes());
    for query in queries {
        data.extend((query.len() as u32).to_be_bytes());
        data.extend(query.as_bytes());
    }
    data
}

#[test]
fn allocation_is_asked_for_in_chunks_alone() {
    let set = option(OPT_SET_META_CONTEXT, &contexts("", &["x:y", "base:allocation"]));
    let (mut conversation, _) = conversation();
    let chunks = option(OPT_STRUCTURED_REPLY, &[]);
    let list = option(OPT_LIST_META_CONTEXT, &contexts("", &["base:"]));
    let odd = option(OPT_SET_META_CONTEXT, &contexts("", &["base:allocation"])[..9]);
    let words =
        [vec![0, 0, 0, 3], set.clone(), chunks, odd, list, set, option(OPT_GO, &go("", &[]))];
    let (_, out) = feed(&mut conversation, &words.concat(), 7);
    let (bad, context) = (REP_ERR_INVALID, REP_META_CONTEXT);
    assert_eq!(
        kinds(&out),
        [bad, REP_ACK, bad, context, REP_ACK, context, REP_ACK, REP_INFO, REP_ACK]
    );
    let (events, _) = feed(&mut conversation, &request(8, CMD_BLOCK_STATUS, 0, 512), 100);
    let [Event::Request(asked)] = events[..] else { panic!("{events:?}") };
    assert_eq!((asked.command, asked.structured), (Command::Extents { one: true }, true));
    let (events, _) = feed(&mut conversation, &request(4, CMD_READ, 0, 512), 100);
    assert!(matches!(events[..], [Event::Request(Asked { structured: true, .. })]));
    // Without negotiation the command does not exist.
    let (events, out) = feed(&mut open(), &request(0, CMD_BLOCK_STATUS, 0, 512), 100);
    assert_eq!((events.len(), error(&out)), (0, 22));
}

#[test]
fn nothing_is_changed_in_an_export_that_is_read_only() {
    let mut out = Vec::new();
    let export = Export { bytes: BYTES, read_only: true };
    let mut conversation = Conversation::new(Some(export), &mut out);
    let words = [vec![0, 0, 0, 3], option(OPT_EXPORT_NAME, &[])].concat();
    feed(&mut conversation, &words, 1000);
    for command in [CMD_WRITE, CMD_TRIM, CMD_WRITE_ZEROES] {
        let mut words = request(0, command, 0, 4);
        words.extend([0; 4].iter().take(if command == CMD_WRITE { 4 } else { 0 }));
        assert_eq!(error(&feed(&mut conversation, &words, 1000).1), 1);
    }
    assert_eq!(feed(&mut conversation, &request(0, CMD_FLUSH, 0, 0), 1000).0.len(), 1);
}

#[test]
fn clients_beyond_the_limit_are_refused_with_the_reason() {
    let mut out = Vec::new();
    let mut conversation = Conversation::new(None, &mut out);
    let words = [vec![0, 0, 0, 3], option(OPT_GO, &go("", &[]))].concat();
    let (events, out) = feed(&mut conversation, &words, 1000);
    assert_eq!((events, kinds(&out)), (vec![Event::Close], vec![REP_ERR_POLICY]));
    assert!(out.ends_with(FULL.as_bytes()));
}

/// A conversation with a server of three exports.
fn several(security: Security) -> Conversation {
    let offer = |name: &str, bytes, description: &str| Offer {
        name: name.to_owned(),
        description: description.to_owned(),
        export: Export { bytes, read_only: name == "old" },
    };
    let offers =
        vec![offer("new", BYTES, "a new drive"), offer("old", 512, ""), offer("ü/%", 1024, "")];
    let catalogue = Catalogue::new(offers, security).unwrap();
    let mut conversation = Conversation::of(Some(Arc::new(catalogue)), &mut Vec::new());
    feed(&mut conversation, &[0, 0, 0, 3], 4);
    conversation
}

#[test]
fn each_export_has_its_name_size_and_rights() {
    let mut conversation = several(Security::Off);
    let (_, out) = feed(&mut conversation, &option(OPT_LIST, &[]), 1000);
    assert_eq!(kinds(&out), [REP_SERVER, REP_SERVER, REP_SERVER, REP_ACK]);
    assert_eq!(out[20..38], *b"\0\0\0\x03newa new drive"[..18].as_ref());
    for (name, bytes, number) in
        [("new", BYTES, 0), ("", BYTES, 0), ("old", 512, 1), ("ü/%", 1024, 2)]
    {
        for last in [option(OPT_GO, &go(name, &[])), option(OPT_EXPORT_NAME, name.as_bytes())] {
            let mut conversation = several(Security::Off);
            let asked = go(name, &[INFO_NAME, INFO_DESCRIPTION, INFO_BLOCK_SIZE, 77]);
            let (_, out) = feed(&mut conversation, &option(OPT_INFO, &asked), 1000);
            let infos = if number == 0 { 4 } else { 3 };
            assert_eq!(kinds(&out), [vec![REP_INFO; infos], vec![REP_ACK]].concat(), "{name}");
            assert_eq!((be16(&out[20..]), be64(&out[22..])), (INFO_EXPORT, bytes));
            feed(&mut conversation, &last, 1000);
            assert!(conversation.is_open());
            assert_eq!((conversation.number, conversation.export.bytes), (number, bytes));
            assert_eq!(conversation.export.read_only, number == 1);
        }
    }
    for name in ["ne", "newer", "NEW", "\0"] {
        let mut conversation = several(Security::Off);
        let words = [option(OPT_INFO, &go(name, &[])), option(OPT_GO, &go(name, &[]))].concat();
        let (events, out) = feed(&mut conversation, &words, 1000);
        assert_eq!((events, kinds(&out)), (vec![], vec![REP_ERR_UNKNOWN; 2]));
        let (events, _) = feed(&mut conversation, &option(OPT_EXPORT_NAME, name.as_bytes()), 1000);
        assert_eq!(events, [Event::Close]);
    }
}

#[test]
fn contexts_are_those_of_the_export_for_which_they_were_set() {
    for (name, is_known) in [("new", true), ("", true), ("old", false)] {
        let mut conversation = several(Security::Off);
        let set = contexts(name, &["base:allocation"]);
        let words = [option(OPT_STRUCTURED_REPLY, &[]), option(OPT_SET_META_CONTEXT, &set)];
        feed(&mut conversation, &words.concat(), 1000);
        feed(&mut conversation, &option(OPT_GO, &go("new", &[])), 1000);
        let (events, _) = feed(&mut conversation, &request(0, CMD_BLOCK_STATUS, 0, 512), 100);
        assert_eq!(events.len(), usize::from(is_known), "{name}");
    }
    // An invalid list selects nothing, and clears the previous selection.
    let mut conversation = several(Security::Off);
    let set = option(OPT_SET_META_CONTEXT, &contexts("", &["base:allocation"]));
    let odd = option(OPT_SET_META_CONTEXT, &contexts("", &["base:allocation"])[..9]);
    let words = [option(OPT_STRUCTURED_REPLY, &[]), set, odd, option(OPT_GO, &go("", &[]))];
    feed(&mut conversation, &words.concat(), 1000);
    let (events, _) = feed(&mut conversation, &request(0, CMD_BLOCK_STATUS, 0, 512), 100);
    assert_eq!(events, []);
}

#[test]
fn nothing_is_said_before_tls_where_it_is_required() {
    for security in [Security::Off, Security::Offered, Security::Required] {
        let words = [
            option(OPT_LIST, &[]),
            option(OPT_INFO, &go("new", &[])),
            option(OPT_STRUCTURED_REPLY, &[]),
            option(OPT_LIST_META_CONTEXT, &contexts("new", &[])),
            option(OPT_GO, &go("nobody", &[])),
            option(99, &[]),
        ];
        let (_, out) = feed(&mut several(security), &words.concat(), 1000);
        let refused = kinds(&out).iter().filter(|it| **it == REP_ERR_TLS_REQD).count();
        assert_eq!(refused, if security == Security::Required { 6 } else { 0 });
        let mut conversation = several(security);
        feed(&mut conversation, &option(OPT_EXPORT_NAME, b"new"), 1000);
        assert_eq!(conversation.is_open(), security != Security::Required);
        let (events, _) = feed(&mut several(security), &option(OPT_ABORT, &[]), 1000);
        assert_eq!(events, [Event::Close]);
    }
}

#[test]
fn options_set_before_tls_are_forgotten_within() {
    let mut conversation = several(Security::Offered);
    let set = option(OPT_SET_META_CONTEXT, &contexts("", &["base:allocation"]));
    let words = [option(OPT_STRUCTURED_REPLY, &[]), set, option(OPT_STARTTLS, &[])].concat();
    let (events, out) = feed(&mut conversation, &words, 1000);
    assert_eq!((events, kinds(&out).last()), (vec![], Some(&REP_ACK)));
    assert!(conversation.is_securing() && conversation.secured().no_zeroes);
    // Only the new connection within TLS accepts this message.
    let words = option(OPT_GO, &go("", &[]));
    assert_eq!(feed(&mut conversation.clone(), &words, 1000), (vec![Event::Close], vec![]));
    let mut secured = conversation.secured();
    let (_, out) = feed(&mut secured, &option(OPT_STARTTLS, &[]), 1000);
    assert_eq!(kinds(&out), [REP_ERR_INVALID]);
    feed(&mut secured, &words, 1000);
    assert!(secured.is_open() && !secured.structured && secured.allocation.is_none());
    for (security, data, expected) in
        [(Security::Off, &[][..], REP_ERR_UNSUP), (Security::Required, &[1][..], REP_ERR_INVALID)]
    {
        let mut conversation = several(security);
        let (_, out) = feed(&mut conversation, &option(OPT_STARTTLS, data), 1000);
        assert_eq!((kinds(&out), conversation.is_securing()), (vec![expected], false));
    }
}

#[test]
fn clients_that_asked_for_block_sizes_must_keep_to_them() {
    for (infos, expected) in [(&[INFO_BLOCK_SIZE][..], 0), (&[], 1)] {
        for (command, offset, length) in
            [(CMD_READ, 1, 512), (CMD_READ, 0, 511), (CMD_TRIM, 256, 512), (CMD_WRITE, 0, 1)]
        {
            let (mut conversation, _) = conversation();
            let words = [vec![0, 0, 0, 3], option(OPT_GO, &go("", infos))].concat();
            feed(&mut conversation, &words, 1000);
            let mut words = request(0, command, offset, length);
            words.extend(vec![0; if command == CMD_WRITE { length as usize } else { 0 }]);
            let (events, out) = feed(&mut conversation, &words, 1000);
            let requests = events.iter().filter(|it| matches!(it, Event::Request(_))).count();
            assert_eq!(requests, expected, "{command} {offset} {length}");
            assert!(expected == 1 || error(&out) == Refusal::Invalid.number());
            let (events, _) = feed(&mut conversation, &request(0, CMD_READ, 512, 1024), 100);
            assert_eq!(events.len(), 1);
        }
    }
}

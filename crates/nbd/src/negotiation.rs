//! Negotiation phase: `EXPORT_NAME`, `ABORT`, `LIST`, `STARTTLS`, `INFO`, `GO`, `STRUCTURED_REPLY`
//! and the context `base:allocation`.
//!
//! When TLS starts, earlier options and earlier plain-text input are discarded: an attacker on the
//! network could have sent them.

use crate::answer::ALLOCATION_ID;
use crate::catalogue::{Catalogue, Export, Security};
use crate::protocol::{Conversation, Event, LEAST_BLOCK_BYTES, MOST_DATA_BYTES, Phase};
use crate::protocol::{be32, be64};
use std::sync::Arc;

/// `NBDMAGIC`, the first word that a server sends.
const INIT_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// `IHAVEOPT`, before each option of a client.
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

const FLAG_FIXED_NEWSTYLE: u16 = 1;
const FLAG_NO_ZEROES: u16 = 2;

pub(crate) const OPT_EXPORT_NAME: u32 = 1;
pub(crate) const OPT_ABORT: u32 = 2;
pub(crate) const OPT_LIST: u32 = 3;
pub(crate) const OPT_STARTTLS: u32 = 5;
pub(crate) const OPT_INFO: u32 = 6;
pub(crate) const OPT_GO: u32 = 7;
pub(crate) const OPT_STRUCTURED_REPLY: u32 = 8;
pub(crate) const OPT_LIST_META_CONTEXT: u32 = 9;
pub(crate) const OPT_SET_META_CONTEXT: u32 = 10;

pub(crate) const REP_ACK: u32 = 1;
pub(crate) const REP_SERVER: u32 = 2;
pub(crate) const REP_INFO: u32 = 3;
pub(crate) const REP_META_CONTEXT: u32 = 4;
pub(crate) const REP_ERR_UNSUP: u32 = (1 << 31) + 1;
pub(crate) const REP_ERR_POLICY: u32 = (1 << 31) + 2;
pub(crate) const REP_ERR_INVALID: u32 = (1 << 31) + 3;
pub(crate) const REP_ERR_TLS_REQD: u32 = (1 << 31) + 5;
pub(crate) const REP_ERR_UNKNOWN: u32 = (1 << 31) + 6;
pub(crate) const REP_ERR_TOO_BIG: u32 = (1 << 31) + 9;

pub(crate) const INFO_EXPORT: u16 = 0;
pub(crate) const INFO_NAME: u16 = 1;
pub(crate) const INFO_DESCRIPTION: u16 = 2;
pub(crate) const INFO_BLOCK_SIZE: u16 = 3;

/// `HAS_FLAGS`, `SEND_FLUSH`, `SEND_FUA`, `SEND_TRIM`, `SEND_WRITE_ZEROES`, `CAN_MULTI_CONN`,
/// `SEND_FAST_ZERO`. A flush on one connection covers the acknowledged writes of all connections,
/// because they share one copy of the data.
pub(crate) const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 11;
/// `READ_ONLY`, and `SEND_DF`: reads are never fragmented anyway.
const FLAG_READ_ONLY: u16 = 1 << 1;
const FLAG_SEND_DF: u16 = 1 << 7;

const OPTION_HEADER_BYTES: usize = 16;
/// Maximum size of an option; a name has at most 4096 bytes.
pub(crate) const MOST_OPTION_BYTES: u32 = 8192;
/// The preferred block size.
const PREFERRED_BLOCK_BYTES: u32 = 4096;
/// The supported metadata context.
const ALLOCATION: &[u8] = b"base:allocation";

/// Error message for a rejected client.
pub(crate) const FULL: &str = "all places are taken; try again later";
const TLS_FIRST: &[u8] = b"TLS is required";

impl Conversation {
    /// A new connection to a single unnamed export, and the server's greeting. Without an export
    /// every option is refused, because the server is full.
    pub fn new(export: Option<Export>, out: &mut Vec<u8>) -> Self {
        Conversation::of(export.map(|it| Arc::new(Catalogue::single(it))), out)
    }

    /// A new connection to a catalogue of exports.
    pub fn of(catalogue: Option<Arc<Catalogue>>, out: &mut Vec<u8>) -> Self {
        out.extend(INIT_MAGIC.to_be_bytes());
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend((FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes());
        Conversation::begun(catalogue, Phase::Flags)
    }

    /// True if TLS starts after the pending reply.
    pub(crate) fn is_securing(&self) -> bool {
        self.phase == Phase::Securing
    }

    pub(crate) fn flags(&mut self, input: &[u8]) -> (usize, Event) {
        let Some(bytes) = input.first_chunk() else { return (0, Event::More) };
        let flags = u32::from_be_bytes(*bytes);
        // Without fixed newstyle a client cannot parse replies to options.
        let known = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES);
        if flags & !known != 0 || flags & u32::from(FLAG_FIXED_NEWSTYLE) == 0 {
            return (4, Event::Close);
        }
        self.no_zeroes = flags & u32::from(FLAG_NO_ZEROES) != 0;
        self.phase = Phase::Options;
        (4, Event::Handled)
    }

    pub(crate) fn option(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Event) {
        let Some((header, rest)) = input.split_first_chunk::<OPTION_HEADER_BYTES>() else {
            return (0, Event::More);
        };
        let (option, length) = (be32(&header[8..]), be32(&header[12..]));
        if be64(header) != OPTION_MAGIC {
            return (OPTION_HEADER_BYTES, Event::Close);
        }
        if length > MOST_OPTION_BYTES {
            option_reply(out, option, REP_ERR_TOO_BIG, &[]);
            self.skip = length;
            let close = option == OPT_EXPORT_NAME;
            return (OPTION_HEADER_BYTES, if close { Event::Close } else { Event::Handled });
        }
        let Some(data) = rest.get(..length as usize) else { return (0, Event::More) };
        let event = self.negotiate(option, data, out);
        (OPTION_HEADER_BYTES + data.len(), event)
    }

    fn negotiate(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Event {
        let Some(catalogue) = self.catalogue.clone() else {
            // `EXPORT_NAME` has no reply but success.
            if option != OPT_EXPORT_NAME {
                option_reply(out, option, REP_ERR_POLICY, FULL.as_bytes());
            }
            return Event::Close;
        };
        let is_open = self.is_secure || catalogue.security != Security::Required;
        let error = match option {
            OPT_ABORT => {
                option_reply(out, option, REP_ACK, &[]);
                return Event::Close;
            }
            OPT_STARTTLS if self.is_secure || !data.is_empty() => REP_ERR_INVALID,
            OPT_STARTTLS if catalogue.security != Security::Off => {
                self.phase = Phase::Securing;
                REP_ACK
            }
            OPT_EXPORT_NAME => {
                // `EXPORT_NAME` has no error reply.
                let Some(number) = catalogue.find(data).filter(|_| is_open) else {
                    return Event::Close;
                };
                self.choose(&catalogue, number, false);
                out.extend(self.export.bytes.to_be_bytes());
                out.extend(self.transmission_flags(self.export).to_be_bytes());
                if !self.no_zeroes {
                    out.extend([0; 124]);
                }
                return Event::Handled;
            }
            _ if !is_open => {
                option_reply(out, option, REP_ERR_TLS_REQD, TLS_FIRST);
                return Event::Handled;
            }
            OPT_LIST if data.is_empty() => {
                for offer in catalogue.offers() {
                    let mut words = (offer.name.len() as u32).to_be_bytes().to_vec();
                    words.extend(offer.name.as_bytes());
                    words.extend(offer.description.as_bytes());
                    option_reply(out, option, REP_SERVER, &words);
                }
                REP_ACK
            }
            OPT_INFO | OPT_GO => self.tell(option, data, &catalogue, out),
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                REP_ACK
            }
            OPT_LIST | OPT_STRUCTURED_REPLY => REP_ERR_INVALID,
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => {
                self.contexts(option, data, &catalogue, out)
            }
            _ => REP_ERR_UNSUP,
        };
        option_reply(out, option, error, &[]);
        Event::Handled
    }

    fn choose(&mut self, catalogue: &Catalogue, number: usize, is_aligned: bool) {
        self.export = catalogue.offers()[number].export;
        (self.number, self.is_aligned) = (number, is_aligned);
        self.phase = Phase::Transmission;
    }

    fn transmission_flags(&self, export: Export) -> u16 {
        let mut flags = TRANSMISSION_FLAGS;
        flags |= if export.read_only { FLAG_READ_ONLY } else { 0 };
        flags | if self.structured { FLAG_SEND_DF } else { 0 }
    }

    /// Replies with the requested information about an export; `GO` also selects it.
    fn tell(&mut self, option: u32, data: &[u8], catalogue: &Catalogue, out: &mut Vec<u8>) -> u32 {
        let Some((name, wanted)) = wanted(data) else { return REP_ERR_INVALID };
        let Some(number) = catalogue.find(name) else { return REP_ERR_UNKNOWN };
        let offer = &catalogue.offers()[number];
        let wants = |info: u16| wanted.contains(&info.to_be_bytes());
        let mut say = |info: u16, parts: &[&[u8]]| {
            let words = [&info.to_be_bytes()[..], &parts.concat()].concat();
            option_reply(out, option, REP_INFO, &words);
        };
        let flags = self.transmission_flags(offer.export).to_be_bytes();
        say(INFO_EXPORT, &[&offer.export.bytes.to_be_bytes(), &flags]);
        if wants(INFO_NAME) {
            say(INFO_NAME, &[offer.name.as_bytes()]);
        }
        if wants(INFO_DESCRIPTION) && !offer.description.is_empty() {
            say(INFO_DESCRIPTION, &[offer.description.as_bytes()]);
        }
        if wants(INFO_BLOCK_SIZE) {
            let sizes = [LEAST_BLOCK_BYTES, PREFERRED_BLOCK_BYTES, MOST_DATA_BYTES];
            say(INFO_BLOCK_SIZE, &[sizes.map(u32::to_be_bytes).as_flattened()]);
        }
        if option == OPT_GO {
            self.choose(catalogue, number, wants(INFO_BLOCK_SIZE));
        }
        REP_ACK
    }

    /// Replies with the only metadata context.
    fn contexts(
        &mut self,
        option: u32,
        data: &[u8],
        catalogue: &Catalogue,
        out: &mut Vec<u8>,
    ) -> u32 {
        let listing = option == OPT_LIST_META_CONTEXT;
        if !listing {
            // Even a failed request clears the previous selection.
            self.allocation = None;
        }
        let Some((name, queries)) = queries(data) else { return REP_ERR_INVALID };
        if !self.structured {
            return REP_ERR_INVALID;
        }
        let Some(number) = catalogue.find(name) else { return REP_ERR_UNKNOWN };
        let all = listing && queries.is_empty();
        let wanted = queries.iter().any(|it| *it == ALLOCATION || listing && *it == b"base:");
        if !listing && wanted {
            self.allocation = Some(number);
        }
        if all || wanted {
            let mut context = ALLOCATION_ID.to_be_bytes().to_vec();
            context.extend(ALLOCATION);
            option_reply(out, option, REP_META_CONTEXT, &context);
        }
        REP_ACK
    }
}

/// Name and requested information types in the data of `INFO` or `GO`.
fn wanted(data: &[u8]) -> Option<(&[u8], &[[u8; 2]])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, items) = rest.split_first_chunk::<2>()?;
    let (items, odd) = items.as_chunks::<2>();
    let is_whole = odd.is_empty() && items.len() == usize::from(u16::from_be_bytes(*count));
    is_whole.then_some((name, items))
}

/// Removes a length-prefixed text.
fn text<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *data = rest;
    Some(text)
}

/// Name of the export and queries in the data of a context option.
fn queries(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut rest = data;
    let name = text(&mut rest)?;
    let (count, after) = rest.split_first_chunk::<4>()?;
    rest = after;
    let mut queries = Vec::new();
    while !rest.is_empty() {
        queries.push(text(&mut rest)?);
    }
    (queries.len() == u32::from_be_bytes(*count) as usize).then_some((name, queries))
}

fn option_reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
}

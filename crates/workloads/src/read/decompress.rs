//! Compressed input, recognised by its first bytes, never by a file's name.
//!
//! Files of several concatenated compressed streams are read to their end. Data without a known
//! magic number pass unchanged.

use std::io::{self, Cursor, Read};

/// Source of a trace: any stream of bytes.
pub type Input = Box<dyn Read + Send>;

/// A compression format: its magic number and its decoder.
struct Compression {
    magic: &'static [u8],
    decode: fn(Input) -> io::Result<Input>,
}

/// Memory limit for a .xz file: 15 times the need of the strongest preset of xz. Without a limit, a
/// few bytes could demand 4 GiB.
const XZ_MEMORY_BYTES: u64 = 1 << 30;

const COMPRESSIONS: &[Compression] = &[
    // RFC 1952, section 2.3.1: two magic bytes and the only compression method.
    Compression {
        magic: &[0x1F, 0x8B, 8],
        decode: |input| Ok(Box::new(flate2::read::MultiGzDecoder::new(input))),
    },
    Compression {
        magic: b"BZh",
        decode: |input| Ok(Box::new(bzip2::read::MultiBzDecoder::new(input))),
    },
    // The .xz file format, section 2.1.1.1.
    Compression {
        magic: b"\xFD7zXZ\0",
        decode: |input| {
            let files = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, files)?;
            Ok(Box::new(liblzma::read::XzDecoder::new_stream(input, stream)))
        },
    },
    // RFC 8878, section 3.1.1.
    Compression {
        magic: &[0x28, 0xB5, 0x2F, 0xFD],
        decode: |input| Ok(Box::new(zstd::stream::read::Decoder::new(input)?)),
    },
];

/// Content of `input`, decompressed if needed.
///
/// # Errors
/// When its beginning cannot be read, or does not decompress despite the magic number.
pub fn decompress(mut input: Input) -> io::Result<Input> {
    let longest = COMPRESSIONS.iter().map(|row| row.magic.len()).max().unwrap_or(0);
    let mut start = Vec::new();
    input.by_ref().take(longest as u64).read_to_end(&mut start)?;
    let found = COMPRESSIONS.iter().find(|row| start.starts_with(row.magic));
    let whole = Box::new(Cursor::new(start).chain(input));
    match found {
        Some(compression) => (compression.decode)(whole),
        None => Ok(whole),
    }
}

/// Compressed texts, for tests of readers.
#[cfg(test)]
pub(crate) fn compressed(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    fn all(mut reader: impl Read) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        bytes
    }
    vec![
        ("gz", all(flate2::read::GzEncoder::new(text, flate2::Compression::fast()))),
        ("bz2", all(bzip2::read::BzEncoder::new(text, bzip2::Compression::fast()))),
        ("xz", all(liblzma::read::XzEncoder::new(text, 1))),
        ("zst", zstd::stream::encode_all(text, 1).unwrap()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> String {
        let mut text = String::new();
        decompress(Box::new(Cursor::new(bytes))).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn each_compression_and_none() {
        for text in ["", "B", "BZ", "plain text"] {
            assert_eq!(read(text.as_bytes().to_vec()), text);
            for (name, bytes) in compressed(text.as_bytes()) {
                assert_eq!(read(bytes), text, "{name}");
            }
        }
    }

    #[test]
    fn files_put_together_are_read_to_the_end() {
        for ((name, mut first), (_, second)) in
            compressed(b"one, ").into_iter().zip(compressed(b"two"))
        {
            first.extend(second);
            assert_eq!(read(first), "one, two", "{name}");
        }
    }
}

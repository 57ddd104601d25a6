//! Reads the column of operation words as integer codes.
//!
//! The library returns each word as a reference-counted slice of its page, which costs more than
//! all other columns of a row. So words are replaced by codes before a page is decoded. In a
//! dictionary encoding only the dictionary's entries are replaced; pages that refer to it stay
//! unchanged.

use engine::Op;
use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{ColumnDescriptor, Type};
use std::sync::{Arc, Mutex, PoisonError};

/// Words that are not operations; their codes follow those for operations.
#[derive(Debug, Clone, Default)]
pub(super) struct Codes(Arc<Mutex<Vec<Vec<u8>>>>);

impl Codes {
    /// The code of a word.
    pub(super) fn of(&self, word: &[u8]) -> u64 {
        let is_word = |op: &Op| op.name().as_bytes() == word;
        if let Some(known) = Op::ALL.iter().position(is_word) {
            return known as u64;
        }
        let mut others = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = if others.last().is_some_and(|last| last == word) {
            others.len() - 1
        } else {
            others.push(word.to_vec());
            others.len() - 1
        };
        (Op::ALL.len() + place) as u64
    }

    /// Operation of a code, if any.
    #[inline]
    pub(super) fn operation(code: u64) -> Option<Op> {
        Op::ALL.get(code as usize).copied()
    }

    /// The word for a code that is not an operation.
    pub(super) fn other(&self, code: u64) -> Vec<u8> {
        let others = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (code as usize).checked_sub(Op::ALL.len());
        place.and_then(|place| others.get(place)).cloned().unwrap_or_default()
    }

    /// Codes of words from the library.
    pub(super) fn of_all(&self, words: &[ByteArray], codes: &mut Vec<u64>) {
        codes.clear();
        codes.extend(words.iter().map(|word| self.of(word.data())));
    }

    /// A reader for a column of words; it yields codes if the column's encodings are supported
    /// here.
    pub(super) fn reader(
        &self,
        group: &dyn RowGroupReader,
        index: usize,
    ) -> Result<ColumnReader, ParquetError> {
        let column = group.metadata().column(index);
        let known = [
            Encoding::PLAIN,
            Encoding::PLAIN_DICTIONARY,
            Encoding::RLE_DICTIONARY,
            // RLE encodes the levels that mark nulls.
            Encoding::RLE,
        ];
        if !column.encodings().all(|encoding| known.contains(&encoding)) {
            return group.get_column_reader(index);
        }
        let words = column.column_descr();
        let levels = words.max_def_level();
        let repetition = if levels > 0 { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let kind = Type::primitive_type_builder(words.name(), Physical::INT32);
        let kind = Arc::new(kind.with_repetition(repetition).build()?);
        let codes = ColumnDescriptor::new(kind, levels, 0, words.path().clone());
        let pages = group.get_column_page_reader(index)?;
        let pages = Box::new(Replaced { pages, has_levels: levels > 0, codes: self.clone() });
        let reader = ColumnReaderImpl::<Int32Type>::new(Arc::new(codes), pages);
        Ok(ColumnReader::Int32ColumnReader(reader))
    }
}

/// Pages of a column of words, with words replaced by codes.
struct Replaced {
    pages: Box<dyn PageReader>,
    has_levels: bool,
    codes: Codes,
}

fn broken() -> ParquetError {
    ParquetError::General("a word reaches past the end of its page".to_owned())
}

impl Replaced {
    /// Replaces the values after the levels of a page: each word is its length and its bytes.
    fn replace(&self, page: &[u8], levels: usize) -> Result<Vec<u8>, ParquetError> {
        let (levels, mut rest) = page.split_at_checked(levels).ok_or_else(broken)?;
        let mut replaced = levels.to_vec();
        while let Some((length, behind)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length) as usize;
            let (word, behind) = behind.split_at_checked(length).ok_or_else(broken)?;
            let code = i32::try_from(self.codes.of(word));
            replaced.extend(code.map_err(|_| broken())?.to_le_bytes());
            rest = behind;
        }
        Ok(replaced)
    }
}

impl PageReader for Replaced {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let mut page = self.pages.get_next_page()?;
        match &mut page {
            Some(Page::DictionaryPage { buf, .. }) => *buf = self.replace(buf, 0)?.into(),
            Some(Page::DataPage { buf, encoding: Encoding::PLAIN, .. }) => {
                let levels = match buf.first_chunk() {
                    _ if !self.has_levels => 0,
                    Some(length) => 4 + u32::from_le_bytes(*length) as usize,
                    None => return Err(broken()),
                };
                *buf = self.replace(buf, levels)?.into();
            }
            Some(Page::DataPageV2 {
                buf,
                encoding: Encoding::PLAIN,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            }) => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                *buf = self.replace(buf, levels)?.into();
            }
            _ => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Replaced {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

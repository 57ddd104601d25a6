//! The exports of a server, by name.

use crate::error::Error;

/// Maximum size of a name or description in bytes; the protocol allows 4096.
const MOST_NAME_BYTES: usize = 255;
/// Maximum number of exports: one message holds their list.
const MOST_EXPORTS: usize = 64;

/// Properties of an export for its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Export {
    /// Size in bytes.
    pub bytes: u64,
    /// True for a read-only export.
    pub read_only: bool,
}

/// An export as listed to clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Name of the export.
    pub name: String,
    /// Human-readable description.
    pub description: String,
    /// The export.
    pub export: Export,
}

/// TLS policy of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// No TLS.
    Off,
    /// TLS is optional.
    Offered,
    /// TLS is mandatory.
    Required,
}

/// All exports; the first is the default export, which has an empty name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    offers: Vec<Offer>,
    pub(crate) security: Security,
}

impl Catalogue {
    /// A catalogue of one unnamed export.
    pub fn single(export: Export) -> Self {
        let offer = Offer { name: String::new(), description: String::new(), export };
        Catalogue { offers: vec![offer], security: Security::Off }
    }

    /// A catalogue of named exports.
    ///
    /// # Errors
    /// When a name is too long or used twice, or the number of exports is 0 or too large.
    pub fn new(offers: Vec<Offer>, security: Security) -> Result<Self, Error> {
        if offers.is_empty() || offers.len() > MOST_EXPORTS {
            let problem = format!("{} exports: expected 1 to {MOST_EXPORTS}", offers.len());
            return Err(Error::Input(problem));
        }
        for (number, offer) in offers.iter().enumerate() {
            let refuse = |problem: String| {
                Err(Error::Input(format!("export {}: {problem}", offer.name.escape_debug())))
            };
            for (what, text) in [("name", &offer.name), ("description", &offer.description)] {
                if text.len() > MOST_NAME_BYTES {
                    return refuse(format!("its {what} is longer than {MOST_NAME_BYTES} bytes"));
                }
            }
            if offers[..number].iter().any(|it| it.name == offer.name) {
                return refuse("this name is used twice".to_owned());
            }
        }
        Ok(Catalogue { offers, security })
    }

    /// Exports in order.
    pub(crate) fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// The export with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        let named = self.offers.iter().position(|it| it.name.as_bytes() == name);
        named.or_else(|| name.is_empty().then_some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(name: &str) -> Offer {
        Offer { name: name.to_owned(), description: String::new(), export: Export::default() }
    }

    #[test]
    fn clients_that_give_no_name_get_the_first_export() {
        let it = Catalogue::new(vec![offer("a"), offer("b")], Security::Off).unwrap();
        let found = ["a", "b", "", "c"].map(|name| it.find(name.as_bytes()));
        assert_eq!(found, [Some(0), Some(1), Some(0), None]);
        let it = Catalogue::new(vec![offer("a"), offer("")], Security::Off).unwrap();
        assert_eq!(it.find(b""), Some(1));
    }

    #[test]
    fn names_that_cannot_be_told_apart_are_refused() {
        let long = "x".repeat(256);
        for (names, words) in [
            (vec!["a", "b", "a"], "export a: this name is used twice"),
            (vec![&long], "its name is longer than 255 bytes"),
            (vec![], "0 exports: expected 1 to 64"),
        ] {
            let offers = names.into_iter().map(offer).collect();
            let error = Catalogue::new(offers, Security::Off).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

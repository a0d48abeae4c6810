//! Kinds of keys as people of payments say them: each is one key of CCA, or two of one value, as one key of theirs goes
//! both ways and one of CCA goes one.
//!
//! | kind | meaning | keys of CCA, by the ends of their labels |
//! |---|---|---|
//! | `zpk` | zone PIN key | OUT: OPINENC, IN: IPINENC; of AES PINPROT for ISO-4 |
//! | `zmk` | zone master key | OUT: EXPORTER, IN: IMPORTER; they wrap tokens and key blocks |
//! | `kbpk` | key block protection key | the same two, which protect key blocks and wrap no token |
//! | `tmk` | terminal master key | one EXPORTER: terminals send no keys; of AES for key blocks alone |
//! | `cvk` | card verification key | one MAC key of CVVKEY-A |
//! | `pvk` | PIN verification key | GEN: PINGEN, VER: PINVER, of VISA-PVV or of the method that is named |
//!
//! The keys are those that a block of the kind's usages comes in as ([`token::tr31::uses`]): so they leave in blocks.

use super::{AES_BITS, DES, NamedKind, Usage};
use std::fmt;
use token::KeyType;
use token::control_vector::KeyForm;
use token::tr31::uses::Meaning;
use token::variable::VariableType;

/// A kind of key of payments, such as `tdes-zpk`.
#[derive(Clone, Copy)]
pub struct PaymentKind {
    row: &'static PaymentRow,
    length: PaymentLength,
}

/// Algorithm and length of a key of payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PaymentLength {
    Tdes(KeyForm),
    Aes(usize),
}

/// One name, of every algorithm that has it.
struct PaymentRow {
    name: &'static str,
    means: &'static str,
    tdes: &'static [Half],
    aes: &'static [Half],
    /// Usages of blocks that hold such a key (X9.143), with TDES and with AES.
    block_usages: [&'static [&'static str]; 2],
    /// Whether Key_Generate and Key_Generate2 make both keys of a pair for one system.
    is_made_together: bool,
    /// Keywords that take the place of the last one of each half.
    methods: &'static [&'static str],
}

/// One key of CCA: the end of its label, what it is, and what it does.
struct Half {
    end: &'static str,
    meaning: Meaning,
    does: &'static str,
}

const fn tdes(
    end: &'static str,
    key_type: KeyType,
    words: &'static [&'static str],
    does: &'static str,
) -> Half {
    Half { end, meaning: Meaning::Des(key_type, words), does }
}

const fn aes(
    end: &'static str,
    of: VariableType,
    words: &'static [&'static str],
    does: &'static str,
) -> Half {
    Half { end, meaning: Meaning::Variable(of, words), does }
}

const ROWS: &[PaymentRow] = &[
    PaymentRow {
        name: "zpk",
        means: "zone PIN key",
        tdes: &[
            tdes("OUT", KeyType::OPinEnc, &[], "enciphers PIN blocks"),
            tdes("IN", KeyType::IPinEnc, &[], "deciphers PIN blocks"),
        ],
        aes: &[
            aes("OUT", VariableType::PinProt, PIN_OUT, "enciphers PIN blocks of ISO-4"),
            aes("IN", VariableType::PinProt, PIN_IN, "deciphers PIN blocks of ISO-4"),
        ],
        block_usages: [&["P0"], &["P0"]],
        is_made_together: true,
        methods: &[],
    },
    PaymentRow {
        name: "zmk",
        means: "zone master key",
        tdes: &[
            tdes(
                "OUT",
                KeyType::Exporter,
                &[],
                "wraps keys for the partner: tokens, and blocks of version B",
            ),
            tdes(
                "IN",
                KeyType::Importer,
                &[],
                "unwraps keys of the partner: tokens, and blocks of version B",
            ),
        ],
        aes: &[
            aes(
                "OUT",
                VariableType::Exporter,
                &["WR-TR31"],
                "wraps keys for the partner: tokens, and blocks of version D",
            ),
            aes(
                "IN",
                VariableType::Importer,
                &["WR-TR31"],
                "unwraps keys of the partner: tokens, and blocks of version D",
            ),
        ],
        block_usages: [&["K0"], &["K0"]],
        is_made_together: false,
        methods: &[],
    },
    PaymentRow {
        name: "kbpk",
        means: "key block protection key",
        tdes: &[
            tdes("OUT", KeyType::Exporter, &["KBPK"], "protects key blocks of version B that leave"),
            tdes("IN", KeyType::Importer, &["KBPK"], "opens key blocks of version B"),
        ],
        aes: &[
            aes(
                "OUT",
                VariableType::Exporter,
                &["EXPTT31D", "VARDRV-D"],
                "protects key blocks of version D that leave",
            ),
            aes("IN", VariableType::Importer, &["IMPTT31D", "VARDRV-D"], "opens key blocks of version D"),
        ],
        block_usages: [&["K1"], &["K1"]],
        is_made_together: false,
        methods: &[],
    },
    PaymentRow {
        name: "tmk",
        means: "terminal master key",
        tdes: &[tdes(
            "",
            KeyType::Exporter,
            &[],
            "wraps keys for the terminal: tokens, and blocks of version B",
        )],
        aes: &[aes(
            "",
            VariableType::Exporter,
            &["EXPTT31D", "VARDRV-D"],
            "protects key blocks of version D for the terminal",
        )],
        block_usages: [&["K0"], &["K1"]],
        is_made_together: true,
        methods: &[],
    },
    PaymentRow {
        name: "cvk",
        means: "card verification key",
        tdes: &[tdes("", KeyType::Mac, &["CVVKEY-A"], "makes and verifies card verification values")],
        aes: &[],
        block_usages: [&["C0"], &[]],
        is_made_together: true,
        methods: &[],
    },
    PaymentRow {
        name: "pvk",
        means: "PIN verification key",
        tdes: &[
            tdes("GEN", KeyType::PinGen, &["VISA-PVV"], "makes PINs, PVVs or offsets, and verifies them"),
            tdes("VER", KeyType::PinVer, &["VISA-PVV"], "verifies PINs alone"),
        ],
        aes: &[],
        block_usages: [&["V0", "V1", "V2"], &[]],
        is_made_together: false,
        methods: &["NO-SPEC", "IBM-PIN", "IBM-PINO", "VISA-PVV", "INBK-PIN", "GBP-PIN", "NL-PIN-1"],
    },
];

/// What PINPROT keys that go out and come in with a block of P0 may do ([`token::tr31::uses`]): less could come back as
/// more, and does not leave.
const PIN_OUT: &[&str] = &["ENCRYPT", "CBC", "EPINGEN", "PINXLATE", "REFORMAT", "ISO-4"];
const PIN_IN: &[&str] = &["DECRYPT", "CBC", "EPINVER", "CPINGENA", "PINXLATE", "REFORMAT", "ISO-4"];

/// One key of CCA that a kind of payments stands for.
#[derive(Clone, Debug)]
pub struct PaymentKey {
    /// The last part of its label; empty for a kind of one key, which has the label that was given.
    pub end: &'static str,
    /// Its kind.
    pub kind: NamedKind,
    /// Its keywords.
    pub usage: Usage,
    /// What it does, for people.
    pub does: &'static str,
}

impl PaymentKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().flat_map(|row| {
            let forms = DES.iter().map(|(form, _)| PaymentLength::Tdes(*form));
            let lengths = forms.chain(AES_BITS.iter().map(|bits| PaymentLength::Aes(*bits)));
            lengths.map(move |length| Self { row, length }).filter(|kind| kind.exists())
        })
    }

    /// Whether CCA has all keys of the kind in this length. Keys of one part are no keys of payments.
    fn exists(self) -> bool {
        let halves = self.halves();
        let has = |half: &Half| match (half.meaning, self.length) {
            (_, PaymentLength::Tdes(KeyForm::Single)) => false,
            (Meaning::Des(key_type, words), PaymentLength::Tdes(form)) => {
                key_type.vector_with(form, words.iter().copied()).is_ok()
            }
            (Meaning::Variable(..), PaymentLength::Aes(_)) => true,
            _ => false,
        };
        !halves.is_empty() && halves.iter().all(has)
    }

    fn halves(self) -> &'static [Half] {
        match self.length {
            PaymentLength::Tdes(_) => self.row.tdes,
            PaymentLength::Aes(_) => self.row.aes,
        }
    }

    /// The name that people type, such as `tdes-zpk`.
    pub fn name(self) -> String {
        let length = match self.length {
            PaymentLength::Tdes(form) => {
                DES.iter().find(|(own, _)| *own == form).map_or("tdes", |(_, name)| *name).to_owned()
            }
            PaymentLength::Aes(bits) => format!("aes{bits}"),
        };
        format!("{length}-{}", self.row.name)
    }

    /// The kind of this name, in either case. A name alone is the kind of TDES with two parts, such as `zpk`.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let is_it = |kind: &Self| {
            kind.name() == name
                || kind.row.name == name && kind.length == PaymentLength::Tdes(KeyForm::Double)
        };
        Self::all().find(is_it)
    }

    /// What the name stands for, such as `zone PIN key`.
    pub fn means(self) -> &'static str {
        self.row.means
    }

    /// Length of the key in bytes.
    pub fn key_bytes(self) -> usize {
        match self.length {
            PaymentLength::Tdes(form) => form.key_bytes(),
            PaymentLength::Aes(bits) => bits / 8,
        }
    }

    /// Usages of the blocks that hold such a key (X9.143), such as P0.
    pub fn block_usages(self) -> &'static [&'static str] {
        let [tdes, aes] = self.row.block_usages;
        match self.length {
            PaymentLength::Tdes(_) => tdes,
            PaymentLength::Aes(_) => aes,
        }
    }

    /// The kind of the same name and algorithm whose keys have this many bytes.
    pub fn of_length(self, key_bytes: usize) -> Option<Self> {
        let is_des = |kind: Self| matches!(kind.length, PaymentLength::Tdes(_));
        let is_like = |kind: &Self| kind.row.name == self.row.name && is_des(*kind) == is_des(self);
        Self::all().find(|kind| is_like(kind) && kind.key_bytes() == key_bytes)
    }

    /// Whether a card makes all its keys at once: of some pairs Key_Generate makes one here and one for another system.
    pub fn is_made_together(self) -> bool {
        self.row.is_made_together
    }

    /// Ends of the labels of a pair, such as OUT and IN; none for a kind of one key.
    pub fn ends(self) -> impl Iterator<Item = &'static str> {
        self.halves().iter().map(|half| half.end).filter(|end| !end.is_empty())
    }

    /// Every end that a label of some pair has.
    pub fn all_ends() -> Vec<&'static str> {
        let mut ends: Vec<&str> = Self::all().flat_map(Self::ends).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// The keys, with further keywords for each of them; of `pvk` a method takes the place of VISA-PVV. `only` is the
    /// end of the one that is wanted.
    ///
    /// # Errors
    /// [`NoSuchEnd`] for an end that the kind does not have.
    pub fn keys(self, more: &[String], only: Option<&str>) -> Result<Vec<PaymentKey>, NoSuchEnd> {
        let is_wanted = |half: &&Half| only.is_none_or(|only| half.end.eq_ignore_ascii_case(only));
        let keys: Vec<PaymentKey> =
            self.halves().iter().filter(is_wanted).map(|half| self.key(half, more)).collect();
        if keys.is_empty() { Err(NoSuchEnd(self)) } else { Ok(keys) }
    }

    fn key(self, half: &'static Half, more: &[String]) -> PaymentKey {
        let kind = match (half.meaning, self.length) {
            (Meaning::Des(key_type, _), PaymentLength::Tdes(form)) => NamedKind::Des(form, key_type),
            (Meaning::Variable(of, _), PaymentLength::Aes(bits)) => NamedKind::Aes(bits, of),
            // A row has its halves by algorithm.
            (Meaning::Des(key_type, _), _) => NamedKind::Des(KeyForm::Double, key_type),
            (Meaning::Variable(of, _), _) => NamedKind::Aes(128, of),
        };
        let (Meaning::Des(_, own) | Meaning::Variable(_, own)) = half.meaning;
        let methods = self.row.methods;
        let has_method =
            more.iter().any(|word| methods.iter().any(|own| own.eq_ignore_ascii_case(word.trim())));
        let own = own.iter().filter(|word| !(has_method && methods.contains(word)));
        let words: Vec<&str> = own.copied().chain(more.iter().map(String::as_str)).collect();
        PaymentKey { end: half.end, kind, usage: Usage::new(&words, &[]), does: half.does }
    }
}

impl PartialEq for PaymentKind {
    fn eq(&self, other: &Self) -> bool {
        self.row.name == other.row.name && self.length == other.length
    }
}

impl Eq for PaymentKind {}

impl fmt::Debug for PaymentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// A kind of payments has no key whose label has this end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchEnd(PaymentKind);

impl std::error::Error for NoSuchEnd {}

impl fmt::Display for NoSuchEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends: Vec<String> = self.0.ends().map(str::to_ascii_lowercase).collect();
        match ends.is_empty() {
            true => write!(f, "{} is one key, of which there are no sides", self.0.name()),
            false => write!(f, "{} has {}", self.0.name(), ends.join(" and ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use token::tr31::uses::{self, rows};
    use token::{DesToken, VariableToken};

    fn kind(name: &str) -> PaymentKind {
        PaymentKind::parse(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn names_are_those_of_people_and_no_kind_of_cca_has_one() {
        for kind in PaymentKind::all() {
            assert_eq!(PaymentKind::parse(&kind.name().to_uppercase()), Some(kind));
            assert!(NamedKind::parse(&kind.name()).is_err(), "{kind:?}");
        }
        for name in ["zpk", "zmk", "kbpk", "tmk", "cvk", "pvk"] {
            assert_eq!(kind(name).name(), format!("tdes-{name}"));
        }
        for name in ["aes128-kbpk", "tdes3-kbpk", "tdes3-zpk", "aes192-zpk", "aes256-zmk", "aes256-tmk"] {
            assert_eq!(kind(name).name(), name);
        }
        for none in ["aes128-cvk", "aes128-pvk", "des-zpk", "tdes3-cvk", "xyz", ""] {
            assert_eq!(PaymentKind::parse(none), None, "{none}");
        }
        assert_eq!(PaymentKind::all_ends(), ["GEN", "IN", "OUT", "VER"]);
    }

    /// Each key has a skeleton, and leaves under a usage of its kind in a mode that it comes in by.
    #[test]
    fn every_key_leaves_in_a_block_of_its_usages() {
        for kind in PaymentKind::all() {
            for key in kind.keys(&[], None).unwrap() {
                let skeleton = key.kind.skeleton(&key.usage, None).unwrap();
                let leaves = kind.block_usages().iter().any(|usage| {
                    let usage = [usage.as_bytes()[0], usage.as_bytes()[1]];
                    b"BCDEGNVX".iter().any(|mode| match key.kind {
                        NamedKind::Des(..) => {
                            let vector = DesToken::parse(&skeleton).unwrap().control_vector();
                            uses::may_leave(vector, usage, *mode, false).is_ok()
                        }
                        _ => {
                            let token = VariableToken::parse(&skeleton).unwrap();
                            uses::may_leave_variable(token.attributes(), usage, *mode).is_ok()
                        }
                    })
                });
                assert!(leaves, "{kind:?} {}", key.end);
            }
        }
    }

    #[test]
    fn keys_of_pins_are_those_that_a_block_comes_in_as() {
        for (mode, words) in [(b'E', PIN_OUT), (b'D', PIN_IN)] {
            assert_eq!(rows(*b"P0", b'A', mode).next().unwrap().keywords(), words);
        }
    }

    #[test]
    fn a_method_takes_the_place_of_the_usual_one_and_a_side_is_chosen() {
        let words = |more: &[&str]| {
            let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
            let keys = kind("pvk").keys(&more, Some("ver")).unwrap();
            assert_eq!((keys.len(), keys[0].end), (1, "VER"));
            keys[0].usage.own.clone()
        };
        assert_eq!(words(&[]), ["VISA-PVV"]);
        assert_eq!(words(&["ibm-pin", "NO-XPORT"]), ["IBM-PIN", "NO-XPORT"]);
        assert_eq!(words(&["NO-XPORT"]), ["VISA-PVV", "NO-XPORT"]);
        assert_eq!(kind("pvk").keys(&[], Some("out")).unwrap_err().to_string(), "tdes-pvk has gen and ver");
        assert!(kind("cvk").keys(&[], Some("out")).unwrap_err().to_string().contains("one key"));
    }
}

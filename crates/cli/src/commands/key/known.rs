//! `cryptand key test-value` and `test-keys`: keys of known values, in development homes alone.

use super::part::{self, Begun};
use super::{parse, record};
use crate::args::PairEnd;
use crate::commands::development;
use crate::failure::Failure;
use crate::kind::TypedKind;
use crate::output::{print, table};
use crate::prompt::{hexadecimal, to_hexadecimal};
use facility::Facility;
use facility::keys::NamedKind;
use std::path::Path;
use wire::Label;
use wire::control::Store;
use wire::verb::{KeyAlgorithm, clear_key_import_multiple as ckm};

/// The key that is asked for.
pub struct Known<'a> {
    pub kind: TypedKind,
    pub only: Option<PairEnd>,
    pub usage: &'a [String],
    pub value: &'a [u8],
}

/// Records a key of a known value.
pub fn run(facility: &Facility, label: &Label, known: &Known<'_>, domain: u16) -> Result<(), Failure> {
    development::serves(facility, "key test-value")?;
    for (label, does) in enter(facility, label, known, domain)? {
        let does = if does.is_empty() { String::new() } else { format!("; it {does}") };
        eprintln!("{label}: recorded, of a value that everybody may know{does}");
    }
    Ok(())
}

fn enter(
    facility: &Facility,
    label: &Label,
    known: &Known<'_>,
    domain: u16,
) -> Result<Vec<(Label, &'static str)>, Failure> {
    // Tokens of fixed length take no parts, and a clear key by a verb of its own.
    if let TypedKind::Cca(NamedKind::AesData(bits)) = known.kind {
        if known.value.len() * 8 != bits || known.only.is_some() || !known.usage.is_empty() {
            return Err(Failure::Usage(format!(
                "aes{bits}: a key of {} bytes, without --usage and --only",
                bits / 8
            )));
        }
        let ask = ckm::Ask { algorithm: Some(KeyAlgorithm::Aes), clear_key: known.value, ..ckm::Ask::new() };
        let answered = facility.ask(domain, &ask)?;
        super::complete("clear-key-import-multiple", answered.codes())?;
        record(facility, Store::Aes, label, answered.got().target_key_identifier)?;
        return Ok(vec![(label.clone(), "")]);
    }
    let begun = Begun { kind: known.kind, only: known.only, usage: known.usage, parts: None };
    part::of_value(facility, label, domain, &begun, known.value)
}

/// A published test key.
struct Published {
    label: &'static str,
    kind: &'static str,
    usage: &'static [&'static str],
    value: &'static str,
    /// Who publishes the value, and what it gives there.
    source: &'static str,
}

const fn of(
    label: &'static str,
    kind: &'static str,
    usage: &'static [&'static str],
    value: &'static str,
    source: &'static str,
) -> Published {
    Published { label, kind, usage, value, source }
}

/// The value of most samples: of X9.24-1, jPOS, psec and pyemv.
const SAMPLE: &str = "0123456789ABCDEFFEDCBA9876543210";
const AES_BASE: &str = "FEDCBA9876543210F1F1F1F1F1F1F1F1";
const AES_BASE_256: &str = "FEDCBA9876543210F1F1F1F1F1F1F1F1FEDCBA9876543210F1F1F1F1F1F1F1F1";
const BLOCK_D: &str = "88E1AB2A2E3DD38C1FA039A536500CC8A87AB9D62DC92C01058FA79F44657DE6";
const HSM_D: &str = "4141414141414141414141414141414141414141414141414141414141414141";

const PUBLISHED: &[Published] = &[
    of("TEST.BDK", "tdes-keygenky", &["UKPT"], SAMPLE, "X9.24-1, annex A: the base key of TDES DUKPT"),
    of(
        "TEST.BDKAES",
        "aes128-dkygenky",
        &["A-DUKPT", "D-ALL", "DKYL0"],
        AES_BASE,
        "X9.24-3: the base key of AES DUKPT, 128 bits",
    ),
    of(
        "TEST.BDKA256",
        "aes256-dkygenky",
        &["A-DUKPT", "D-ALL", "DKYL0"],
        AES_BASE_256,
        "X9.24-3, tests of openemv: 256 bits",
    ),
    of(
        "TEST.ZMK",
        "zmk",
        &[],
        "DD7515F2BFC17F85CE48F3CA25CB21F6",
        "TR-31, A.7.2.2: protects a block of version B",
    ),
    of("TEST.KBPK", "aes256-kbpk", &[], BLOCK_D, "TR-31, A.7.4, X9.143, 8.1: protects blocks of version D"),
    of(
        "TEST.KBPKHSM",
        "aes256-kbpk",
        &[],
        HSM_D,
        "a payment HSM, tests of openemv: protects blocks of version D",
    ),
    of(
        "TEST.ZPK",
        "zpk",
        &[],
        "3F419E1CB7079442AA37474C2EFBF8B8",
        "TR-31, A.7.2.2: the PIN key of the block, 57C409",
    ),
    of("TEST.ZPKAES", "aes128-zpk", &[], "00112233445566778899AABBCCDDEEFF", "psec: PIN blocks of ISO-4"),
    of("TEST.CVK", "cvk", &[], SAMPLE, "jPOS, psec: 4123456789012345, 8701, 101 gives the CVV 561"),
    of("TEST.PVK", "pvk", &[], SAMPLE, "psec: 1122334455667788, index 3, PIN 4524 gives the PVV 4021"),
    of("TEST.PVKIBM", "pvk", &["IBM-PIN"], SAMPLE, "psec: PINs and offsets of IBM 3624"),
    of(
        "TEST.IMKAC",
        "tdes-dkygenky",
        &["DKYL1", "DMAC"],
        SAMPLE,
        "pyemv: an issuer's key for cryptograms of EMV cards",
    ),
    of("TEST.MAC", "tdes-mac", &[], SAMPLE, "the key of these samples, for MACs by X9.19"),
    of(
        "TEST.CMAC",
        "aes128-mac",
        &["GENERATE", "CMAC"],
        "2B7E151628AED2A6ABF7158809CF4F3C",
        "NIST SP 800-38B, D.1: CMAC with AES-128",
    ),
];

/// Records the published test keys that have no record yet.
pub fn published(facility: &Facility, domain: u16) -> Result<(), Failure> {
    development::serves(facility, "key test-keys")?;
    let (mut new, mut kept) = (0, 0);
    for Published { label, kind, usage, value, .. } in PUBLISHED {
        let kind = TypedKind::parse(kind).map_err(Failure::Usage)?;
        let usage: Vec<String> = usage.iter().map(|word| (*word).to_owned()).collect();
        let value = hexadecimal(value)?;
        let label = parse(label)?;
        let there = facility.records(None, &format!("{label}*"))?;
        let is_own = |row: &Label| row == &label || row.as_str().starts_with(&format!("{label}."));
        if there.iter().any(|row| is_own(&row.label)) {
            kept += 1;
            continue;
        }
        enter(facility, &label, &Known { kind, only: None, usage: &usage, value: &value }, domain)?;
        new += 1;
    }
    eprintln!(
        "{new} published test keys recorded, {kept} were there; `cryptand key test-keys --list` says whose they are"
    );
    Ok(())
}

/// Prints the published test keys, without a card.
pub fn list(asked: Option<&Path>) -> Result<(), Failure> {
    development::is_home(asked, "key test-keys")?;
    let row = |key: &Published| {
        let kind = match key.usage.is_empty() {
            true => key.kind.to_owned(),
            false => format!("{} {}", key.kind, key.usage.join(",")),
        };
        vec![key.label.to_owned(), kind, key.value.to_owned(), key.source.to_owned()]
    };
    print(&table(&["label", "kind", "value", "source"], PUBLISHED.iter().map(row)))
}

/// Reads a value that was typed.
pub fn value(text: &str) -> Result<Vec<u8>, Failure> {
    let value = hexadecimal(text).map_err(|error| Failure::Usage(format!("HEX: {error}")))?;
    if value.is_empty() {
        return Err(Failure::Usage(format!(
            "HEX: a key has digits, such as {}",
            to_hexadecimal(&[0x01, 0x23])
        )));
    }
    Ok(value.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_key_is_of_a_kind_and_of_its_length() {
        let mut labels = Vec::new();
        for key in PUBLISHED {
            let bytes = match TypedKind::parse(key.kind).unwrap() {
                TypedKind::Cca(kind) => kind.key_bytes().unwrap(),
                TypedKind::Payment(kind) => kind.key_bytes(),
            };
            assert_eq!(hexadecimal(key.value).unwrap().len(), bytes, "{}", key.label);
            labels.push(Label::new(key.label).unwrap());
        }
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), PUBLISHED.len());
    }
}

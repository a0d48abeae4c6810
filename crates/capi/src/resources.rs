//! Which card a thread uses, and which domain the process does: what it has allocated, else what the environment says.
//!
//! | function | rule array: one or two of | resource name |
//! |---|---|---|
//! | allocate | `DEVICE`, `SERIAL` or `DEV-ANY`; `DOMNnnnn` | with `DEVICE` `CRP01` and so on, with `SERIAL` eight characters; else not looked at |
//! | deallocate | the same; `DOMN-DEF` for any domain | the same |
//!
//! A card is allocated to a thread, a domain to the process. Each stays allocated until it is deallocated by its own
//! name.

use crate::chosen::{self, Chosen, card_of, choose, domain, selection};
use crate::memory::Pointer;
use crate::process;
use facility::{Facility, Selection};
use std::ffi::c_void;
use wire::bounds::{DOMAINS_MAX, KEYWORD_BYTES};
use wire::control::Personality;
use wire::verb::{FacilityQuery, cryptographic_facility_query as query};
use wire::{Codes, code};

/// What is done with a card or a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Allocates the card or domain.
    Allocate,
    /// Deallocates the card or domain.
    Deallocate,
}

/// Largest number of keywords in a rule array.
const KEYWORDS: i64 = 2;
/// Longest name of a card.
const NAME_BYTES: usize = 8;
/// The prefix of a keyword that names a domain.
const DOMAIN: &str = "DOMN";
/// Index of the serial number among the elements of the answer to STATCRD2.
const SERIAL_ELEMENT: usize = 14;

/// The card and the domain that a rule array names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked<'a> {
    card: Option<Card<'a>>,
    domain: Option<Domain>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Card<'a> {
    Device(&'a str),
    Serial(&'a str),
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Domain {
    Number(u16),
    Allocated,
}

impl<'a> Asked<'a> {
    fn read(change: Change, rules: &[u8], name: &'a [u8]) -> Result<Self, Codes> {
        let name = std::str::from_utf8(name).map_err(|_| code::INVALID_PARAMETER)?;
        let mut asked = Self::default();
        for word in rules.chunks(KEYWORD_BYTES) {
            let word = std::str::from_utf8(word).map_err(|_| code::KEYWORD)?.trim_end();
            let (card, domain) = match word {
                "DEVICE" => (Some(Card::Device(name)), None),
                "SERIAL" => (Some(Card::Serial(name)), None),
                "DEV-ANY" => (Some(Card::Any), None),
                "DOMN-DEF" if change == Change::Deallocate => (None, Some(Domain::Allocated)),
                word => (None, Some(Domain::Number(domain_of(word).ok_or(code::KEYWORD)?))),
            };
            if (card.is_some() && asked.card.is_some()) || (domain.is_some() && asked.domain.is_some()) {
                return Err(code::KEYWORD_COMBINATION);
            }
            asked = Self { card: asked.card.or(card), domain: asked.domain.or(domain) };
        }
        Ok(asked)
    }
}

/// The number of a domain in a keyword: four digits.
fn domain_of(word: &str) -> Option<u16> {
    let digits = word.strip_prefix(DOMAIN).filter(|digits| digits.len() == 4)?;
    let number = digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())??;
    (usize::from(number) < DOMAINS_MAX).then_some(number)
}

/// Allocates or deallocates.
///
/// # Errors
/// 8/184 for a null pointer; 8/35 for no keyword, or more than two; 8/33 and 8/34 for keywords; 8/72 for a name that is
/// longer than any; 8/21 for one that no card can have; 12/338 for a card that the caller may not use, or that is not
/// there; 8/2089 where another one is allocated, or none.
///
/// # Safety
/// There are four pointers, each null or to a `long`, or to as many keywords or bytes as the one before it says.
pub(crate) unsafe fn run(change: Change, pointers: &[*mut c_void]) -> Result<Codes, Codes> {
    let [count, rules, length, name] = pointers else { return Err(code::NULL_POINTER) };
    let [count, rules, length, name] = [count, rules, length, name].map(|pointer| Pointer::of(*pointer));
    if count.is_null() || rules.is_null() || length.is_null() {
        return Err(code::NULL_POINTER);
    }
    // SAFETY: the caller's promise.
    let (count, length) = unsafe { (count.integer(), length.integer()) };
    if !(1..=KEYWORDS).contains(&count) {
        return Err(code::KEYWORD_COUNT);
    }
    if !(0..=NAME_BYTES as i64).contains(&length) {
        return Err(code::BUFFER_TOO_SMALL);
    }
    if name.is_null() && length != 0 {
        return Err(code::NULL_POINTER);
    }
    let (mut words, mut bytes) = (Vec::new(), Vec::new());
    // SAFETY: the caller's promise.
    unsafe {
        rules.append_to(&mut words, count as usize * KEYWORD_BYTES);
        name.append_to(&mut bytes, length as usize);
    }
    let asked = Asked::read(change, &words, &bytes)?;
    match change {
        Change::Allocate => allocate(asked),
        Change::Deallocate => deallocate(asked),
    }
}

fn allocate(asked: Asked<'_>) -> Result<Codes, Codes> {
    let is_taken =
        (asked.card.is_some() && selection().is_some()) || (asked.domain.is_some() && domain().is_some());
    if is_taken {
        return Err(code::ALLOCATION);
    }
    // Everything that can fail comes first, so that a refusal changes nothing.
    let chosen = asked.card.map(chosen).transpose()?;
    if let Some(Domain::Number(number)) = asked.domain {
        chosen::allocate(Some(number));
    }
    if let Some(chosen) = chosen {
        choose(chosen);
    }
    Ok(code::OK)
}

fn deallocate(asked: Asked<'_>) -> Result<Codes, Codes> {
    let is_allocated = match asked.domain {
        None => true,
        Some(Domain::Allocated) => domain().is_some(),
        Some(Domain::Number(number)) => domain() == Some(number),
    };
    let own = chosen::own();
    let is_own = match (asked.card, own) {
        (None, _) | (Some(Card::Any), Chosen::Any) => true,
        (Some(Card::Device(name)), own) => {
            card_of(name).map(Chosen::Card).ok_or(code::INVALID_PARAMETER)? == own
        }
        (Some(Card::Serial(name)), Chosen::Card(index)) => {
            let (facility, domain) = process::facility()?;
            serial(facility, domain, index)? == name.as_bytes()
        }
        (Some(_), _) => false,
    };
    if !is_allocated || !is_own {
        return Err(code::ALLOCATION);
    }
    if asked.domain.is_some() {
        chosen::allocate(None);
    }
    if asked.card.is_some() {
        choose(Chosen::Default);
    }
    Ok(code::OK)
}

/// The coprocessor that the keyword and the name mean. It exists, and the caller may use it.
fn chosen(card: Card<'_>) -> Result<Chosen, Codes> {
    let (facility, domain) = match card {
        Card::Any => return Ok(Chosen::Any),
        Card::Device(_) | Card::Serial(_) => process::facility()?,
    };
    let cards = facility.cards().map_err(|error| error.codes())?;
    let coprocessors =
        cards.iter().filter(|card| card.personality == Personality::Coprocessor).map(|card| card.index);
    match card {
        Card::Device(name) => {
            let wanted = card_of(name).ok_or(code::INVALID_PARAMETER)?;
            coprocessors.into_iter().find(|index| *index == wanted).map(Chosen::Card).ok_or(code::NO_CARD)
        }
        Card::Serial(name) => {
            for index in coprocessors {
                if serial(facility, domain, index)? == name.as_bytes() {
                    return Ok(Chosen::Card(index));
                }
            }
            Err(code::NO_CARD)
        }
        Card::Any => Ok(Chosen::Any),
    }
}

/// The serial number of a card.
fn serial(facility: &Facility, domain: u16, index: u32) -> Result<Vec<u8>, Codes> {
    let ask = query::Ask::new(FacilityQuery::Adapters);
    let reply = facility.with_selection(Selection::card(index)).ask(domain, &ask);
    let reply = reply.map_err(|error| error.codes())?;
    if !reply.codes().has_output() {
        return Err(reply.codes());
    }
    Ok(reply.got().rule_array.get(SERIAL_ELEMENT).map(|element| element.to_vec()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(change: Change, rules: &str, name: &'a str) -> Result<Asked<'a>, Codes> {
        let rules: String = rules.split(' ').map(|word| format!("{word:8}")).collect();
        Asked::read(change, rules.as_bytes(), name.as_bytes())
    }

    #[test]
    fn keywords_name_a_card_and_a_domain() {
        let both = Asked { card: Some(Card::Device("CRP01")), domain: Some(Domain::Number(3)) };
        for rules in ["DEVICE DOMN0003", "DOMN0003 DEVICE"] {
            assert_eq!(read(Change::Allocate, rules, "CRP01"), Ok(both));
        }
        assert_eq!(
            read(Change::Allocate, "SERIAL", "0123ABCD").unwrap().card,
            Some(Card::Serial("0123ABCD"))
        );
        assert_eq!(read(Change::Allocate, "DEV-ANY", "").unwrap().card, Some(Card::Any));
        assert_eq!(read(Change::Deallocate, "DOMN-DEF", "").unwrap().domain, Some(Domain::Allocated));
        for wrong in ["DOMN-DEF", "DOMN0016", "DOMN+001", "DOMN001", "HCPUACLR", "HCPUAPRT", "device", ""] {
            assert_eq!(read(Change::Allocate, wrong, "CRP01"), Err(code::KEYWORD), "{wrong}");
        }
        for wrong in ["DEVICE SERIAL", "DEVICE DEVICE", "DOMN0001 DOMN0001"] {
            assert_eq!(read(Change::Allocate, wrong, "CRP01"), Err(code::KEYWORD_COMBINATION), "{wrong}");
        }
    }

    #[test]
    fn a_domain_is_allocated_once_and_given_up_by_its_number() {
        let domain_only = |number| Asked { card: None, domain: Some(Domain::Number(number)) };
        assert_eq!(deallocate(domain_only(2)), Err(code::ALLOCATION));
        assert_eq!((allocate(domain_only(2)), domain()), (Ok(code::OK), Some(2)));
        assert_eq!(allocate(domain_only(3)), Err(code::ALLOCATION));
        assert_eq!(deallocate(domain_only(3)), Err(code::ALLOCATION));
        // A new thread has no card of its own, but the same domain as the process.
        let any = Asked { card: Some(Card::Any), domain: None };
        assert_eq!(allocate(any), Ok(code::OK));
        assert_eq!(selection(), Some(Selection::default()));
        std::thread::spawn(move || {
            assert_eq!((selection(), domain()), (None, Some(2)));
            assert_eq!(deallocate(any), Err(code::ALLOCATION));
        })
        .join()
        .unwrap();
        assert_eq!((deallocate(any), selection()), (Ok(code::OK), None));
        let default = Asked { card: None, domain: Some(Domain::Allocated) };
        assert_eq!((deallocate(default), domain()), (Ok(code::OK), None));
        assert_eq!(deallocate(default), Err(code::ALLOCATION));
    }
}

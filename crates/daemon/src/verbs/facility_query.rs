//! Cryptographic_Facility_Query (CSUACFQ): the master-key registers of the caller's domain, and the cards and domains
//! that the caller may use. It tells nothing of other domains, tenants and roles.
//!
//! | keyword | elements of the rule array |
//! |---|---|
//! | STATCCA | new, current, old symmetric register; version; day of the build; role |
//! | STATCCAE | those of STATCCA, then new, current, old asymmetric register |
//! | STATAES, STATAPKA | new, current, old register; longest key in bits |
//! | STATCRD2 | number of cards that the caller may use; 13 blanks, since there is no hardware; serial number |
//! | STATICSA | serial number; new, current, old of the symmetric, the asymmetric and the AES register |
//! | STATICSB | those of STATICSA, and the APKA register |
//!
//! A new register is `1` empty, `2` partly filled, `3` full; a current or an old one `1` empty, `2` filled. STATICSA
//! and STATICSB give verification patterns in `verb_data`, in blocks of length, tag and value, big-endian; a register
//! without a key has zeros. DOM-NUMS gives the number of domains there, in four bytes, and DOM-USAG those that the
//! caller may use, in two bytes each.

use super::{Answer, Facts};
use wire::Codes;
use wire::bounds::KEYWORD_BYTES;
use wire::control::{MasterKeyPattern, NewState, Register, RegisterRow};
use wire::frame::Arguments;
use wire::verb::FacilityQuery as Query;
use wire::verb::cryptographic_facility_query::{self as query, Request};

/// One element of the rule array.
type Element = [u8; KEYWORD_BYTES];

/// An element without content.
const BLANK: Element = [b' '; KEYWORD_BYTES];
/// The day on which the code was built: unknown, since the same sources give the same program on any day.
const BUILD_DAY: &str = "00000000";
/// Longest AES key in bits; [`CURVE_BITS`] is the longest key of an elliptic curve.
const AES_BITS: &str = "256";
const CURVE_BITS: &str = "521";
/// Number of elements of STATCRD2 between the number of cards and the serial number.
const HARDWARE: usize = 13;

/// Answers the query of these arguments.
///
/// # Errors
/// 8/33 for keywords that are not served, 8/34 unless they name exactly one query, 8/35 for more than two keywords.
pub fn answer(arguments: &Arguments<'_>, facts: &Facts<'_>) -> Result<Answer, Codes> {
    let request: Request<'_> = super::request(arguments)?;
    let (elements, data) = match request.query {
        Query::Sym => (common(facts), Vec::new()),
        Query::SymAndAsym => {
            let mut elements = common(facts);
            elements.extend(states(facts, Register::Asym));
            (elements, Vec::new())
        }
        Query::Aes => (of_register(facts, Register::Aes, AES_BITS), Vec::new()),
        Query::Apka => (of_register(facts, Register::Apka, CURVE_BITS), Vec::new()),
        Query::Adapters => {
            let mut elements = vec![element(&facts.adapters.to_string())];
            elements.extend([BLANK; HARDWARE]);
            elements.push(facts.serial);
            (elements, Vec::new())
        }
        Query::Patterns => patterns(facts, &[Register::Sym, Register::Asym, Register::Aes]),
        Query::AllPatterns => patterns(facts, &Register::ALL),
        Query::Domains => (Vec::new(), u32::from(facts.domains).to_be_bytes().to_vec()),
        Query::UsableDomains => {
            (Vec::new(), facts.usable.iter().flat_map(|domain| domain.to_be_bytes()).collect())
        }
        // The table refuses every other keyword.
        _ => return Err(wire::code::KEYWORD),
    };
    let elements = elements.concat();
    let outputs = query::Answer { rule_array: Some(&elements), verb_data: Some(&data) };
    let room = (query::VERB_DATA_LENGTH, request.verb_data.capacity());
    Ok(Answer::of(&outputs, Some(room)))
}

/// A text as an element.
fn element(text: &str) -> Element {
    let mut element = BLANK;
    element.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    element
}

/// The elements of STATCCA.
fn common(facts: &Facts<'_>) -> Vec<Element> {
    let mut elements = states(facts, Register::Sym).to_vec();
    elements.extend([element(wire::verb::CCA_LEVEL), element(BUILD_DAY), super::role_id(&facts.role.name)]);
    elements
}

fn of_register(facts: &Facts<'_>, register: Register, bits: &str) -> Vec<Element> {
    let mut elements = states(facts, register).to_vec();
    elements.push(element(bits));
    elements
}

/// The states of the new, the current and the old register, each as a digit.
fn states(facts: &Facts<'_>, register: Register) -> [Element; 3] {
    let row = row(facts, register);
    let new = match row.map_or(NewState::Empty, |row| row.new_state) {
        NewState::Empty => "1",
        NewState::Partial => "2",
        NewState::Full => "3",
    };
    let is_filled = |pattern: Option<MasterKeyPattern>| element(if pattern.is_some() { "2" } else { "1" });
    let pattern = |of: fn(&RegisterRow) -> Option<MasterKeyPattern>| is_filled(row.and_then(of));
    [element(new), pattern(|row| row.current_pattern), pattern(|row| row.old_pattern)]
}

fn row<'a>(facts: &Facts<'a>, register: Register) -> Option<&'a RegisterRow> {
    facts.registers.iter().find(|row| row.domain == facts.domain && row.register == register)
}

/// Serial number and states of these registers as elements, and their patterns as blocks. The patterns of the APKA
/// register come last.
fn patterns(facts: &Facts<'_>, registers: &[Register]) -> (Vec<Element>, Vec<u8>) {
    let mut elements = vec![facts.serial];
    elements.extend(registers.iter().flat_map(|register| states(facts, *register)));
    let of = |register: Register| {
        let row = row(facts, register);
        [
            row.and_then(|row| row.old_pattern),
            row.and_then(|row| row.current_pattern),
            row.and_then(|row| row.new_pattern),
        ]
    };
    let mut data = Vec::new();
    // Old, current, new: tags go down. MDC-4 hashes have 16 bytes; the SYM register has no such hash, and its pattern
    // stands there.
    for (register, tag) in [(Register::Sym, 0x0F02), (Register::Asym, 0x0F05)] {
        blocks::<16>(&mut data, tag, of(register));
    }
    blocks::<8>(&mut data, 0x0F08, of(Register::Sym));
    // The pattern by which a new symmetric key could be authenticated: there is none.
    block::<8>(&mut data, 0x0F09, None);
    blocks::<8>(&mut data, 0x0F0C, of(Register::Aes));
    if registers.contains(&Register::Apka) {
        blocks::<8>(&mut data, 0x0F0F, of(Register::Apka));
    }
    (elements, data)
}

/// The blocks of an old, a current and a new register; the old one's has this tag.
fn blocks<const N: usize>(data: &mut Vec<u8>, tag: u16, patterns: [Option<MasterKeyPattern>; 3]) {
    for (below, pattern) in (0..).zip(patterns) {
        block::<N>(data, tag - below, pattern);
    }
}

fn block<const N: usize>(data: &mut Vec<u8>, tag: u16, pattern: Option<MasterKeyPattern>) {
    let mut value = [0; N];
    if let Some(pattern) = pattern {
        value.copy_from_slice(&pattern.field()[..N]);
    }
    data.extend((N as u16 + 4).to_be_bytes());
    data.extend(tag.to_be_bytes());
    data.extend(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::Role;
    use wire::code;
    use wire::point::PointSet;
    use wire::verb::Verb;

    fn role() -> Role {
        Role { name: "guest".to_owned(), points: PointSet::NOTHING }
    }

    /// A register of domain 1, all of whose patterns begin with this byte.
    fn full(register: Register, byte: u8, new_state: NewState) -> RegisterRow {
        let pattern = |age| {
            let field = [byte, age, 0, 0, 0, 0, 0, byte, 0, 0, 0, 0, 0, 0, 0, byte];
            Some(MasterKeyPattern::new(register, field))
        };
        let new_pattern = if new_state == NewState::Full { pattern(0) } else { None };
        RegisterRow {
            domain: 1,
            register,
            new_state,
            new_pattern,
            current_pattern: pattern(1),
            old_pattern: pattern(2),
            is_sealed: true,
        }
    }

    fn registers() -> Vec<RegisterRow> {
        let mut asym = full(Register::Asym, 0xA5, NewState::Empty);
        asym.old_pattern = None;
        vec![
            full(Register::Sym, 0x51, NewState::Full),
            asym,
            full(Register::Aes, 0xAE, NewState::Partial),
            full(Register::Apka, 0xA9, NewState::Full),
        ]
    }

    fn ask_in(domain: u16, keywords: &str, room: i64) -> Result<(Codes, Vec<String>, i64, Vec<u8>), Codes> {
        let (registers, role) = (registers(), role());
        let facts = Facts {
            domain,
            domains: 3,
            usable: &[0, 2],
            registers: &registers,
            adapters: 2,
            serial: *b"0123ABCD",
            role: &role,
        };
        // By position: keywords that there are not, and negative lengths.
        let mut arguments = Arguments::new(Verb::CryptographicFacilityQuery);
        let words: String = keywords.split(' ').map(|word| format!("{word:8}")).collect();
        arguments
            .set_integer(query::RULE_ARRAY_COUNT, words.len() as i64 / 8)
            .set_bytes(query::RULE_ARRAY, words.as_bytes())
            .set_integer(query::VERB_DATA_LENGTH, room);
        let answer = answer(&arguments, &facts)?;
        let read = Arguments::read_reply(Verb::CryptographicFacilityQuery, &answer.payload).unwrap();
        let elements: Vec<_> = read.bytes(query::RULE_ARRAY).chunks(8).map(text).collect();
        let count = read.integer(query::RULE_ARRAY_COUNT);
        assert!(elements.is_empty() || count == elements.len() as i64);
        Ok((
            answer.codes,
            elements,
            read.integer(query::VERB_DATA_LENGTH),
            read.bytes(query::VERB_DATA).to_vec(),
        ))
    }

    fn text(element: &[u8]) -> String {
        String::from_utf8(element.to_vec()).unwrap().trim_end().to_owned()
    }

    fn ask(keywords: &str) -> (Vec<String>, Vec<u8>) {
        let (codes, elements, length, data) = ask_in(1, keywords, 256).unwrap();
        assert_eq!((codes, length), (code::OK, data.len() as i64));
        (elements, data)
    }

    #[test]
    fn elements_stand_where_programs_read_them() {
        let version = ["8.3.0", "00000000", "DFLTGUES"];
        assert_eq!(ask("STATCCA").0, [&["3", "2", "2"], &version[..]].concat());
        assert_eq!(ask("STATCCAE").0, [&["3", "2", "2"], &version[..], &["1", "2", "1"]].concat());
        assert_eq!(ask("ADAPTER1 STATAES").0, ["2", "2", "2", "256"]);
        assert_eq!(ask("STATAPKA").0, ["3", "2", "2", "521"]);
        let (adapters, _) = ask("STATCRD2");
        assert_eq!((adapters.len(), &*adapters[0], &*adapters[14]), (15, "2", "0123ABCD"));
        assert!(adapters[1..14].iter().all(String::is_empty));
        let shown = ["0123ABCD", "3", "2", "2", "1", "2", "1", "2", "2", "2"];
        assert_eq!(ask("STATICSA").0, shown);
        assert_eq!(ask("STATICSB").0, [&shown[..], &["3", "2", "2"]].concat());
    }

    // Offsets and tags as openCryptoki, zkey and the Linux kernel have them.
    #[test]
    fn patterns_stand_where_programs_read_them() {
        let (_, data) = ask("STATICSB");
        assert_eq!(data.len(), 240);
        let at = |offset: usize, bytes: usize| &data[offset..offset + bytes];
        let tags = [(134, 0x0F07), (146, 0x0F06), (182, 0x0F0B), (194, 0x0F0A), (218, 0x0F0E), (230, 0x0F0D)];
        for (offset, tag) in tags {
            assert_eq!(at(offset, 2), u16::to_be_bytes(tag), "{offset}");
        }
        let pattern = |byte: u8, age: u8| [byte, age, 0, 0, 0, 0, 0, byte];
        assert_eq!([at(124, 8), at(136, 8), at(148, 8)], [2, 1, 0].map(|age| pattern(0x51, age)));
        assert_eq!([at(172, 8), at(184, 8)], [2, 1].map(|age| pattern(0xAE, age)));
        assert_eq!([at(208, 8), at(220, 8), at(232, 8)], [2, 1, 0].map(|age| pattern(0xA9, age)));
        assert_eq!(
            (at(64, 16), &at(84, 16)[..8], at(92, 8), at(104, 16)),
            (&[0; 16][..], &pattern(0xA5, 1)[..], &[0, 0, 0, 0, 0, 0, 0, 0xA5][..], &[0; 16][..])
        );
        // A new key that is not complete has no pattern.
        assert_eq!(at(196, 8), [0; 8]);
        // Each block says how long it is.
        let (mut offset, mut tags) = (0, Vec::new());
        while offset < data.len() {
            let length = u16::from_be_bytes([data[offset], data[offset + 1]]);
            tags.push(u16::from_be_bytes([data[offset + 2], data[offset + 3]]));
            offset += usize::from(length);
        }
        let mut all = tags.clone();
        all.sort_unstable();
        assert_eq!((offset, all), (240, (0x0F00..=0x0F0F).collect()));
        assert_eq!(ask("STATICSA").1, data[..204]);
    }

    #[test]
    fn domains_are_the_homes_and_the_callers() {
        assert_eq!(ask("DOM-NUMS"), (vec![], vec![0, 0, 0, 3]));
        assert_eq!(ask("DOM-USAG"), (vec![], vec![0, 0, 0, 2]));
    }

    #[test]
    fn another_domain_has_nothing_of_this_one() {
        for domain in [0, 2] {
            let (_, elements, _, data) = ask_in(domain, "STATICSB", 240).unwrap();
            assert!(elements[1..].iter().all(|element| element == "1"), "{elements:?}");
            for block in [&data[4..20], &data[124..132], &data[136..144], &data[232..]] {
                assert!(block.iter().all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn data_that_does_not_fit_says_how_long_it_is() {
        for (keyword, needed) in [("STATICSA", 204), ("STATICSB", 240), ("DOM-NUMS", 4), ("DOM-USAG", 4)] {
            for room in [needed - 1, 0, -1, i64::MIN] {
                let (codes, elements, length, data) = ask_in(1, keyword, room).unwrap();
                assert_eq!((codes, length), (code::BUFFER_TOO_SMALL, needed), "{keyword} {room}");
                assert!(elements.is_empty() && data.is_empty());
            }
        }
        assert_eq!(ask_in(1, "STATCCAE", 0).unwrap().0, code::OK);
    }

    #[test]
    fn every_keyword_is_served_or_refused() {
        let mut served = 0;
        for (_, query) in Query::ALL {
            let text = query.keyword().text;
            match ask_in(1, text, 256) {
                Ok((codes, ..)) => served += i32::from(codes == code::OK),
                Err(codes) => assert_eq!(codes, code::KEYWORD, "{text}"),
            }
        }
        assert_eq!(served, 9);
        for (keywords, codes) in [
            ("ADAPTER1", code::KEYWORD_COMBINATION),
            ("STATCCA STATAES", code::KEYWORD_COMBINATION),
            ("NO-SUCH", code::KEYWORD),
            ("ADAPTER1 STATCCA STATAES", code::KEYWORD_COUNT),
        ] {
            assert_eq!(ask_in(1, keywords, 256).unwrap_err(), codes, "{keywords}");
        }
    }
}

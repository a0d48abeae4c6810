//! Keys cast into another type: parts that differ by what control vectors differ by, equal halves, halves of two keys
//! (M. Bond, *Attacks on cryptoprocessor transaction sets*, 2001; M. Bond and R. Anderson, *API-level attacks on
//! embedded systems*, 2001).
//!
//! The default role is that of guests, who enter no part and bring no key in. Beside it stand two controls for roles
//! that must: the parts of a key in the hands of different roles, and the enhanced wrapping, under which a control
//! vector is xored to a derived key.

use super::denied;
use cca::Processor;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::{ControlVector, DesToken, KeyType};
use verb_requests::peer;
use verb_requests::support::{Request, entered, generate, mac, part, processor, skeleton, sym_key, text};
use verb_requests::uses::ways::TRANSPORT;
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::{BuiltIn, GUEST};
use wire::verb::{
    Verb, key_generate as kgn, key_import as kim, key_part_import as kpi, key_translate as ktr, mac_generate,
};

/// The key that is to be cast, and one that the attacker knows.
const SECRET: [u8; 16] =
    [0x10, 0x31, 0x52, 0x73, 0x94, 0xB5, 0xD6, 0xF7, 0x08, 0x29, 0x4A, 0x6B, 0x8C, 0xAD, 0xCE, 0xEF];
const KNOWN: [u8; 16] = [0x13, 0x25, 0x37, 0x49, 0x5B, 0x6D, 0x7F, 0x91, 2, 4, 7, 8, 0x0B, 0x0D, 0x0E, 0x10];

fn vector(key_type: KeyType) -> ControlVector {
    key_type.default_vector(KeyForm::Double).unwrap()
}

/// A key of this vector under the transport key, as a partner sends it.
fn sent(vector: ControlVector, key: &[u8; 16], enhanced: bool) -> Vec<u8> {
    let halves = [vector.left(), vector.right(), vector.left()].map(u64::to_be_bytes);
    let wrap = if enhanced { peer::wrap_enhanced } else { peer::wrap_des };
    let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
    let wrapped = wrap(&TRANSPORT, halves, key);
    skeleton.with_enhanced(enhanced).with_key([0; 8], &wrapped).unwrap().to_bytes().to_vec()
}

/// The same token with another vector over its key.
fn relabelled(token: &[u8], vector: ControlVector) -> Vec<u8> {
    let mut token: [u8; 64] = token.try_into().unwrap();
    token[32..40].copy_from_slice(&vector.left().to_be_bytes());
    token[40..48].copy_from_slice(&vector.right().to_be_bytes());
    token::tvv::seal(&mut token);
    token.to_vec()
}

fn import(source: &[u8], importer: &[u8]) -> Request {
    Request::new(Verb::KeyImport)
        .bytes(kim::KEY_TYPE, "TOKEN   ")
        .bytes(kim::SOURCE_KEY_TOKEN, source)
        .bytes(kim::IMPORTER_KEY_IDENTIFIER, importer)
        .bytes(kim::TARGET_KEY_IDENTIFIER, [0; 64])
}

/// The key that an import gives, by another library.
fn imported(processor: &mut Processor, source: &[u8], importer: &[u8]) -> Vec<u8> {
    let token = import(source, importer).ok(processor).bytes(kim::TARGET_KEY_IDENTIFIER);
    peer::unwrap_token(&sym_key(false), &token)
}

/// The first part of the transport key, which one person enters; and what the other one has to add.
fn first_part(processor: &mut Processor) -> (Vec<u8>, [u8; 16]) {
    let mine: [u8; 16] = std::array::from_fn(|at| (at as u8).wrapping_mul(0x3B) ^ 0x51);
    let theirs: [u8; 16] = std::array::from_fn(|at| TRANSPORT[at] ^ mine[at]);
    let empty = skeleton(processor, "IMPORTER", &["IMPORT"]);
    let token = part(&empty, "FIRST", &theirs).ok(processor).bytes(kpi::KEY_IDENTIFIER);
    (token, mine)
}

/// What one control vector differs from another by, in both halves alike.
fn difference(one: ControlVector, two: ControlVector) -> [u8; 16] {
    let [left, right] = [one.left() ^ two.left(), one.right() ^ two.right()];
    assert_eq!(left, right, "a transport key has one variant for both halves");
    [left.to_be_bytes(), right.to_be_bytes()].concat().try_into().unwrap()
}

fn guest() -> &'static PointSet {
    &BuiltIn::from_name(GUEST).unwrap().points
}

fn without(points: &[Point]) -> &'static PointSet {
    let mut set = wire::role::BUILT_IN[0].points;
    points.iter().for_each(|point| set.deny(*point));
    Box::leak(Box::new(set))
}

#[test]
fn a_part_that_differs_by_control_vectors_casts_nothing() {
    let mut processor = processor();
    let (verifies, makes) = (vector(KeyType::MacVer), vector(KeyType::Mac));
    let (first, mine) = first_part(&mut processor);
    let shifted: [u8; 16] = {
        let difference = difference(verifies, makes);
        std::array::from_fn(|at| mine[at] ^ difference[at])
    };
    let right = part(&first, "LAST", &mine).ok(&mut processor).bytes(kpi::KEY_IDENTIFIER);
    let wrong = part(&first, "LAST", &shifted).ok(&mut processor).bytes(kpi::KEY_IDENTIFIER);

    // By the original wrapping it bites: what may only verify MACs makes them.
    let original = sent(verifies, &SECRET, false);
    assert_eq!(imported(&mut processor, &original, &right), SECRET);
    let cast = import(&relabelled(&original, makes), &wrong).ok(&mut processor);
    let cast = cast.bytes(kim::TARGET_KEY_IDENTIFIER);
    let forged = mac(&cast, &["X9.19OPT"], &text(32)).ok(&mut processor).bytes(mac_generate::MAC);
    assert_eq!(forged, peer::retail_mac(&SECRET, &text(32))[..forged.len()], "it bites");

    // The default role: no part, whichever, and no import.
    for keyword in ["FIRST", "MIDDLE", "LAST", "ADD-PART", "COMPLETE"] {
        denied(&mut processor, &part(&first, keyword, &shifted), guest());
    }
    let relabelled_token = relabelled(&original, makes);
    denied(&mut processor, &import(&relabelled_token, &wrong), guest());
    // Who enters the first part adds none, who adds parts enters no first one, and neither brings keys in.
    let begins = without(&[
        Point::KeyPartAdd,
        Point::KeyPartCombine,
        Point::KeyPartComplete,
        Point::KeyImport,
        Point::DataKeyImport,
    ]);
    let adds = without(&[Point::KeyPartFirst, Point::KeyImport, Point::DataKeyImport]);
    for keyword in ["MIDDLE", "LAST", "ADD-PART", "COMPLETE"] {
        denied(&mut processor, &part(&first, keyword, &shifted), begins);
    }
    denied(&mut processor, &part(&first, "FIRST", &shifted), adds);
    part(&first, "LAST", &shifted).points(adds).ok(&mut processor);
    for points in [begins, adds] {
        denied(&mut processor, &import(&relabelled_token, &wrong), points);
    }
    // The enhanced wrapping: no part makes the difference of two vectors that of the key which wraps.
    let enhanced = sent(verifies, &SECRET, true);
    assert_eq!(imported(&mut processor, &enhanced, &right), SECRET);
    for (token, importer) in [
        (relabelled(&enhanced, makes), &wrong),
        (relabelled(&enhanced, makes), &right),
        (enhanced.clone(), &wrong),
        // As if of the original wrapping.
        (relabelled(&changed(&enhanced, |token| token[7] = 0), makes), &wrong),
    ] {
        let key = imported(&mut processor, &token, importer);
        assert!(key.chunks(8).all(|part| SECRET.chunks(8).all(|own| own != part)));
    }
}

fn changed(token: &[u8], change: impl Fn(&mut [u8; 64])) -> Vec<u8> {
    let mut token: [u8; 64] = token.try_into().unwrap();
    change(&mut token);
    token::tvv::seal(&mut token);
    token.to_vec()
}

/// A key-encrypting key with equal halves is a DES key: by a search of these, all that it wraps is known.
#[test]
fn no_key_encrypting_key_has_equal_halves() {
    const EVERYTHING: &PointSet = &PointSet::EVERYTHING;
    let mut processor = processor();
    let importer = entered(&mut processor, "IMPORTER", &["IMPORT", "XLATE"], &TRANSPORT);
    let mut tried = 0;
    for key_type in
        [KeyType::Exporter, KeyType::Importer, KeyType::OKeyXlat, KeyType::IKeyXlat, KeyType::ImpPka]
    {
        let name = key_type.name();
        for halves in [[0x13; 16], std::array::from_fn(|at| 0x12 | u8::from(at < 8))] {
            // In parts, of which each has halves that differ.
            let empty = skeleton(&mut processor, name, &[]);
            let other: [u8; 16] = std::array::from_fn(|at| halves[at] ^ KNOWN[at]);
            let first = part(&empty, "FIRST", &KNOWN).ok(&mut processor).bytes(kpi::KEY_IDENTIFIER);
            let last = part(&first, "LAST", &other).points(EVERYTHING);
            last.refused(&mut processor, code::KEY_REPLICATED);
            let added = part(&first, "ADD-PART", &other).ok(&mut processor).bytes(kpi::KEY_IDENTIFIER);
            let complete = part(&added, "COMPLETE", &[]).points(EVERYTHING);
            complete.refused(&mut processor, code::KEY_REPLICATED);
            // From another system, by either wrapping.
            for enhanced in [false, true] {
                let token = sent(vector(key_type), &halves, enhanced);
                let request = import(&token, &importer).points(EVERYTHING);
                request.refused(&mut processor, code::KEY_REPLICATED);
                tried += 1;
            }
        }
        // Made here, as a key of single length.
        let single = generate(name, "SINGLE").points(EVERYTHING).told(&mut processor);
        assert_eq!(single.codes.return_code, 8, "{name}");
    }
    assert_eq!(tried, 20);
    // Passed on from one partner to another it is seen as well.
    let exporter = entered(&mut processor, "EXPORTER", &["XLATE"], &KNOWN);
    Request::new(Verb::KeyTranslate)
        .bytes(ktr::INPUT_KEY_TOKEN, sent(vector(KeyType::Exporter), &[0x13; 16], false))
        .bytes(ktr::INPUT_KEK_KEY_IDENTIFIER, &importer)
        .bytes(ktr::OUTPUT_KEK_KEY_IDENTIFIER, &exporter)
        .refused(&mut processor, code::KEY_REPLICATED);
}

/// A known half beside an unknown one leaves a DES key to be searched for; then the same with the other half.
#[test]
fn halves_of_two_keys_are_no_key() {
    let mut processor = processor();
    let importer = entered(&mut processor, "IMPORTER", &["IMPORT"], &TRANSPORT);
    let of = vector(KeyType::Mac);
    let splice = |one: &[u8], two: &[u8]| changed(one, |token| token[24..32].copy_from_slice(&two[24..32]));
    let [secret, known] = [SECRET, KNOWN].map(|key| sent(of, &key, false));
    let spliced = splice(&known, &secret);
    let half_known = imported(&mut processor, &spliced, &importer);
    assert_eq!(half_known, [&KNOWN[..8], &SECRET[8..]].concat(), "it bites by the original wrapping");

    denied(&mut processor, &import(&spliced, &importer), guest());
    // Under the enhanced wrapping each half depends on the other.
    let [secret, known] = [SECRET, KNOWN].map(|key| sent(of, &key, true));
    for token in [splice(&known, &secret), splice(&secret, &known)] {
        let key = imported(&mut processor, &token, &importer);
        let parts = [SECRET, KNOWN];
        let mut own = parts.iter().flat_map(|key| key.chunks(8));
        assert!(own.all(|half| key.chunks(8).all(|part| part != half)));
    }
    // A key that is bound to it is not taken from a token of the original wrapping.
    let bound = KeyType::Mac.vector_with(KeyForm::Double, ["ENH-ONLY"]).unwrap();
    let original = |key: &[u8; 16]| changed(&sent(bound, key, false), |token| token[7] = 0);
    let [secret, known] = [SECRET, KNOWN].map(|key| original(&key));
    for token in [&splice(&known, &secret), &known] {
        import(token, &importer).points(&PointSet::EVERYTHING).refused(&mut processor, code::WRAPPING_BIT);
    }
    // Nor are halves of two internal tokens a key: the keys of these are authenticated.
    let tokens = [0, 1].map(|_| generate("IMPORTER", "DOUBLE").ok(&mut processor));
    let [one, two] = tokens.map(|reply| reply.bytes(kgn::GENERATED_KEY_IDENTIFIER_1));
    let both = import(&sent(of, &SECRET, false), &splice(&one, &two));
    both.refused(&mut processor, code::TOKEN_INVALID);
}

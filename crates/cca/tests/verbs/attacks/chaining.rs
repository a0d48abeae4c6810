//! Chaining vectors that show what a text has come to: a verify-only key makes MACs, a decipher-only key enciphers.

use cca::Processor;
use verb_requests::peer;
use verb_requests::support::{
    DOMAIN, OLDER_DOMAIN, Request, aes_key, generate, generated, imported, mac, processor, sym_key, text,
    verify,
};
use wire::control::{Handout, MasterKeyPair};
use wire::verb::{Verb, decipher, encipher, key_generate, mac_generate, mac_verify};
use wire::{Codes, code};

/// MAC_Verify with FIRST: a text, the chaining vector after it.
type First<'f> = &'f mut dyn FnMut(&[u8]) -> Vec<u8>;

/// The MAC of a text of whole blocks, by a key that only verifies: the text so far is all of it.
fn forge(first: First<'_>, text: &[u8]) -> Vec<u8> {
    first(text)[..8].to_vec()
}

pub fn pair(processor: &mut Processor, one: &str, two: &str, length: &str) -> [Vec<u8>; 2] {
    let reply = generate(one, length)
        .bytes(key_generate::KEY_FORM, "OPOP")
        .bytes(key_generate::KEY_TYPE_2, format!("{two:8}"))
        .bytes(key_generate::GENERATED_KEY_IDENTIFIER_2, [0; 64])
        .ok(processor);
    [key_generate::GENERATED_KEY_IDENTIFIER_1, key_generate::GENERATED_KEY_IDENTIFIER_2]
        .map(|position| reply.bytes(position))
}

#[test]
fn a_key_that_verifies_makes_no_mac_by_its_chaining_vector() {
    let text = text(40);
    let key = [0x5A; 16];
    // A card that shows what the text has come to.
    let mut showing = |text: &[u8]| [peer::cbc_mac(&key, text), vec![0; 10]].concat();
    assert_eq!(forge(&mut showing, &text), peer::cbc_mac(&key, &text));

    let mut processor = processor();
    for (length, method) in [("SINGLE", "X9.9-1"), ("DOUBLE", "TDES-MAC")] {
        let [making, verifying] = pair(&mut processor, "MAC", "MACVER", length);
        let mut first = |text: &[u8]| {
            let reply = verify(&verifying, &["FIRST", method], text, &[]).ok(&mut processor);
            reply.bytes(mac_verify::CHAINING_VECTOR)
        };
        let forged = forge(&mut first, &text);
        let right = mac(&making, &[method, "MACLEN8"], &text).ok(&mut processor).bytes(mac_generate::MAC);
        assert_ne!(forged, right, "{method}");
        let checked = |value: &[u8], processor: &mut Processor| {
            verify(&verifying, &[method, "MACLEN8"], &text, value).run(processor).codes
        };
        assert_eq!(checked(&right, &mut processor), code::OK);
        assert_eq!(checked(&forged, &mut processor), code::VERIFICATION_FAILED, "{method}");
    }
}

/// The vector after FIRST, and the codes of LAST with one.
struct Halves {
    verb: Verb,
    token: Vec<u8>,
    method: &'static str,
    domain: u16,
}

impl Halves {
    fn request(&self, segment: &str, vector: &[u8]) -> Request {
        let rules = [segment, self.method, "MACLEN8"];
        let request = match self.verb {
            Verb::MacGenerate => {
                mac(&self.token, &rules, &text(16)).bytes(mac_generate::CHAINING_VECTOR, vector)
            }
            _ => verify(&self.token, &rules, &text(16), &[0; 8]).bytes(mac_verify::CHAINING_VECTOR, vector),
        };
        request.domain(self.domain)
    }

    fn first(&self, processor: &mut Processor) -> Vec<u8> {
        self.request("FIRST", &[0; 18]).run(processor).bytes(mac_generate::CHAINING_VECTOR)
    }

    fn goes_on(&self, processor: &mut Processor, vector: &[u8]) -> Result<(), Codes> {
        let [middle, last] =
            ["MIDDLE", "LAST"].map(|segment| self.request(segment, vector).run(processor).codes);
        assert_eq!(middle.has_output(), last.has_output());
        if last.has_output() { Ok(()) } else { Err(last) }
    }
}

/// Two domains with the same master keys.
fn twins() -> Processor {
    let mut processor = processor();
    let pair = |current| MasterKeyPair { current, old: Vec::new() };
    for domain in [DOMAIN, OLDER_DOMAIN] {
        let keys = [pair(sym_key(false)), pair(vec![3; 24]), pair(aes_key(false)), pair(vec![4; 32])];
        processor.load(&Handout { domain, keys }).unwrap();
    }
    processor
}

#[test]
fn a_vector_of_another_verb_method_key_or_domain_is_refused_as_a_changed_one_is() {
    let mut processor = twins();
    let double = imported(&mut processor, "DES", &text(16));
    let other = imported(&mut processor, "DES", &text(17)[1..]);
    let of = |verb, token: &[u8], method, domain| Halves { verb, token: token.to_vec(), method, domain };
    let own = of(Verb::MacGenerate, &double, "TDES-MAC", DOMAIN);
    let vector = own.first(&mut processor);
    assert_eq!(own.goes_on(&mut processor, &vector), Ok(()));
    assert_eq!(own.goes_on(&mut twins(), &vector), Ok(()), "another card of the domain goes on");

    let refused = Err(code::CHAINING_VECTOR);
    for stranger in [
        of(Verb::MacVerify, &double, "TDES-MAC", DOMAIN),
        of(Verb::MacGenerate, &double, "X9.19OPT", DOMAIN),
        of(Verb::MacGenerate, &double, "EMVMACD", DOMAIN),
        of(Verb::MacGenerate, &other, "TDES-MAC", DOMAIN),
        of(Verb::MacGenerate, &double, "TDES-MAC", OLDER_DOMAIN),
    ] {
        let theirs = stranger.first(&mut processor);
        assert_eq!(stranger.goes_on(&mut processor, &theirs), Ok(()));
        assert_eq!(stranger.goes_on(&mut processor, &vector), refused, "{:?}", stranger.verb);
        assert_eq!(own.goes_on(&mut processor, &theirs), refused, "{:?}", stranger.verb);
    }
    for byte in 0..vector.len() {
        for bit in 0..8 {
            let mut changed = vector.clone();
            changed[byte] ^= 1 << bit;
            assert_eq!(own.goes_on(&mut processor, &changed), refused, "byte {byte}");
        }
    }
    let mut mixed = vector.clone();
    let third = own.request("MIDDLE", &vector).ok(&mut processor).bytes(mac_generate::CHAINING_VECTOR);
    mixed[8..].copy_from_slice(&third[8..]);
    let shown = [peer::cbc_mac(&text(16), &text(16)), vec![0; 10]].concat();
    for made_up in [mixed, shown, vec![0; 18]] {
        assert_eq!(own.goes_on(&mut processor, &made_up), refused);
    }
    own.request("LAST", &[0; 18]).refused(&mut processor, code::CHAINING_VECTOR);
}

#[test]
fn a_text_goes_on_after_a_change_of_the_master_key() {
    let mut processor = twins();
    let token = imported(&mut processor, "DES", &text(16));
    let own = Halves { verb: Verb::MacGenerate, token, method: "X9.19OPT", domain: DOMAIN };
    let vector = own.first(&mut processor);
    let mut after = verb_requests::support::processor();
    let keys = |current: Vec<u8>, old: Vec<u8>| Handout {
        domain: DOMAIN,
        keys: [
            MasterKeyPair { current, old },
            MasterKeyPair { current: vec![3; 24], old: Vec::new() },
            MasterKeyPair { current: aes_key(false), old: Vec::new() },
            MasterKeyPair { current: vec![4; 32], old: Vec::new() },
        ],
    };
    after.load(&keys(sym_key(true), sym_key(false))).unwrap();
    assert_eq!(own.goes_on(&mut after, &vector), Ok(()));
    let later = own.first(&mut after);
    assert_ne!(later, vector);
    // A card that the new key has not reached yet opens what is sealed under it, as it opens tokens.
    let mut before = verb_requests::support::processor();
    let next = [sym_key(true), Vec::new(), Vec::new(), Vec::new()];
    before.load_with_next(&keys(sym_key(false), Vec::new()), &next).unwrap();
    assert_eq!(own.goes_on(&mut before, &later), Ok(()));
    before.load(&keys(sym_key(false), Vec::new())).unwrap();
    assert_eq!(own.goes_on(&mut before, &later), Err(code::CHAINING_VECTOR));
}

pub fn enciphering(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::Encipher)
        .bytes(encipher::KEY_IDENTIFIER, token)
        .counted(encipher::TEXT_LENGTH, encipher::PLAINTEXT, text)
        .bytes(encipher::INITIALIZATION_VECTOR, [0; 8])
        .rules(keywords)
        .bytes(encipher::CHAINING_VECTOR, [0; 18])
}

pub fn deciphering(token: &[u8], keywords: &[&str], text: &[u8]) -> Request {
    Request::new(Verb::Decipher)
        .bytes(decipher::KEY_IDENTIFIER, token)
        .counted(decipher::TEXT_LENGTH, decipher::CIPHERTEXT, text)
        .bytes(decipher::INITIALIZATION_VECTOR, [0; 8])
        .rules(keywords)
        .bytes(decipher::CHAINING_VECTOR, [0; 18])
}

#[test]
fn a_key_for_one_direction_runs_no_cipher_the_other_way() {
    let block = *b"any text";
    let mut processor = processor();
    // A key for both shows what one for a single direction would: the block enciphered, and a short text back.
    let key = text(16);
    let both = imported(&mut processor, "DES", &key);
    let cusp = deciphering(&both, &["CUSP"], &block).ok(&mut processor);
    assert_eq!(cusp.bytes(decipher::CHAINING_VECTOR)[..8], peer::des(&key, true, &block));
    let sealed = enciphering(&both, &["IPS"], b"short").ok(&mut processor).bytes(encipher::CIPHERTEXT);
    let back = enciphering(&both, &["IPS"], &sealed).ok(&mut processor).bytes(encipher::CIPHERTEXT);
    assert_eq!(back, b"short");

    let [enciphers, deciphers] = pair(&mut processor, "ENCIPHER", "DECIPHER", "DOUBLE");
    for method in ["CUSP", "IPS"] {
        for length in [5, 8, 13] {
            enciphering(&enciphers, &[method], &text(length)).refused(&mut processor, code::KEY_USAGE);
            deciphering(&deciphers, &[method], &text(length)).refused(&mut processor, code::KEY_USAGE);
        }
    }
    // What the other methods leave is ciphertext.
    let enciphered = enciphering(&enciphers, &["CBC"], &text(24)).ok(&mut processor);
    let ciphertext = enciphered.bytes(encipher::CIPHERTEXT);
    assert_eq!(enciphered.bytes(encipher::CHAINING_VECTOR)[..8], ciphertext[16..]);
    let deciphered = deciphering(&deciphers, &["CBC"], &ciphertext).ok(&mut processor);
    assert_eq!(deciphered.bytes(decipher::CHAINING_VECTOR)[..8], ciphertext[16..]);
    let cipher = generated(&mut processor, "CIPHER", "DOUBLE");
    enciphering(&cipher, &["CUSP"], &text(13)).ok(&mut processor);
}

//! Two signatures whose quotient is the private operation on a block of the attacker's choice: it opens what is
//! enciphered for a key that signs.

use super::numbers::{BOTH, OWNER, Target, padded, power, product, quotient, sign, two_with_quotient};
use engine::{HashAlgorithm, digest_info_prefix};
use openssl::bn::BigNum;
use verb_requests::support::{Request, text};
use wire::code;
use wire::point::PointSet;
use wire::verb::Verb;
use wire::{Codes, verb::pka_encrypt};

/// A block of which the caller chooses some bits.
struct Form {
    words: &'static [&'static str],
    /// Bytes before those of the caller's, in the data of the verb.
    before: Vec<u8>,
    free_bytes: usize,
    /// What the block holds but for them.
    pattern: Vec<u8>,
    /// Bytes after them, in the block.
    after_bytes: usize,
}

const MODULUS_BYTES: usize = 128;

fn forms() -> Vec<Form> {
    let sha512 = digest_info_prefix(HashAlgorithm::Sha512).to_vec();
    let raw = MODULUS_BYTES - 11;
    let filled = |data: &[u8], free: usize| {
        let filler = vec![0xFF; MODULUS_BYTES - 3 - data.len() - free];
        [&[0, 1][..], &filler, &[0], data, &vec![0; free]].concat()
    };
    let x931 = [&[0x6B][..], &[0xBB; MODULUS_BYTES - 68], &[0xBA], &[0; 64], &[0x35, 0xCC]].concat();
    vec![
        Form {
            words: &["PKCS-1.1"],
            before: Vec::new(),
            free_bytes: raw,
            pattern: filled(&[], raw),
            after_bytes: 0,
        },
        Form {
            words: &["PKCS-1.0"],
            before: Vec::new(),
            free_bytes: raw,
            pattern: vec![0; MODULUS_BYTES],
            after_bytes: 0,
        },
        // A digest is as good as any data where it fills half of the modulus.
        Form {
            words: &["PKCS-1.1"],
            before: sha512.clone(),
            free_bytes: 64,
            pattern: filled(&sha512, 64),
            after_bytes: 0,
        },
        Form {
            words: &["X9.31", "SHA-512"],
            before: Vec::new(),
            free_bytes: 64,
            pattern: x931,
            after_bytes: 2,
        },
    ]
}

/// The block that was enciphered, opened by signatures alone.
fn attack(
    target: &mut Target,
    points: &'static PointSet,
    key: &[u8],
    form: &Form,
    enciphered: &[u8],
) -> Result<Vec<u8>, Codes> {
    let Target { n, e, others, .. } = target;
    let enciphered = BigNum::from_slice(enciphered).unwrap();
    // What stands after the free bytes is divided away: the pattern becomes another one.
    let mut shift = BigNum::new().unwrap();
    shift.set_bit(8 * form.after_bytes as i32).unwrap();
    let pattern = quotient(&BigNum::from_slice(&form.pattern).unwrap(), &shift, n);
    for blinding in 2..400u32 {
        let blinding = BigNum::from_u32(blinding).unwrap();
        let factor = product(&enciphered, &power(&blinding, e, n), n);
        let Some(found) = two_with_quotient(&pattern, 8 * form.free_bytes as i32, &factor, n) else {
            continue;
        };
        let mut signatures = Vec::new();
        for number in &found {
            let free = padded(&(number - &pattern), form.free_bytes);
            let data = [&form.before[..], &free].concat();
            let signature = sign(&mut others.processor, points, key, form.words, &data)?;
            signatures.push(BigNum::from_slice(&signature).unwrap());
        }
        let opened = quotient(&quotient(&signatures[0], &signatures[1], n), &blinding, n);
        // X9.31 shows a signature or its complement.
        let complement = &*n - &opened;
        let blocks = [opened, complement].map(|block| padded(&block, MODULUS_BYTES));
        return Ok(blocks.into_iter().find(|block| block[..2] == [0, 2]).unwrap_or_default());
    }
    panic!("{:?} with {} free bytes: no pair of blocks", form.words, form.free_bytes);
}

fn enciphered(target: &mut Target, value: &[u8]) -> Vec<u8> {
    Request::new(Verb::PkaEncrypt)
        .rules(&["PKCS-1.2"])
        .counted(pka_encrypt::KEY_VALUE_LENGTH, pka_encrypt::KEY_VALUE, value)
        .counted(pka_encrypt::RSA_PUBLIC_KEY_LENGTH, pka_encrypt::RSA_PUBLIC_KEY, &target.others.public)
        .integer(pka_encrypt::RSA_ENCIPHER_LENGTH, 512)
        .ok(&mut target.others.processor)
        .bytes(pka_encrypt::RSA_ENCIPHER)
}

#[test]
fn two_signatures_open_nothing() {
    let mut target = Target::new();
    let value = text(24);
    let block = enciphered(&mut target, &value);
    let key = target.others.management.clone();
    for form in forms() {
        let opened = attack(&mut target, BOTH, &key, &form, &block).unwrap();
        assert!(opened.ends_with(&value) && opened[128 - 25] == 0, "{:?} does not bite", form.words);
        let refused = attack(&mut target, OWNER, &key, &form, &block).unwrap_err();
        assert_eq!(refused, code::KEY_USAGE, "{:?}", form.words);
    }
}

#[test]
fn a_key_that_deciphers_signs_what_has_structure() {
    let mut target = Target::new();
    let (both, signing) = (target.others.management.clone(), target.signing.clone());
    let clear = target.others.clear.clone();
    let info = |hash: HashAlgorithm, bytes: usize| [digest_info_prefix(hash), &text(bytes)].concat();
    let salted = |salt: u32, bytes: usize| [&salt.to_be_bytes()[..], &text(bytes)].concat();
    let cases: [(&[&str], Vec<u8>, bool); 15] = [
        (&["PKCS-1.1"], info(HashAlgorithm::Sha1, 20), true),
        (&["PKCS-1.1"], info(HashAlgorithm::Sha256, 32), true),
        (&["PKCS-1.1"], info(HashAlgorithm::Sha3_256, 32), true),
        (&["X9.31", "SHA-256"], text(32), true),
        (&["PKCS-PSS", "SHA-256"], salted(32, 32), true),
        (&["PKCS-PSS", "SHA-512"], salted(0, 64), true),
        // A third of 1024 bits is less than these digests.
        (&["PKCS-1.1"], info(HashAlgorithm::Sha384, 48), false),
        (&["X9.31", "SHA-384"], text(48), false),
        (&["PKCS-1.1"], info(HashAlgorithm::Sha256, 31), false),
        (&["PKCS-1.1"], info(HashAlgorithm::Sha256, 33), false),
        (&["PKCS-1.1"], info(HashAlgorithm::Sha1, 32), false),
        (&["PKCS-1.1"], text(32), false),
        (&["PKCS-1.1"], Vec::new(), false),
        (&["PKCS-1.0"], info(HashAlgorithm::Sha1, 20), false),
        (&["ZERO-PAD"], info(HashAlgorithm::Sha1, 20), false),
    ];
    let processor = &mut target.others.processor;
    for (words, data, is_structured) in cases {
        let expected = if is_structured { Ok(()) } else { Err(code::KEY_USAGE) };
        let signed = sign(processor, OWNER, &both, words, &data).map(drop);
        assert_eq!(signed, expected, "{words:?} {} bytes", data.len());
        for (points, key) in [(BOTH, &both), (OWNER, &signing), (OWNER, &clear)] {
            assert!(sign(processor, points, key, words, &data).is_ok(), "{words:?} {} bytes", data.len());
        }
    }
    assert_eq!(sign(processor, BOTH, &both, &["ZERO-PAD"], &text(37)), Err(code::TEXT_LENGTH));
}

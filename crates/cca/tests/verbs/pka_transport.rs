//! RSA private keys under transport keys of DES: PKA_Key_Generate with XPORT, PKA_Key_Import with a transport key.

use crate::exchange::Keks;
use cca::Processor;
use openssl::bn::BigNum;
use openssl::pkey::Private;
use openssl::rsa::{Rsa, RsaPrivateKeyBuilder};
use openssl::sha::sha1;
use verb_requests::peer;
use verb_requests::support::{EMPTY_DOMAIN, OLDER_DOMAIN, Request, entered, processor, skeleton};
use verb_requests::uses::ways::{
    TRANSPORT, curve_token, generate_under, import_under as import, public_part, rsa_skeleton,
};
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{Verb, pka_key_generate as pkg, pka_key_import as pki};
use wire::{Codes, code};

const CAPACITY: i64 = 2500;

/// A role in which an IMPORTER key carries private keys as well.
pub const BOTH: &PointSet = &{
    let mut points = BUILT_IN[0].points;
    points.allow(Point::ImportUnderImporter);
    points
};
/// A role that permits weak transport keys.
const WEAK: &PointSet = &{
    let mut points = BUILT_IN[0].points;
    points.allow(Point::WeakTransport);
    points
};

/// An IMP-PKA key of this value.
pub fn imp_pka(processor: &mut Processor, value: &[u8; 16]) -> Vec<u8> {
    entered(processor, "IMP-PKA", &[], value)
}

/// Where the enciphered bytes of a token's private section lie in the token.
pub fn enciphered(token: &[u8]) -> std::ops::Range<usize> {
    let half = |at: usize| usize::from(u16::from_be_bytes([token[at], token[at + 1]]));
    match token[8] {
        0x02 => 8 + 84..8 + 236,
        0x08 => {
            let values: usize = (0..5).map(|index| half(8 + 54 + 2 * index)).sum();
            8 + 124..8 + 132 + values + half(8 + 70)
        }
        other => panic!("section {other:#x}"),
    }
}

/// DES in CBC backwards.
fn des_cbc_open(key: &[u8], data: &[u8]) -> Vec<u8> {
    let mut chain = vec![0; 8];
    let mut out = Vec::new();
    for block in data.chunks(8) {
        out.extend(peer::xor(&peer::des(key, false, block), &chain));
        chain = block.to_vec();
    }
    out
}

/// Enciphers what a section of this identifier has, by the book: outer CBC, or three passes.
fn seal(section: u8, data: &[u8]) -> Vec<u8> {
    let (one, two) = (&TRANSPORT[..8], &TRANSPORT[8..]);
    match section {
        0x08 => peer::des_cbc(&TRANSPORT, &[0; 8], data),
        _ => peer::des_cbc(one, &[0; 8], &des_cbc_open(two, &peer::des_cbc(one, &[0; 8], data))),
    }
}

fn open(section: u8, data: &[u8]) -> Vec<u8> {
    let (one, two) = (&TRANSPORT[..8], &TRANSPORT[8..]);
    match section {
        0x08 => des_cbc_open(&TRANSPORT, data),
        _ => des_cbc_open(one, &peer::des_cbc(two, &[0; 8], &des_cbc_open(one, data))),
    }
}

/// The key of a token under the transport key, by another library.
pub fn opened(token: &[u8]) -> Rsa<Private> {
    let section = token[8];
    let length = usize::from(u16::from_be_bytes([token[10], token[11]]));
    let area = enciphered(token);
    let clear = open(section, &token[area.clone()]);
    let hashed = [&token[8 + 28..area.start], &clear, &token[area.end..8 + length]].concat();
    assert_eq!(sha1(&hashed), token[12..32], "the hash covers the section as it was");
    let public = &token[8 + length..];
    let e = BigNum::from_slice(&public[12..12 + usize::from(public[7])]).unwrap();
    let number = |bytes: &[u8]| BigNum::from_slice(bytes).unwrap();
    let key = if section == 0x02 {
        let n = number(&token[area.end..8 + length]);
        let d = number(&clear[24..]);
        assert!(clear[..24] != [0; 24]);
        RsaPrivateKeyBuilder::new(n, e, d).unwrap().build()
    } else {
        let half = |at: usize| usize::from(u16::from_be_bytes([token[8 + at], token[9 + at]]));
        let mut at = 8;
        let [p, q, dp, dq, u] = [54, 56, 58, 60, 62].map(|place| {
            at += half(place);
            number(&clear[at - half(place)..at])
        });
        assert!(clear[..8] != [0; 8] && clear[at..].iter().all(|byte| *byte == 0));
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        let (mut p1, mut q1, mut phi, mut d) =
            (BigNum::new().unwrap(), BigNum::new().unwrap(), BigNum::new().unwrap(), BigNum::new().unwrap());
        let one = BigNum::from_u32(1).unwrap();
        p1.checked_sub(&p, &one).unwrap();
        q1.checked_sub(&q, &one).unwrap();
        phi.checked_mul(&p1, &q1, &mut context).unwrap();
        d.mod_inverse(&e, &phi, &mut context).unwrap();
        let n = number(&token[area.end..8 + length]);
        let key = RsaPrivateKeyBuilder::new(n, e, d).unwrap().set_factors(p, q).unwrap();
        key.set_crt_params(dp, dq, u).unwrap().build()
    };
    assert!(section == 0x02 || key.check_key().unwrap());
    key
}

/// An external token of a key, made by another library.
pub fn foreign(key: &Rsa<Private>, section: u8) -> Vec<u8> {
    foreign_of(key, section, 0x80)
}

/// The same with this byte for usage and translation.
pub fn foreign_of(key: &Rsa<Private>, section: u8, usage: u8) -> Vec<u8> {
    let n = key.n().to_vec();
    let mut bytes = vec![0; 132];
    let clear = if section == 0x02 {
        bytes.truncate(84);
        bytes[28] = 0x82;
        [&[0xC3; 24][..], &key.d().to_vec_padded(128).unwrap()].concat()
    } else {
        let values =
            [key.p(), key.q(), key.dmp1(), key.dmq1(), key.iqmp()].map(|part| part.unwrap().to_vec());
        for (index, value) in values.iter().enumerate() {
            bytes[54 + 2 * index..][..2].copy_from_slice(&(value.len() as u16).to_be_bytes());
        }
        bytes[64..66].copy_from_slice(&(n.len() as u16).to_be_bytes());
        let mut clear = [&[0xC3; 8][..], &values.concat()].concat();
        let padding = clear.len().next_multiple_of(8) - clear.len();
        bytes[71] = padding as u8;
        clear.resize(clear.len() + padding, 0);
        bytes.truncate(124);
        bytes[28] = 0x42;
        clear
    };
    let modulus = if section == 0x02 { key.n().to_vec_padded(128).unwrap() } else { n.clone() };
    let length = bytes.len() + clear.len() + modulus.len();
    (bytes[0], bytes[50]) = (section, usage);
    bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    let hash = sha1(&[&bytes[28..], &clear, &modulus].concat());
    bytes[4..24].copy_from_slice(&hash);
    let e = key.e().to_vec();
    let public = [&[4, 0, 0, 12 + e.len() as u8, 0, 0, 0, e.len() as u8][..]];
    let public = [&public.concat()[..], &((8 * n.len()) as u16).to_be_bytes(), &[0, 0], &e].concat();
    let whole = 8 + length + public.len();
    let header = [&[0x1E, 0][..], &(whole as u16).to_be_bytes(), &[0; 4]].concat();
    [header, bytes, seal(section, &clear), modulus, public].concat()
}

#[test]
fn generated_keys_open_by_the_book_and_come_back() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let importer = imp_pka(&mut processor, &TRANSPORT);
    for (kind, bits) in [("RSA-PRIV", 1024), ("RSA-PRIV", 1016), ("RSA-CRT", 1024), ("RSA-CRT", 2048)] {
        let skeleton = rsa_skeleton(&mut processor, kind, bits);
        for transport in [&keks.exporter, &importer] {
            let token = generate_under(&skeleton, transport).ok(&mut processor);
            let token = token.bytes(pkg::GENERATED_KEY_IDENTIFIER);
            let key = opened(&token);
            assert_eq!(key.n().num_bits(), i32::from(bits));
            for rules in [&[][..], &["RSA"], &["RSA", "IKEK-DES"]] {
                let reply = import(&token, &importer).rules(rules).ok(&mut processor);
                let internal = reply.bytes(pki::TARGET_KEY_IDENTIFIER);
                let public = public_part(&mut processor, &internal);
                assert_eq!(public, public_part(&mut processor, &token), "{kind} {bits}");
                assert!(public.ends_with(&key.n().to_vec()));
            }
        }
    }
}

#[test]
fn tokens_of_another_system_come_in() {
    let mut processor = processor();
    let importer = imp_pka(&mut processor, &TRANSPORT);
    for (section, bits) in [(0x02, 512), (0x02, 1024), (0x08, 1024), (0x08, 2048)] {
        let key = Rsa::generate(bits).unwrap();
        let token = foreign(&key, section);
        assert_eq!(opened(&token).n(), key.n());
        let internal = import(&token, &importer).ok(&mut processor).bytes(pki::TARGET_KEY_IDENTIFIER);
        assert_eq!((internal[0], internal[8]), (0x1F, if section == 0x02 { 0x30 } else { 0x31 }));
        // A transport key that came in as an IMPORTER key serves in a role that permits it.
        let keks = Keks::new(&mut processor);
        import(&token, &keks.importer).refused(&mut processor, code::KEY_USAGE);
        import(&token, &keks.importer).points(BOTH).ok(&mut processor);
    }
}

#[test]
fn every_changed_byte_is_refused() {
    let mut processor = processor();
    let importer = imp_pka(&mut processor, &TRANSPORT);
    for section in [0x02, 0x08] {
        let token = foreign(&Rsa::generate(512).unwrap(), section);
        import(&token, &importer).ok(&mut processor);
        let area = enciphered(&token);
        for at in 0..token.len() {
            let mut changed = token.clone();
            changed[at] ^= 1;
            let codes = import(&changed, &importer).run(&mut processor).codes;
            assert_eq!(codes.return_code, 8, "{section:#x} {at}");
            if area.contains(&at) || (12..32).contains(&at) {
                assert_eq!(codes, code::TOKEN_INVALID, "{section:#x} {at}: one refusal for all of it");
            }
        }
        for length in [0, 7, 8, token.len() - 1] {
            let codes = import(&token[..length], &importer).run(&mut processor).codes;
            assert_eq!(codes.return_code, 8, "{length}");
        }
    }
}

#[test]
fn what_the_key_of_a_token_is_for_is_asked_before_it_is_opened() {
    let mut processor = processor();
    let keks = Keks::new(&mut processor);
    let importer = imp_pka(&mut processor, &TRANSPORT);
    let crt = rsa_skeleton(&mut processor, "RSA-CRT", 1024);
    let token = generate_under(&crt, &importer).ok(&mut processor).bytes(pkg::GENERATED_KEY_IDENTIFIER);
    let clear = Request::new(Verb::PkaKeyGenerate)
        .rules(&["CLEAR"])
        .counted(pkg::SKELETON_KEY_TOKEN_LENGTH, pkg::SKELETON_KEY_TOKEN, &crt)
        .bytes(pkg::TRANSPORT_KEY_IDENTIFIER, [0; 64])
        .integer(pkg::GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY)
        .ok(&mut processor)
        .bytes(pkg::GENERATED_KEY_IDENTIFIER);
    let xlate = entered(&mut processor, "IMPORTER", &["XLATE"], &TRANSPORT);
    let other = imp_pka(&mut processor, b"another value...");
    let part = skeleton(&mut processor, "IMP-PKA", &["KEY-PART"]);
    let curve = curve_token(&mut processor, "KEY-MGMT", Some("CLEAR"));
    let cases: [(&[u8], &[u8], Codes); 9] = [
        (&token, &keks.exporter, code::KEY_USAGE),
        (&token, &keks.importer, code::KEY_USAGE),
        (&token, &xlate, code::KEY_USAGE),
        (&token, &part, code::KEY_USAGE),
        (&token, &other, code::TOKEN_INVALID),
        (&token, &[0; 64], code::TOKEN_INVALID),
        (&clear, &importer, code::TOKEN_INVALID),
        (&curve, &importer, code::TOKEN_INVALID),
        (&token, &[b'A'; 64], code::LABEL_NOT_FOUND),
    ];
    for (source, importer, codes) in cases {
        import(source, importer).refused(&mut processor, codes);
    }
    import(&token, &importer).rules(&["ECC"]).refused(&mut processor, code::TOKEN_INVALID);
    import(&curve, &[0; 64]).rules(&["ECC"]).ok(&mut processor);
    import(&token, &importer).rules(&["IKEK-AES"]).refused(&mut processor, code::TOKEN_VERSION);
    import(&token, &importer).rules(&["IKEK-PKA"]).refused(&mut processor, code::KEYWORD);
    import(&token, &importer).domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    import(&token, &importer).domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    // No verb uses an external key as it is, and what is public of it all the same.
    assert_eq!(public_part(&mut processor, &token)[8], 4);

    generate_under(&crt, &keks.importer).refused(&mut processor, code::KEY_USAGE);
    generate_under(&crt, &keks.importer).points(BOTH).ok(&mut processor);
    generate_under(&crt, &xlate).refused(&mut processor, code::KEY_USAGE);
    generate_under(&crt, &[0; 64]).refused(&mut processor, code::INVALID_PARAMETER);
    generate_under(&crt, &importer).rules(&["MASTER"]).refused(&mut processor, code::INVALID_PARAMETER);
    generate_under(&crt, &importer).rules(&["RETAIN"]).refused(&mut processor, code::KEYWORD);
    generate_under(&crt, &importer).domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    for kind in ["RSA-AESM", "RSA-AESC"] {
        let skeleton = rsa_skeleton(&mut processor, kind, 1024);
        generate_under(&skeleton, &importer).refused(&mut processor, code::TOKEN_VERSION);
    }
    let curve = curve_token(&mut processor, "KEY-MGMT", None);
    generate_under(&curve, &importer).refused(&mut processor, code::TOKEN_VERSION);
    // More than a key of TDES is worth.
    let long = rsa_skeleton(&mut processor, "RSA-CRT", 2056);
    generate_under(&long, &importer).refused(&mut processor, code::STRENGTH);
    let token = generate_under(&long, &importer).points(WEAK).ok(&mut processor);
    opened(&token.bytes(pkg::GENERATED_KEY_IDENTIFIER));
}

#[test]
fn clear_tokens_whose_hashes_are_zero_are_taken_and_others_are_checked() {
    let mut processor = processor();
    for kind in ["RSA-PRIV", "RSA-CRT"] {
        let skeleton = rsa_skeleton(&mut processor, kind, 1024);
        let clear = Request::new(Verb::PkaKeyGenerate)
            .rules(&["CLEAR"])
            .counted(pkg::SKELETON_KEY_TOKEN_LENGTH, pkg::SKELETON_KEY_TOKEN, &skeleton)
            .bytes(pkg::TRANSPORT_KEY_IDENTIFIER, [0; 64])
            .integer(pkg::GENERATED_KEY_IDENTIFIER_LENGTH, CAPACITY)
            .ok(&mut processor)
            .bytes(pkg::GENERATED_KEY_IDENTIFIER);
        let mut zero = clear.clone();
        zero[12..32].fill(0);
        import(&zero, &[0; 64]).ok(&mut processor);
        for at in 12..32 {
            for token in [&clear, &zero] {
                let mut wrong = token.clone();
                wrong[at] ^= 1;
                import(&wrong, &[0; 64]).refused(&mut processor, code::TOKEN_INVALID);
            }
        }
    }
}

//! AES keys as objects of PKCS #11 (CKM_RSA_AES_KEY_WRAP): opened and made by OpenSSL, and everything that is none.

use super::exchange::imported;
use super::oaep2::{Tokens, exported, opened, power, rsa, sealed, with_points};
use super::{generate2, generated2, parsed, skeleton2};
use cca::Processor;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::{CipherCtx, CipherCtxFlags};
use openssl::pkey::Private;
use openssl::rsa::Rsa;
use token::variable::{Attributes, PayloadVersion, Pedigree, VariableType};
use verb_requests::peer;
use verb_requests::support::{EMPTY_DOMAIN, OLDER_DOMAIN, Request, aes_key, processor, text};
use verb_requests::uses::ways::{export2, import2};
use verb_requests::wrapped::unwrapped;
use wire::code;
use wire::point::{Point, PointSet};
use wire::role::BUILT_IN;
use wire::verb::{
    Verb, key_generate2, symmetric_algorithm_decipher, symmetric_key_import, symmetric_key_import2 as syi2,
};

/// The owner of a home with the rights to such objects, which the owner does not have, and more.
fn role(more: &[Point]) -> &'static PointSet {
    with_points(&[&[Point::ExportRakw, Point::Import2Rakw], more].concat())
}

/// A role that is permitted RSA keys that are weaker than AES keys.
fn weak() -> &'static PointSet {
    role(&[Point::WeakTransport, Point::WeakImport])
}

fn export(source: &[u8], rsa: &[u8]) -> Request {
    export2("AES", source, rsa).rules(&["AES", "CKM-RAKW"]).points(role(&[]))
}

fn import(object: &[u8], rsa: &[u8], skeleton: &[u8]) -> Request {
    import2("AES", object, rsa)
        .rules(&["AES", "CKM-RAKW"])
        .points(role(&[]))
        .bytes(syi2::TARGET_KEY_IDENTIFIER, skeleton)
}

/// A key under another by RFC 5649, by OpenSSL; or the other way round.
fn wrapped(between: &[u8], wraps: bool, key: &[u8]) -> Vec<u8> {
    let cipher = match between.len() {
        16 => Cipher::aes_128_wrap_pad(),
        24 => Cipher::aes_192_wrap_pad(),
        _ => Cipher::aes_256_wrap_pad(),
    };
    let mut context = CipherCtx::new().unwrap();
    context.set_flags(CipherCtxFlags::FLAG_WRAP_ALLOW);
    let mut out = Vec::new();
    if wraps {
        context.encrypt_init(Some(cipher), Some(between), None).unwrap();
    } else {
        context.decrypt_init(Some(cipher), Some(between), None).unwrap();
    }
    context.cipher_update_vec(key, &mut out).unwrap();
    context.cipher_final_vec(&mut out).unwrap();
    out
}

/// An object by OpenSSL.
fn made(rsa: &Rsa<Private>, between: &[u8], key: &[u8]) -> Vec<u8> {
    [sealed(rsa, 1, &[], between), wrapped(between, true, key)].concat()
}

const BETWEEN: [u8; 32] = *b"between the RSA key and the AES.";

fn cipher_skeleton(processor: &mut Processor, keywords: &[&str]) -> Vec<u8> {
    skeleton2(processor, &[&["INTERNAL", "AES", "CIPHER"], keywords].concat())
}

#[test]
fn keys_go_to_openssl_and_come_back_for_what_the_skeleton_says() {
    let mut processor = processor();
    for bits in [2048, 3072] {
        let tokens = Tokens::new(&mut processor, rsa(bits));
        let modulus = bits as usize / 8;
        for key_bits in [128, 192, 256] {
            let key = generated2(&mut processor, "AES", key_bits, &["CIPHER", "ENCRYPT"]);
            let reply = export(&key, &tokens.public).points(weak()).ok(&mut processor);
            let object = exported(&reply);
            assert_eq!(object.len(), modulus + 8 + key_bits as usize / 8);
            let between = opened(rsa(bits), 1, &object[..modulus]);
            assert_eq!(between.len(), 32);
            let secret = unwrapped(&aes_key(false), &key).unwrap();
            assert_eq!(wrapped(&between, false, &object[modulus..]), secret);
            // No two are under the same key.
            let other = exported(&export(&key, &tokens.public).points(weak()).ok(&mut processor));
            assert_ne!(opened(rsa(bits), 1, &other[..modulus]), between);

            for keywords in [&["ANY-MODE"][..], &["DECRYPT", "NOEX-SYM", "NOEXUASY"], &["V1PYLD"]] {
                let skeleton = cipher_skeleton(&mut processor, keywords);
                let request = import(&object, &tokens.transport, &skeleton).points(weak());
                let back = imported(&request.ok(&mut processor));
                assert_eq!(unwrapped(&aes_key(false), &back).unwrap(), secret);
                let is_weaker = key_bits > 128 || bits < 3072;
                let said = parsed(&skeleton).attributes().clone().from_anyone().from_elsewhere();
                let said = if is_weaker { said.weakened() } else { said };
                assert_eq!(parsed(&back).attributes(), &said);
                assert_eq!(parsed(&back).payload_version(), parsed(&skeleton).payload_version());
            }
        }
    }
}

#[test]
fn objects_that_another_library_made_come_in() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    // A token with a key says what a skeleton does; its key is replaced. A name that is given is the key's.
    let key = generated2(&mut processor, "AES", 256, &["CIPHER", "DECRYPT", "GCM"]);
    let name = wire::Label::new("A.NAME").unwrap().to_field();
    let object = made(rsa(3072), &BETWEEN, &text(16));
    let request = import(&object, &tokens.transport, &key);
    let back = imported(&request.ok(&mut processor));
    assert_eq!(unwrapped(&aes_key(false), &back).unwrap(), text(16));
    assert_eq!(parsed(&back).attributes().usage(), parsed(&key).attributes().usage());
    assert_eq!(parsed(&back).attributes().management()[2], Pedigree::Unknown as u16);
    let named = request.counted(syi2::USER_MOD_DATA_LENGTH, syi2::USER_MOD_DATA, name);
    assert_eq!(parsed(&imported(&named.ok(&mut processor))).attributes().name(), Some(&name));
}

#[test]
fn what_is_wrong_with_an_object_is_not_told() {
    let mut processor = processor();
    let key = rsa(2048);
    let tokens = Tokens::new(&mut processor, key);
    let skeleton = cipher_skeleton(&mut processor, &[]);
    let good = made(key, &BETWEEN, &text(16));
    let mut objects = Vec::new();
    for at in (0..256).step_by(19).chain(256..good.len()) {
        let mut changed = good.clone();
        changed[at] ^= 1 << (at % 8);
        objects.push(changed);
    }
    // Keys between that are none of AES-256, and other blocks of OAEP.
    for between in [&BETWEEN[..16], &BETWEEN[..24]] {
        objects.push(made(key, between, &text(16)));
    }
    let tail = &good[256..];
    let with = |block: Vec<u8>| [&block[..], tail].concat();
    for message in [&[][..], &BETWEEN[..31], &[&BETWEEN[..], &[0]].concat()] {
        objects.push(with(sealed(key, 1, &[], message)));
    }
    objects.push(with(sealed(key, 2, &[], &BETWEEN)));
    objects.push(with(sealed(key, 1, b"label", &BETWEEN)));
    objects.push(with(sealed(&Rsa::generate(2048).unwrap(), 1, &[], &BETWEEN)));
    // Manger's, and numbers that are none below the modulus.
    for first in [0, 1] {
        let mut block = vec![0x5A; 256];
        block[0] = first;
        objects.push(with(power(key, &block)));
    }
    objects.extend([with(vec![0xFF; 256]), with(vec![0; 256]), with(key.n().to_vec())]);
    // Keys that say another length than what they are wrapped to, and one that is the right one under another.
    objects.extend([15, 9, 17, 25].map(|length| made(key, &BETWEEN, &text(length))));
    objects.push([&good[..256], &wrapped(&[9; 32], true, &text(16))].concat());
    let other = made(key, &[7; 32], &text(16));
    objects.push([&other[..256], tail].concat());
    for object in objects {
        let request = import(&object, &tokens.transport, &skeleton).points(weak());
        request.refused(&mut processor, code::RSA_BLOCK);
    }
    // Lengths are no secret.
    for length in (0..good.len()).chain([good.len() + 1]) {
        let object = [&good[..], &[0]].concat()[..length].to_vec();
        import(&object, &tokens.transport, &skeleton).refused(&mut processor, code::TEXT_LENGTH);
    }
    for length in [1, 8, 33, 40] {
        let object = made(key, &BETWEEN, &text(length));
        import(&object, &tokens.transport, &skeleton).refused(&mut processor, code::TEXT_LENGTH);
    }
    import(&good, &tokens.transport, &skeleton).points(weak()).ok(&mut processor);
}

#[test]
fn only_cipher_keys_that_may_leave_under_rsa_keys_leave() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    for (keywords, may) in [
        (&["CIPHER"][..], true),
        (&["CIPHER", "NOEX-SYM", "NOEX-AES", "NOEXAASY"], true),
        (&["CIPHER", "NOEXUASY"], false),
        (&["CIPHER", "NOEX-RSA"], false),
        (&["MAC", "GENERATE"], false),
        (&["EXPORTER"], false),
        (&["IMPORTER"], false),
        (&["DKYGENKY", "D-ALL"], false),
    ] {
        let key = generated2(&mut processor, "AES", 128, keywords);
        let request = export(&key, &tokens.public);
        if may { drop(request.ok(&mut processor)) } else { request.refused(&mut processor, code::KEY_USAGE) }
    }
    let skeleton = cipher_skeleton(&mut processor, &[]);
    let clear = parsed(&skeleton).with_clear_key(&text(16)).unwrap().to_bytes().to_vec();
    let fixed = verb_requests::support::imported(&mut processor, "AES", &text(16));
    let hmac = generated2(&mut processor, "HMAC", 128, &["MAC", "GENERATE"]);
    for source in [&clear, &skeleton, &fixed] {
        export(source, &tokens.public).refused(&mut processor, code::TOKEN_INVALID);
    }
    export(&hmac, &tokens.public).refused(&mut processor, code::TOKEN_INVALID);
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    for (words, codes) in [
        (&["CKM-RAKW"][..], code::KEYWORD_COMBINATION),
        (&["DES", "CKM-RAKW"], code::KEYWORD_COMBINATION),
        (&["HMAC", "CKM-RAKW"], code::KEYWORD_COMBINATION),
        (&["AES", "CKM-RAKW", "SHA-1"], code::KEYWORD_COMBINATION),
    ] {
        export(&key, &tokens.public).rules(words).refused(&mut processor, codes);
    }
    let short = Tokens::new(&mut processor, rsa(1024));
    export(&key, &short.public).refused(&mut processor, code::RSA_KEY_LENGTH);
    let object = exported(&export(&key, &tokens.public).ok(&mut processor));
    import(&object, &short.transport, &skeleton).refused(&mut processor, code::RSA_KEY_LENGTH);
}

#[test]
fn the_skeleton_is_of_a_cipher_key_and_the_rsa_key_for_keys_alone() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let object = made(rsa(3072), &BETWEEN, &text(16));
    let cipher = cipher_skeleton(&mut processor, &[]);
    for keywords in [&["MAC", "GENERATE"][..], &["EXPORTER"], &["IMPORTER"], &["DKYGENKY", "D-ALL"]] {
        let skeleton = skeleton2(&mut processor, &[&["INTERNAL", "AES"], keywords].concat());
        import(&object, &tokens.transport, &skeleton).refused(&mut processor, code::KEY_USAGE);
    }
    let hmac = skeleton2(&mut processor, &["INTERNAL", "HMAC", "MAC", "GENERATE"]);
    import(&object, &tokens.transport, &hmac).refused(&mut processor, code::KEY_USAGE);
    let external = skeleton2(&mut processor, &["EXTERNAL", "AES", "CIPHER"]);
    let fixed = verb_requests::support::imported(&mut processor, "AES", &text(16));
    for skeleton in [&external, &fixed, &vec![0; 64], &Vec::new()] {
        import(&object, &tokens.transport, skeleton).refused(&mut processor, code::TOKEN_INVALID);
    }
    let label = wire::Label::new("A.KEY").unwrap().to_field().to_vec();
    import(&object, &tokens.transport, &label).refused(&mut processor, code::LABEL_NOT_FOUND);
    let request = import(&object, &tokens.transport, &cipher);
    request.clone().rules(&["HMAC", "CKM-RAKW"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    for key in [&tokens.management, &tokens.signing] {
        import(&object, key, &cipher).refused(&mut processor, code::KEY_USAGE);
    }
    let both = role(&[Point::DecipherBoth]);
    import(&object, &tokens.management, &cipher).points(both).ok(&mut processor);
    import(&object, &tokens.clear, &cipher).ok(&mut processor);
    let length = imported(&request.ok(&mut processor)).len() as i64;
    let room = |room| request.clone().integer(syi2::TARGET_KEY_IDENTIFIER_LENGTH, room);
    room(length).ok(&mut processor);
    room(length - 1).refused(&mut processor, code::BUFFER_TOO_SMALL);
    request.clone().domain(OLDER_DOMAIN).refused(&mut processor, code::MASTER_KEY_MISMATCH);
    request.clone().domain(EMPTY_DOMAIN).refused(&mut processor, code::MASTER_KEY_NOT_LOADED);
    let old = generate2("AES", 128, "CIPHER", &[]).domain(OLDER_DOMAIN).ok(&mut processor);
    let old = old.bytes(key_generate2::GENERATED_KEY_IDENTIFIER_1);
    export(&old, &tokens.public).answers(&mut processor, code::OLD_MASTER_KEY);
}

#[test]
fn a_key_goes_under_no_weaker_rsa_key_unless_the_role_says_so() {
    let mut processor = processor();
    let back = role(&[Point::WeakImport]);
    for (rsa_bits, bits, is_weak) in [(2048, 128, true), (3072, 128, false), (3072, 192, true)] {
        let tokens = Tokens::new(&mut processor, rsa(rsa_bits));
        let key = generated2(&mut processor, "AES", bits, &["CIPHER"]);
        let skeleton = cipher_skeleton(&mut processor, &[]);
        let request = export(&key, &tokens.public);
        if is_weak {
            request.refused(&mut processor, code::STRENGTH);
            request.clone().points(back).refused(&mut processor, code::STRENGTH);
            // A right for this alone does not go further.
            let alone = role(&[Point::WeakRakw]);
            let oaep = request.clone().rules(&["AES", "PKOAEP2", "SHA-1"]).points(alone);
            oaep.refused(&mut processor, code::STRENGTH);
            request.clone().points(alone).ok(&mut processor);
        }
        let object = exported(&request.points(role(&[Point::WeakTransport])).ok(&mut processor));
        let request = import(&object, &tokens.transport, &skeleton);
        if is_weak {
            request.refused(&mut processor, code::STRENGTH);
        }
        request.points(back).ok(&mut processor);
    }
}

#[test]
fn no_built_in_role_has_the_right() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let key = generated2(&mut processor, "AES", 128, &["CIPHER"]);
    let object = made(rsa(3072), &BETWEEN, &text(16));
    let skeleton = cipher_skeleton(&mut processor, &[]);
    for role in &BUILT_IN {
        let points = &*Box::leak(Box::new(role.points));
        for request in [export(&key, &tokens.public), import(&object, &tokens.transport, &skeleton)] {
            request.points(points).refused(&mut processor, code::ACCESS_DENIED);
        }
    }
}

/// What docs/reference/unconfirmed.md warns of: the block of an object is that of an AES key, which
/// Symmetric_Key_Import takes for a DATA key of its caller. So whoever has an RSA key for keys, and may import and
/// decipher, reads the keys of objects that are meant for it; the rights to CKM-RAKW, which no built-in role has, are
/// not needed for that. Objects are for receivers who may read what they receive.
#[test]
fn the_receiver_of_an_object_can_read_its_key() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let object = made(rsa(3072), &BETWEEN, &text(16));
    use symmetric_key_import as syi;
    let request = Request::new(Verb::SymmetricKeyImport)
        .rules(&["AES", "PKCSOAEP", "SHA-1"])
        .counted(syi::RSA_ENCIPHERED_KEY_LENGTH, syi::RSA_ENCIPHERED_KEY, &object[..384])
        .counted(syi::RSA_PRIVATE_KEY_IDENTIFIER_LEN, syi::RSA_PRIVATE_KEY_IDENTIFIER, &tokens.transport)
        .counted(syi::TARGET_KEY_IDENTIFIER_LENGTH, syi::TARGET_KEY_IDENTIFIER, [0; 64]);
    let between = request.ok(&mut processor).bytes(syi::TARGET_KEY_IDENTIFIER);
    // The last step of unwrapping is one block in ECB.
    use symmetric_algorithm_decipher as sad;
    let block = text(16);
    let reply = Request::new(Verb::SymmetricAlgorithmDecipher)
        .rules(&["AES", "ECB", "KEYIDENT", "INITIAL"])
        .counted(sad::KEY_LENGTH, sad::KEY_IDENTIFIER, &between)
        .integer(sad::BLOCK_SIZE, 16)
        .counted(sad::CIPHER_TEXT_LENGTH, sad::CIPHER_TEXT, &block)
        .integer(sad::CLEAR_TEXT_LENGTH, 16)
        .counted(sad::CHAIN_DATA_LENGTH, sad::CHAIN_DATA, [0; 32])
        .ok(&mut processor);
    assert_eq!(reply.bytes(sad::CLEAR_TEXT), peer::aes_ecb(&BETWEEN, false, &block));
}

/// The history is what it is under every combination, and no skeleton undoes it.
#[test]
fn no_skeleton_hides_where_a_key_came_from() {
    let mut processor = processor();
    let tokens = Tokens::new(&mut processor, rsa(3072));
    let object = made(rsa(3072), &BETWEEN, &text(16));
    let of = Attributes::new(VariableType::Cipher, [], None).unwrap();
    let skeletons = [of.clone(), of.clone().from_anyone(), of.weakened()];
    let expected = [0x1A, 0x1A, 0x1E];
    for (attributes, expected) in skeletons.into_iter().zip(expected) {
        let skeleton = token::VariableToken::skeleton(
            token::des::Origin::Internal,
            PayloadVersion::Variable,
            attributes,
        );
        let skeleton = skeleton.unwrap().to_bytes();
        let back = imported(&import(&object, &tokens.transport, &skeleton).ok(&mut processor));
        assert_eq!(parsed(&back).attributes().management()[1], expected);
    }
}

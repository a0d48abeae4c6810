//! A block in which a key travels, given to PKA_Decrypt, which shows what it holds.

use super::numbers::{BOTH, OWNER, Target, decrypt};
use verb_requests::support::{Request, imported, text};
use wire::point::PointSet;
use wire::role::{BUILT_IN, BuiltIn};
use wire::verb::{Verb, symmetric_key_export, symmetric_key_import};
use wire::{Codes, code};

/// The block of a DATA key of these bytes, for the key of the target.
fn transported(target: &mut Target, key: &[u8]) -> Vec<u8> {
    use symmetric_key_export::{
        RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PUBLIC_KEY_IDENTIFIER,
        RSA_PUBLIC_KEY_IDENTIFIER_LEN, SOURCE_KEY_IDENTIFIER, SOURCE_KEY_IDENTIFIER_LENGTH,
    };
    let token = imported(&mut target.others.processor, "DES", key);
    Request::new(Verb::SymmetricKeyExport)
        .rules(&["PKCS-1.2"])
        .counted(SOURCE_KEY_IDENTIFIER_LENGTH, SOURCE_KEY_IDENTIFIER, token)
        .counted(RSA_PUBLIC_KEY_IDENTIFIER_LEN, RSA_PUBLIC_KEY_IDENTIFIER, &target.others.public)
        .integer(RSA_ENCIPHERED_KEY_LENGTH, 512)
        .ok(&mut target.others.processor)
        .bytes(RSA_ENCIPHERED_KEY)
}

fn import(target: &mut Target, points: &'static PointSet, key: &[u8], block: &[u8]) -> Result<(), Codes> {
    use symmetric_key_import::{
        RSA_ENCIPHERED_KEY, RSA_ENCIPHERED_KEY_LENGTH, RSA_PRIVATE_KEY_IDENTIFIER,
        RSA_PRIVATE_KEY_IDENTIFIER_LEN, TARGET_KEY_IDENTIFIER, TARGET_KEY_IDENTIFIER_LENGTH,
    };
    let reply = Request::new(Verb::SymmetricKeyImport)
        .points(points)
        .rules(&["PKCS-1.2"])
        .counted(RSA_ENCIPHERED_KEY_LENGTH, RSA_ENCIPHERED_KEY, block)
        .counted(RSA_PRIVATE_KEY_IDENTIFIER_LEN, RSA_PRIVATE_KEY_IDENTIFIER, key)
        .counted(TARGET_KEY_IDENTIFIER_LENGTH, TARGET_KEY_IDENTIFIER, [0; 64])
        .run(&mut target.others.processor);
    if reply.codes.has_output() { Ok(()) } else { Err(reply.codes) }
}

#[test]
fn what_transports_a_key_is_shown_by_no_verb() {
    let mut target = Target::new();
    let secret = text(16);
    let block = transported(&mut target, &secret);
    let (transport, reading) = (target.others.transport.clone(), target.others.management.clone());

    // Where a key may do both, it imports the key and shows it.
    for key in [&transport, &reading] {
        assert_eq!(import(&mut target, BOTH, key, &block), Ok(()));
        let shown = decrypt(&mut target.others.processor, BOTH, key, &block);
        assert_eq!(shown.as_deref(), Ok(&secret[..]));
    }
    assert_eq!(import(&mut target, OWNER, &transport, &block), Ok(()));
    let shown = decrypt(&mut target.others.processor, OWNER, &transport, &block);
    assert_eq!(shown, Err(code::KEY_USAGE));
    // What a key shows, it does not import.
    assert_eq!(import(&mut target, OWNER, &reading, &block), Err(code::KEY_USAGE));
    assert!(decrypt(&mut target.others.processor, OWNER, &reading, &block).is_ok());
    // Numbers that a caller has in the clear are not kept from him.
    let clear = target.others.clear.clone();
    assert_eq!(import(&mut target, OWNER, &clear, &block), Ok(()));
    assert!(decrypt(&mut target.others.processor, OWNER, &clear, &block).is_ok());
}

#[test]
fn a_guest_deciphers_with_no_rsa_key() {
    const ROLES: &[BuiltIn] = &BUILT_IN;
    let mut target = Target::new();
    let block = transported(&mut target, &text(16));
    for role in ROLES.iter().filter(|role| matches!(role.name, "guest" | "nobody")) {
        for key in [target.others.transport.clone(), target.others.management.clone()] {
            let shown = decrypt(&mut target.others.processor, &role.points, &key, &block);
            assert_eq!(shown, Err(code::ACCESS_DENIED), "{}", role.name);
        }
    }
}

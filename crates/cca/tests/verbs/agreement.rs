//! EC_Diffie-Hellman into external tokens. What it agrees on is in `tests/curves/agreement.rs`.

use token::DesToken;
use token::des::Origin;
use wire::code;
use wire::verb::{Verb, ec_diffie_hellman as edh, key_export as kex};

use crate::support::Request;
use crate::uses::ways::Others;

/// A request for the DES key that the third of the deriving keys makes with the first.
fn agreed(others: &Others, words: &[&str], kek: &[u8], output: &[u8]) -> Request {
    others
        .ways(Verb::EcDiffieHellman, edh::PRIVATE_KEY_IDENTIFIER, &others.deriving[2])
        .remove(2)
        .rules(&[&["DERIV02", "SHA-256"], words].concat())
        .counted(edh::OUTPUT_KEK_KEY_IDENTIFIER_LENGTH, edh::OUTPUT_KEK_KEY_IDENTIFIER, kek)
        .bytes(edh::OUTPUT_KEY_IDENTIFIER, output)
}

#[test]
fn an_external_token_holds_the_key_that_an_internal_one_holds() {
    let mut others = Others::new();
    let internal = agreed(&others, &[], &[], &[]).ok(&mut others.processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
    let exported = Request::new(Verb::KeyExport)
        .bytes(kex::KEY_TYPE, "TOKEN   ")
        .bytes(kex::SOURCE_KEY_IDENTIFIER, &internal)
        .bytes(kex::EXPORTER_KEY_IDENTIFIER, &others.exporter)
        .ok(&mut others.processor)
        .bytes(kex::TARGET_KEY_TOKEN);
    let external = DesToken::parse(&exported).unwrap().without_key();
    assert_eq!(external.origin(), Origin::External);
    let external = external.to_bytes();
    for kek in [others.exporter.clone(), others.importer.clone()] {
        for words in [&[][..], &["OKEK-DES", "KEY-DES"]] {
            let request = agreed(&others, words, &kek, &external);
            let made = request.ok(&mut others.processor).bytes(edh::OUTPUT_KEY_IDENTIFIER);
            assert_eq!(made, exported, "{words:?}");
        }
    }
    // A key-encrypting key and no token for it, and the reverse.
    let kek = others.exporter.clone();
    for (kek, output) in [(&kek[..], &[][..]), (&kek, &internal), (&[], &external)] {
        agreed(&others, &[], kek, output).refused(&mut others.processor, code::TOKEN_INVALID);
    }
}

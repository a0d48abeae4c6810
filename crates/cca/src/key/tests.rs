//! Keys under keys that an earlier pass opened.

use super::field::{Found, SymmetricToken};
use super::{Key, Under};
use crate::call::Computation;
use crate::call::{Call, Verdict};
use crate::ground::Refusal;
use crate::kernel::Kernel;
use crate::pass::{Pass, Skeleton, Token};
use crate::processor::drive;
use crate::registers::Domain;
use engine::{Engine, Options};
use std::cell::RefCell;
use token::control_vector::KeyForm;
use token::des::Origin;
use token::usage::{Side, Use, Wrapping};
use token::{DesToken, KeyType};
use wire::control::{Handout, MasterKeyPair, TokenForms};
use wire::frame::Arguments;
use wire::verb::Verb;
use wire::{Codes, code};

/// A key-encrypting key, its halves.
const LEFT: u64 = 0x0123_4567_89AB_CDEF;
const RIGHT: u64 = 0xFEDC_BA98_7654_3210;
/// The key that travels.
const KEY: [u8; 16] =
    [0x10, 0x31, 0x52, 0x73, 0x94, 0xB5, 0xD6, 0xF7, 0x08, 0x29, 0x4A, 0x6B, 0x8C, 0xAD, 0xCE, 0xEF];

/// The method by the book, by another library: each half under the wrapping key xor its half of the vector.
fn wrapped_by_openssl(vector: token::ControlVector) -> Vec<u8> {
    let half = |key: &[u8], mask: u64| {
        let parts = [LEFT, RIGHT, LEFT].map(|part| (part ^ mask).to_be_bytes());
        let mut encipher = openssl::symm::Crypter::new(
            openssl::symm::Cipher::des_ede3(),
            openssl::symm::Mode::Encrypt,
            &parts.concat(),
            None,
        )
        .unwrap();
        encipher.pad(false);
        let mut out = vec![0; 16];
        let bytes = encipher.update(key, &mut out).unwrap();
        out.truncate(bytes);
        out
    };
    [half(&KEY[..8], vector.left()), half(&KEY[8..], vector.right())].concat()
}

fn external(key_type: KeyType) -> DesToken {
    let own = key_type.default_vector(KeyForm::Double).unwrap();
    let wrapped = wrapped_by_openssl(own);
    let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, own).unwrap();
    skeleton.with_key([0; 8], &wrapped).unwrap()
}

fn importer(no_vector: bool) -> DesToken {
    let vector = KeyType::Importer.default_vector(KeyForm::Double).unwrap();
    let mut bytes = DesToken::skeleton(Origin::Internal, KeyForm::Double, vector).unwrap().to_bytes();
    if no_vector {
        bytes[6] |= 0x20;
        token::tvv::seal(&mut bytes);
    }
    DesToken::parse(&bytes).unwrap()
}

/// Drives one computation over a domain with a DES master key.
fn run(verb: impl for<'f> FnOnce(Call<'f, 'f>) -> Computation<'f>) -> Verdict {
    let engine = Engine::new(Options::default()).unwrap();
    let mut keys: [MasterKeyPair; 4] = Default::default();
    keys[0].current = (1..25).collect();
    let (domain, patterns) = Domain::load(&engine, &Handout { domain: 0, keys }).unwrap();
    let (random, arguments) = (RefCell::new(engine.random_block()), Arguments::new(Verb::Null));
    let pass = Pass::new(1);
    let call = Call {
        pass: &pass,
        engine: &engine,
        random: &random,
        arguments: &arguments,
        domain: 0,
        tenant: 0,
        points: &wire::point::PointSet::EVERYTHING,
        patterns: &patterns,
        tokens: TokenForms::default(),
        tables: &[],
        counting: &RefCell::default(),
        count: &std::cell::Cell::default(),
        records: &[],
    };
    let mut verdicts = [Err(Refusal::Codes(code::SELF_CHECK))];
    let mut running = [Some(verb(call))];
    drive(
        &pass,
        &mut Kernel {
            engine: &engine,
            domains: &mut [domain],
            tokens: TokenForms::default(),
            found: &mut None,
        },
        &mut running,
        &mut verdicts,
        &mut |_| {},
    );
    drop(running);
    verdicts[0]
}

/// The IMPORTER as a verb gets it: wrapped under the master key, then opened by its token.
async fn opened_importer(call: Call<'_, '_>) -> Result<Key, Refusal> {
    let mut secret = engine::SecretBytes::new(16);
    secret[..8].copy_from_slice(&LEFT.to_be_bytes());
    secret[8..].copy_from_slice(&RIGHT.to_be_bytes());
    let made = call.make(Skeleton::Des(importer(false)), secret).await?;
    let Token::Fixed(bytes) = made else { panic!("a DES or AES token has a fixed length") };
    let token = SymmetricToken::Des(DesToken::parse(&bytes)?);
    Ok(Found { call, token, is_of_record: false }.open()?.await?)
}

#[test]
fn a_key_opens_under_a_key_that_an_earlier_pass_opened() {
    let verdict = run(|call| {
        Box::pin(async move {
            let importer = opened_importer(call).await?;
            assert_eq!(importer.under, Some(Under::Master));
            let token = SymmetricToken::Des(external(KeyType::Mac));
            let key = Found { call, token, is_of_record: false }.under(&importer)?.await?;
            assert_eq!((key.secret.as_slice(), key.under), (&KEY[..], Some(Under::Key)));
            // It is the caller's to wrap under the master key: nothing here renews it.
            assert!(key.renew(call, &[])?.0.is_none());

            // And closes again, to what another library made.
            let vector = KeyType::Mac.default_vector(KeyForm::Double).unwrap();
            let skeleton = DesToken::skeleton(Origin::External, KeyForm::Double, vector).unwrap();
            let made = importer.wrap(&call, skeleton, key.secret.clone())?.await?;
            assert_eq!(made[..], external(KeyType::Mac).to_bytes());
            Ok(code::OK)
        })
    });
    assert_eq!(verdict, Ok(code::OK));
}

#[test]
fn a_key_that_leaves_out_control_vectors_wraps_none() {
    let verdict = run(|call| {
        Box::pin(async move {
            let usage = Use::Wrap(Side::Receiving, Wrapping::Keys);
            let token = SymmetricToken::Des(importer(true).with_key([0; 8], &[1; 16]).unwrap());
            Found { call, token, is_of_record: false }
                .for_use(usage)?
                .await
                .map(|_| code::OK)
                .map_err(Refusal::Codes)
        })
    });
    assert_eq!(verdict, Err(Refusal::Codes(code::KEY_USAGE)));
}

#[test]
fn keys_do_not_open_under_what_did_not_wrap_them() {
    let refused = |verb: for<'f> fn(Call<'f, 'f>, Key) -> Computation<'f>| -> Codes {
        let verdict = run(|call| {
            Box::pin(async move {
                let importer = opened_importer(call).await?;
                verb(call, importer).await
            })
        });
        match verdict {
            Err(Refusal::Codes(codes)) => codes,
            other => panic!("{other:?}"),
        }
    };
    // An external token under the master key.
    let codes = refused(|call, _| {
        Box::pin(async move {
            let token = SymmetricToken::Des(external(KeyType::Mac));
            Found { call, token, is_of_record: false }.open()?.await.map(|_| code::OK).map_err(Refusal::Codes)
        })
    });
    assert_eq!(codes, code::TOKEN_INVALID);
    // An internal token under a transport key.
    let codes = refused(|call, importer| {
        Box::pin(async move {
            let token =
                SymmetricToken::Des(super::tests::importer(false).with_key([0; 8], &[1; 16]).unwrap());
            Found { call, token, is_of_record: false }
                .under(&importer)?
                .await
                .map(|_| code::OK)
                .map_err(Refusal::Codes)
        })
    });
    assert_eq!(codes, code::TOKEN_INVALID);
    // A transport key of one part.
    let codes = refused(|call, importer| {
        Box::pin(async move {
            let short = Key { secret: engine::SecretBytes::from_slice(&importer.secret[..8]), ..importer };
            let token = SymmetricToken::Des(external(KeyType::Mac));
            Found { call, token, is_of_record: false }
                .under(&short)?
                .await
                .map(|_| code::OK)
                .map_err(Refusal::Codes)
        })
    });
    assert_eq!(codes, code::KEY_USAGE);
    // A token that forbids the use is refused before it is opened.
    let codes = refused(|call, _| {
        Box::pin(async move {
            let token = SymmetricToken::Des(importer(false));
            Found { call, token, is_of_record: false }
                .for_use(Use::Encipher)?
                .await
                .map(|_| code::OK)
                .map_err(Refusal::Codes)
        })
    });
    assert_eq!(codes, code::KEY_USAGE);
}

//! Handshakes in memory: OpenSSL is the client, and nothing is sent anywhere.

use crate::{
    Acceptor, Cause, Chain, ChainError, Connection, Hash, KeyOperation, Policy, Progress, PublicKey, Scheme,
    Unnamed,
};
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::RsaPssSaltlen;
use openssl::ssl::{
    HandshakeError, MidHandshakeSslStream, SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion,
};
use openssl::x509::extension::SubjectAlternativeName;
use openssl::x509::{X509, X509NameBuilder};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

const NAME: &str = "one.test";

fn ecdsa() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

fn rsa() -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap()
}

fn certificate(key: &PKey<Private>) -> X509 {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(7).unwrap().to_asn1_integer().unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", NAME).unwrap();
    let name = name.build();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(1_700_000_000).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(4_000_000_000).unwrap()).unwrap();
    builder.set_pubkey(key).unwrap();
    let names = SubjectAlternativeName::new()
        .dns(NAME)
        .dns("*.Two.test")
        .ip("192.0.2.1")
        .build(&builder.x509v3_context(None, None));
    builder.append_extension(names.unwrap()).unwrap();
    builder.sign(key, MessageDigest::sha256()).unwrap();
    builder.build()
}

/// Bytes of a client, in and out.
#[derive(Debug, Default)]
struct Memory {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
}

impl Read for Memory {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.incoming.read(into)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Client {
    Waits(MidHandshakeSslStream<Memory>),
    Done(SslStream<Memory>),
    Failed(String),
}

impl Client {
    fn new(version: SslVersion, ciphers: &str) -> Self {
        let mut builder = SslConnector::builder(SslMethod::tls_client()).unwrap();
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_min_proto_version(Some(version)).unwrap();
        builder.set_max_proto_version(Some(version)).unwrap();
        builder.set_cipher_list(ciphers).unwrap();
        let configuration = builder.build().configure().unwrap().verify_hostname(false);
        Self::of(configuration.connect(NAME, Memory::default()))
    }

    fn of(result: Result<SslStream<Memory>, HandshakeError<Memory>>) -> Self {
        match result {
            Ok(stream) => Self::Done(stream),
            Err(HandshakeError::WouldBlock(waits)) => Self::Waits(waits),
            Err(HandshakeError::Failure(failed)) => Self::Failed(failed.error().to_string()),
            Err(HandshakeError::SetupFailure(error)) => panic!("{error}"),
        }
    }

    fn go_on(self) -> Self {
        if let Self::Waits(waits) = self { Self::of(waits.handshake()) } else { self }
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        match self {
            Self::Waits(waits) => Some(waits.get_mut()),
            Self::Done(stream) => Some(stream.get_mut()),
            Self::Failed(_) => None,
        }
    }
}

/// Hands bytes over in both directions, `at_once` at a time.
fn exchange(client: &mut Client, server: &mut Connection, at_once: usize) {
    let Some(memory) = client.memory() else { return };
    for part in std::mem::take(&mut memory.outgoing).chunks(at_once) {
        server.receive(part);
    }
    let count = server.outgoing().len();
    memory.incoming.extend(server.outgoing());
    server.sent(count);
}

fn shake(
    mut client: Client,
    server: &mut Connection,
    mut answer: impl FnMut(KeyOperation) -> Option<Vec<u8>>,
) -> (Client, Result<(), Cause>) {
    for _ in 0..100 {
        exchange(&mut client, server, 7);
        match server.handshake() {
            Ok(Progress::NeedsKey) => {
                let request = server.take_request().unwrap();
                assert_eq!(request.key, 5);
                assert_eq!(server.take_request(), None, "it is given out once");
                // Asking again before the answer is there changes nothing.
                assert_eq!(server.handshake(), Ok(Progress::NeedsKey));
                server.answer(answer(request.work).map(Zeroizing::new));
            }
            Ok(Progress::Done) if matches!(client, Client::Done(_)) => return (client, Ok(())),
            Ok(_) => {}
            Err(failure) => {
                exchange(&mut client, server, 7);
                return (client.go_on(), Err(failure.cause));
            }
        }
        exchange(&mut client, server, 7);
        client = client.go_on();
        if matches!(client, Client::Failed(_)) {
            return (client, Ok(()));
        }
    }
    panic!("no end");
}

fn digest_of(hash: Hash) -> MessageDigest {
    match hash {
        Hash::Sha1 => MessageDigest::sha1(),
        Hash::Sha224 => MessageDigest::sha224(),
        Hash::Sha256 => MessageDigest::sha256(),
        Hash::Sha384 => MessageDigest::sha384(),
        Hash::Sha512 => MessageDigest::sha512(),
    }
}

/// Computes what a handshake asks for.
fn compute(key: &PKey<Private>, work: KeyOperation) -> Vec<u8> {
    let (scheme, hash, digest) = match work {
        KeyOperation::Sign { scheme, hash, digest } => (scheme, hash, digest),
        KeyOperation::Premaster { ciphertext } => {
            let mut premaster = vec![0; 256];
            let count =
                key.rsa().unwrap().private_decrypt(&ciphertext, &mut premaster, Padding::PKCS1).unwrap();
            premaster.truncate(count);
            return premaster;
        }
    };
    let mut context = openssl::pkey_ctx::PkeyCtx::new(key).unwrap();
    context.sign_init().unwrap();
    context.set_signature_md(openssl::md::Md::from_nid(digest_of(hash).type_()).unwrap()).unwrap();
    match scheme {
        Scheme::RsaPkcs1 => context.set_rsa_padding(Padding::PKCS1).unwrap(),
        Scheme::RsaPss => {
            context.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
            context.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
        }
        Scheme::Ecdsa => {}
    }
    let mut signature = Vec::new();
    context.sign_to_vec(&digest, &mut signature).unwrap();
    signature
}

const VERSIONS: [SslVersion; 2] = [SslVersion::TLS1_2, SslVersion::TLS1_3];

#[test]
fn keys_elsewhere_are_asked_once_and_data_goes_both_ways() {
    for key in [rsa(), ecdsa()] {
        let pem = certificate(&key).to_pem().unwrap();
        let chain = Chain::with_key_elsewhere(&pem, 5).unwrap();
        let acceptor = Acceptor::new(Policy::Modern, &[chain], &Unnamed::Refuse, None).unwrap();
        for version in VERSIONS {
            let mut server = Connection::new(&acceptor).unwrap();
            let mut asked = 0;
            let (client, ended) = shake(Client::new(version, "DEFAULT"), &mut server, |work| {
                asked += 1;
                Some(compute(&key, work))
            });
            assert_eq!((ended, asked), (Ok(()), 1));
            let mut client = client;
            let facts = server.facts();
            assert_eq!((facts.server_name.as_deref(), facts.key), (Some(NAME), Some(5)));
            assert_eq!(facts.version, if version == SslVersion::TLS1_2 { "TLS1.2" } else { "TLS1.3" });

            server.write(b"from the server").unwrap();
            exchange(&mut client, &mut server, 7);
            let Client::Done(stream) = &mut client else { panic!() };
            let mut got = [0; 15];
            stream.read_exact(&mut got).unwrap();
            assert_eq!(&got, b"from the server");
            stream.write_all(b"from the client").unwrap();
            let _ = stream.shutdown();
            exchange(&mut client, &mut server, 7);
            let mut got = [0; 100];
            assert_eq!(server.read(&mut got), Ok(crate::Read::Bytes(15)));
            assert_eq!(server.read(&mut got), Ok(crate::Read::End));
            server.close().unwrap();
        }
    }
}

#[test]
fn a_premaster_is_asked_for_where_the_policy_has_rsa_key_exchange() {
    let key = rsa();
    let chain = Chain::with_key_elsewhere(&certificate(&key).to_pem().unwrap(), 5).unwrap();
    for (policy, expected) in [(Policy::Modern, Err(Cause::NothingInCommon)), (Policy::Compatible, Ok(()))] {
        let acceptor = Acceptor::new(policy, std::slice::from_ref(&chain), &Unnamed::Refuse, None).unwrap();
        let mut server = Connection::new(&acceptor).unwrap();
        let client = Client::new(SslVersion::TLS1_2, "AES128-GCM-SHA256");
        let (_, ended) = shake(client, &mut server, |work| {
            assert!(matches!(work, KeyOperation::Premaster { .. }));
            Some(compute(&key, work))
        });
        assert_eq!(ended, expected);
    }
}

#[test]
fn a_key_without_an_answer_or_with_a_wrong_one_ends_the_handshake() {
    let key = ecdsa();
    let chain = Chain::with_key_elsewhere(&certificate(&key).to_pem().unwrap(), 5).unwrap();
    let acceptor = Acceptor::new(Policy::Modern, &[chain], &Unnamed::Refuse, None).unwrap();
    for version in VERSIONS {
        let mut server = Connection::new(&acceptor).unwrap();
        let (client, ended) = shake(Client::new(version, "DEFAULT"), &mut server, |_| None);
        assert_eq!(ended, Err(Cause::Key));
        assert_told_of_an_internal_error(&client);
    }
    let mut server = Connection::new(&acceptor).unwrap();
    let other = ecdsa();
    let (client, ended) =
        shake(Client::new(SslVersion::TLS1_3, "DEFAULT"), &mut server, |work| Some(compute(&other, work)));
    assert!(ended.is_err() || matches!(client, Client::Failed(_)));
}

fn assert_told_of_an_internal_error(client: &Client) {
    let Client::Failed(why) = client else { panic!("the client waits") };
    assert!(why.contains("alert internal error"), "{why}");
}

#[test]
fn a_client_is_told_that_its_handshake_took_too_long() {
    let key = ecdsa();
    let chain = Chain::with_key_elsewhere(&certificate(&key).to_pem().unwrap(), 5).unwrap();
    let acceptor = Acceptor::new(Policy::Modern, &[chain], &Unnamed::Refuse, None).unwrap();
    // Before anything came, and in the middle of the first message: `user_canceled` and `close_notify`, both warnings.
    for came in [&[][..], &[22, 3, 1, 0, 200, 1, 0]] {
        let mut server = Connection::new(&acceptor).unwrap();
        server.receive(came);
        assert_eq!(server.handshake(), Ok(Progress::NeedsBytes));
        server.cancel();
        assert_eq!(server.outgoing(), [21, 3, 3, 0, 2, 1, 90, 21, 3, 3, 0, 2, 1, 0]);
    }
    for version in VERSIONS {
        // The server's key does not come.
        let (mut client, mut server) = (Client::new(version, "DEFAULT"), Connection::new(&acceptor).unwrap());
        exchange(&mut client, &mut server, 4096);
        assert_eq!(server.handshake(), Ok(Progress::NeedsKey));
        let request = server.take_request().unwrap();
        server.cancel();
        exchange(&mut client, &mut server, 4096);
        assert_told_of_an_internal_error(&client.go_on());
        // The client does not go on after the server's flight.
        let (mut client, mut server) = (Client::new(version, "DEFAULT"), Connection::new(&acceptor).unwrap());
        exchange(&mut client, &mut server, 4096);
        assert_eq!(server.handshake(), Ok(Progress::NeedsKey));
        let work = server.take_request().unwrap().work;
        assert_ne!(work, request.work);
        server.answer(Some(Zeroizing::new(compute(&key, work))));
        assert_eq!(server.handshake(), Ok(Progress::NeedsBytes));
        server.cancel();
        exchange(&mut client, &mut server, 4096);
        // OpenSSL takes the flight, passes over the first warning, and stops at the second one.
        let (client, mut server) = (client.go_on(), server);
        assert!(!matches!(client, Client::Waits(_)), "it was told of the end");
        if let Client::Done(mut stream) = client {
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "the end, and no error");
        }
        server.receive_end();
        assert!(server.handshake().is_err());
    }
}

#[test]
fn bytes_that_are_not_tls_and_cut_ends_are_failures() {
    let key = ecdsa();
    let chain = Chain::with_key_elsewhere(&certificate(&key).to_pem().unwrap(), 5).unwrap();
    let acceptor = Acceptor::new(Policy::Modern, &[chain], &Unnamed::Refuse, None).unwrap();
    let mut server = Connection::new(&acceptor).unwrap();
    server.receive(&[22, 3, 1, 0, 5, 1, 0, 0, 1, 0]);
    assert_eq!(server.handshake().unwrap_err().cause, Cause::Protocol);
    assert!(!server.delay().is_zero(), "the time of the end tells nothing");
    let mut server = Connection::new(&acceptor).unwrap();
    assert_eq!(server.handshake(), Ok(Progress::NeedsBytes));
    server.receive_end();
    assert_eq!(server.handshake().unwrap_err().cause, Cause::Cut);
}

#[test]
fn certificates_say_names_days_and_keys() {
    let key = rsa();
    let made = certificate(&key);
    let read = crate::Certificate::from_der(&made.to_der().unwrap()).unwrap();
    assert_eq!(read.names, [NAME, "*.two.test"]);
    assert_eq!((read.not_before, read.not_after), (1_700_000_000, 4_000_000_000));
    assert_eq!(read.public_key.kind(), "RSA-2048");
    assert_eq!(read.subject, read.issuer);
    let PublicKey::Rsa { modulus, exponent } = &read.public_key else { panic!() };
    assert_eq!((modulus, &exponent[..]), (&key.rsa().unwrap().n().to_vec(), &[1, 0, 1][..]));
    let ec = crate::Certificate::from_der(&certificate(&ecdsa()).to_der().unwrap()).unwrap();
    assert_eq!(ec.public_key.kind(), "P-256");
    // Cut anywhere, it is none; changed anywhere, it is one or none.
    let der = made.to_der().unwrap();
    for end in 0..der.len() {
        assert_eq!(crate::Certificate::from_der(&der[..end]), None);
    }
    for at in 0..der.len() {
        for bit in [1, 0x80] {
            let mut changed = der.clone();
            changed[at] ^= bit;
            let _ = crate::Certificate::from_der(&changed);
        }
    }
}

#[test]
fn chains_that_cannot_be_served_say_why() {
    let (one, other) = (ecdsa(), ecdsa());
    let pem = certificate(&one).to_pem().unwrap();
    let key = |key: &PKey<Private>| key.private_key_to_pem_pkcs8().unwrap();
    assert!(!Chain::with_private_key(&pem, &key(&one), 1).unwrap().is_elsewhere());
    assert_eq!(Chain::with_private_key(&pem, &key(&other), 1).unwrap_err(), ChainError::OtherKey);
    assert_eq!(Chain::with_private_key(&pem, &key(&rsa()), 1).unwrap_err(), ChainError::OtherKey);
    assert!(matches!(Chain::with_private_key(&pem, b"", 1).unwrap_err(), ChainError::PrivateKey(_)));
    assert!(matches!(Chain::with_key_elsewhere(b"text", 1).unwrap_err(), ChainError::Certificates(_)));
}

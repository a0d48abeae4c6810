//! What is written is read: over options, lengths and layouts of threads.

use crate::common::*;
use openpgp::{AeadAlgorithm, CompressionAlgorithm, Passphrase, Protection, SymmetricKeyAlgorithm};
use pipeline::{Async, Compression, Encrypt, Error, Verdict};
use proptest::prelude::*;

const CHUNK_BITS: u8 = 12;

fn there_and_back(text: &[u8], is_known: bool, what: &Encrypt<'_>, run: &pipeline::Run<'_>) {
    let given = Given::new(what.form);
    let what =
        Encrypt { form: what.form, session_key: Some(&given.0), literal: what.literal.clone(), ..*what };
    let message = sealed(input(text, is_known), &what, run).unwrap();
    let (read, summary) = opened(&message, &decrypt_with(&given), run).unwrap();
    assert!(read == text, "{} bytes came back as {}", text.len(), read.len());
    assert_eq!(summary.literal_name, b"name");
    assert_eq!(summary.form, Some(what.form));
    assert_eq!((summary.input_bytes, summary.output_bytes), (message.len() as u64, text.len() as u64));
}

#[test]
fn lengths_at_the_borders_of_chunks_and_blocks() {
    // With the header of the literal packet, 6 + 10 bytes, a chunk is full a little before its length.
    let block = 256 << 10;
    let lengths =
        [0, 1, 511, 512, block - 17, block - 16, block - 15, block, block + 1, 2 * block - 16, 700_000];
    for protection in [Protection::SeipdV1, seipd_v2(AeadAlgorithm::Gcm, CHUNK_BITS)] {
        for bytes in lengths {
            for is_known in [false, true] {
                let text = text(bytes);
                there_and_back(&text, is_known, &encrypt_of(protection), &run(None, 2));
            }
        }
    }
}

#[test]
fn chunks_of_every_length() {
    let text = text(1 << 20);
    for chunk_bits in [0, 3, 9, 11, 13, 16] {
        for aead in [AeadAlgorithm::Ocb, AeadAlgorithm::Eax, AeadAlgorithm::Gcm] {
            there_and_back(&text, true, &encrypt_of(seipd_v2(aead, chunk_bits)), &run(None, 2));
        }
        let gnupg = Protection::GnupgAead { aead: AeadAlgorithm::Ocb, chunk_bits };
        there_and_back(&text, false, &encrypt_of(gnupg), &run(None, 2));
    }
}

#[test]
fn every_recipient_and_passphrase_opens_and_every_signature_holds() {
    for is_v6 in [false, true] {
        let people =
            [Person::new("Ada <ada@example.org>", is_v6), Person::new("Bob <bob@example.org>", is_v6)];
        let protection = if is_v6 { seipd_v2(AeadAlgorithm::Ocb, CHUNK_BITS) } else { Protection::SeipdV1 };
        let recipients: Vec<_> = people.iter().flat_map(Person::encryption_keys).collect();
        let signers: Vec<_> = people.iter().map(Person::signer).collect();
        let text = text(600_000);
        let what = Encrypt {
            recipients: &recipients,
            passphrases: &[Passphrase::new(b"open".to_vec()), Passphrase::new(b"sesame".to_vec())],
            signers: &signers,
            compression: Compression { algorithm: CompressionAlgorithm::ZLIB, level: 6 },
            armor: true,
            ..encrypt_of(protection)
        };
        let message = sealed(input(&text, true), &what, &run(None, 2)).unwrap();
        assert!(message.starts_with(b"-----BEGIN PGP MESSAGE-----\n"));
        let known = Known(people.iter().map(|person| person.certificate.clone()).collect());
        let readers = [
            Keys { private: people[0].keys.clone(), passphrases: Vec::new() },
            Keys { private: people[1].keys.clone(), passphrases: Vec::new() },
            Keys::passphrase("open"),
            Keys::passphrase("sesame"),
        ];
        for keys in &readers {
            let what =
                pipeline::Decrypt { verifiers: Some(&known), must_be_signed: true, ..decrypt_with(keys) };
            let (read, summary) = opened(&message, &what, &run(None, 2)).unwrap();
            assert!(read == text);
            let verdicts: Vec<_> = summary.signatures.iter().map(|signature| &signature.verdict).collect();
            assert!(matches!(verdicts[..], [Verdict::Good { .. }, Verdict::Good { .. }]), "{verdicts:?}");
        }
        let strangers = Keys::passphrase("wrong");
        let failed = opened(&message, &decrypt_with(&strangers), &run(None, 2));
        assert!(matches!(failed, Err(Error::NotOpened(_) | Error::Unauthentic { .. })), "{failed:?}");
    }
}

#[test]
fn who_must_be_signed_for_gets_nothing_else() {
    let (ada, bob) = (Person::new("Ada", false), Person::new("Bob", false));
    let given = Given::new(form(Protection::SeipdV1));
    let signers = [ada.signer()];
    let what = Encrypt { session_key: Some(&given.0), ..encrypt_of(Protection::SeipdV1) };
    let unsigned = sealed(input(b"text", true), &what, &run(None, 1)).unwrap();
    let signed = sealed(input(b"text", true), &Encrypt { signers: &signers, ..what }, &run(None, 1)).unwrap();
    let open = |message: &[u8], known: &Known| {
        let what = pipeline::Decrypt { verifiers: Some(known), must_be_signed: true, ..decrypt_with(&given) };
        opened(message, &what, &run(None, 1))
    };
    assert!(open(&signed, &Known(vec![ada.certificate.clone()])).is_ok());
    for (message, known) in [(&signed, &bob), (&unsigned, &ada)] {
        let failed = open(message, &Known(vec![known.certificate.clone()]));
        assert!(matches!(failed, Err(Error::NoValidSignature { .. })), "{failed:?}");
    }
}

#[test]
fn offloaded_work_is_booked_apart() {
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let processors: Vec<_> = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&one| own.is_set(one)).collect();
    let other = &processors[processors.len() - 1..];
    let run = pipeline::Run { offload_processors: other, ..run(None, 2) };
    let given = Given::new(form(Protection::SeipdV1));
    let what = Encrypt {
        session_key: Some(&given.0),
        compression: Compression { algorithm: CompressionAlgorithm::ZIP, level: 1 },
        ..encrypt_of(Protection::SeipdV1)
    };
    let memory = Memory::default();
    let text = text(4 << 20);
    let summary = pipeline::encrypt(input(&text, true), memory.output(), &what, &run).unwrap();
    for time in &summary.stages {
        let is_offloaded = matches!(time.stage, pipeline::Stage::Compress | pipeline::Stage::Cipher);
        assert_eq!(time.offloaded.is_zero(), !is_offloaded, "{time:?}");
        assert_eq!(time.caller.is_zero(), is_offloaded, "{time:?}");
    }
    assert!(summary.cpu_caller < summary.cpu_all);
    assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), own, "the caller is where it was");
    let (read, _) = opened(&memory.bytes(), &decrypt_with(&given), &run).unwrap();
    assert!(read == text);
}

fn protections() -> impl Strategy<Value = Protection> {
    let aead = prop::sample::select(vec![AeadAlgorithm::Ocb, AeadAlgorithm::Gcm, AeadAlgorithm::Eax]);
    prop_oneof![
        Just(Protection::SeipdV1),
        (aead.clone(), 0..=14_u8).prop_map(|(aead, chunk_bits)| Protection::SeipdV2 { aead, chunk_bits }),
        (aead, 0..=14_u8)
            .prop_filter("packet 20 has no GCM", |(aead, _)| *aead != AeadAlgorithm::Gcm)
            .prop_map(|(aead, chunk_bits)| Protection::GnupgAead { aead, chunk_bits }),
    ]
}

fn stages() -> impl Strategy<Value = Option<Async>> {
    prop::option::of((any::<bool>(), any::<bool>(), any::<bool>()))
        .prop_map(|chosen| chosen.map(|(io, compress, cipher)| Async { io, compress, cipher }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_options_go_together(
        protection in protections(),
        cipher in prop::sample::select(vec![
            SymmetricKeyAlgorithm::AES128, SymmetricKeyAlgorithm::AES192, SymmetricKeyAlgorithm::AES256,
            SymmetricKeyAlgorithm::TripleDES,
        ]),
        algorithm in prop::sample::select(vec![
            CompressionAlgorithm::Uncompressed, CompressionAlgorithm::ZIP, CompressionAlgorithm::ZLIB,
        ]),
        level in 1..=9_u8,
        bytes in prop_oneof![0..2_000_usize, 200_000..1_200_000_usize],
        is_known in any::<bool>(),
        armor in any::<bool>(),
        is_signed in any::<bool>(),
        stages in stages(),
        threads in 1..=4_usize,
    ) {
        static ADA: std::sync::LazyLock<Person> = std::sync::LazyLock::new(|| Person::new("Ada", false));
        let cipher = if protection == Protection::SeipdV1 || cipher != SymmetricKeyAlgorithm::TripleDES {
            cipher
        } else {
            SymmetricKeyAlgorithm::AES256
        };
        let signers = if is_signed { vec![ADA.signer()] } else { Vec::new() };
        let what = Encrypt {
            form: openpgp::Form { cipher, protection },
            signers: &signers,
            compression: Compression { algorithm, level },
            armor,
            ..encrypt_of(protection)
        };
        there_and_back(&text(bytes), is_known, &what, &run(stages, threads));
    }
}

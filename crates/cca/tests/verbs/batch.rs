//! Batches of many verbs.

use cca::{Batch, Incoming};
use verb_requests::support::{
    DOMAIN, EMPTY_DOMAIN, OLDER_DOMAIN, Request, generate, generated, import, imported, mac, processor,
    run_raw, text, verify,
};
use verb_requests::uses::ways::generate2;
use wire::bounds::BATCH_MAX;
use wire::frame::Outcome;
use wire::role::BUILT_IN;
use wire::verb::{TABLE, Verb};
use wire::{Codes, code};

/// Requests whose answers depend on nothing random, good and bad ones of many verbs.
fn requests(processor: &mut cca::Processor) -> Vec<Request> {
    let double = generated(processor, "DATA", "DOUBLE");
    let single = imported(processor, "DES", &text(8));
    let older = generate("MAC", "DOUBLE").domain(OLDER_DOMAIN).ok(processor);
    let older = older.bytes(wire::verb::key_generate::GENERATED_KEY_IDENTIFIER_1);
    let mut requests = variable_keys(processor);
    for length in [8, 64, 200] {
        requests.push(mac(&double, &["X9.19OPT", "MACLEN8"], &text(length)));
        requests.push(mac(&double, &["TDES-MAC", "HEX-9"], &text(length)));
        requests.push(mac(&single, &["EMVMAC"], &text(length)));
        requests.push(mac(&older, &["X9.19OPT"], &text(length)));
        requests.push(verify(&double, &["X9.19OPT"], &text(length), &[0; 4]));
        requests.push(mac(&double, &["X9.19OPT"], &text(length)).domain(EMPTY_DOMAIN));
        requests.push(mac(&double, &["X9.19OPT"], &text(length)).domain(OLDER_DOMAIN));
        requests.push(mac(&double, &["NOT"], &text(length)));
        for method in ["CBC", "CUSP", "IPS", "X9.23"] {
            requests.push(
                Request::new(Verb::Encipher)
                    .bytes(wire::verb::encipher::KEY_IDENTIFIER, &double)
                    .counted(wire::verb::encipher::TEXT_LENGTH, wire::verb::encipher::PLAINTEXT, text(length))
                    .bytes(wire::verb::encipher::INITIALIZATION_VECTOR, [1; 8])
                    .rules(&[method])
                    .bytes(wire::verb::encipher::CHAINING_VECTOR, [0; 18]),
            );
        }
        requests.push(import("AES", &text(32)));
        requests.push(import("DES", &text(16)));
        requests.push(
            Request::new(Verb::OneWayHash)
                .rules(&["SHA-256"])
                .counted(wire::verb::one_way_hash::TEXT_LENGTH, wire::verb::one_way_hash::TEXT, text(length))
                .integer(wire::verb::one_way_hash::HASH_LENGTH, 64),
        );
        requests.push(Request::new(Verb::Null));
    }
    requests
}

/// Key_Test2 of tokens of variable length: of several lengths, one under the old master key, and one that was changed.
fn variable_keys(processor: &mut cca::Processor) -> Vec<Request> {
    use wire::verb::key_generate2::GENERATED_KEY_IDENTIFIER_1;
    use wire::verb::key_test2::{KEY_IDENTIFIER, KEY_IDENTIFIER_LENGTH, VERIFICATION_PATTERN_LENGTH};
    let test = |algorithm: &str, token: Vec<u8>| {
        Request::new(Verb::KeyTest2)
            .rules(&[algorithm, "GENERATE", if algorithm == "AES" { "ENC-ZERO" } else { "SHA2VP1" }])
            .counted(KEY_IDENTIFIER_LENGTH, KEY_IDENTIFIER, token)
            .integer(VERIFICATION_PATTERN_LENGTH, 64)
    };
    let mut made = |algorithm: &str, bits: i64, key_type: &str, domain: u16| {
        let request = generate2(algorithm, bits, key_type, &[]).domain(domain);
        request.ok(processor).bytes(GENERATED_KEY_IDENTIFIER_1)
    };
    let mut requests = Vec::new();
    for bits in [128, 192, 256, 256] {
        requests.push(test("AES", made("AES", bits, "CIPHER", DOMAIN)));
    }
    for bits in [80, 160, 2048] {
        requests.push(test("HMAC", made("HMAC", bits, "MAC", DOMAIN)));
    }
    requests.push(test("AES", made("AES", 256, "CIPHER", OLDER_DOMAIN)));
    let mut changed = made("AES", 256, "CIPHER", DOMAIN);
    *changed.last_mut().unwrap() ^= 1;
    requests.push(test("AES", changed));
    requests
}

#[test]
fn a_batch_answers_as_its_requests_alone() {
    let mut processor = processor();
    let requests = requests(&mut processor);
    let alone: Vec<_> = requests
        .iter()
        .map(|request| run_raw(&mut processor, request.verb(), request.domain, &request.payload()))
        .collect();
    assert!(alone.iter().any(|(_, reply)| reply.codes == code::OLD_MASTER_KEY));
    let mut batch = Batch::new();
    for size in [1, 2, 7, 8, 33, BATCH_MAX] {
        for start in [0, 3, 20] {
            batch.clear();
            let chosen: Vec<usize> = (0..size).map(|index| (start + index * 5) % requests.len()).collect();
            for index in &chosen {
                let request = &requests[*index];
                let payload = request.payload();
                batch
                    .push(&Incoming {
                        verb: request.verb(),
                        domain: request.domain,
                        points: &BUILT_IN[0].points,
                        payload: &payload,
                    })
                    .unwrap();
            }
            processor.run(&mut batch);
            assert_eq!(batch.answers().len(), size);
            for (answer, index) in batch.answers().iter().zip(chosen) {
                let (outcome, reply) = &alone[index];
                assert_eq!((answer.outcome, answer.codes), (*outcome, reply.codes));
                assert_eq!(answer.payload, reply.payload, "request {index} in a batch of {size}");
            }
        }
    }
}

/// MACs of one method and length are made in another way than others; one that differs takes all with it.
#[test]
fn equal_macs_in_a_batch_are_those_of_each_alone() {
    let mut processor = processor();
    let keys: Vec<_> = (0..3).map(|_| generated(&mut processor, "DATA", "DOUBLE")).collect();
    let mut batch = Batch::new();
    for method in ["X9.19OPT", "EMVMACD", "CMAC"] {
        for (size, length) in [(1, 64), (2, 5), (9, 64), (40, 100), (BATCH_MAX, 8)] {
            for has_other in [false, true] {
                let request = |index: usize| {
                    let other = usize::from(has_other && index == size / 2);
                    let message: Vec<u8> =
                        text(length + other).iter().map(|byte| byte ^ index as u8).collect();
                    mac(&keys[index % keys.len()], &[method, "MACLEN8"], &message)
                };
                let requests: Vec<_> = (0..size).map(request).collect();
                batch.clear();
                for request in &requests {
                    let points = &wire::point::PointSet::EVERYTHING;
                    let (verb, payload) = (request.verb(), request.payload());
                    batch.push(&Incoming { verb, domain: DOMAIN, points, payload: &payload }).unwrap();
                }
                processor.run(&mut batch);
                for (index, answer) in batch.answers().iter().enumerate() {
                    assert_eq!(answer.codes, code::OK);
                    let alone = requests[index].run(&mut processor);
                    assert_eq!(answer.payload, alone.payload, "{method}, {index} of {size}");
                }
            }
        }
    }
}

/// A request to encipher or decipher with AES; both verbs have their parameters in the same places.
fn aes(verb: Verb, key: &[u8], keywords: &[&str], text: &[u8], room: i64) -> Request {
    use wire::verb::symmetric_algorithm_encipher as at;
    Request::new(verb)
        .rules(&[&["AES", "KEYIDENT"], keywords].concat())
        .counted(at::KEY_LENGTH, at::KEY_IDENTIFIER, key)
        .counted(at::KEY_PARMS_LENGTH, at::KEY_PARMS, [9; 16])
        .integer(at::BLOCK_SIZE, 16)
        .counted(at::INITIALIZATION_VECTOR_LENGTH, at::INITIALIZATION_VECTOR, [7; 16])
        .counted(at::CHAIN_DATA_LENGTH, at::CHAIN_DATA, [0; 32])
        .counted(at::CLEAR_TEXT_LENGTH, at::CLEAR_TEXT, text)
        .integer(at::CIPHER_TEXT_LENGTH, room)
}

/// Texts are worked on in the memory of their answers: of one that is refused nothing stays there, and the memory
/// serves others after it.
#[test]
fn refused_texts_leave_nothing_in_their_answers() {
    let mut processor = processor();
    let key = imported(&mut processor, "AES", &text(16));
    let older = import("AES", &text(24)).domain(OLDER_DOMAIN).ok(&mut processor);
    let older = older.bytes(wire::verb::clear_key_import_multiple::TARGET_KEY_IDENTIFIER);
    let (encipher, decipher) = (Verb::SymmetricAlgorithmEncipher, Verb::SymmetricAlgorithmDecipher);
    let texts = [16, 4096, 64, 1024].map(text);
    let mut requests = Vec::new();
    for message in &texts {
        let room = message.len() as i64 + 16;
        let cbc = aes(encipher, &key, &["CBC"], message, room).ok(&mut processor);
        let enciphered = cbc.bytes(wire::verb::symmetric_algorithm_encipher::CIPHER_TEXT);
        requests.push((aes(encipher, &key, &["CBC"], message, room), code::OK));
        requests.push((aes(encipher, &older, &["PKCS-PAD"], message, room), code::OLD_MASTER_KEY));
        requests.push((aes(decipher, &key, &["CBC"], &enciphered, room), code::OK));
        // Deciphered before they are refused: by what is no padding, a tag that is another, and too little room.
        requests.push((aes(decipher, &key, &["PKCS-PAD"], &enciphered, room), code::RSA_BLOCK));
        requests.push((aes(decipher, &key, &["GCM"], message, room), code::GCM_TAG));
        let padded = aes(encipher, &key, &["PKCS-PAD"], message, room).ok(&mut processor);
        let padded = padded.bytes(wire::verb::symmetric_algorithm_encipher::CIPHER_TEXT);
        requests.push((
            aes(decipher, &key, &["PKCS-PAD"], &padded, message.len() as i64 - 1),
            code::BUFFER_TOO_SMALL,
        ));
        requests.push((aes(encipher, &key, &["GCM"], message, room), code::OK));
    }
    let alone: Vec<_> = requests
        .iter()
        .map(|(request, codes)| {
            let reply = request.run(&mut processor);
            assert_eq!(reply.codes, *codes, "{:?}", request.verb());
            reply
        })
        .collect();
    let mut batch = Batch::new();
    for start in 0..requests.len() {
        batch.clear();
        let chosen: Vec<usize> =
            (0..requests.len()).map(|index| (start + index * 5) % requests.len()).collect();
        for index in &chosen {
            let (request, _) = &requests[*index];
            let (verb, domain, payload) = (request.verb(), request.domain, request.payload());
            let points = &wire::point::PointSet::EVERYTHING;
            batch.push(&Incoming { verb, domain, points, payload: &payload }).unwrap();
        }
        processor.run(&mut batch);
        for (index, answer) in chosen.iter().zip(batch.answers()) {
            let codes = requests[*index].1;
            assert_eq!((answer.codes, &answer.payload), (codes, &alone[*index].payload), "{index}");
            if codes.has_output() {
                continue;
            }
            let reply =
                wire::frame::Arguments::read_reply(requests[*index].0.verb(), &answer.payload).unwrap();
            for position in 0..requests[*index].0.verb().entry().parameters.len() {
                assert!(reply.bytes(position).is_empty(), "{index}, output {position}");
            }
        }
    }
}

#[test]
fn malformed_requests_do_not_run() {
    let mut processor = processor();
    let good = mac(&generated(&mut processor, "DATA", "DOUBLE"), &["X9.19OPT"], &text(8)).payload();
    for length in 0..good.len() {
        let (outcome, reply) = run_raw(&mut processor, Verb::MacGenerate, DOMAIN, &good[..length]);
        assert_eq!((outcome, reply.codes), (Outcome::Malformed, Codes::new(0, 0)));
        assert!(reply.payload.is_empty());
    }
    let (outcome, _) = run_raw(&mut processor, Verb::MacGenerate, 3, &good);
    assert_eq!(outcome, Outcome::NotServed);
    let reference = [u32::MAX.to_le_bytes().as_slice(), &[0; 12]].concat();
    let unresolved = [reference.as_slice(), &good[68..]].concat();
    let (outcome, reply) = run_raw(&mut processor, Verb::MacGenerate, DOMAIN, &unresolved);
    assert_eq!((outcome, reply.payload.len()), (Outcome::KeyReference, 0));
}

#[test]
fn verbs_of_the_daemon_are_not_served() {
    let mut processor = processor();
    for entry in TABLE.iter().filter(|entry| entry.executor == wire::verb::Executor::Daemon) {
        let payload = Request::new(entry.verb).payload();
        let (outcome, _) = run_raw(&mut processor, entry.verb, DOMAIN, &payload);
        assert_eq!(outcome, Outcome::NotServed, "{}", entry.name);
    }
    Request::new(Verb::Null).ok(&mut processor);
    let (outcome, reply) = run_raw(&mut processor, Verb::Null, EMPTY_DOMAIN, &[]);
    assert_eq!((outcome, reply.codes), (Outcome::Answered, code::OK));
}

#[test]
fn an_empty_batch_runs() {
    processor().run(&mut Batch::new());
}

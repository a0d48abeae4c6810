//! Up to four verbs after one another, chosen and changed at random, by a tenant who has keys for one purpose each and
//! may use every verb as the owner of the home may: no key does what it is kept from.
//!
//! | goal | key |
//! |---|---|
//! | the MAC of a text | MACVER, DATAMV: verify alone |
//! | a block enciphered | DECIPHER |
//! | a short text deciphered | ENCIPHER |
//! | a key in the clear, or within the block of an export | NO-XPORT, and what a block transports |
//! | the private operation on a block | KEY-MGMT |
//!
//! The same search finds its goals where a role lets keys serve two purposes and chaining vectors are shown, so that it
//! is known to look in the right places. The tenant has no RSA key of his own to export to: what may go out, goes out.

use crate::attacks::chaining::{deciphering, enciphering, pair};
use crate::attacks::numbers::{BOTH, OWNER, Target, decrypt, padded, quotient, sign, two_with_quotient};
use openssl::bn::BigNum;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use verb_requests::peer;
use verb_requests::support::{Request, generate, imported, mac, skeleton, text, verify};
use verb_requests::uses::ways::Others;
use wire::point::PointSet;
use wire::verb::{
    Verb, decipher, encipher, mac_generate, symmetric_key_export as syx, symmetric_key_import as syi,
};

const MODULUS_BYTES: usize = 128;
const FREE_BYTES: usize = MODULUS_BYTES - 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Goal {
    Mac,
    Enciphered,
    Deciphered,
    KeyInTheClear,
    KeyExported,
    PrivateOperation,
}

/// A symmetric key that the tenant has, and one of the same value that may do more, which he has not.
struct Held {
    token: Vec<u8>,
    twin: Vec<u8>,
}

/// What there is before the first verb.
struct World {
    /// Signs, and deciphers data.
    reading: Target,
    /// Its transport key imports keys.
    moving: Others,
    keys: Vec<Held>,
    /// Texts and ciphertexts that stand for what the tenant wants to know.
    texts: Vec<Vec<u8>>,
    blocks: Vec<Vec<u8>>,
    data: Vec<Vec<u8>>,
    /// What none of them may lead to.
    secrets: Vec<(Goal, Vec<u8>)>,
    /// The MAC of the first text by keys that may not be exported.
    kept: Vec<Vec<u8>>,
    root: BigNum,
}

fn made(processor: &mut cca::Processor, key_type: &str, words: &[&str]) -> Vec<u8> {
    use wire::verb::key_generate::GENERATED_KEY_IDENTIFIER_1;
    let form = skeleton(processor, key_type, words);
    let request = generate("TOKEN", "").bytes(GENERATED_KEY_IDENTIFIER_1, form);
    request.ok(processor).bytes(GENERATED_KEY_IDENTIFIER_1)
}

impl World {
    fn new() -> Self {
        let mut reading = Target::new();
        let moving = Others::new();
        let processor = &mut reading.others.processor;
        let mut held = |one, two| {
            let [twin, token] = pair(processor, one, two, "DOUBLE");
            Held { token, twin }
        };
        let mut keys = vec![
            held("MAC", "MACVER"),
            held("DATAM", "DATAMV"),
            held("CIPHER", "DECIPHER"),
            held("CIPHER", "ENCIPHER"),
        ];
        let fixed = made(processor, "DATA", &["DOUBLE", "NO-XPORT"]);
        keys.push(Held { token: fixed.clone(), twin: fixed });

        let (whole, block, short) =
            (b"what is to be authenticated.....".to_vec(), b"a block.".to_vec(), b"short");
        let code = |processor: &mut cca::Processor, key: &[u8]| {
            mac(key, &["TDES-MAC", "MACLEN8"], &whole).ok(processor).bytes(mac_generate::MAC)
        };
        let macs: Vec<Vec<u8>> = [0, 1, 4].map(|at: usize| code(processor, &keys[at].twin)).to_vec();
        let enciphered =
            enciphering(&keys[2].twin, &["CBC"], &block).ok(processor).bytes(encipher::CIPHERTEXT);
        let hidden = enciphering(&keys[3].twin, &["IPS"], short).ok(processor).bytes(encipher::CIPHERTEXT);

        let transported = text(24);
        let token = imported(processor, "DES", &transported);
        let travelling = export(&token, &moving.public).ok(processor).bytes(syx::RSA_ENCIPHERED_KEY);

        // A block that was enciphered for the key that signs, and a pair of signatures that would open it.
        let raw = BigNum::from_slice(&[0x3C; MODULUS_BYTES - 1]).unwrap();
        let root = sign(processor, OWNER, &reading.signing, &["ZERO-PAD"], &raw.to_vec()).unwrap();
        let pattern = [&[0, 1][..], &[0xFF; 8], &[0; 1 + FREE_BYTES]].concat();
        let pattern = BigNum::from_slice(&pattern).unwrap();
        let found = two_with_quotient(&pattern, 8 * FREE_BYTES as i32, &raw, &reading.n).unwrap();
        let mut data: Vec<_> = found.iter().map(|number| padded(&(number - &pattern), FREE_BYTES)).collect();
        data.push([engine::digest_info_prefix(engine::HashAlgorithm::Sha256), &text(32)].concat());

        let secrets = vec![
            (Goal::Mac, macs[0].clone()),
            (Goal::Mac, macs[1].clone()),
            (Goal::Enciphered, enciphered),
            (Goal::Deciphered, short.to_vec()),
            (Goal::KeyInTheClear, transported),
            (Goal::PrivateOperation, root.clone()),
        ];
        Self {
            texts: vec![whole, block, hidden],
            blocks: vec![travelling, padded(&raw, MODULUS_BYTES)],
            data,
            secrets,
            kept: macs,
            root: BigNum::from_slice(&root).unwrap(),
            keys,
            reading,
            moving,
        }
    }
}

fn export(token: &[u8], public: &[u8]) -> Request {
    Request::new(Verb::SymmetricKeyExport)
        .rules(&["PKCS-1.2"])
        .counted(syx::SOURCE_KEY_IDENTIFIER_LENGTH, syx::SOURCE_KEY_IDENTIFIER, token)
        .counted(syx::RSA_PUBLIC_KEY_IDENTIFIER_LEN, syx::RSA_PUBLIC_KEY_IDENTIFIER, public)
        .integer(syx::RSA_ENCIPHERED_KEY_LENGTH, 512)
}

/// What the tenant has learned on the way.
#[derive(Default)]
struct Learned {
    /// Tokens of keys that came in.
    tokens: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
    signatures: Vec<BigNum>,
    exported: Vec<Vec<u8>>,
}

/// One verb: what is chosen, by the numbers of its choices.
type Step = [u8; 7];

/// Whether one key serves two purposes, and cards show what chaining vectors hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    Ours,
    Old,
}

fn pick<T>(of: &[T], number: u8) -> &T {
    &of[usize::from(number) % of.len()]
}

impl World {
    fn step(&mut self, rules: Rules, step: Step, learned: &mut Learned) {
        let [verb, key, words, value, vector, change, at] = step;
        let points: &'static PointSet = if rules == Rules::Old { BOTH } else { OWNER };
        let changed = |mut value: Vec<u8>| {
            // One choice in sixteen is changed in one byte.
            if let (true, Some(byte)) = (change < 16, value.len().checked_sub(1)) {
                value[usize::from(at) % (byte + 1)] ^= 1 << (change % 8);
            }
            value
        };
        let known = |own: &[Vec<u8>], number: u8| {
            let count = own.len() + learned.outputs.len();
            let number = usize::from(number) % count;
            own.get(number).unwrap_or_else(|| &learned.outputs[number - own.len()]).clone()
        };
        let count = self.keys.len() + learned.tokens.len();
        let held = self.keys.get(usize::from(key) % count);
        let token = held.map_or_else(
            || learned.tokens[usize::from(key) % count - self.keys.len()].clone(),
            |held| held.token.clone(),
        );
        let twin = held.map(|held| held.twin.clone());
        let text = changed(known(&self.texts, value));
        let mut chain = known(&self.texts, vector);
        chain.resize(18, 0);
        let chain = changed(chain);
        let segment = *pick(&["FIRST", "ONLY", "MIDDLE", "LAST"], words / 8);
        let method = *pick(&["TDES-MAC", "X9.19OPT"], words);
        let chaining = *pick(&["INITIAL", "CONTINUE"], words / 4);
        let cipher = *pick(&["CBC", "CUSP", "IPS", "X9.23"], words);
        let both_ways = matches!(cipher, "CUSP" | "IPS");
        let private = *pick(&[&self.reading.others.management, &self.moving.transport], key);
        let processor = &mut self.reading.others.processor;
        match verb % 9 {
            0 => {
                let request = mac(&token, &[segment, method, "MACLEN8"], &text);
                let reply = request.bytes(mac_generate::CHAINING_VECTOR, chain).run(processor);
                learned
                    .outputs
                    .extend([mac_generate::MAC, mac_generate::CHAINING_VECTOR].map(|at| reply.bytes(at)));
            }
            1 => {
                if let (Rules::Old, "FIRST", Some(twin)) = (rules, segment, &twin) {
                    // What the card came to stood in the vector.
                    let reply = mac(twin, &["TDES-MAC", "MACLEN8"], &text).run(processor);
                    learned.outputs.push(reply.bytes(mac_generate::MAC));
                }
                let request = verify(&token, &[segment, method, "MACLEN8"], &text, &[0; 8]);
                let reply = request.bytes(mac_generate::CHAINING_VECTOR, chain).run(processor);
                learned.outputs.push(reply.bytes(wire::verb::mac_verify::CHAINING_VECTOR));
            }
            2 | 3 => {
                // A key for one direction passed for both.
                let token = match (rules, &twin) {
                    (Rules::Old, Some(twin)) if both_ways => twin,
                    _ => &token,
                };
                let (request, outputs) = if verb % 9 == 2 {
                    let request = enciphering(token, &[cipher, chaining], &text);
                    (
                        request.bytes(encipher::CHAINING_VECTOR, chain),
                        [encipher::CIPHERTEXT, encipher::CHAINING_VECTOR],
                    )
                } else {
                    let request = deciphering(token, &[cipher, chaining], &text);
                    (
                        request.bytes(decipher::CHAINING_VECTOR, chain),
                        [decipher::PLAINTEXT, decipher::CHAINING_VECTOR],
                    )
                };
                let reply = request.run(processor);
                learned.outputs.extend(outputs.map(|at| reply.bytes(at)));
            }
            4 => {
                let reply = export(&token, &self.moving.public).points(points).run(processor);
                if reply.codes.has_output() {
                    learned.exported.push(reply.bytes(syx::RSA_ENCIPHERED_KEY));
                }
            }
            5 => {
                let mut blocks = self.blocks.clone();
                blocks.extend_from_slice(&learned.exported);
                let block = changed(pick(&blocks, value).clone());
                let request = Request::new(Verb::SymmetricKeyImport)
                    .points(points)
                    .rules(&["PKCS-1.2"])
                    .counted(syi::RSA_ENCIPHERED_KEY_LENGTH, syi::RSA_ENCIPHERED_KEY, block)
                    .counted(syi::RSA_PRIVATE_KEY_IDENTIFIER_LEN, syi::RSA_PRIVATE_KEY_IDENTIFIER, private)
                    .counted(syi::TARGET_KEY_IDENTIFIER_LENGTH, syi::TARGET_KEY_IDENTIFIER, [0; 64]);
                let reply = request.run(processor);
                if reply.codes.has_output() {
                    learned.tokens.push(reply.bytes(syi::TARGET_KEY_IDENTIFIER));
                }
            }
            6 => {
                let mut blocks = self.blocks.clone();
                blocks.extend_from_slice(&learned.exported);
                let block = changed(pick(&blocks, value).clone());
                learned.outputs.extend(decrypt(processor, points, private, &block));
            }
            _ => {
                let words = *pick(&["PKCS-1.1", "PKCS-1.0", "ZERO-PAD"], words);
                let mut data = self.data.clone();
                data.extend_from_slice(&self.blocks);
                if let Ok(signature) =
                    sign(processor, points, private, &[words], &changed(pick(&data, value).clone()))
                {
                    learned.signatures.push(BigNum::from_slice(&signature).unwrap());
                    learned.outputs.push(signature);
                }
            }
        }
        learned.outputs.retain(|output| !output.is_empty());
    }

    /// What the steps led to.
    fn reached(&mut self, rules: Rules, steps: &[Step]) -> BTreeSet<Goal> {
        let mut learned = Learned::default();
        for step in steps {
            self.step(rules, *step, &mut learned);
        }
        let mut goals = BTreeSet::new();
        for (goal, secret) in &self.secrets {
            let shows = |output: &Vec<u8>| output.windows(secret.len()).any(|window| window == secret);
            if learned.outputs.iter().any(shows) {
                goals.insert(*goal);
            }
        }
        for one in &learned.signatures {
            let others = learned.signatures.iter().filter(|other| other.num_bits() > 0);
            if others.map(|other| quotient(one, other, &self.reading.n)).any(|found| found == self.root) {
                goals.insert(Goal::PrivateOperation);
            }
        }
        // Whoever has the private key reads what was exported.
        for block in &learned.exported {
            let processor = &mut self.moving.processor;
            let key = decrypt(processor, BOTH, &self.moving.transport, block).unwrap();
            let code = if key.len() == 16 { peer::cbc_mac(&key, &self.texts[0]) } else { Vec::new() };
            if self.kept.contains(&code) {
                goals.insert(Goal::KeyExported);
            }
        }
        goals
    }
}

#[test]
fn the_search_finds_what_keys_for_two_purposes_give_away() {
    let mut world = World::new();
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<Step>(), 1..=4);
    let wanted = BTreeSet::from([
        Goal::Mac,
        Goal::Enciphered,
        Goal::Deciphered,
        Goal::KeyInTheClear,
        Goal::PrivateOperation,
    ]);
    let mut found = BTreeSet::new();
    for _ in 0..60_000 {
        let steps = strategy.new_tree(&mut runner).unwrap().current();
        found.append(&mut world.reached(Rules::Old, &steps));
        if found.is_superset(&wanted) {
            return;
        }
    }
    panic!("found no way to {:?}", wanted.difference(&found));
}

#[test]
fn no_sequence_of_verbs_makes_a_key_do_what_it_is_kept_from() {
    let mut world = World::new();
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<Step>(), 1..=4);
    for _ in 0..20_000 {
        let steps = strategy.new_tree(&mut runner).unwrap().current();
        let reached = world.reached(Rules::Ours, &steps);
        assert!(reached.is_empty(), "{steps:?} leads to {reached:?}");
    }
}

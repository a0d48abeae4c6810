//! Keys of chip cards and of their sessions, and cryptograms under them. All of a pass are computed side by side, one
//! step after the other.
//!
//! | step | of what |
//! |---|---|
//! | keys of cards | all |
//! | keys of sessions, whose levels in the tree of EMV 2000 are a step each | all but those that use the card's |
//! | MACs, of all texts of one length | cryptograms, and responses of method 2 |
//! | blocks | responses of method 1 |

use super::Derive;
use super::derive::Derived;
use engine::{CipherAlgorithm, CipherDirection, Column, ColumnMut, Engine, MacAlgorithm, Mode, SecretBytes};
use payments::emv::session_key::{self, Tree, Walk};
use payments::emv::with_parity;
use wire::{Codes, code};
use zeroize::{Zeroize, Zeroizing};

const KEY_BYTES: usize = 16;

/// How the key of a session is derived from the card's key.
#[derive(Clone, Copy)]
pub(crate) enum Session {
    /// The session uses the card's key.
    Card,
    /// The card's key is XORed with the transaction counter (Visa; TDES-XOR).
    Counter([u8; 2]),
    /// The session's own data are enciphered under the card's key (EMV common, MasterCard).
    Common([u8; 8]),
    /// The key is a leaf of a tree (EMV 2000).
    Tree { tree: Tree, vector: [u8; 16], counter: [u8; 2] },
}

/// A key that is derived from an issuer's of 16 bytes.
pub(crate) struct Diversify {
    pub(crate) issuer: SecretBytes,
    /// The blocks that are enciphered under the issuer's key to give the card's key.
    pub(crate) blocks: [u8; 16],
    pub(crate) session: Session,
}

/// The cryptograms to be computed for a transaction.
pub(crate) struct Transaction {
    pub(crate) key: Diversify,
    /// The text of the request cryptogram in whole blocks; `None` if that is not computed.
    pub(crate) message: Option<Zeroizing<Vec<u8>>>,
    pub(crate) response: Option<Response>,
}

/// A response cryptogram to be computed.
pub(crate) struct Response {
    /// The key of the response; `None` if it is that of the request cryptogram.
    pub(crate) key: Option<Diversify>,
    pub(crate) of: ResponseOf,
}

/// The data that a response cryptogram is computed of.
pub(crate) enum ResponseOf {
    /// Method 1: a block.
    Block([u8; 8]),
    /// Method 2: a text in whole blocks.
    Message(Zeroizing<Vec<u8>>),
}

/// Request and response cryptogram; zeros for one that was not asked for.
#[derive(Default)]
pub(crate) struct Cryptograms {
    pub(crate) request: Zeroizing<[u8; 8]>,
    pub(crate) response: Zeroizing<[u8; 8]>,
}

/// One derivation of a key, as far as it has got.
struct Lane<'a> {
    asked: &'a Diversify,
    key: [u8; KEY_BYTES],
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// The lanes of a request's keys, and the index of the request.
struct KeyLanes {
    at: usize,
    request: usize,
    response: usize,
}

/// Answers those of the requested derivations that are of chip cards.
pub(super) fn run(engine: &Engine, asked: &[Derive], answers: &mut [Option<Derived>]) {
    let (mut lanes, mut key_lanes) = (Vec::new(), Vec::new());
    let mut lane = |asked| {
        lanes.push(Lane { asked, key: [0; KEY_BYTES] });
        lanes.len() - 1
    };
    for (at, work) in asked.iter().enumerate() {
        match work {
            Derive::Diversify(key) => {
                let request = lane(&**key);
                key_lanes.push(KeyLanes { at, request, response: request });
            }
            Derive::Transaction(transaction) => {
                let request = lane(&transaction.key);
                let own = transaction.response.as_ref().and_then(|response| response.key.as_ref());
                let response = own.map_or(request, &mut lane);
                key_lanes.push(KeyLanes { at, request, response });
            }
            _ => {}
        }
    }
    if key_lanes.is_empty() {
        return;
    }
    let done = derive(engine, &mut lanes).and_then(|()| cryptograms(engine, asked, &lanes, &key_lanes));
    match done {
        Ok(made) => {
            for (own, made) in key_lanes.iter().zip(made) {
                answers[own.at] = Some(match &asked[own.at] {
                    Derive::Transaction(_) => Derived::Cryptograms(Ok(made)),
                    _ => Derived::Key(Ok(SecretBytes::from_slice(&lanes[own.request].key))),
                });
            }
        }
        Err(codes) => {
            for own in &key_lanes {
                answers[own.at] = Some(match &asked[own.at] {
                    Derive::Transaction(_) => Derived::Cryptograms(Err(codes)),
                    _ => Derived::Key(Err(codes)),
                });
            }
        }
    }
}

/// Fills the lanes with their keys.
fn derive(engine: &Engine, lanes: &mut [Lane<'_>]) -> Result<(), Codes> {
    let issuers: Vec<&[u8]> = lanes.iter().map(|lane| &lane.asked.issuer[..]).collect();
    let mut cards: Zeroizing<Vec<u8>> =
        Zeroizing::new(lanes.iter().flat_map(|lane| lane.asked.blocks).collect());
    encipher(engine, &issuers, &mut cards, KEY_BYTES)?;
    for (lane, card) in lanes.iter_mut().zip(cards.as_chunks::<KEY_BYTES>().0) {
        lane.key = with_parity(card);
    }
    let mut common: Vec<(&mut Lane<'_>, [u8; 8])> = Vec::new();
    let mut walks: Vec<(&mut Lane<'_>, Walk)> = Vec::new();
    for lane in lanes {
        match lane.asked.session {
            Session::Card => {}
            Session::Counter(counter) => {
                let mask = session_key::visa(counter);
                let mut xored = lane.key;
                xored.iter_mut().zip(mask).for_each(|(byte, other)| *byte ^= other);
                lane.key = with_parity(&xored);
                xored.zeroize();
            }
            Session::Common(diversifier) => common.push((lane, diversifier)),
            Session::Tree { tree, vector, counter } => {
                let walk = Walk::new(tree, lane.key, &vector, counter);
                walks.push((lane, walk));
            }
        }
    }
    if !common.is_empty() {
        let mut blocks: Zeroizing<Vec<u8>> = Zeroizing::new(
            common.iter().flat_map(|(_, diversifier)| session_key::common(diversifier)).collect(),
        );
        let keys: Vec<&[u8]> = common.iter().map(|(lane, _)| &lane.key[..]).collect();
        encipher(engine, &keys, &mut blocks, KEY_BYTES)?;
        for ((lane, _), key) in common.iter_mut().zip(blocks.as_chunks::<KEY_BYTES>().0) {
            lane.key = with_parity(key);
        }
    }
    walk(engine, &mut walks)
}

/// Walks down all trees to their leaves; the trees may differ in their number of levels.
fn walk(engine: &Engine, walks: &mut [(&mut Lane<'_>, Walk)]) -> Result<(), Codes> {
    loop {
        let mut moving: Vec<&mut Walk> = Vec::new();
        let mut steps = Vec::new();
        for (_, walk) in walks.iter_mut() {
            if let Some(step) = walk.step() {
                steps.push(step);
                moving.push(walk);
            }
        }
        if steps.is_empty() {
            break;
        }
        let keys: Vec<&[u8]> = steps.iter().map(|step| &step.key[..]).collect();
        let mut blocks: Zeroizing<Vec<u8>> =
            Zeroizing::new(steps.iter().flat_map(|step| step.blocks).collect());
        encipher(engine, &keys, &mut blocks, KEY_BYTES)?;
        for (walk, key) in moving.into_iter().zip(blocks.as_chunks::<KEY_BYTES>().0) {
            walk.take(*key);
        }
    }
    for (lane, walk) in walks {
        lane.key = with_parity(&walk.key());
    }
    Ok(())
}

/// Computes the cryptograms of each request.
fn cryptograms(
    engine: &Engine,
    asked: &[Derive],
    lanes: &[Lane<'_>],
    key_lanes: &[KeyLanes],
) -> Result<Vec<Cryptograms>, Codes> {
    let mut made: Vec<Cryptograms> = key_lanes.iter().map(|_| Cryptograms::default()).collect();
    // Each text has the index of its answer, and whether it is a response.
    let mut texts: Vec<(usize, bool, &[u8], &[u8])> = Vec::new();
    let (mut at_blocks, mut keys) = (Vec::new(), Vec::new());
    let mut blocks: Zeroizing<Vec<u8>> = Zeroizing::new(Vec::with_capacity(8 * key_lanes.len()));
    for (number, own) in key_lanes.iter().enumerate() {
        let Derive::Transaction(transaction) = &asked[own.at] else { continue };
        if let Some(message) = &transaction.message {
            texts.push((number, false, &lanes[own.request].key, message));
        }
        match transaction.response.as_ref().map(|response| &response.of) {
            None => {}
            Some(ResponseOf::Message(message)) => {
                texts.push((number, true, &lanes[own.response].key, message));
            }
            Some(ResponseOf::Block(block)) => {
                at_blocks.push(number);
                keys.push(&lanes[own.response].key[..]);
                blocks.extend_from_slice(block);
            }
        }
    }
    // The sort is stable: texts of one length stay in their order.
    texts.sort_by_key(|(.., text)| text.len());
    for group in texts.chunk_by(|one, other| one.3.len() == other.3.len()) {
        let keys: Vec<&[u8]> = group.iter().map(|(_, _, key, _)| *key).collect();
        let messages: Vec<&[u8]> = group.iter().map(|(.., text)| *text).collect();
        let mut macs = Zeroizing::new(vec![0; 8 * group.len()]);
        let fault = |_| code::SELF_CHECK;
        let keys = Column::scattered(&keys).map_err(fault)?;
        let messages = Column::scattered(&messages).map_err(fault)?;
        engine.mac_columns(MacAlgorithm::X919, keys, messages, &mut macs).map_err(fault)?;
        for ((number, is_response, ..), mac) in group.iter().zip(macs.as_chunks::<8>().0) {
            let to = &mut made[*number];
            *if *is_response { &mut to.response } else { &mut to.request } = Zeroizing::new(*mac);
        }
    }
    if !at_blocks.is_empty() {
        encipher(engine, &keys, &mut blocks, 8)?;
        for (number, block) in at_blocks.into_iter().zip(blocks.as_chunks::<8>().0) {
            made[number].response = Zeroizing::new(*block);
        }
    }
    Ok(made)
}

/// Enciphers blocks in place, `bytes` bytes of them under each key.
fn encipher(engine: &Engine, keys: &[&[u8]], blocks: &mut [u8], bytes: usize) -> Result<(), Codes> {
    let lanes = keys.len();
    let keys = Column::scattered(keys).map_err(|_| code::KEY_USAGE)?;
    let mut texts = ColumnMut::contiguous(blocks, bytes, lanes).map_err(|_| code::SELF_CHECK)?;
    let (algorithm, direction) = (CipherAlgorithm::Tdes2, CipherDirection::Encipher);
    engine
        .cipher_columns(algorithm, Mode::Ecb, direction, keys, &mut [], &mut texts)
        .map_err(|_| code::KEY_USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;
    use payments::emv::{Padding, padded};

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    }

    const ISSUER: &str = "0123456789ABCDEFFEDCBA9876543210";
    /// The number of PAN 1234567890123456 with sequence number 01, and its complement; the card's key is A7CD8A64...
    const CARD: &str = "3456789012345601CBA9876FEDCBA9FE";

    fn key(session: Session) -> Diversify {
        Diversify { issuer: SecretBytes::from_slice(&hex::<16>(ISSUER)), blocks: hex(CARD), session }
    }

    fn run_all(asked: &[Derive]) -> Vec<Derived> {
        let engine = Engine::new(Options::default()).unwrap();
        let mut answers: Vec<_> = asked.iter().map(|_| None).collect();
        run(&engine, asked, &mut answers);
        answers.into_iter().map(Option::unwrap).collect()
    }

    fn keys(sessions: &[Session]) -> Vec<Vec<u8>> {
        let asked: Vec<_> =
            sessions.iter().map(|session| Derive::Diversify(Box::new(key(*session)))).collect();
        run_all(&asked).into_iter().map(|answer| answer.key().unwrap().to_vec()).collect()
    }

    #[test]
    fn keys_of_every_kind_are_derived_side_by_side_as_alone() {
        let counter = [0x00, 0x1C];
        let tree = |tree| Session::Tree { tree, vector: [0; 16], counter };
        let sessions = [
            tree(Tree::Two),
            Session::Card,
            Session::Common(session_key::application(counter)),
            Session::Counter(counter),
            tree(Tree::Four),
            Session::Common(session_key::mastercard(counter, hex("3804823E"))),
            Session::Card,
            tree(Tree::Two),
        ];
        let together = keys(&sessions);
        for (session, key) in sessions.iter().zip(&together) {
            assert_eq!(keys(&[*session]), std::slice::from_ref(key));
        }
        assert_eq!(together[1], hex::<16>("A7CD8A644A2FA829D0675210C4B001F1"));
        assert_eq!(together[3], hex::<16>("A7CD8A644A2FA834D0675210C4B0FE13"));
    }

    #[test]
    fn cryptograms_are_made_side_by_side_as_alone() {
        let transaction = |length: usize, session, response| {
            let message = padded(&vec![7; length], Padding::Bit);
            let key = key(session);
            Derive::Transaction(Box::new(Transaction { key, message: Some(message), response }))
        };
        let block = |key| Some(Response { key, of: ResponseOf::Block([3; 8]) });
        let message =
            || Some(Response { key: None, of: ResponseOf::Message(padded(&[5; 12], Padding::Bit)) });
        let asked = || {
            vec![
                transaction(33, Session::Card, block(None)),
                Derive::Diversify(Box::new(key(Session::Card))),
                transaction(20, Session::Common([1; 8]), message()),
                transaction(33, Session::Counter([1, 2]), None),
                transaction(33, Session::Common([1; 8]), block(Some(key(Session::Card)))),
                transaction(12, Session::Common([1; 8]), message()),
            ]
        };
        let together = run_all(&asked());
        for (at, answer) in together.into_iter().enumerate() {
            let alone = run_all(&[asked().remove(at)]).remove(0);
            match (answer, alone) {
                (Derived::Cryptograms(one), Derived::Cryptograms(other)) => {
                    let (one, other) = (one.unwrap(), other.unwrap());
                    assert_eq!((*one.request, *one.response), (*other.request, *other.response), "{at}");
                    assert_eq!(*one.response == [0; 8], at == 3);
                }
                (one, other) => assert_eq!(one.key().unwrap()[..], other.key().unwrap()[..]),
            }
        }
    }
}

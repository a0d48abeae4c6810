//! Calls as they must not be: every verb of the daemon, with each length wrong by one, and any bytes.

use super::*;
use crate::store::{Checked, SqliteStore, admission};
use proptest::prelude::*;
use wire::bounds::LABEL_BYTES;
use wire::control::Store;
use wire::frame::Argument;
use wire::verb::{Direction, Kind, TABLE};

const NOW: u64 = 7;

fn opened() -> (tempfile::TempDir, Checked<SqliteStore>) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = SqliteStore::open(&folder.path().join("keys.sqlite")).unwrap();
    (folder, Checked(store))
}

fn verbs() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().filter(|entry| entry.executor == Executor::Daemon && !is_query(entry.verb))
}

/// The store that a verb of key records is of.
fn store_of(verb: Verb) -> Store {
    match verb.entry().entry_point.as_bytes() {
        [b'C', b'S', b'N', b'D', ..] => Store::Pka,
        [b'C', b'S', b'N', b'B', b'A', ..] => Store::Aes,
        _ => Store::Des,
    }
}

fn token_of(store: Store) -> Vec<u8> {
    match store {
        Store::Des => admission::tests::des_token(1),
        Store::Aes => admission::tests::aes_token(1),
        Store::Pka => admission::tests::pka_token(0x1F, 0x30, 11, 0x02),
    }
}

/// The value that a correct caller gives for each parameter.
struct Sound {
    label: [u8; LABEL_BYTES],
    second: [u8; LABEL_BYTES],
    token: Vec<u8>,
    keywords: Vec<u8>,
}

impl Sound {
    fn of(entry: &Entry, label: &str) -> Self {
        let keywords: &[u8] = match entry.name {
            name if name.ends_with("delete") => b"LABEL-DL",
            "key-records-write" => b"REPLACE ",
            _ => b"",
        };
        Self {
            label: Label::new(label).unwrap().to_field(),
            second: Label::new("SECOND").unwrap().to_field(),
            token: token_of(store_of(entry.verb)),
            keywords: keywords.to_vec(),
        }
    }

    fn arguments(&self, verb: Verb) -> Arguments<'_> {
        let mut arguments = Arguments::new(verb);
        for (position, parameter) in verb.entry().parameters.iter().enumerate() {
            if parameter.direction == Direction::Out {
                continue;
            }
            match (parameter.name, parameter.kind) {
                ("rule_array_count", _) => arguments.set_integer(position, (self.keywords.len() / 8) as i64),
                (name, Kind::Integer) if name.ends_with("length") => {
                    arguments.set_integer(position, self.token.len() as i64)
                }
                (_, Kind::Keywords(_)) => arguments.set_bytes(position, &self.keywords),
                ("key_label_2", _) => arguments.set_bytes(position, &self.second),
                (name, _) if name.starts_with("key_token") => arguments.set_bytes(position, &self.token),
                _ => arguments.set_bytes(position, &self.label),
            };
        }
        arguments
    }
}

fn payload(arguments: &Arguments<'_>) -> Vec<u8> {
    let mut payload = Vec::new();
    arguments.write_request(&mut payload).unwrap();
    payload
}

fn run(store: &dyn KeyStore, entry: &'static Entry, arguments: &Arguments<'_>) -> Result<Answer, Refusal> {
    let call = super::read(entry, &payload(arguments))?;
    call.run(store, NOW).map_err(|error| error.refusal())
}

#[test]
fn every_verb_of_the_daemon_does_its_work() {
    let (_folder, store) = opened();
    let of = |name: &str| verbs().filter(move |entry| entry.name.ends_with(name)).collect::<Vec<_>>();
    let mut done = 0;
    for (step, label) in [("create", true), ("write", true), ("read", true), ("delete", true)] {
        for entry in of(&format!("record-{step}")) {
            let sound = Sound::of(entry, &format!("K{}", entry.verb as u16 / 16));
            let answer = run(&store, entry, &sound.arguments(entry.verb)).unwrap();
            assert_eq!(answer.codes, code::OK, "{}", entry.name);
            let outputs = Arguments::read_reply(entry.verb, &answer.payload);
            if step == "read" {
                let token_at = entry.parameters.iter().position(|it| it.name == "key_token").unwrap();
                assert_eq!(outputs.unwrap().bytes(token_at), sound.token, "{}", entry.name);
            }
            done += usize::from(label);
        }
    }
    assert_eq!(done + 1, verbs().count(), "the one of our own has tests of its own");
}

#[test]
fn a_payload_cut_anywhere_or_too_long_by_a_byte_is_no_call() {
    for entry in verbs() {
        let payload = payload(&Sound::of(entry, "A.B").arguments(entry.verb));
        super::read(entry, &payload).unwrap();
        for at in 0..payload.len() {
            let refusal = super::read(entry, &payload[..at]).unwrap_err();
            assert!(matches!(&refusal, Refusal::Invalid(why) if why.contains(entry.name)), "{refusal:?}");
        }
        let longer = [&payload[..], &[0]].concat();
        assert!(matches!(super::read(entry, &longer), Err(Refusal::Invalid(_))), "{}", entry.name);
    }
}

#[test]
fn every_field_and_length_wrong_by_one_is_refused_with_codes() {
    for entry in verbs() {
        let sound = Sound::of(entry, "A.B");
        let arguments = sound.arguments(entry.verb);
        for (position, parameter) in entry.parameters.iter().enumerate() {
            let wrong: Vec<Argument<'_>> = match arguments.at(position) {
                // Room that a caller gives for an output may be any.
                Argument::Integer(_) if parameter.direction == Direction::InOut => continue,
                Argument::Integer(value) => {
                    [value - 1, value + 1, -1, i64::MIN, i64::MAX].map(Argument::Integer).into()
                }
                Argument::Bytes(bytes) if !bytes.is_empty() => {
                    vec![Argument::Bytes(&bytes[..bytes.len() - 1]), Argument::Bytes(&sound.label[..0])]
                }
                _ => continue,
            };
            for argument in wrong {
                let mut changed = arguments.clone();
                changed.set(position, argument);
                let refusal = super::read(entry, &payload(&changed)).unwrap_err();
                let place = format!("{} {} {argument:?}", entry.name, parameter.name);
                assert!(
                    matches!(refusal, Refusal::Verb(codes) if !codes.has_output()),
                    "{place}: {refusal:?}"
                );
            }
            if let Argument::Bytes(bytes) = arguments.at(position)
                && !bytes.is_empty()
            {
                let longer = [bytes, b" "].concat();
                let mut changed = arguments.clone();
                changed.set(position, Argument::Bytes(&longer));
                assert!(
                    matches!(super::read(entry, &payload(&changed)), Err(Refusal::Verb(_))),
                    "{}",
                    entry.name
                );
            }
        }
    }
}

#[test]
fn odd_bytes_in_a_label_are_refused_by_every_verb() {
    for entry in verbs() {
        assert!(!entry.uses().is_none(), "{} names records and says not what for", entry.name);
        for at in [0, 1, LABEL_BYTES - 1] {
            for byte in 0..=u8::MAX {
                let mut sound = Sound::of(entry, "AB");
                sound.label[at] = byte;
                let expected = Label::from_field(&sound.label);
                let read = super::read(entry, &payload(&sound.arguments(entry.verb)));
                match (expected, read) {
                    (Ok(label), Ok(call)) => assert_eq!(call.labels()[0], &label),
                    (Err(_), Err(Refusal::Verb(code::LABEL_FORMAT))) => {}
                    (expected, read) => panic!("{} {at} {byte:#x}: {expected:?} {read:?}", entry.name),
                }
            }
        }
    }
}

#[test]
fn a_query_cut_anywhere_or_too_long_by_a_byte_is_none() {
    let role = Role { name: "owner".to_owned(), points: wire::point::PointSet::NOTHING };
    let (usable, registers, serial) = (&[0][..], &[][..], *b"01234567");
    let facts = Facts { domain: 0, domains: 1, usable, registers, adapters: 1, serial, role: &role };
    let queries = TABLE.iter().filter(|entry| is_query(entry.verb));
    for entry in queries {
        let whole = payload(&Arguments::new(entry.verb));
        assert!(matches!(query(entry, &whole, &facts), Err(Refusal::Verb(_))), "{}", entry.name);
        for wrong in (0..whole.len()).map(|at| whole[..at].to_vec()).chain([[&whole[..], &[0]].concat()]) {
            let refusal = query(entry, &wrong, &facts).unwrap_err();
            assert!(matches!(&refusal, Refusal::Invalid(why) if why.contains(entry.name)), "{refusal:?}");
        }
        assert!(matches!(super::read(entry, &whole), Err(Refusal::Invalid(_))), "it is no call of records");
    }
    for entry in verbs() {
        assert!(matches!(
            query(entry, &payload(&Arguments::new(entry.verb)), &facts),
            Err(Refusal::Invalid(_))
        ));
    }
}

#[test]
fn verbs_of_cards_and_of_nobody_are_refused_by_name() {
    for row in TABLE.iter().filter(|row| row.executor != Executor::Daemon) {
        let refusal = entry(row.verb as u16).unwrap_err();
        assert!(matches!(&refusal, Refusal::Invalid(why) if why.starts_with(row.name)), "{refusal:?}");
    }
    assert!(matches!(entry(0xFFFF), Err(Refusal::Invalid(_))));
}

#[test]
fn a_token_that_does_not_fit_says_how_long_it_is() {
    let (_folder, store) = opened();
    for name in ["aes-key-record", "pka-key-record"] {
        let of = |step: &str| Verb::from_name(&format!("{name}-{step}")).unwrap().entry();
        let sound = Sound::of(of("create"), "A");
        run(&store, of("create"), &sound.arguments(of("create").verb)).unwrap();
        let read = of("read");
        let mut arguments = sound.arguments(read.verb);
        let length_at = read.parameters.iter().position(|it| it.name == "key_token_length").unwrap();
        for room in [sound.token.len() as i64 - 1, 0, -1, i64::MIN] {
            let answer = run(&store, read, arguments.set_integer(length_at, room)).unwrap();
            assert_eq!(answer.codes, code::BUFFER_TOO_SMALL);
            let outputs = Arguments::read_reply(read.verb, &answer.payload).unwrap();
            assert_eq!(outputs.integer(length_at), sound.token.len() as i64);
            assert!(outputs.bytes(length_at + 1).is_empty());
        }
        run(&store, of("delete"), &Sound::of(of("delete"), "A").arguments(of("delete").verb)).unwrap();
    }
}

proptest! {
    #[test]
    fn any_payload_is_done_or_refused(row in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let rows: Vec<_> = verbs().collect();
        prop_assert!(super::read(rows[row.index(rows.len())], &bytes).is_err());
    }
}

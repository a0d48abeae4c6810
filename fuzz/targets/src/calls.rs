//! Calls of the daemon's verbs, as a client sends them.

#[path = "../../../crates/daemon/examples/other_store/memory.rs"]
#[allow(dead_code, reason = "nobody else writes here")]
mod memory;

use daemon::rights::Role;
use daemon::store::{Changes, Checked, Done, Job, KeyStore, Record, StoreError, admission};
use daemon::verbs::{self, Facts};
use memory::Memory;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};
use wire::Label;
use wire::control::{MasterKeyPattern, NewState, Register, RegisterRow, Store};
use wire::frame::Arguments;
use wire::point::PointSet;
use wire::verb::{Direction, Entry, Executor, Kind, Length, TABLE};

struct Kept(Mutex<Memory>);

impl KeyStore for Kept {
    fn run(&self, job: &Job) -> Result<Done, StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).run(job)
    }

    fn changed(&self) -> Result<Changes, StoreError> {
        Ok(Changes::NONE)
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Any call of any verb of the daemon over a store of two records: it is refused or done, what it answers reads, and
/// nothing that may not be stored is.
pub fn daemon_call(data: &[u8]) {
    let Some((choice, payload)) = data.split_first() else { return };
    let rows: Vec<&'static Entry> = TABLE.iter().filter(|entry| entry.executor == Executor::Daemon).collect();
    let entry = rows[usize::from(*choice) % rows.len()];
    if verbs::is_query(entry.verb) {
        return query(entry, payload);
    }
    let Ok(call) = verbs::read(entry, payload) else { return };
    let store = Checked(Kept(Mutex::default()));
    for name in ["A", "B"] {
        let label = Label::new(name).expect("a plain label");
        let record = Record { store: Store::Des, label, token: Vec::new() };
        store.run(&Job::Create { record, now_unix_s: 1 }).expect("an empty store has room");
    }
    let labels: Vec<Label> = call.labels().into_iter().cloned().collect();
    assert!(!labels.is_empty(), "a verb of records names some");
    if let Ok(answer) = call.run(&store, 2)
        && !answer.payload.is_empty()
    {
        Arguments::read_reply(entry.verb, &answer.payload).expect("an answer is well formed");
    }
    for label in labels {
        // One that holds what it may not hold is an error of another kind.
        match store.run(&Job::Find { label }) {
            Ok(Done::Found(Record { token, .. })) if token.is_empty() => {}
            Ok(Done::Found(record)) => {
                assert_eq!(admission::admit(record.store, &record.token), Ok(()));
            }
            Ok(done) => panic!("a search gave {done:?}"),
            Err(error) => assert_eq!(error, StoreError::NotFound),
        }
    }
}

/// A query over a home with keys in one register: what it answers reads, and is no longer than the caller has room for.
fn query(entry: &'static Entry, payload: &[u8]) {
    let pattern = Some(MasterKeyPattern::new(Register::Aes, [0xA5; 16]));
    let registers = [RegisterRow {
        domain: 0,
        register: Register::Aes,
        new_state: NewState::Full,
        new_pattern: pattern,
        current_pattern: pattern,
        old_pattern: pattern,
        is_sealed: false,
    }];
    let role = Role { name: "guest".to_owned(), points: PointSet::EVERYTHING };
    let facts = Facts {
        domain: 0,
        domains: 2,
        usable: &[0],
        registers: &registers,
        adapters: 1,
        serial: *b"0123ABCD",
        role: &role,
    };
    let Ok(answer) = verbs::query(entry, payload, &facts) else { return };
    let request = Arguments::read_request(entry.verb, payload).expect("what was answered can be read");
    let reply = Arguments::read_reply(entry.verb, &answer.payload).expect("an answer is well formed");
    for (position, parameter) in entry.parameters.iter().enumerate() {
        if let Kind::Bytes(Length::By(by)) = parameter.kind
            && parameter.direction != Direction::In
        {
            assert!(reply.bytes(position).len() as i64 <= request.integer(by).max(0), "{}", parameter.name);
        }
    }
}

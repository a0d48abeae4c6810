//! The file of counted PIN failures.

use daemon::pin_failures::log::{self, RECORD_BYTES};
use daemon::pin_failures::{Counted, Event, Failures, KeyBounds};
use wire::pin::{BlockGuess, CountingKey, Digest, FailureOf, Guess};

/// Some time, in seconds since 1970.
const NOW: u64 = 1_800_000_000;

/// The file of counted failures, as a daemon that starts reads it; then the same bytes as events, written and read:
/// what they lead to is written down whole, and damage to a record costs no more than that record.
pub fn pin_failures(data: &[u8]) {
    if let Ok(said) = log::read(data) {
        counted(&said.events);
    }
    let key = CountingKey([7; 32]);
    let events: Vec<(u64, Event)> = data.as_chunks::<5>().0.iter().map(event).collect();
    let content = log::whole(&key, events.iter().copied());
    let said = log::read(&content).expect("what was written is read");
    assert_eq!((said.events.len(), said.bytes, said.damaged), (events.len(), content.len() as u64, 0));
    assert_eq!(said.events, events);
    counted(&events);
    if let (Some(last), false) = (data.last(), events.is_empty()) {
        let mut damaged = content;
        let at = RECORD_BYTES + usize::from(*last) * 31 % (events.len() * RECORD_BYTES);
        damaged[at] ^= 1;
        let said = log::read(&damaged).expect("the head is whole");
        assert_eq!(said.events.len(), events.len() - 1);
    }
}

/// An event of few keys and subjects.
fn event(bytes: &[u8; 5]) -> (u64, Event) {
    let [kind, key, subject, tenant, back] = *bytes;
    let digest =
        |number: u8, of: u8| Digest([[number % 4, of]; 8].as_flattened().try_into().expect("16 bytes"));
    let block = BlockGuess { block: digest(subject / 4, 2), caller: digest(tenant, 3) };
    let guess = Guess {
        key: digest(key, 0),
        subject: digest(subject, 1),
        block: (subject & 0x80 != 0).then_some(block),
    };
    let at = match back {
        u8::MAX => u64::MAX,
        back => NOW - u64::from(back) * 600,
    };
    let event = match kind {
        0..=179 => Event::Failed { guess, tenant: u32::from(tenant % 3) },
        180..=229 => {
            let (key, failures) = (guess.key, u32::from(tenant));
            let (digest, of) = match kind % 3 {
                0 => {
                    (guess.subject, Counted::Subject { of: FailureOf::Subject, key, tag: u64::from(tenant) })
                }
                1 => (key, Counted::Key { shared: None, failures }),
                _ => (key.by_tenant(1), Counted::Key { shared: Some(key), failures }),
            };
            Event::Counted { digest, of, tenant: u32::from(tenant % 3) }
        }
        230..=239 => Event::Cleared(Some(guess.subject)),
        240..=249 => Event::Cleared(Some(guess.key)),
        _ => Event::Cleared(None),
    };
    (at, event)
}

fn counted(events: &[(u64, Event)]) {
    let after = |events: &mut dyn Iterator<Item = (u64, Event)>| {
        let mut failures = Failures::new(KeyBounds { all: 5, tenant: 3 });
        events.for_each(|(at, event)| failures.apply(&event, at, NOW));
        failures.on_time(NOW);
        failures
    };
    let failures = after(&mut events.iter().copied());
    let again = after(&mut failures.events());
    let rows = |failures: &Failures| -> Vec<_> {
        let rows = failures.rows(None, false, usize::MAX).into_iter();
        rows.map(|row| (row.digest, row.of, row.key, row.failures, row.refused_until_unix_s)).collect()
    };
    assert_eq!(rows(&again), rows(&failures));
    assert_eq!(again.count(), failures.count());
}

//! What a home decides about PINs, over real cards: stored decimalisation tables, and wrong PINs that are counted.

use facility::{Facility, Options, Selection};
use home::{PointItem, RoleSettings};
use std::sync::atomic::{AtomicU32, Ordering};
use system_tests::pins::{Issuer, VALIDATION, Verification};
use system_tests::{Installation, null, settings};
use wire::code;
use wire::pin::{DecimalisationTable, FailureOf, FailureRow};
use wire::tenant::{Change, Credential, Tenant};

/// Validation data of another card.
const OTHER: &str = "8877665544332211";
/// Wrong PINs of a card within a day that are too many.
const PER_DAY: u32 = 10;

/// Returns when each card has obeyed every order that it was given before this was called: orders are obeyed one
/// after the other, and a queue is attached by one.
fn orders_obeyed(installation: &Installation, cards: u32) -> Vec<Facility> {
    let fresh = |card| {
        let fresh = installation.facility().with_selection(Selection::card(card));
        assert!(fresh.ask(0, &null()).unwrap().codes().has_output());
        fresh
    };
    (0..cards).map(fresh).collect()
}

#[test]
fn a_table_that_is_stored_is_taken_by_all_cards_also_after_a_restart() {
    const CARDS: u32 = 2;
    let mut installation = Installation::stopped(&settings(CARDS, 0));
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let right = Issuer::new(&owner).right(&owner, VALIDATION);
    assert_eq!(right.codes(&owner), code::OK);
    let table = DecimalisationTable::new("9876543210123456").unwrap();
    let asked = right.with_table("9876543210123456");
    // By another table the PIN may be another one.
    let take_it = |installation: &Installation| -> Vec<bool> {
        let codes =
            orders_obeyed(installation, CARDS).iter().map(|card| asked.codes(card)).collect::<Vec<_>>();
        let expected = [code::OK, code::PIN_NOT_VERIFIED, code::DECIMALISATION_TABLE];
        assert!(codes.iter().all(|codes| expected.contains(codes)), "{codes:?}");
        codes.iter().map(|codes| *codes != code::DECIMALISATION_TABLE).collect()
    };
    assert_eq!(take_it(&installation), [false; 2]);
    assert_eq!(owner.tables().unwrap(), []);
    owner.change(Change::TableAdd { table }).unwrap();
    assert_eq!(take_it(&installation), [true; 2]);
    let again = owner.change(Change::TableAdd { table }).unwrap_err();
    assert!(again.to_string().contains("stored already"), "{again}");

    owner.shutdown(true).unwrap();
    installation.wait_stopped();
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    assert_eq!(owner.tables().unwrap(), [table]);
    assert_eq!(take_it(&installation), [true; 2]);
    owner.change(Change::TableRemove { table }).unwrap();
    assert_eq!(take_it(&installation), [false; 2]);
    let default = owner.change(Change::TableRemove { table: DecimalisationTable::DEFAULT }).unwrap_err();
    assert!(default.to_string().contains("stays"), "{default}");
    assert_eq!(right.codes(&owner), code::OK);
}

/// The rows of subjects, rather than of keys.
fn subjects(owner: &Facility, refused: bool) -> Vec<FailureRow> {
    owner.failures(refused).unwrap().into_iter().filter(|row| row.of == FailureOf::Subject).collect()
}

/// Guesses a PIN so often; each must be judged, and be wrong.
fn guess(facility: &Facility, right: &Verification, times: u32) {
    for offset in 1..=times {
        assert_eq!(right.with_offset(offset).codes(facility), code::PIN_NOT_VERIFIED, "{offset}");
    }
}

#[test]
fn many_who_guess_one_pin_on_many_cards_get_few_guesses() {
    const CARDS: u32 = 12;
    const CALLERS_OF_A_CARD: u32 = 8;
    let mut installation = Installation::stopped(&settings(CARDS, 0));
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let issuer = Issuer::new(&owner);
    let (right, other) = (issuer.right(&owner, VALIDATION), issuer.right(&owner, OTHER));
    assert_eq!((right.codes(&owner), other.codes(&owner)), (code::OK, code::OK));

    let (next, judged) = (AtomicU32::new(1), AtomicU32::new(0));
    let cards = orders_obeyed(&installation, CARDS);
    std::thread::scope(|scope| {
        for card in &cards {
            for _ in 0..CALLERS_OF_A_CARD {
                let (next, judged, right) = (&next, &judged, &right);
                scope.spawn(move || {
                    loop {
                        let guess = right.with_offset(next.fetch_add(1, Ordering::Relaxed) % 9999 + 1);
                        match guess.codes(card) {
                            code::ACCESS_DENIED => return,
                            codes => assert_eq!(codes, code::PIN_NOT_VERIFIED),
                        }
                        judged.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    let judged = judged.into_inner();
    assert!((PER_DAY..=PER_DAY + CARDS).contains(&judged), "{judged}");

    // Everywhere, the right one too; another card of the same key is as before, right or wrong.
    assert!(cards.iter().all(|card| right.codes(card) == code::ACCESS_DENIED));
    guess(&owner, &other, 1);
    assert_eq!(other.codes(&owner), code::OK);
    let refused = subjects(&owner, true);
    assert!(
        refused.len() == 1 && refused[0].failures == PER_DAY && refused[0].refused_until_unix_s.is_some()
    );

    // A daemon that was killed, and one that was told to stop, are followed by one that knows.
    installation.kill_daemon();
    installation.start();
    installation.until_ready();
    assert_eq!(subjects(&installation.facility(), true), refused);
    assert_eq!(right.codes(&installation.facility()), code::ACCESS_DENIED);
    installation.facility().shutdown(true).unwrap();
    installation.wait_stopped();
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    assert_eq!(subjects(&owner, true)[0].digest, refused[0].digest);
    assert_eq!((right.codes(&owner), other.codes(&owner)), (code::ACCESS_DENIED, code::OK));

    owner.clear_failures(Some(refused[0].digest)).unwrap();
    assert_eq!(right.codes(&owner), code::OK);
    let again = owner.clear_failures(Some(refused[0].digest)).unwrap_err();
    assert!(again.to_string().contains("no failures are counted"), "{again}");
    owner.clear_failures(None).unwrap();
    assert_eq!(owner.failures(false).unwrap(), []);
}

/// A stranger's block, compared with whatever its holder names: own cards and offsets, other digits of the PAN, and
/// right PINs of one's own between them, also in blocks of the stranger's PAN.
#[test]
fn a_strangers_pin_is_guessed_few_times_whatever_the_guesses_name() {
    const CARDS: u32 = 12;
    const CALLERS_OF_A_CARD: u32 = 8;
    let mut installation = Installation::stopped(&settings(CARDS, 0));
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let issuer = Issuer::new(&owner);
    let stranger = issuer.right(&owner, VALIDATION);
    let own = [issuer.right(&owner, OTHER), issuer.right_of(&owner, OTHER, &VALIDATION[4..])];
    assert!(own.iter().all(|own| own.codes(&owner) == code::OK));

    let (next, judged) = (AtomicU32::new(1), AtomicU32::new(0));
    let cards = orders_obeyed(&installation, CARDS);
    std::thread::scope(|scope| {
        for card in &cards {
            for _ in 0..CALLERS_OF_A_CARD {
                let (next, judged, stranger, own) = (&next, &judged, &stranger, &own);
                scope.spawn(move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let guess = stranger.with_offset(number % 9999 + 1);
                        let guess = match number % 3 {
                            0 => guess.with_validation(OTHER),
                            1 => guess.with_validation(&format!("{number:016}")),
                            _ => guess.with_pan(&format!("{:02}{}", number % 100, &VALIDATION[6..])),
                        };
                        let codes = guess.codes(card);
                        if codes == code::ACCESS_DENIED {
                            return;
                        }
                        // By chance one of them is right.
                        assert!(codes == code::PIN_NOT_VERIFIED || codes == code::OK, "{codes}");
                        judged.fetch_add(1, Ordering::Relaxed);
                        let codes = own[number as usize % 2].codes(card);
                        assert!(codes == code::OK || codes == code::ACCESS_DENIED, "{codes}");
                    }
                });
            }
        }
    });
    let judged = judged.into_inner();
    assert!((PER_DAY..=PER_DAY + CARDS).contains(&judged), "{judged}");
    // The block is refused whatever it is compared with, and one's own card is not.
    assert_eq!(stranger.with_validation("0000000000000000").codes(&owner), code::ACCESS_DENIED);
    assert_eq!(own[0].codes(&owner), code::OK);
    let refused = owner.failures(true).unwrap();
    let block = refused.iter().find(|row| row.of == FailureOf::Block).unwrap();
    assert!(refused.iter().any(|row| row.of == FailureOf::Caller));
    owner.clear_failures(Some(block.digest)).unwrap();
    assert_eq!(stranger.codes(&owner), code::OK);
}

#[test]
fn a_right_pin_takes_nothing_back() {
    let mut installation = Installation::stopped(&settings(1, 0));
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let right = Issuer::new(&owner).right(&owner, VALIDATION);
    for _ in 0..PER_DAY {
        assert_eq!(right.codes(&owner), code::OK);
        guess(&owner, &right, 1);
    }
    assert_eq!(right.codes(&owner), code::ACCESS_DENIED);
    let of_key = |of| owner.failures(false).unwrap().iter().find(|row| row.of == of).unwrap().failures;
    assert_eq!([of_key(FailureOf::Key), of_key(FailureOf::TenantKey)], [PER_DAY; 2]);
}

#[test]
fn a_key_with_many_wrong_pins_is_refused_as_the_settings_say() {
    let mut settings = settings(2, 0);
    settings.pin.key_failures_per_hour = 5;
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let (issuer, stranger) = (Issuer::new(&owner), Issuer::new(&owner));
    let cards: Vec<Verification> =
        (0..6).map(|card| issuer.right(&owner, &format!("112233445566778{card}"))).collect();
    let of_stranger = stranger.right(&owner, VALIDATION);
    cards[..5].iter().for_each(|card| guess(&owner, card, 1));
    assert_eq!(cards[5].codes(&owner), code::ACCESS_DENIED);
    assert_eq!(of_stranger.codes(&owner), code::OK);
    let mut changed = installation.home.settings().unwrap();
    changed.pin.key_failures_per_hour = 0;
    installation.home.write_settings(&changed).unwrap();
    owner.reload().unwrap();
    assert_eq!(cards[5].codes(&owner), code::OK);
    // The same for one tenant.
    changed.pin.tenant_key_failures_per_hour = 5;
    installation.home.write_settings(&changed).unwrap();
    owner.reload().unwrap();
    assert_eq!(cards[5].codes(&owner), code::ACCESS_DENIED);
}

#[test]
fn no_card_verifies_a_pin_that_nobody_counts() {
    let mut installation = Installation::stopped(&settings(1, 0));
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let right = Issuer::new(&owner).right(&owner, VALIDATION);
    guess(&owner, &right, 1);
    let file = installation.home.folder().join("pin-failures");
    let whole = std::fs::read(&file).unwrap();
    // The card goes on while there is no daemon, and the next one takes it over.
    installation.kill_daemon();
    std::fs::write(&file, [&[0; 8], &whole[8..]].concat()).unwrap();
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    orders_obeyed(&installation, 1);
    assert_eq!(right.codes(&owner), code::ACCESS_DENIED);
    assert!(owner.failures(false).is_err());
    installation.kill_daemon();
    std::fs::write(&file, whole).unwrap();
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    orders_obeyed(&installation, 1);
    assert_eq!(subjects(&owner, false)[0].failures, 1);
    assert_eq!(right.codes(&owner), code::OK);
}

#[test]
fn a_role_that_has_none_counted_guesses_on() {
    let credential = Credential([7; 32]);
    let digest = engine::sha256(&credential.0);
    let mut settings = settings(1, 0);
    settings.tenant_number_next = 10;
    let item = |name: &str| PointItem::new(name).unwrap();
    settings.roles = vec![RoleSettings {
        name: "differential".into(),
        base: Some("owner".into()),
        allow: vec![item("pin-uncounted")],
        deny: Vec::new(),
        labels: Vec::new(),
    }];
    settings.tenants = vec![Tenant {
        credential_sha256: Some(digest.iter().map(|byte| format!("{byte:02x}")).collect()),
        role: Some("differential".into()),
        ..Tenant::new("tests", 1)
    }];
    let mut installation = Installation::stopped(&settings);
    installation.start();
    installation.until_ready();
    let owner = installation.facility();
    let right = Issuer::new(&owner).right(&owner, VALIDATION);
    guess(&owner, &right, PER_DAY);
    assert_eq!(right.codes(&owner), code::ACCESS_DENIED);
    let options = Options { credential: Some(credential), ..Options::default() };
    let tests = Facility::open(installation.home.folder(), options).unwrap();
    guess(&tests, &right, 2 * PER_DAY);
    assert_eq!(right.codes(&tests), code::OK);
    assert_eq!(right.codes(&owner), code::ACCESS_DENIED);
    assert_eq!(subjects(&owner, true)[0].failures, PER_DAY);
}

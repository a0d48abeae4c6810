//! What a home decides about PINs, over real cards: stored decimalisation tables.

use facility::{Facility, Selection};
use system_tests::pins::{Issuer, VALIDATION};
use system_tests::{Installation, null, settings};
use wire::code;
use wire::pin::DecimalisationTable;
use wire::tenant::Change;

/// Returns when each card has obeyed every order that it was given before this was called: orders are obeyed one
/// after the other, and a queue is attached by one.
fn orders_obeyed(installation: &Installation, cards: u32) -> Vec<Facility> {
    let fresh = |card| {
        let fresh = installation.facility().with_selection(Selection::card(card));
        assert!(fresh.call(0, &null()).unwrap().codes().has_output());
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

    owner.shutdown().unwrap();
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

//! The accounts that cards share, whatever stands in them.

use crate::samples::scribble;
use link::{Accounts, CardAccounts};
use std::fs::{self, File};
use std::path::Path;
use wire::bounds::{CARDS_MAX, TENANTS_MAX};

/// Cards, of which two count and the third died; accounts that are looked at, one of which does not exist.
const CARDS: [u32; 3] = [0, 5, CARDS_MAX as u32 - 1];
const ACCOUNTS: [u32; 4] = [0, 1, TENANTS_MAX as u32 - 1, TENANTS_MAX as u32];

/// The first byte chooses: a file that is the input, of its own length or of that of accounts; or accounts filled with
/// runs of the input, before and after cards have used them.
pub fn accounts(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("accounts");
    match choice % 3 {
        0 => a_file(&path, data, None),
        1 => {
            let fresh = Accounts::open(&path).expect("new accounts");
            let length =
                File::from(fresh.for_card().expect("a descriptor")).metadata().expect("a size").len();
            a_file(&path, data, Some(length));
        }
        _ => {
            let accounts = Accounts::open(&path).expect("new accounts");
            let memory = File::from(accounts.for_card().expect("a descriptor"));
            let (first, second) = data.split_at(data.len() / 2);
            for half in [first, second] {
                scribble(&memory, half);
                are_used(&path);
            }
        }
    }
}

fn a_file(path: &Path, data: &[u8], bytes: Option<u64>) {
    fs::write(path, data).expect("a file");
    if let Some(bytes) = bytes {
        File::options().write(true).open(path).and_then(|file| file.set_len(bytes)).expect("a longer file");
    }
    are_used(path);
}

/// Opens accounts as the next daemon does, and uses them as cards do. What others wrote slows a tenant down at most.
fn are_used(path: &Path) {
    let Ok(accounts) = Accounts::open(path) else { return };
    let fd = accounts.for_card().expect("a descriptor");
    let mut cards = CARDS.map(|card| {
        CardAccounts::join(std::os::fd::AsFd::as_fd(&fd), card).expect("what was opened is joined")
    });
    for account in ACCOUNTS {
        for card in &mut cards[..2] {
            a_card(card, account);
        }
    }
    (0..CARDS_MAX as u32).for_each(|card| accounts.clear_card(card));
    for account in ACCOUNTS {
        assert_eq!(accounts.in_flight(account), 0, "dead cards have nothing in flight");
        assert!(cards.iter().all(|card| !card.others_wait(account)), "dead cards wait for nothing");
    }
}

fn a_card(card: &mut CardAccounts, account: u32) {
    const NOW: u64 = 1 << 40;
    for limit in [0, 1, 8, u32::MAX] {
        if card.enter(account, limit) {
            card.leave(account, 1);
        }
        assert!(card.share(account, limit) <= limit);
    }
    for waits in [true, false] {
        card.set_waiting(account, waits);
    }
    for (interval, burst) in [(0, 0), (100, 300), (1 << 30, 0)] {
        let told = card.drawable(account, NOW, interval, burst);
        let drawn = card.draw(account, NOW, interval, burst);
        assert_eq!(told.is_ok(), drawn.is_ok(), "what could be drawn is drawn");
        for later in told.err().into_iter().chain(drawn.err()) {
            assert!(NOW < later && later <= NOW + interval, "nobody is held for longer than the rate says");
        }
    }
}

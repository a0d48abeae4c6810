//! The accounts: how many requests each tenant has in flight on each card, and its rate, shared by all cards.
//!
//! ```text
//! 0      head page: magic, version
//! 4096   a row for each account, 576 bytes: cells of the cards (64 words), the time from which the
//!        next request is on time, the cards that hold requests of the tenant back (one bit each)
//! ```
//! The accounts are a file in the home's run folder, like the key table: the file outlives a
//! daemon, and cards keep their mapping. All cards read and write it, and only limits depend on it.
//! A card that lied could slow a tenant down or let it exceed its limits, and learn how busy others
//! are. The algorithms are in `cells`.

use crate::head::Head;
use crate::memory::{Access, Inherit, JoinError, Mapping, PAGE_BYTES, invalid};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use wire::bounds::{CARDS_MAX, TENANTS_MAX};

mod cells;

const HEAD: Head = Head::new(*b"cryptAC\0", 1);

const CELLS_BYTES: usize = CARDS_MAX * 8;
const NEXT: usize = CELLS_BYTES;
const WAITING: usize = CELLS_BYTES + 8;
const ROW_BYTES: usize = CELLS_BYTES + 64;
const ACCOUNTS_BYTES: usize = PAGE_BYTES + TENANTS_MAX * ROW_BYTES;

const _: () = assert!(CARDS_MAX <= u64::BITS as usize && ROW_BYTES.is_multiple_of(64));

/// The daemon's end of the accounts.
#[derive(Debug)]
pub struct Accounts {
    mapping: Mapping,
    file: OwnedFd,
}

impl Accounts {
    /// Opens the accounts at a path, or makes empty ones if the file is missing or empty.
    ///
    /// # Errors
    /// Of the system calls; `InvalidInput` if the file holds no accounts of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        if rustix::fs::fstat(&file)?.st_size == 0 {
            rustix::fs::ftruncate(&file, ACCOUNTS_BYTES as u64)?;
        }
        // A store to a hole of a file on a full disk would end a card instead of failing.
        match rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ACCOUNTS_BYTES as u64) {
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mapping =
            Mapping::file(file.as_fd(), ACCOUNTS_BYTES, Access::Write, Inherit::Shared).map_err(invalid)?;
        HEAD.begin_or_check(&mapping).map_err(invalid)?;
        Ok(Self { mapping, file })
    }

    /// A descriptor for a card, for reading and writing.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn for_card(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// Clears the cells of a card that is known to be dead. Does nothing for a card that does not exist.
    pub fn clear_card(&self, card: u32) {
        if card as usize >= CARDS_MAX {
            return;
        }
        for account in 0..TENANTS_MAX {
            let row = PAGE_BYTES + account * ROW_BYTES;
            let (cell, waiting) = (row + card as usize * 8, row + WAITING);
            // A row that was never used stays without memory of its own.
            if self.mapping.load(cell) != 0 {
                self.mapping.store(cell, 0);
            }
            if self.mapping.load(waiting) & (1 << card) != 0 {
                self.mapping.writable(waiting).fetch_and(!(1 << card), Ordering::Relaxed);
            }
        }
    }

    /// Requests in flight of an account over all cards; 0 for an account that does not exist.
    pub fn in_flight(&self, account: u32) -> u64 {
        let cells = (0..CARDS_MAX).filter(|_| (account as usize) < TENANTS_MAX);
        let row = PAGE_BYTES + account as usize * ROW_BYTES;
        cells.fold(0, |sum, card| sum.saturating_add(self.mapping.load(row + card * 8)))
    }
}

/// A card's end of the accounts. Calls with an account that does not exist do nothing and permit all.
#[derive(Debug)]
pub struct CardAccounts {
    mapping: Mapping,
    card: usize,
    /// The numbers in this card's own cells: never read back.
    own: Box<[u64]>,
}

impl CardAccounts {
    /// Joins the accounts as the card of this index; the card has nothing in flight then.
    ///
    /// # Errors
    /// [`JoinError`] if the descriptor is not that of accounts, open for writing, or no card can
    /// have this index.
    pub fn join(fd: BorrowedFd<'_>, card: u32) -> Result<Self, JoinError> {
        let card = card as usize;
        if card >= CARDS_MAX {
            return Err(JoinError::Slots { found: card as u64 });
        }
        let mapping = Mapping::file(fd, ACCOUNTS_BYTES, Access::Write, Inherit::Shared)?;
        HEAD.check(&mapping)?;
        Ok(Self { mapping, card, own: vec![0; TENANTS_MAX].into_boxed_slice() })
    }

    /// Adds one request in flight to the account, unless all cards together then have more than
    /// `limit`; whether it did.
    pub fn enter(&mut self, account: u32, limit: u32) -> bool {
        let Some(row) = row(account) else { return true };
        let before = self.own[account as usize];
        let mapping = &self.mapping;
        let others =
            (0..CARDS_MAX).filter(|card| *card != self.card).map(|card| mapping.word(row + card * 8));
        let entered = cells::enter(self.cell(row), before, others, u64::from(limit));
        self.own[account as usize] += u64::from(entered);
        entered
    }

    /// Adds this many requests in flight to the account, whatever its limit.
    pub fn add(&mut self, account: u32, requests: u32) {
        let Some(row) = row(account) else { return };
        self.own[account as usize] += u64::from(requests);
        cells::leave(self.cell(row), self.own[account as usize]);
    }

    /// Takes answered requests, this many, off the account's requests in flight.
    pub fn leave(&mut self, account: u32, requests: u32) {
        let Some(row) = row(account) else { return };
        let own = &mut self.own[account as usize];
        *own = own.saturating_sub(u64::from(requests));
        cells::leave(self.cell(row), self.own[account as usize]);
    }

    /// Takes one request from the account's rate: one in each `interval`, and at once as many more
    /// as fit into `burst`. Times are counts of [`crate::tsc`].
    ///
    /// # Errors
    /// The time-stamp counter at which to try again.
    pub fn draw(&self, account: u32, now_tsc: u64, interval: u64, burst: u64) -> Result<(), u64> {
        let Some(row) = row(account) else { return Ok(()) };
        cells::draw(self.mapping.writable(row + NEXT), now_tsc, interval, burst)
    }

    /// How many requests [`CardAccounts::draw`] would give at this time, if no other card drew any.
    ///
    /// # Errors
    /// The time-stamp counter at which to try again, if no request may be taken now.
    pub fn drawable(&self, account: u32, now_tsc: u64, interval: u64, burst: u64) -> Result<u64, u64> {
        let Some(row) = row(account) else { return Ok(u64::MAX) };
        cells::drawable(self.mapping.word(row + NEXT), now_tsc, interval, burst)
    }

    /// Publishes whether this card holds requests of the account back until other cards have answered theirs.
    pub fn set_waiting(&self, account: u32, waits: bool) {
        let Some(row) = row(account) else { return };
        let word = self.mapping.writable(row + WAITING);
        let bit = 1 << self.card;
        match (word.load(Ordering::Relaxed) & bit != 0, waits) {
            (false, true) => drop(word.fetch_or(bit, Ordering::Relaxed)),
            (true, false) => drop(word.fetch_and(!bit, Ordering::Relaxed)),
            _ => {}
        }
    }

    /// Whether another card says that it holds requests of the account back.
    pub fn others_wait(&self, account: u32) -> bool {
        self.others_waiting(account) != 0
    }

    /// This card's part of a limit that it divides with the other cards that hold requests of the
    /// account back. The parts add up to the limit; a part is 0 if there are more cards than the
    /// limit.
    pub fn share(&self, account: u32, limit: u32) -> u32 {
        let others = self.others_waiting(account);
        let (cards, before) = (others.count_ones() + 1, (others & ((1 << self.card) - 1)).count_ones());
        if limit < cards { 0 } else { limit / cards + u32::from(before < limit % cards) }
    }

    /// The other cards that hold requests of the account back, one bit each.
    fn others_waiting(&self, account: u32) -> u64 {
        row(account).map_or(0, |row| self.mapping.load(row + WAITING) & !(1 << self.card))
    }

    fn cell(&self, row: usize) -> &AtomicU64 {
        self.mapping.writable(row + self.card * 8)
    }
}

/// Offset of an account's row; none if the account does not exist.
fn row(account: u32) -> Option<usize> {
    ((account as usize) < TENANTS_MAX).then(|| PAGE_BYTES + account as usize * ROW_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> (tempfile::TempDir, Accounts) {
        let folder = tempfile::tempdir().unwrap();
        let accounts = Accounts::open(&folder.path().join("accounts")).unwrap();
        (folder, accounts)
    }

    fn card(accounts: &Accounts, index: u32) -> CardAccounts {
        CardAccounts::join(accounts.for_card().unwrap().as_fd(), index).unwrap()
    }

    #[test]
    fn cards_keep_a_limit_together() {
        let (_folder, accounts) = accounts();
        let (mut first, mut last) = (card(&accounts, 0), card(&accounts, CARDS_MAX as u32 - 1));
        let account = TENANTS_MAX as u32 - 1;
        assert!(first.enter(account, 3) && last.enter(account, 3) && first.enter(account, 3));
        assert!(!first.enter(account, 3) && !last.enter(account, 3));
        assert_eq!(accounts.in_flight(account), 3);
        assert!(first.enter(account - 1, 1), "another account");
        first.leave(account, 2);
        assert!(last.enter(account, 3) && last.enter(account, 3) && !first.enter(account, 3));
        last.leave(account, 10);
        assert_eq!(accounts.in_flight(account), 0);
        first.add(account, 5);
        assert!(!last.enter(account, 3));
    }

    #[test]
    fn the_parts_of_a_limit_add_up_to_it() {
        let (_folder, accounts) = accounts();
        let cards = [0, 5, CARDS_MAX as u32 - 1].map(|index| card(&accounts, index));
        let shares = |limit| cards.each_ref().map(|card| card.share(3, limit));
        assert_eq!(shares(8), [8, 8, 8], "nobody waits");
        cards.iter().for_each(|card| card.set_waiting(3, true));
        assert_eq!([8, 9, 3, 2, 0].map(shares), [[3, 3, 2], [3, 3, 3], [1, 1, 1], [0, 0, 0], [0, 0, 0]]);
        cards[1].set_waiting(3, false);
        assert_eq!(shares(9), [5, 3, 4], "one that does not wait counts itself");
    }

    #[test]
    fn what_a_dead_card_had_is_taken_back() {
        let (folder, accounts) = accounts();
        let (mut dead, mut alive) = (card(&accounts, 4), card(&accounts, 5));
        assert!(dead.enter(7, 2) && alive.enter(7, 2) && !alive.enter(7, 2));
        dead.set_waiting(7, true);
        assert!(alive.others_wait(7) && !dead.others_wait(7));
        // A later daemon opens them.
        drop(accounts);
        let accounts = Accounts::open(&folder.path().join("accounts")).unwrap();
        accounts.clear_card(4);
        accounts.clear_card(u32::MAX);
        assert!(alive.enter(7, 2) && !alive.others_wait(7));
        assert_eq!(accounts.in_flight(7), 2);
    }

    #[test]
    fn a_rate_holds_over_cards_and_bursts_are_bounded() {
        let (_folder, accounts) = accounts();
        let cards = [card(&accounts, 0), card(&accounts, 1)];
        // One request in each 100, and 3 more at once.
        let mut at = 1_000_000;
        let mut drawn = Vec::new();
        for draw in 0..1000 {
            match cards[draw % 2].draw(0, at, 100, 300) {
                Ok(()) => drawn.push(at),
                Err(later) => {
                    assert!(later > at && later <= at + 100);
                    at = later;
                }
            }
        }
        assert_eq!(drawn.iter().filter(|time| **time == 1_000_000).count(), 4);
        for (index, time) in drawn.iter().enumerate() {
            assert_eq!(*time, 1_000_000 + 100 * index.saturating_sub(3) as u64);
        }
        // An idle time saves up no more than the burst.
        at += 1_000_000;
        assert_eq!((0..10).filter(|_| cards[0].draw(0, at, 100, 300).is_ok()).count(), 4);
    }

    #[test]
    fn what_could_be_drawn_is_what_is_drawn() {
        let (_folder, accounts) = accounts();
        let card = card(&accounts, 0);
        for now in [1_000, 1_050, 1_400, 9_000] {
            match card.drawable(0, now, 100, 300) {
                Ok(count) => {
                    assert_eq!((0..10).filter(|_| card.draw(0, now, 100, 300).is_ok()).count() as u64, count)
                }
                Err(later) => assert_eq!(card.draw(0, now, 100, 300), Err(later)),
            }
            let later = card.drawable(0, now, 100, 300).unwrap_err();
            assert_eq!(card.drawable(0, later, 100, 300), Ok(1));
        }
        accounts.mapping.store(PAGE_BYTES + NEXT, u64::MAX);
        assert_eq!(card.drawable(0, 5_000, 100, 300), Err(5_100));
        assert_eq!(card.drawable(u32::MAX, 0, 100, 300), Ok(u64::MAX));
    }

    #[test]
    fn a_time_that_no_rate_can_have_put_there_holds_nobody_for_long() {
        let (_folder, accounts) = accounts();
        let card = card(&accounts, 0);
        for claim in [u64::MAX, 1 << 40] {
            accounts.mapping.store(PAGE_BYTES + NEXT, claim);
            let later = card.draw(0, 5_000, 100, 300).unwrap_err();
            assert_eq!(later, 5_100);
            assert_eq!(card.draw(0, later, 100, 300), Ok(()));
            assert_eq!(card.draw(0, later, 100, 300), Err(5_200));
            accounts.mapping.store(PAGE_BYTES + NEXT, 0);
            assert_eq!(card.draw(0, u64::MAX - 1, 100, 300), Ok(()));
        }
    }

    #[test]
    fn accounts_and_cards_that_do_not_exist_harm_nobody() {
        let (_folder, accounts) = accounts();
        let mut card = card(&accounts, 1);
        for account in [TENANTS_MAX as u32, u32::MAX] {
            assert!(card.enter(account, 1) && card.enter(account, 1));
            card.add(account, 1);
            card.leave(account, 1);
            card.set_waiting(account, true);
            assert!(!card.others_wait(account));
            assert_eq!(card.share(account, 5), 5);
            assert_eq!(card.draw(account, 0, 1 << 60, 0), Ok(()));
            assert_eq!(accounts.in_flight(account), 0);
        }
        let fd = accounts.for_card().unwrap();
        assert!(CardAccounts::join(fd.as_fd(), CARDS_MAX as u32).is_err());
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts");
        std::fs::write(&path, vec![1; ACCOUNTS_BYTES]).unwrap();
        assert_eq!(Accounts::open(&path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        std::fs::write(&path, [0; 100]).unwrap();
        assert_eq!(Accounts::open(&path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let file = std::fs::File::open(&path).unwrap();
        assert!(CardAccounts::join(file.as_fd(), 0).is_err());
    }
}

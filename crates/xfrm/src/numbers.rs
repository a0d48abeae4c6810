//! Sequence numbers that outbound SAs used before they were deleted, and directions of deleted SAs.
//!
//! An IKE daemon that moves an SA to other addresses deletes it and adds it again, with the numbers that it read
//! before. Packets that left between reading and deleting are not in these numbers, and with AES-GCM a number that is
//! used twice under one key gives away both packets and the key of the ICV. So an SA with a key that was used here goes
//! on behind the last number that was used, whatever number its request names.
//!
//! Likewise an SA that comes again keeps its direction: its new ends may be addresses that this machine has only just
//! got.
//!
//! Keys are known by an HMAC under a key of this process; the newest [`NUMBERS_REMEMBERED`] are remembered.

use engine::{Engine, HashAlgorithm, HmacItem, HmacKey};
use ipsec::{Direction, KeyBytes, Sa};
use std::collections::{HashMap, VecDeque};

/// Number of keys whose last sequence number is remembered.
pub const NUMBERS_REMEMBERED: usize = 4096;

/// The HMAC by which keys are known.
pub(crate) type Print = [u8; 32];

#[derive(Clone, Copy)]
struct Remembered {
    last: u64,
    spi: u32,
    direction: Direction,
}

pub(crate) struct Numbers {
    key: Option<HmacKey>,
    held: HashMap<Print, Remembered>,
    order: VecDeque<Print>,
}

impl Numbers {
    pub(crate) fn new(engine: &Engine) -> Numbers {
        let mut secret = zeroize::Zeroizing::new([0; 32]);
        engine.random_block().fill(secret.as_mut_slice());
        Numbers {
            key: engine.hmac_key(HashAlgorithm::Sha256, secret.as_slice()).ok(),
            held: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    pub(crate) fn print(&self, engine: &Engine, keys: KeyBytes<'_>) -> Option<Print> {
        // Numbers must not be used twice under the cipher's key; without a cipher, under the MAC's.
        let bytes = if keys.encryption.is_empty() { keys.integrity } else { keys.encryption };
        let mut items = [HmacItem::new(self.key.as_ref()?, bytes)];
        engine.hmac_batch(&mut items);
        items[0].mac.first_chunk().copied()
    }

    /// Remembers a deleted SA with these keys; if it sealed, it used numbers up to `last`.
    pub(crate) fn remember(&mut self, print: Print, sa: &Sa, last: u64) {
        let (spi, direction) = (sa.spi(), sa.direction());
        if let Some(before) = self.held.get_mut(&print) {
            *before = Remembered { last: last.max(before.last), spi, direction };
            return;
        }
        if self.order.len() >= NUMBERS_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.held.remove(&oldest);
        }
        self.order.push_back(print);
        self.held.insert(print, Remembered { last, spi, direction });
    }

    fn find(&self, engine: &Engine, keys: KeyBytes<'_>) -> Option<&Remembered> {
        self.print(engine, keys).and_then(|print| self.held.get(&print))
    }

    /// The last number that an SA with these keys used, as far as is remembered; otherwise 0.
    pub(crate) fn last(&self, engine: &Engine, keys: KeyBytes<'_>) -> u64 {
        self.find(engine, keys).map_or(0, |remembered| remembered.last)
    }

    /// Whether the SA with these keys and this SPI opened or sealed, as far as is remembered.
    pub(crate) fn direction(&self, engine: &Engine, keys: KeyBytes<'_>, spi: u32) -> Option<Direction> {
        self.find(engine, keys)
            .filter(|remembered| remembered.spi == spi)
            .map(|remembered| remembered.direction)
    }
}

//! Sequence numbers that outbound SAs used before they were deleted.
//!
//! An IKE daemon that moves an SA to other addresses deletes it and adds it again, with the numbers that it read before. Packets that left between
//! reading and deleting are not in them, and with AES-GCM a number that is used twice under one key gives away both packets and the key of the
//! ICV. So whoever comes with a key that was here goes on behind the last number that was used, whatever number it names.
//!
//! Keys are known by an HMAC under a key of this process. The newest [`NUMBERS_REMEMBERED`] are.

use std::collections::{HashMap, VecDeque};

use engine::{Engine, HashAlgorithm, HmacItem, HmacKey};
use ipsec::KeyBytes;

/// Keys whose last number is remembered.
pub const NUMBERS_REMEMBERED: usize = 4096;

type Print = [u8; 32];

pub(crate) struct Numbers {
    key: Option<HmacKey>,
    last: HashMap<Print, u64>,
    order: VecDeque<Print>,
}

impl Numbers {
    pub(crate) fn new(engine: &Engine) -> Numbers {
        let mut secret = zeroize::Zeroizing::new([0; 32]);
        engine.random_block().fill(secret.as_mut_slice());
        Numbers {
            key: engine.hmac_key(HashAlgorithm::Sha256, secret.as_slice()).ok(),
            last: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    fn print(&self, engine: &Engine, keys: KeyBytes<'_>) -> Option<Print> {
        // What numbers must not be used twice under is the cipher's key; without one the MAC's.
        let bytes = if keys.encryption.is_empty() { keys.integrity } else { keys.encryption };
        let mut items = [HmacItem::new(self.key.as_ref()?, bytes)];
        engine.hmac_batch(&mut items);
        items[0].mac.first_chunk().copied()
    }

    /// An SA with these keys used numbers up to this one.
    pub(crate) fn remember(&mut self, engine: &Engine, keys: KeyBytes<'_>, last: u64) {
        if last == 0 {
            return;
        }
        let Some(print) = self.print(engine, keys) else { return };
        match self.last.get_mut(&print) {
            Some(before) => *before = last.max(*before),
            None => {
                if self.order.len() >= NUMBERS_REMEMBERED
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.last.remove(&oldest);
                }
                self.order.push_back(print);
                self.last.insert(print, last);
            }
        }
    }

    /// The last number that an SA with these keys used, as far as is remembered.
    pub(crate) fn last(&self, engine: &Engine, keys: KeyBytes<'_>) -> u64 {
        self.print(engine, keys).and_then(|print| self.last.get(&print)).copied().unwrap_or(0)
    }
}

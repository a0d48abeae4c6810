//! Cache of prepared keys by token, so that each token is unwrapped and prepared only once.
//!
//! It is bounded; the least recently used entry is evicted. An entry is found by a hash of the token and then
//! by full comparison in constant time, since clear tokens are secrets. Tokens are zeroed when
//! their entry is evicted; a prepared key is zeroed when its last user is done with it.

use engine::SecretBytes;
use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use subtle::ConstantTimeEq;

/// Prepared keys of one kind in one domain.
pub(crate) struct Contexts<T> {
    entries: HashMap<Token, Entry<T>, Seeded>,
    capacity: usize,
    clock: u64,
}

struct Entry<T> {
    context: T,
    last_used: u64,
}

impl<T: Clone> Contexts<T> {
    /// Room for `capacity` entries; `seed` keys the hash, so that nobody can choose tokens that collide.
    pub(crate) fn new(capacity: usize, seed: [u8; 16]) -> Self {
        Self { entries: HashMap::with_hasher(Seeded(seed)), capacity, clock: 0 }
    }

    /// The context of a token, if it is there.
    pub(crate) fn find(&mut self, token: &[u8]) -> Option<T> {
        self.clock += 1;
        let entry = self.entries.get_mut(&Lookup::of(token) as &dyn TokenBytes)?;
        entry.last_used = self.clock;
        Some(entry.context.clone())
    }

    /// Whether the context of a token is there. Other than [`Contexts::find`], the question does not protect the entry
    /// from eviction.
    pub(crate) fn has(&self, token: &[u8]) -> bool {
        self.entries.contains_key(&Lookup::of(token) as &dyn TokenBytes)
    }

    /// Keeps a context; evicts the least recently used one if there is no room.
    pub(crate) fn insert(&mut self, token: &[u8], context: T) {
        if self.capacity == 0 {
            return;
        }
        self.clock += 1;
        let is_new = !self.entries.contains_key(&Lookup::of(token) as &dyn TokenBytes);
        if is_new && self.entries.len() >= self.capacity {
            self.evict();
        }
        let entry = Entry { context, last_used: self.clock };
        self.entries.insert(Token(SecretBytes::from_slice(token)), entry);
    }

    /// How many entries are held.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn evict(&mut self) {
        let oldest = self.entries.values().map(|entry| entry.last_used).min();
        self.entries.retain(|_, entry| Some(entry.last_used) != oldest);
    }
}

/// A token as a key of the table, owned or borrowed.
trait TokenBytes {
    fn bytes(&self) -> &[u8];
}

struct Token(SecretBytes);

impl TokenBytes for Token {
    fn bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

struct Lookup<'a>(&'a [u8]);

impl<'a> Lookup<'a> {
    fn of(token: &'a [u8]) -> Self {
        Self(token)
    }
}

impl TokenBytes for Lookup<'_> {
    fn bytes(&self) -> &[u8] {
        self.0
    }
}

impl<'a> std::borrow::Borrow<dyn TokenBytes + 'a> for Token {
    fn borrow(&self) -> &(dyn TokenBytes + 'a) {
        self
    }
}

impl PartialEq for dyn TokenBytes + '_ {
    fn eq(&self, other: &Self) -> bool {
        equal(self.bytes(), other.bytes())
    }
}

/// Compares by words, in a time that depends on the lengths alone: byte by byte a long token costs as
/// much as a short public operation.
fn equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let (left, left_tail) = left.as_chunks::<8>();
    let (right, right_tail) = right.as_chunks::<8>();
    let words = left.iter().zip(right).map(|(l, r)| u64::from_ne_bytes(*l) ^ u64::from_ne_bytes(*r));
    let tail = left_tail.iter().zip(right_tail).map(|(l, r)| u64::from(l ^ r));
    words.chain(tail).fold(0, |all, difference| all | difference).ct_eq(&0).into()
}

impl Eq for dyn TokenBytes + '_ {}

impl Hash for dyn TokenBytes + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.bytes());
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self as &dyn TokenBytes == other as &dyn TokenBytes
    }
}

impl Eq for Token {}

impl Hash for Token {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self as &dyn TokenBytes).hash(state);
    }
}

struct Seeded([u8; 16]);

impl BuildHasher for Seeded {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.0);
        hasher
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_bound_holds_and_the_longest_unused_gives_way() {
        let mut contexts = Contexts::new(3, [7; 16]);
        let watched: Vec<Arc<u8>> = (0..4).map(Arc::new).collect();
        for (index, context) in watched.iter().enumerate().take(3) {
            contexts.insert(&[index as u8; 100], Arc::clone(context));
        }
        assert!(contexts.find(&[0; 100]).is_some());
        contexts.insert(&[3; 100], Arc::clone(&watched[3]));
        assert_eq!(contexts.len(), 3);
        assert!(contexts.find(&[1; 100]).is_none());
        assert_eq!(Arc::strong_count(&watched[1]), 1, "the evicted context is dropped");
        for present in [0u8, 2, 3] {
            assert_eq!(contexts.find(&[present; 100]).as_deref(), Some(&present));
        }
        // The same token again replaces its entry, and evicts no other.
        contexts.insert(&[3; 100], Arc::clone(&watched[0]));
        assert_eq!(contexts.len(), 3);
        drop(contexts);
        assert!(watched.iter().all(|context| Arc::strong_count(context) == 1));
    }

    #[test]
    fn a_token_is_found_by_all_of_its_bytes() {
        let mut contexts = Contexts::new(8, [1; 16]);
        let token = [5u8; 300];
        contexts.insert(&token, 1u8);
        for at in 0..token.len() {
            let mut other = token;
            other[at] ^= 1;
            assert_eq!(contexts.find(&other), None);
        }
        assert_eq!(contexts.find(&token[..299]), None);
        assert_eq!(contexts.find(&token), Some(1));
    }
}

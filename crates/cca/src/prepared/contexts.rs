//! Cache of prepared keys by token, so that each token is unwrapped and prepared only once.
//!
//! An entry is found by a hash of the token and then by full comparison in constant time, since clear tokens are
//! secrets. Entries stand in a line. The first is evicted; one that was used since its last turn goes to the end
//! instead. So no eviction looks for the oldest. Tokens are zeroed when their entry is evicted; a prepared key is
//! zeroed when its last user is done with it.

use engine::SecretBytes;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Prepared keys of one kind in one domain.
pub(crate) struct Contexts<T> {
    entries: HashMap<Token, Entry<T>, Seeded>,
    line: VecDeque<Token>,
    bytes: usize,
}

struct Entry<T> {
    context: T,
    bytes: usize,
    is_used: bool,
}

impl<T: Clone> Contexts<T> {
    /// No entries; `seed` keys the hash, so that nobody can choose tokens that collide.
    pub(crate) fn new(seed: [u8; 16]) -> Self {
        Self { entries: HashMap::with_hasher(Seeded(seed)), line: VecDeque::new(), bytes: 0 }
    }

    /// The context of a token, if it is there.
    pub(crate) fn find(&mut self, token: &[u8]) -> Option<T> {
        let entry = self.entries.get_mut(&Lookup::of(token) as &dyn TokenBytes)?;
        entry.is_used = true;
        Some(entry.context.clone())
    }

    /// Whether the context of a token is there. Other than [`Contexts::find`], the question does not protect the entry
    /// from eviction.
    pub(crate) fn has(&self, token: &[u8]) -> bool {
        self.entries.contains_key(&Lookup::of(token) as &dyn TokenBytes)
    }

    /// Keeps a context that takes this many bytes, in place of the one that the token had.
    pub(crate) fn insert(&mut self, token: &[u8], context: T, bytes: usize) {
        // The token, and about as much for its places in the table and in the line.
        let bytes = bytes + 2 * token.len();
        let entry = Entry { context, bytes, is_used: false };
        self.bytes += bytes;
        if let Some(place) = self.entries.get_mut(&Lookup::of(token) as &dyn TokenBytes) {
            self.bytes -= place.bytes;
            *place = entry;
            return;
        }
        let token = Token(Arc::new(SecretBytes::from_slice(token)));
        self.line.push_back(token.clone());
        self.entries.insert(token, entry);
    }

    /// Evicts the entry that was not used for longest, more or less.
    pub(crate) fn evict(&mut self) {
        // Each use lets one entry pass once.
        while let Some(token) = self.line.pop_front() {
            match self.entries.get_mut(&token) {
                Some(entry) if entry.is_used => {
                    entry.is_used = false;
                    self.line.push_back(token);
                }
                _ => {
                    self.bytes -= self.entries.remove(&token).map_or(0, |entry| entry.bytes);
                    return;
                }
            }
        }
    }

    /// How many entries are held.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes that the entries take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A token as a key of the table, owned or borrowed.
trait TokenBytes {
    fn bytes(&self) -> &[u8];
}

#[derive(Clone)]
struct Token(Arc<SecretBytes>);

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
    fn what_is_used_stays_and_the_longest_unused_gives_way() {
        let mut contexts = Contexts::new([7; 16]);
        let watched: Vec<Arc<u8>> = (0..5).map(Arc::new).collect();
        for (index, context) in watched.iter().enumerate().take(4) {
            contexts.insert(&[index as u8; 100], Arc::clone(context), 50);
        }
        assert!(contexts.find(&[0; 100]).is_some());
        assert!(contexts.has(&[1; 100]), "a question is no use");
        assert_eq!((contexts.len(), contexts.bytes()), (4, 4 * 250));
        contexts.evict();
        assert!(contexts.find(&[1; 100]).is_none());
        assert_eq!(Arc::strong_count(&watched[1]), 1, "the evicted context is dropped");
        // The same token again replaces its entry, and has one place in the line.
        contexts.insert(&[3; 100], Arc::clone(&watched[4]), 60);
        assert_eq!((contexts.len(), contexts.bytes()), (3, 2 * 250 + 260));
        assert_eq!(Arc::strong_count(&watched[3]), 1);
        for (left, gone) in [2, 3, 0].into_iter().enumerate() {
            contexts.evict();
            assert!(!contexts.has(&[gone; 100]), "{gone}");
            assert_eq!(contexts.len(), 2 - left);
        }
        contexts.evict();
        assert_eq!((contexts.len(), contexts.bytes(), contexts.line.len()), (0, 0, 0));
        assert!(watched.iter().all(|context| Arc::strong_count(context) == 1));
    }

    #[test]
    fn where_all_were_used_one_of_them_gives_way_all_the_same() {
        let mut contexts = Contexts::new([7; 16]);
        for index in 0..100u8 {
            contexts.insert(&[index; 100], index, 0);
        }
        for round in 0..2 {
            (0..100u8).for_each(|index| assert!(round > 0 || contexts.find(&[index; 100]) == Some(index)));
            contexts.evict();
            assert_eq!(contexts.len(), 99 - round);
        }
    }

    #[test]
    fn a_token_is_found_by_all_of_its_bytes() {
        let mut contexts = Contexts::new([1; 16]);
        let token = [5u8; 300];
        contexts.insert(&token, 1u8, 0);
        for at in 0..token.len() {
            let mut other = token;
            other[at] ^= 1;
            assert_eq!(contexts.find(&other), None);
        }
        assert_eq!(contexts.find(&token[..299]), None);
        assert_eq!(contexts.find(&token), Some(1));
    }
}

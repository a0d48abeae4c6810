//! Raw RSA operations (RFC 8017, 5.1 and 5.2): many independent requests in one call.
//!
//! Requests whose keys fit each other are computed eight at once, in any order, if the processor has the instructions
//! and that is faster than one after the other by the library: for two requests and more, and at many lengths for one.
//! In both ways a private result is released only after the public exponent gave its input again.

use super::lane_keys::{LaneKey, Shape};
use super::lanes::{Eight, EightResults};
use super::{RSA_BITS_STRONG, RsaPrivateKey, RsaPublicKey, bits};
use crate::error::RsaError;
use crate::low::cpu::{Avx512, Cpu};
use crate::low::rsa::{LANES, digits_for};
use crate::low::wipe_bytes;

/// At most this many shapes wait for full groups; a further shape makes one incomplete group run.
const GROUPS_MAX: usize = 16;
/// From this many requests on, a pass is faster than the library one after the other, for every shape: at least 1.25
/// times. A single request uses the library, or lanes if these are faster: [`LaneKey::alone_in_lanes`].
const FILL_MIN: usize = 2;

/// One private operation of a batch: `input^d mod n`.
#[derive(Debug)]
pub struct RsaPrivateItem<'a> {
    /// The private key, whose exponent is d.
    pub key: &'a RsaPrivateKey,
    /// The input, as long as the modulus and, as a number, below it.
    pub input: &'a [u8],
    /// Receives the result, as long as the modulus. After an error it is zeros or unchanged.
    pub output: &'a mut [u8],
    /// Whether the operation succeeded; set by the batch.
    pub result: Result<(), RsaError>,
}

/// One public operation of a batch: `input^e mod n`.
#[derive(Debug)]
pub struct RsaPublicItem<'a> {
    /// The public key, whose exponent is e.
    pub key: &'a RsaPublicKey,
    /// The input, as long as the modulus and, as a number, below it.
    pub input: &'a [u8],
    /// Receives the result, as long as the modulus. Unchanged after an error.
    pub output: &'a mut [u8],
    /// Whether the operation succeeded; set by the batch.
    pub result: Result<(), RsaError>,
}

impl<'a> RsaPrivateItem<'a> {
    /// A request not yet run; the batch writes to `output`.
    pub fn new(key: &'a RsaPrivateKey, input: &'a [u8], output: &'a mut [u8]) -> RsaPrivateItem<'a> {
        RsaPrivateItem { key, input, output, result: Ok(()) }
    }
}

impl<'a> RsaPublicItem<'a> {
    /// A request not yet run; the batch writes to `output`.
    pub fn new(key: &'a RsaPublicKey, input: &'a [u8], output: &'a mut [u8]) -> RsaPublicItem<'a> {
        RsaPublicItem { key, input, output, result: Ok(()) }
    }
}

/// The number of requests of this size that fills one batch.
pub(crate) fn lanes(cpu: Cpu, bits: usize) -> usize {
    if cpu.avx512.is_some() && digits_for(bits).is_some() { LANES } else { 1 }
}

/// Runs every request; each gets its own result.
pub(crate) fn private_batch(cpu: Cpu, weak_algorithms: bool, items: &mut [RsaPrivateItem<'_>]) {
    batch(cpu, weak_algorithms, items);
}

/// Runs every request; each gets its own result.
pub(crate) fn public_batch(cpu: Cpu, weak_algorithms: bool, items: &mut [RsaPublicItem<'_>]) {
    batch(cpu, weak_algorithms, items);
}

/// The operations that private and public requests share.
trait Request {
    fn key(&self) -> &LaneKey;
    fn input(&self) -> &[u8];
    fn output(&mut self) -> &mut [u8];
    fn end(&mut self, result: Result<(), RsaError>);
    /// Runs the request with the library.
    fn run_alone(&mut self) -> Result<(), RsaError>;
    /// Returns the lanes, as bits, whose result may be released.
    fn run_together(eight: &Eight<'_>, inputs: &[&[u8]; LANES], results: &mut EightResults) -> u8;
}

impl Request for RsaPrivateItem<'_> {
    fn key(&self) -> &LaneKey {
        &self.key.key
    }

    fn input(&self) -> &[u8] {
        self.input
    }

    fn output(&mut self) -> &mut [u8] {
        self.output
    }

    fn end(&mut self, result: Result<(), RsaError>) {
        self.result = result;
    }

    fn run_alone(&mut self) -> Result<(), RsaError> {
        let LaneKey { object, n, .. } = &self.key.key;
        if is_fixed_point(n, self.input) {
            self.output.copy_from_slice(self.input);
            return Ok(());
        }
        if !object.private_transform(self.input, self.output) {
            wipe_bytes(self.output);
            return Err(RsaError::Verification);
        }
        Ok(())
    }

    fn run_together(eight: &Eight<'_>, inputs: &[&[u8]; LANES], results: &mut EightResults) -> u8 {
        eight.private(inputs, results)
    }
}

impl Request for RsaPublicItem<'_> {
    fn key(&self) -> &LaneKey {
        &self.key.0
    }

    fn input(&self) -> &[u8] {
        self.input
    }

    fn output(&mut self) -> &mut [u8] {
        self.output
    }

    fn end(&mut self, result: Result<(), RsaError>) {
        self.result = result;
    }

    fn run_alone(&mut self) -> Result<(), RsaError> {
        let done = self.key.0.object.public_transform(self.input, self.output);
        if done { Ok(()) } else { Err(RsaError::InputRange) }
    }

    fn run_together(eight: &Eight<'_>, inputs: &[&[u8]; LANES], results: &mut EightResults) -> u8 {
        eight.public(inputs, results);
        u8::MAX
    }
}

fn batch<R: Request>(cpu: Cpu, weak_algorithms: bool, items: &mut [R]) {
    let mut groups = Groups::new();
    for index in 0..items.len() {
        let item = &mut items[index];
        if let Err(error) = admit(weak_algorithms, item) {
            item.end(Err(error));
            continue;
        }
        match item.key().shape.filter(|_| cpu.avx512.is_some()) {
            Some(shape) => {
                if let Some(group) = groups.add(shape, index) {
                    run_group(cpu.avx512, items, &group);
                }
            }
            None => {
                let result = item.run_alone();
                item.end(result);
            }
        }
    }
    groups.rest().for_each(|group| run_group(cpu.avx512, items, group));
}

fn admit(weak_algorithms: bool, item: &mut impl Request) -> Result<(), RsaError> {
    let output_bytes = item.output().len();
    let (n, input) = (&*item.key().n, item.input());
    let bits = bits(n);
    if bits < RSA_BITS_STRONG && !weak_algorithms {
        return Err(RsaError::Weak { bits });
    }
    if input.len() != n.len() || output_bytes != n.len() {
        return Err(RsaError::Length { input_bytes: input.len(), output_bytes, modulus_bytes: n.len() });
    }
    if input >= n {
        return Err(RsaError::InputRange);
    }
    Ok(())
}

/// Whether the input is 0, 1 or n - 1. Each is its own result under every key (exponents are odd), and the library
/// refuses them, so they are answered here.
fn is_fixed_point(n: &[u8], input: &[u8]) -> bool {
    let (Some((last, head)), Some((n_last, n_head))) = (input.split_last(), n.split_last()) else {
        return false;
    };
    let zero_or_one = *last <= 1 && head.iter().all(|byte| *byte == 0);
    let minus_one = head == n_head && *last == n_last - 1;
    zero_or_one || minus_one
}

fn run_group<R: Request>(token: Option<Avx512>, items: &mut [R], group: &Group) {
    let key = |request: usize| items[group.items()[request]].key();
    let pays = group.filled >= FILL_MIN || key(0).alone_in_lanes;
    let eight = pays.then(|| Eight::new(token, group.filled, key));
    let Some(Some(eight)) = eight else {
        for index in group.items() {
            let result = items[*index].run_alone();
            items[*index].end(result);
        }
        return;
    };
    let mut results = EightResults::new();
    let inputs = eight.requests().map(|request| items[group.items()[request]].input());
    let released = R::run_together(&eight, &inputs, &mut results);
    for (lane, index) in group.items().iter().enumerate() {
        let item = &mut items[*index];
        let stored = released >> lane & 1 == 1 && results.store(lane, item.output());
        if !stored {
            wipe_bytes(item.output());
        }
        item.end(if stored { Ok(()) } else { Err(RsaError::Verification) });
    }
}

/// Requests of one shape that wait for a full group, by their index in the batch.
#[derive(Clone, Copy)]
struct Group {
    shape: Shape,
    items: [usize; LANES],
    filled: usize,
}

impl Group {
    /// The requests, at least one.
    fn items(&self) -> &[usize] {
        &self.items[..self.filled]
    }
}

/// The incomplete groups of a batch, one per shape.
struct Groups {
    groups: [Option<Group>; GROUPS_MAX],
}

impl Groups {
    fn new() -> Groups {
        Groups { groups: [None; GROUPS_MAX] }
    }

    /// Adds a request to the group of its shape. Returns a group that became full, or that had to make room for a new
    /// one.
    fn add(&mut self, shape: Shape, item: usize) -> Option<Group> {
        let with_shape = |group: &Option<Group>| group.is_some_and(|group| group.shape == shape);
        let at = self.groups.iter().position(with_shape);
        let Some(at) = at.or_else(|| self.groups.iter().position(Option::is_none)) else {
            return self.groups[0].replace(Group { shape, items: [item; LANES], filled: 1 });
        };
        let group = self.groups[at].get_or_insert(Group { shape, items: [item; LANES], filled: 0 });
        group.items[group.filled] = item;
        group.filled += 1;
        if group.filled == LANES { self.groups[at].take() } else { None }
    }

    /// The groups that are still incomplete.
    fn rest(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_shape_come_together() {
        let (one, other) = (Shape::Public { digits: 10 }, Shape::ModulusExponent { digits: 10 });
        let mut groups = Groups::new();
        for item in 0..7 {
            assert!(groups.add(one, 2 * item).is_none());
            assert!(groups.add(other, 2 * item + 1).is_none());
        }
        let full = groups.add(other, 99).unwrap();
        assert_eq!(full.items(), [1, 3, 5, 7, 9, 11, 13, 99]);
        assert!(groups.add(other, 100).is_none());
        let rest: Vec<_> = groups.rest().map(|group| group.items().to_vec()).collect();
        assert_eq!(rest, [vec![0, 2, 4, 6, 8, 10, 12], vec![100]]);
    }

    /// If there are more shapes than places, no request is lost.
    #[test]
    fn shapes_beyond_the_bound_make_room() {
        let mut groups = Groups::new();
        let mut seen = Vec::new();
        for item in 0..3 * GROUPS_MAX {
            let pushed_out = groups.add(Shape::Public { digits: item }, item);
            assert_eq!(pushed_out.is_some(), item >= GROUPS_MAX);
            seen.extend(pushed_out.iter().flat_map(|group| group.items().to_vec()));
        }
        seen.extend(groups.rest().flat_map(|group| group.items().to_vec()));
        seen.sort();
        assert!(seen.into_iter().eq(0..3 * GROUPS_MAX));
    }
}

//! Many independent requests on curves in one call.
//!
//! ECDSA signatures with P-256 and X25519 are computed eight at once, under any keys, if the processor has the
//! instructions and the lanes are faster than one request after the other by the library.

use super::agree::{PUBLICS_MAX, Publics, Shared};
use super::sign::{Eight, Signatures};
use super::{EcdsaSignItem, EcdsaVerifyItem};
use crate::algorithm::Curve;
use crate::error::EcError;
use crate::low::aws_lc::xcurve;
use crate::low::cpu::Cpu;
use crate::low::curves::LANES;
use crate::low::wipe_bytes;
use std::fmt;

/// From this many requests on, a pass is faster than the library one after the other.
const SIGN_MIN: usize = 2;
/// 1, since the library takes three times as long to verify as to sign.
const SIGN_VERIFIED_MIN: usize = 1;
const SHARED_MIN: usize = 3;
const PUBLIC_MIN: usize = 2;

/// One shared secret by X25519 (RFC 7748, 6.1) of a batch.
pub struct X25519Item<'a> {
    /// Our private value.
    pub private: &'a [u8; 32],
    /// The public value of the peer.
    pub public: &'a [u8; 32],
    /// Receives the shared secret, which the caller must wipe; zeros after an error.
    pub shared: &'a mut [u8; 32],
    /// The result of the request: [`EcError::SmallOrder`] if the secret would be zero.
    pub result: Result<(), EcError>,
}

/// One public value by X25519 of a batch.
pub struct X25519PublicItem<'a> {
    /// The private value, whose public value is computed.
    pub private: &'a [u8; 32],
    /// The public value of the private one.
    pub public: [u8; 32],
}

impl<'a> X25519Item<'a> {
    /// A request not yet run; the batch writes to `shared`.
    pub fn new(private: &'a [u8; 32], public: &'a [u8; 32], shared: &'a mut [u8; 32]) -> X25519Item<'a> {
        X25519Item { private, public, shared, result: Ok(()) }
    }
}

impl<'a> X25519PublicItem<'a> {
    /// A request not yet run: the public value is zeros.
    pub fn new(private: &'a [u8; 32]) -> X25519PublicItem<'a> {
        X25519PublicItem { private, public: [0; 32] }
    }
}

/// Hides private values and shared secrets.
impl fmt::Debug for X25519Item<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut item = out.debug_struct("X25519Item");
        item.field("public", self.public).field("result", &self.result).finish_non_exhaustive()
    }
}

/// Hides the private value.
impl fmt::Debug for X25519PublicItem<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("X25519PublicItem").field("public", &self.public).finish_non_exhaustive()
    }
}

/// The number of requests that fills one batch.
pub(crate) fn lanes(cpu: Cpu) -> usize {
    if cpu.avx512.is_some() { LANES } else { 1 }
}

/// Signs every digest and, if `is_verified`, verifies each signature under the key's public point. Each request gets
/// its own result.
pub(crate) fn ecdsa_sign_batch(cpu: Cpu, is_verified: bool, items: &mut [EcdsaSignItem<'_>]) {
    let mut group = Group::new(lanes(cpu) > 1);
    for index in 0..items.len() {
        if items[index].key.curve != Curve::P256 {
            sign_alone(is_verified, &mut items[index]);
        } else if let Some(full) = group.add(index) {
            sign_group(cpu, is_verified, items, full);
        }
    }
    sign_group(cpu, is_verified, items, group.rest());
}

/// Verifies every signature; each request gets its own result.
pub(crate) fn ecdsa_verify_batch(items: &mut [EcdsaVerifyItem<'_>]) {
    for item in items {
        let curve = item.key.curve;
        item.result = if item.signature.len() != 2 * curve.scalar_bytes() {
            Err(EcError::SignatureLength { curve, bytes: item.signature.len() })
        } else if item.key.key.verify(item.digest, item.signature) {
            Ok(())
        } else {
            Err(EcError::Signature)
        };
    }
}

/// Computes every shared secret; each request gets its own result.
pub(crate) fn x25519_batch(cpu: Cpu, items: &mut [X25519Item<'_>]) {
    let in_lanes = lanes(cpu) > 1;
    for group in items.chunks_mut(LANES) {
        if in_lanes && group.len() >= SHARED_MIN {
            let mut shared = Shared::none();
            shared.compute(cpu.avx512, group.len(), |at| [group[at].private, group[at].public]);
            for (lane, item) in group.iter_mut().enumerate() {
                let stored = shared.store(lane, item.shared);
                item.result = if stored { Ok(()) } else { Err(EcError::SmallOrder) };
            }
        } else {
            group.iter_mut().for_each(shared_alone);
        }
    }
}

/// Computes every public value.
pub(crate) fn x25519_public_batch(cpu: Cpu, items: &mut [X25519PublicItem<'_>]) {
    let in_lanes = lanes(cpu) > 1;
    for group in items.chunks_mut(PUBLICS_MAX) {
        let mut done = 0;
        if in_lanes && group.len() >= PUBLIC_MIN {
            let mut publics = Publics::none();
            publics.compute(cpu.avx512, group.len(), |at| group[at].private);
            done = group
                .iter_mut()
                .enumerate()
                .map_while(|(at, item)| publics.store(at, &mut item.public).then_some(()))
                .count();
        }
        for item in &mut group[done..] {
            item.public = xcurve::x25519_public(item.private);
        }
    }
}

fn shared_alone(item: &mut X25519Item<'_>) {
    item.result = if xcurve::x25519(item.private, item.public, item.shared) {
        Ok(())
    } else {
        item.shared.fill(0);
        Err(EcError::SmallOrder)
    };
}

/// Signs with the library.
fn sign_alone(is_verified: bool, item: &mut EcdsaSignItem<'_>) {
    let bytes = 2 * item.key.curve.scalar_bytes();
    item.result = Ok(());
    let signed = item.key.key.sign(item.digest, &mut item.signature[..bytes]);
    if !signed || (is_verified && !item.key.key.verify(item.digest, &item.signature[..bytes])) {
        fail(item);
    }
}

fn sign_group(cpu: Cpu, is_verified: bool, items: &mut [EcdsaSignItem<'_>], group: &[usize]) {
    let least = if is_verified { SIGN_VERIFIED_MIN } else { SIGN_MIN };
    if group.is_empty() {
        return;
    }
    if lanes(cpu) == 1 || group.len() < least {
        group.iter().for_each(|index| sign_alone(is_verified, &mut items[*index]));
        return;
    }
    let request = |at: usize| {
        let item = &items[group[at]];
        (&item.key.key, item.digest)
    };
    let mut signatures = Signatures::new();
    let eight = Eight::new(cpu, group.len(), request);
    let mut released = eight.sign(&mut signatures);
    if is_verified {
        let publics: [Option<&[u8; 65]>; LANES] = std::array::from_fn(|lane| {
            let item = &items[group[if lane < group.len() { lane } else { 0 }]];
            item.key.public_point().try_into().ok()
        });
        // Every key has its public point; without one, no signature would be valid.
        released &= eight.verify(&publics.map(|public| public.unwrap_or(&[0; 65])), &signatures);
    }
    for (lane, index) in group.iter().enumerate() {
        let item = &mut items[*index];
        let bytes = 2 * item.key.curve.scalar_bytes();
        item.result = Ok(());
        if released >> lane & 1 == 0 || !signatures.store(lane, &mut item.signature[..bytes]) {
            fail(item);
        }
    }
}

/// Wipes the signature of a request that did not pass a check, and makes the request an error.
fn fail(item: &mut EcdsaSignItem<'_>) {
    wipe_bytes(&mut item.signature);
    item.result = Err(EcError::Internal(item.key.curve));
}

/// Requests that wait until a group is full, by their index in the batch.
struct Group {
    items: [usize; LANES],
    filled: usize,
    /// The number of requests in a full group.
    size: usize,
}

impl Group {
    fn new(in_lanes: bool) -> Group {
        Group { items: [0; LANES], filled: 0, size: if in_lanes { LANES } else { 1 } }
    }

    /// Adds a request; returns the group when it is full.
    fn add(&mut self, item: usize) -> Option<&[usize]> {
        self.items[self.filled] = item;
        self.filled += 1;
        if self.filled < self.size {
            return None;
        }
        self.filled = 0;
        Some(&self.items[..self.size])
    }

    /// The requests of an incomplete group.
    fn rest(&self) -> &[usize] {
        &self.items[..self.filled]
    }
}

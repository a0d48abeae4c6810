//! Attacks of a tenant who has the raw verbs and keys for one purpose each: what such a key is kept from must not come
//! out by another way.
//!
//! Each is carried out where it works first, so that it is known to bite: in a role that lets a key serve two purposes,
//! or on a model of a card that shows what ours seals.

mod card_values;
mod casting;
pub mod chaining;
mod chips;
mod exchange;
mod export;
mod key_blocks;
mod macs;
pub mod numbers;
mod payloads;
mod pins;
mod private_blocks;
mod security_codes;
mod signatures;
mod transactions;
mod transport;
mod variable;
mod weakening;

use cca::Processor;
use verb_requests::support::Request;
use wire::code;
use wire::point::PointSet;

/// Refused in a role: by the card, which asks for the point of the verb before it runs, or by the verb, which asks for
/// those of its keywords and parameters.
#[track_caller]
fn denied(processor: &mut Processor, request: &Request, points: &'static PointSet) {
    if points.permits(request.verb().entry().point) {
        request.clone().points(points).refused(processor, code::ACCESS_DENIED);
    }
}

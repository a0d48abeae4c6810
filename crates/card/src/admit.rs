//! Admission of one request: the role of its queue, the card's personality, its key references and what each may be
//! used for.
//!
//! The payload is the card's own copy of what a client wrote. [`Admission::check`] parses it once,
//! by the verb table. It either returns the [`Outcome`] with which the request is refused before anything
//! runs, or appends the tokens that key references name, and replaces each reference by the place of its token.

use std::ops::Range;
use token::{Description, Holds, describe};
use wire::bounds::KEYS_MAX;
use wire::control::{DeniedBy, Personality};
use wire::frame::{Argument, Outcome, Walk, place_token};
use wire::key::KeyReference;
use wire::point::{Point, PointSet};
use wire::uses::Uses;
use wire::verb::{Direction, Entry, Executor, Kind, Length, Verb};

/// A source of the tokens that key references name.
pub trait Keys {
    /// Appends the token of an entry to `out` if the reference is valid for the tenant, and returns what may be done
    /// with its key; appends nothing and returns `None` otherwise.
    fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> Option<Uses>;
}

/// The tenant of a request, and what its role permits.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// The tenant that key references are bound to.
    pub tenant: u32,
    /// The points that its role permits.
    pub points: &'a PointSet,
}

/// A request that may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The verb that is requested.
    pub verb: Verb,
    /// The verb's slot in the verb table.
    pub slot: usize,
    /// Length of the payload in bytes; the tokens of its key references follow it.
    pub payload_bytes: usize,
    /// The request's first key reference; `None` if it has none.
    pub key: Option<KeyReference>,
}

/// Why a request may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The outcome that the request is answered with.
    pub outcome: Outcome,
    /// The key reference whose label does not allow the request; `None` if it was refused for something else.
    pub key: Option<KeyReference>,
}

impl From<Outcome> for Refused {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, key: None }
    }
}

/// The check of requests at a card of one personality.
pub struct Admission {
    personality: Personality,
}

impl Admission {
    /// Admission to a card of this personality.
    pub fn new(personality: Personality) -> Self {
        Self { personality }
    }

    /// Checks the request `number` with this `payload` against what its holder may do. Where keys are given by
    /// reference, their tokens are appended to the payload, and the references are replaced by their places
    /// there: see [`place_token`].
    ///
    /// # Errors
    /// [`Refused`] with the outcome to reply with: [`Outcome::Malformed`], [`Outcome::NotServed`],
    /// [`Outcome::Denied`] or [`Outcome::KeyReference`]. The payload means nothing then.
    #[inline]
    pub fn check(
        &self,
        number: u16,
        payload: &mut Vec<u8>,
        holder: Holder<'_>,
        keys: &impl Keys,
    ) -> Result<Admitted, Refused> {
        let entry = Entry::of_number(number).ok_or(Outcome::Malformed)?;
        match entry.executor {
            Executor::AnyCard => {}
            Executor::Coprocessor if self.personality == Personality::Coprocessor => {}
            Executor::Coprocessor | Executor::Daemon => return Err(Outcome::NotServed.into()),
        }
        if !holder.points.permits(entry.point) {
            return Err(Outcome::Denied.into());
        }
        let payload_bytes = payload.len();
        let references = walk(entry.verb, payload, holder.points.permits(Point::TokenBytes))?;
        if references.count != 0 {
            resolve(entry, payload, &references.found[..references.count], holder.tenant, keys)?;
        }
        let key = references.found[..references.count].first().map(|first| first.reference);
        Ok(Admitted { verb: entry.verb, slot: entry.slot as usize, payload_bytes, key })
    }
}

/// A key reference in a payload.
#[derive(Clone, Copy, Debug)]
struct Referred {
    at: usize,
    position: usize,
    reference: KeyReference,
}

/// The key references of one request.
struct References {
    found: [Referred; KEYS_MAX],
    count: usize,
}

/// Checks the form of a request's payload, and finds its key references. Wrapped keys as bytes are denied unless
/// `token_bytes` is set.
#[inline]
fn walk(verb: Verb, payload: &[u8], token_bytes: bool) -> Result<References, Outcome> {
    const NONE: Referred =
        Referred { at: 0, position: 0, reference: KeyReference { slot: 0, generation: 0 } };
    let mut references = References { found: [NONE; KEYS_MAX], count: 0 };
    for field in Walk::request(verb, payload) {
        let field = field.map_err(|_| Outcome::Malformed)?;
        match field.argument {
            Argument::Reference(reference) => {
                let place = references.found.get_mut(references.count).ok_or(Outcome::Malformed)?;
                *place = Referred { at: field.range.start, position: field.position, reference };
                references.count += 1;
            }
            Argument::Bytes(bytes) if field.is_key() && !token_bytes && holds_wrapped_key(bytes) => {
                return Err(Outcome::Denied);
            }
            _ => {}
        }
    }
    Ok(references)
}

/// Appends the tokens of the references to the payload, and replaces each reference by the place of its token. An
/// input length that belongs to a key becomes that of the token.
fn resolve(
    entry: &Entry,
    payload: &mut Vec<u8>,
    references: &[Referred],
    tenant: u32,
    keys: &impl Keys,
) -> Result<(), Refused> {
    let payload_bytes = payload.len();
    for referred in references {
        let begin = payload.len();
        let parameter = &entry.parameters[referred.position];
        let uses = keys.append(referred.reference, tenant, payload).ok_or(Outcome::KeyReference)?;
        if !uses.contains(parameter.uses) {
            return Err(Refused { outcome: Outcome::Denied, key: Some(referred.reference) });
        }
        let token = begin - payload_bytes..payload.len() - payload_bytes;
        let token_bytes = token.len() as i64;
        let Kind::Key { length, .. } = parameter.kind else { continue };
        if let Length::By(by) = length
            && entry.parameters[by].direction == Direction::In
            && let Some(range) = range_of(entry.verb, &payload[..payload_bytes], by)
        {
            payload[range].copy_from_slice(&token_bytes.to_le_bytes());
        }
        place_token(payload, referred.at, token);
    }
    Ok(())
}

/// The reason why a request was refused as [`Outcome::Denied`], and the key reference that it was about, or else the
/// request's first. `refused` is [`Refused::key`]: if it is given, references before it have been replaced by places of
/// tokens, which look like references.
pub fn denied_by(
    number: u16,
    payload: &[u8],
    points: &PointSet,
    refused: Option<KeyReference>,
) -> (DeniedBy, Option<KeyReference>) {
    if refused.is_some() {
        return (DeniedBy::Label, refused);
    }
    let Some(entry) = Entry::of_number(number) else { return (DeniedBy::Verb, None) };
    let mut fields = Walk::request(entry.verb, payload).map_while(Result::ok);
    let key = fields.find_map(|field| match field.argument {
        Argument::Reference(reference) => Some(reference),
        _ => None,
    });
    if !points.permits(entry.point) {
        return (DeniedBy::Verb, key);
    }
    let mut fields = Walk::request(entry.verb, payload).map_while(Result::ok);
    let is_token = !points.permits(Point::TokenBytes)
        && fields.any(|field| match field.argument {
            Argument::Bytes(bytes) => field.is_key() && holds_wrapped_key(bytes),
            _ => false,
        });
    (if is_token { DeniedBy::TokenBytes } else { DeniedBy::Label }, key)
}

/// The position of a parameter's field in a well-formed payload.
fn range_of(verb: Verb, payload: &[u8], position: usize) -> Option<Range<usize>> {
    let mut fields = Walk::request(verb, payload).map_while(Result::ok);
    fields.find(|field| field.position == position).map(|field| field.range)
}

/// Whether a key field is what [`Point::TokenBytes`] guards: a wrapped key, or bytes of an unknown form. Null tokens,
/// skeletons, public and clear keys are not.
fn holds_wrapped_key(field: &[u8]) -> bool {
    !matches!(describe(field), Ok(Description { holds: Holds::Nothing | Holds::Public | Holds::Clear, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::frame::Arguments;
    use wire::verb::{Filled, Key, TABLE, TypedAsk, digital_signature_generate as dsg, mac_generate as mac};

    const REFERENCE: KeyReference = KeyReference { slot: 3, generation: 9 };
    const TENANT: u32 = 77;

    /// The token behind [`REFERENCE`], and what it may be used for.
    struct One(Vec<u8>, Uses);

    impl Keys for One {
        fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> Option<Uses> {
            let valid = reference == REFERENCE && tenant == TENANT;
            valid.then(|| out.extend_from_slice(&self.0)).map(|()| self.1)
        }
    }

    /// A set of only these points.
    fn only(points: &[Point]) -> PointSet {
        let mut set = PointSet::NOTHING;
        points.iter().for_each(|point| set.allow(*point));
        set
    }

    fn check(
        verb: u16,
        payload: &[u8],
        points: &PointSet,
        personality: Personality,
    ) -> Result<Admitted, Outcome> {
        check_uses(verb, payload, points, personality, Uses::ALL)
    }

    fn check_uses(
        verb: u16,
        payload: &[u8],
        points: &PointSet,
        personality: Personality,
        uses: Uses,
    ) -> Result<Admitted, Outcome> {
        let (mut payload, holder) = (payload.to_vec(), Holder { tenant: TENANT, points });
        let checked = Admission::new(personality).check(verb, &mut payload, holder, &One(vec![1; 64], uses));
        checked.map_err(|refused| refused.outcome)
    }

    /// Labels of which this one may not be used.
    struct AllBut(KeyReference);

    impl Keys for AllBut {
        fn append(&self, reference: KeyReference, _: u32, out: &mut Vec<u8>) -> Option<Uses> {
            out.extend_from_slice(&[1; 64]);
            Some(if reference == self.0 { Uses::NONE } else { Uses::ALL })
        }
    }

    #[test]
    fn the_label_that_is_refused_is_the_one_that_is_told() {
        use wire::verb::{ExportFormat, symmetric_key_export as syx};
        let number = Verb::SymmetricKeyExport as u16;
        let [first, second] = [3, 4].map(|slot| KeyReference { slot, generation: 9 });
        let sent = written(&syx::Ask {
            source_key_identifier: Key::Reference(first),
            rsa_public_key_identifier: Key::Reference(second),
            ..syx::Ask::new(ExportFormat::ZeroPad)
        });
        let points = PointSet::EVERYTHING;
        let holder = Holder { tenant: TENANT, points: &points };
        for refused in [first, second] {
            let mut payload = sent.clone();
            let admission = Admission::new(Personality::Coprocessor);
            let checked = admission.check(number, &mut payload, holder, &AllBut(refused)).unwrap_err();
            assert_eq!(checked, Refused { outcome: Outcome::Denied, key: Some(refused) });
            let told = denied_by(number, &payload[..sent.len()], &points, checked.key);
            assert_eq!(told, (DeniedBy::Label, Some(refused)));
        }
        // Nothing was replaced where the verb is refused, and the first is told.
        let told = denied_by(number, &sent, &PointSet::NOTHING, None);
        assert_eq!(told, (DeniedBy::Verb, Some(first)));
    }

    fn written(ask: &impl TypedAsk) -> Vec<u8> {
        let mut payload = Vec::new();
        ask.arguments(&mut Filled::default()).write_request(&mut payload).unwrap();
        payload
    }

    fn mac_payload(key: Key<'_>) -> Vec<u8> {
        written(&mac::Ask { key_identifier: key, text: b"abc", ..mac::Ask::new() })
    }

    #[test]
    fn a_verb_needs_its_right_and_its_place() {
        use Personality::{Accelerator, Coprocessor};
        let payload = mac_payload(Key::Reference(REFERENCE));
        let number = Verb::MacGenerate as u16;
        let everything = PointSet::EVERYTHING;
        let all_but = |point| {
            let mut set = everything;
            set.deny(point);
            set
        };
        assert!(check(number, &payload, &only(&[Point::MacGenerate]), Coprocessor).is_ok());
        assert_eq!(check(number, &payload, &all_but(Point::MacGenerate), Coprocessor), Err(Outcome::Denied));
        assert_eq!(check(number, &payload, &everything, Accelerator), Err(Outcome::NotServed));
        assert!(check(Verb::Null as u16, &[], &only(&[Point::Null]), Accelerator).is_ok());
        assert_eq!(check(Verb::Null as u16, &[], &PointSet::NOTHING, Accelerator), Err(Outcome::Denied));
        let record = Verb::DesKeyRecordRead as u16;
        assert_eq!(check(record, &[], &everything, Coprocessor), Err(Outcome::NotServed));
        for number in [0, 0x0FFF, 0x1000, u16::MAX] {
            assert_eq!(check(number, &[], &everything, Coprocessor), Err(Outcome::Malformed));
        }
    }

    #[test]
    fn wrapped_keys_as_bytes_need_a_right_of_their_own() {
        let mut token = [0; 64];
        token[0] = 1;
        token::tvv::seal(&mut token);
        let skeleton = mac_payload(Key::Bytes(&token));
        token[6] = 0xC0;
        token::tvv::seal(&mut token);
        let wrapped = mac_payload(Key::Bytes(&token));
        let number = Verb::MacGenerate as u16;
        let (mac, both) = (only(&[Point::MacGenerate]), only(&[Point::MacGenerate, Point::TokenBytes]));
        assert!(check(number, &skeleton, &mac, Personality::Coprocessor).is_ok());
        assert!(check(number, &wrapped, &both, Personality::Coprocessor).is_ok());
        assert_eq!(check(number, &wrapped, &mac, Personality::Coprocessor), Err(Outcome::Denied));
        for start in [0x01, 0x02, 0x1F, 0x20, 0xFF] {
            assert!(holds_wrapped_key(&[start]), "{start:#x}");
        }
        // A validation value that is wrong makes no token harmless.
        token[6] = 0;
        assert!(holds_wrapped_key(&token));
        // Nor does a first byte: an external PKA token may hold a key under a transport key.
        let mut external = [0; 8 + 364];
        (external[0], external[2], external[3]) = (0x1E, 1, 0x74);
        (external[8], external[10], external[11]) = (0x02, 1, 0x6C);
        assert!(!holds_wrapped_key(&external));
        external[8 + 28] = 0x82;
        assert!(holds_wrapped_key(&external));
    }

    #[test]
    fn a_reference_becomes_its_token_and_its_length() {
        let mut payload = written(&dsg::Ask {
            pka_private_key_id: Key::Reference(REFERENCE),
            hash: &[7; 20],
            ..dsg::Ask::new()
        });
        let (admission, sent) = (Admission::new(Personality::Coprocessor), payload.clone());
        let keys = One(vec![0x1F; 900], Uses::SIGN);
        let number = Verb::DigitalSignatureGenerate as u16;
        let points = only(&[Point::DigitalSignatureGenerate]);
        let holder = Holder { tenant: TENANT, points: &points };
        let admitted = admission.check(number, &mut payload, holder, &keys).unwrap();
        assert_eq!(admitted.payload_bytes, sent.len());
        let (own, tokens) = payload.split_at(admitted.payload_bytes);
        assert_eq!(tokens, keys.0);
        let seen = Arguments::read_admitted(admitted.verb, own, tokens).unwrap();
        assert_eq!(seen.bytes(dsg::PKA_PRIVATE_KEY_ID), &keys.0);
        assert_eq!(seen.integer(dsg::PKA_PRIVATE_KEY_ID_LENGTH), 900);
        assert_eq!(seen.bytes(dsg::HASH), &[7; 20]);

        let stranger = Holder { tenant: TENANT + 1, ..holder };
        let refused = admission.check(number, &mut sent.clone(), stranger, &keys);
        assert_eq!(refused, Err(Outcome::KeyReference.into()));
    }

    #[test]
    fn every_key_of_every_verb_may_be_a_reference() {
        for entry in TABLE {
            for (position, parameter) in entry.parameters.iter().enumerate() {
                if !matches!(parameter.kind, Kind::Key { .. }) {
                    continue;
                }
                let mut arguments = Arguments::new(entry.verb);
                arguments.set(position, wire::frame::Argument::Reference(REFERENCE));
                if let Kind::Key { length: Length::By(by), .. } = parameter.kind {
                    arguments.set_integer(by, 3000);
                }
                let mut payload = Vec::new();
                arguments.write_request(&mut payload).unwrap();
                let (own_bytes, keys) = (payload.len(), One(vec![0x1F; 900], Uses::ALL));
                let references = walk(entry.verb, &payload, true).unwrap();
                assert_eq!(references.count, 1);
                resolve(entry, &mut payload, &references.found[..1], TENANT, &keys).unwrap();
                let (own, tokens) = payload.split_at(own_bytes);
                let seen = Arguments::read_admitted(entry.verb, own, tokens).unwrap();
                assert_eq!(seen.bytes(position), &keys.0);
                if let Kind::Key { length: Length::By(by), .. } = parameter.kind {
                    // One that travels both ways says how much room there is for what comes back.
                    let is_in = entry.parameters[by].direction == Direction::In;
                    assert_eq!(seen.integer(by), if is_in { 900 } else { 3000 }, "{}", entry.name);
                }
            }
        }
    }

    /// A request of each verb in which every key is a reference.
    fn by_references(entry: &wire::verb::Entry) -> (Vec<u8>, usize) {
        let mut arguments = Arguments::new(entry.verb);
        let mut keys = 0;
        for (position, parameter) in entry.parameters.iter().enumerate() {
            if matches!(parameter.kind, Kind::Key { .. }) && parameter.direction != Direction::Out {
                arguments.set(position, wire::frame::Argument::Reference(REFERENCE));
                keys += 1;
            }
        }
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        (payload, keys)
    }

    #[test]
    fn a_reference_is_good_for_what_its_entry_allows_and_nothing_else() {
        let (points, coprocessor) = (PointSet::EVERYTHING, Personality::Coprocessor);
        let singles =
            Uses::NAMES.map(|(_, uses)| uses).into_iter().filter(|uses| uses.bits().is_power_of_two());
        let singles: Vec<Uses> = singles.collect();
        let mut verified = Vec::new();
        for entry in TABLE.iter().filter(|entry| entry.executor == Executor::Coprocessor) {
            let (payload, keys) = by_references(entry);
            if keys == 0 {
                continue;
            }
            let needed = entry.uses();
            for uses in &singles {
                let admitted = check_uses(entry.verb as u16, &payload, &points, coprocessor, *uses);
                let expected = if uses.contains(needed) { Ok(()) } else { Err(Outcome::Denied) };
                assert_eq!(admitted.map(drop), expected, "{} {uses}", entry.name);
                if *uses == Uses::MAC_VERIFY && admitted.is_ok() {
                    verified.push(entry.verb);
                }
            }
        }
        assert_eq!(verified, [Verb::MacVerify, Verb::HmacVerify, Verb::MacVerify2, Verb::CvvVerify]);
    }

    proptest! {
        #[test]
        fn what_is_admitted_is_what_the_frame_reader_accepts(
            row in 0..TABLE.len(),
            payload in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let entry = &TABLE[row];
            prop_assume!(entry.executor != Executor::Daemon);
            let readable = Arguments::read_request(entry.verb, &payload).is_ok();
            let admitted = check(entry.verb as u16, &payload, &PointSet::EVERYTHING, Personality::Coprocessor);
            prop_assert_eq!(readable, !matches!(admitted, Err(Outcome::Malformed)));
        }
    }
}

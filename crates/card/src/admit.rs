//! Admission of one request: its grant, the card's personality, its key references.
//!
//! The payload is the card's own copy of what a client wrote. [`Admission::check`] walks it once,
//! by the verb table, and either names the [`Outcome`] with which the request is refused - nothing
//! has run then - or gives the payload that the verb sees, in which each key reference is replaced
//! by the token that it names.

use wire::control::Personality;
use wire::frame::Outcome;
use wire::grant::{Grant, Rights};
use wire::key::KeyReference;
use wire::verb::{Direction, Kind, Length, Place, TABLE, Verb};

/// In place of a key's length: a reference follows. See [`wire::frame`].
const REFERENCE_MARK: u32 = u32::MAX;
/// Verb numbers are below this.
const NUMBERS: usize = 0x1000;

/// Where tokens of key references come from.
pub trait Keys {
    /// Appends the token of an entry to `out` if the reference is valid for the tenant; appends
    /// nothing and returns `false` otherwise.
    fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> bool;
}

/// A request that may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Its verb.
    pub verb: Verb,
    /// Position of the verb in the table.
    pub row: usize,
    /// Key parameters given by reference, one bit per position; 0 means that the payload may be
    /// used as it came and `out` was not written.
    pub references: u32,
}

/// What a card of one personality admits.
pub struct Admission {
    rows: Box<[u8; NUMBERS]>,
    personality: Personality,
}

const NO_ROW: u8 = u8::MAX;
const _: () = assert!(wire::bounds::PARAMETERS_MAX <= u32::BITS as usize);

impl Admission {
    /// For a card of this personality.
    pub fn new(personality: Personality) -> Self {
        let mut rows = Box::new([NO_ROW; NUMBERS]);
        for (row, entry) in TABLE.iter().enumerate() {
            if let (Some(place), Ok(row)) = (rows.get_mut(entry.verb as usize), u8::try_from(row)) {
                *place = row;
            }
        }
        Self { rows, personality }
    }

    /// Position in the table of the verb of this number; `None` for one that does not exist.
    #[inline]
    pub fn row(&self, number: u16) -> Option<usize> {
        let row = self.rows.get(number as usize).copied().filter(|row| *row != NO_ROW);
        row.map(usize::from)
    }

    /// Checks the request `number` with this `payload` against the grant of its queue. Where keys
    /// are given by reference the payload that the verb sees is written to `out`, which is cleared
    /// first.
    ///
    /// # Errors
    /// The outcome to reply with: [`Outcome::Malformed`], [`Outcome::NotServed`],
    /// [`Outcome::Denied`] or [`Outcome::KeyReference`].
    #[inline]
    pub fn check(
        &self,
        number: u16,
        payload: &[u8],
        grant: &Grant,
        keys: &impl Keys,
        out: &mut Vec<u8>,
    ) -> Result<Admitted, Outcome> {
        let row = self.row(number).ok_or(Outcome::Malformed)?;
        let entry = TABLE.get(row).ok_or(Outcome::Malformed)?;
        match entry.place {
            Place::AnyCard => {}
            Place::Coprocessor if self.personality == Personality::Coprocessor => {}
            Place::Coprocessor | Place::Daemon => return Err(Outcome::NotServed),
        }
        if !grant.rights.contains(entry.right) {
            return Err(Outcome::Denied);
        }
        let references = walk(entry.parameters, payload, grant)?;
        if references != 0 {
            resolve(entry.parameters, payload, grant.tenant, keys, out)?;
        }
        Ok(Admitted { verb: entry.verb, row, references })
    }
}

/// Checks the form of a request payload; returns which parameters are references.
#[inline]
fn walk(parameters: &[wire::verb::Parameter], payload: &[u8], grant: &Grant) -> Result<u32, Outcome> {
    let token_bytes = grant.rights.contains(Rights::TOKEN_BYTES);
    let (mut rest, mut references) = (payload, 0);
    for (position, parameter) in parameters.iter().enumerate() {
        if parameter.direction == Direction::Out {
            continue;
        }
        if parameter.kind == Kind::Integer {
            rest = rest.get(8..).ok_or(Outcome::Malformed)?;
            continue;
        }
        let length = take_length(&mut rest)?;
        let is_key = matches!(parameter.kind, Kind::Key(_));
        if is_key && length == REFERENCE_MARK {
            rest = rest.get(12..).ok_or(Outcome::Malformed)?;
            references |= 1 << position;
            continue;
        }
        let (bytes, after) = rest.split_at_checked(length as usize).ok_or(Outcome::Malformed)?;
        rest = after;
        if is_key && !token_bytes && holds_wrapped_key(bytes) {
            return Err(Outcome::Denied);
        }
    }
    if rest.is_empty() { Ok(references) } else { Err(Outcome::Malformed) }
}

/// Whether a key field holds a token with a wrapped key in it. Empty fields, null tokens, skeletons
/// without a key and clear external PKA tokens are not what [`Rights::TOKEN_BYTES`] guards.
fn holds_wrapped_key(field: &[u8]) -> bool {
    const FIXED_VERSIONS_KEY_PRESENT: u8 = 0x80;
    match field {
        [] | [0x00 | 0x1E, ..] => false,
        // Fixed 64-byte tokens: the first flag says whether a key is there.
        [0x01 | 0x02, _, _, _, version, _, flag, ..] if *version != 0x05 => {
            flag & FIXED_VERSIONS_KEY_PRESENT != 0
        }
        _ => true,
    }
}

/// Writes the payload with tokens in place of references. A length that goes with a key and only
/// travels in is that of the token then.
fn resolve(
    parameters: &[wire::verb::Parameter],
    payload: &[u8],
    tenant: u32,
    keys: &impl Keys,
    out: &mut Vec<u8>,
) -> Result<(), Outcome> {
    out.clear();
    let mut integers = [usize::MAX; wire::bounds::PARAMETERS_MAX];
    let mut rest = payload;
    for (position, parameter) in parameters.iter().enumerate() {
        if parameter.direction == Direction::Out {
            continue;
        }
        if parameter.kind == Kind::Integer {
            if parameter.direction == Direction::In {
                integers[position] = out.len();
            }
            copy(&mut rest, 8, out)?;
            continue;
        }
        let length = take_length(&mut rest)?;
        if !(matches!(parameter.kind, Kind::Key(_)) && length == REFERENCE_MARK) {
            out.extend_from_slice(&length.to_le_bytes());
            copy(&mut rest, length as usize, out)?;
            continue;
        }
        let slot = take_length(&mut rest)?;
        let (generation, after) = rest.split_first_chunk::<8>().ok_or(Outcome::Malformed)?;
        rest = after;
        let reference = KeyReference { slot, generation: u64::from_le_bytes(*generation) };
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        if !keys.append(reference, tenant, out) {
            return Err(Outcome::KeyReference);
        }
        let token_bytes = out.len() - at - 4;
        let length = u32::try_from(token_bytes).map_err(|_| Outcome::KeyReference)?;
        out[at..at + 4].copy_from_slice(&length.to_le_bytes());
        if let Kind::Key(Length::By(by)) = parameter.kind
            && let Some(field) = integers.get(by).and_then(|at| out.get_mut(*at..*at + 8))
        {
            field.copy_from_slice(&i64::from(length).to_le_bytes());
        }
    }
    Ok(())
}

fn take_length(rest: &mut &[u8]) -> Result<u32, Outcome> {
    let (length, after) = rest.split_first_chunk::<4>().ok_or(Outcome::Malformed)?;
    *rest = after;
    Ok(u32::from_le_bytes(*length))
}

fn copy(rest: &mut &[u8], bytes: usize, out: &mut Vec<u8>) -> Result<(), Outcome> {
    let (field, after) = rest.split_at_checked(bytes).ok_or(Outcome::Malformed)?;
    *rest = after;
    out.extend_from_slice(field);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::frame::Arguments;
    use wire::verb::{digital_signature_generate as dsg, mac_generate as mac};

    const REFERENCE: KeyReference = KeyReference { slot: 3, generation: 9 };
    const TENANT: u32 = 77;

    struct One(Vec<u8>);

    impl Keys for One {
        fn append(&self, reference: KeyReference, tenant: u32, out: &mut Vec<u8>) -> bool {
            let valid = reference == REFERENCE && tenant == TENANT;
            if valid {
                out.extend_from_slice(&self.0);
            }
            valid
        }
    }

    fn grant(rights: Rights) -> Grant {
        Grant {
            queue: 1,
            user: 2,
            tenant: TENANT,
            domain: 0,
            rights,
            account: 0,
            share_percent: 0,
            limits: wire::tenant::Limits::default(),
        }
    }

    fn check(
        verb: u16,
        payload: &[u8],
        rights: Rights,
        personality: Personality,
    ) -> Result<Admitted, Outcome> {
        let mut out = Vec::new();
        Admission::new(personality).check(verb, payload, &grant(rights), &One(vec![1; 64]), &mut out)
    }

    fn mac_payload(key: wire::frame::Argument<'_>) -> Vec<u8> {
        let mut arguments = Arguments::new(Verb::MacGenerate);
        arguments.set(mac::KEY_IDENTIFIER, key).set_integer(mac::TEXT_LENGTH, 3).set_bytes(mac::TEXT, b"abc");
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        payload
    }

    #[test]
    fn a_verb_needs_its_right_and_its_place() {
        use Personality::{Accelerator, Coprocessor};
        let payload = mac_payload(wire::frame::Argument::Reference(REFERENCE));
        let number = Verb::MacGenerate as u16;
        assert!(check(number, &payload, Rights::MAC, Coprocessor).is_ok());
        assert_eq!(check(number, &payload, Rights::CIPHER, Coprocessor), Err(Outcome::Denied));
        assert_eq!(check(number, &payload, Rights::ALL, Accelerator), Err(Outcome::NotServed));
        assert!(check(Verb::Null as u16, &[], Rights::PUBLIC, Accelerator).is_ok());
        assert_eq!(check(Verb::Null as u16, &[], Rights::NONE, Accelerator), Err(Outcome::Denied));
        let record = Verb::DesKeyRecordRead as u16;
        assert_eq!(check(record, &[], Rights::ALL, Coprocessor), Err(Outcome::NotServed));
        for number in [0, 0x0FFF, 0x1000, u16::MAX] {
            assert_eq!(check(number, &[], Rights::ALL, Coprocessor), Err(Outcome::Malformed));
        }
    }

    #[test]
    fn wrapped_keys_as_bytes_need_a_right_of_their_own() {
        let mut token = [0; 64];
        token[0] = 1;
        let skeleton = mac_payload(wire::frame::Argument::Bytes(&token));
        token[6] = 0xC0;
        let wrapped = mac_payload(wire::frame::Argument::Bytes(&token));
        let number = Verb::MacGenerate as u16;
        let both = Rights::MAC.union(Rights::TOKEN_BYTES);
        assert!(check(number, &skeleton, Rights::MAC, Personality::Coprocessor).is_ok());
        assert!(check(number, &wrapped, both, Personality::Coprocessor).is_ok());
        assert_eq!(check(number, &wrapped, Rights::MAC, Personality::Coprocessor), Err(Outcome::Denied));
        for start in [0x01, 0x02, 0x1F, 0x20, 0xFF] {
            assert!(holds_wrapped_key(&[start]), "{start:#x}");
        }
    }

    #[test]
    fn a_reference_becomes_its_token_and_its_length() {
        let mut arguments = Arguments::new(Verb::DigitalSignatureGenerate);
        arguments
            .set_integer(dsg::PKA_PRIVATE_KEY_ID_LENGTH, 64)
            .set(dsg::PKA_PRIVATE_KEY_ID, wire::frame::Argument::Reference(REFERENCE))
            .set_integer(dsg::HASH_LENGTH, 20)
            .set_bytes(dsg::HASH, &[7; 20]);
        let mut payload = Vec::new();
        arguments.write_request(&mut payload).unwrap();
        let (admission, mut out) = (Admission::new(Personality::Coprocessor), vec![9; 5]);
        let keys = One(vec![0x1F; 900]);
        let number = Verb::DigitalSignatureGenerate as u16;
        let admitted = admission.check(number, &payload, &grant(Rights::SIGN), &keys, &mut out).unwrap();
        assert_eq!(admitted.references, 1 << dsg::PKA_PRIVATE_KEY_ID);
        let seen = Arguments::read_request(admitted.verb, &out).unwrap();
        assert_eq!(seen.bytes(dsg::PKA_PRIVATE_KEY_ID), &keys.0);
        assert_eq!(seen.integer(dsg::PKA_PRIVATE_KEY_ID_LENGTH), 900);
        assert_eq!(seen.bytes(dsg::HASH), &[7; 20]);

        let mut stranger = grant(Rights::SIGN);
        stranger.tenant += 1;
        let refused = admission.check(number, &payload, &stranger, &keys, &mut out);
        assert_eq!(refused, Err(Outcome::KeyReference));
    }

    proptest! {
        #[test]
        fn what_is_admitted_is_what_the_frame_reader_accepts(
            row in 0..TABLE.len(),
            payload in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let entry = &TABLE[row];
            prop_assume!(entry.place != Place::Daemon);
            let readable = Arguments::read_request(entry.verb, &payload).is_ok();
            let admitted = check(entry.verb as u16, &payload, Rights::ALL, Personality::Coprocessor);
            prop_assert_eq!(readable, !matches!(admitted, Err(Outcome::Malformed)));
        }
    }
}

//! Messages of the control plane, between client, daemon, card and keeper.
//!
//! Each message is one datagram of a `SOCK_SEQPACKET` socket: a [postcard](https://docs.rs/postcard)
//! encoding of at most [`CONTROL_BYTES_MAX`](crate::bounds::CONTROL_BYTES_MAX) bytes, with the
//! descriptors that its doc names, in that order, as `SCM_RIGHTS`.
//!
//! | from | to | request | answer |
//! |---|---|---|---|
//! | client | daemon | [`ClientRequest`] | [`ClientReply`], one each, in order |
//! | daemon | card | [`CardOrder`] | [`CardNotice`], also unasked |
//! | daemon | keeper | [`KeeperOrder`] | [`KeeperNotice`], one each, in order; some unasked |
//! | keeper | card | [`Delivery`] | [`Received`] |
//! | officer | keeper of a system service | [`ClientRequest::Hello`], [`ClientRequest::Officer`] | [`ClientReply`] |
//! | daemon | launcher of a system service | [`LaunchOrder`] | [`LaunchReply`] |

mod card;
mod client;
mod health;
mod holders;
mod isolation;
mod keeper;
mod launch;
mod master_key_pattern;
mod message;
mod officer;
mod record;
mod refusal;

pub use card::{
    CardNotice, CardOrder, CardRow, CardStart, CardState, Denial, Denied, DeniedBy, TokenForm, TokenForms,
};
pub use client::{
    Apart, ClientReply, ClientRequest, Outdated, QueueMemoryUse, RecordRow, Space, Status, Store, Upgrade,
};
pub use health::{Finding, FindingKind, HealthState, health_of};
pub use holders::{ProcessQueues, QueueBound, QueueHolders, QueueRefusals};
pub use isolation::{Isolation, SecretMemory, SecretPages};
pub use keeper::{
    CardGreeting, Delivery, Handout, KeeperNotice, KeeperOrder, MasterKeyPair, Received, Served, Unattended,
    Unseal, Unsealing,
};
pub use launch::{LaunchOrder, LaunchReply};
pub use master_key_pattern::MasterKeyPattern;
pub use message::{MessageError, decode, encode};
pub use officer::{
    NewState, OfficerOrder, OfficerRefusal, OfficerReply, PURPOSE_PART, PURPOSE_PASSPHRASE, Part,
    PendingOrder, RegisterRow, Sealed, TwoOfficers, purpose_of_part,
};
pub use record::{MasterKeyName, Record, RecordsOfKey, RecordsUnder, Replacement};
pub use refusal::Refusal;

pub use crate::card::{Personality, PollMode};
pub use crate::level::{LEVEL_VARIABLE, LevelLimit, UnknownLevel};
pub use crate::registers::Register;

/// Version of every message here, of the layouts of shared memory and of the files in a home's `run/`; peers of
/// another version are refused by name.
///
/// Four messages are read across versions, and so begin alike in all of them: [`ClientRequest::Hello`] and
/// [`CardOrder::Start`] and [`KeeperOrder::Start`], whose version stands first, and [`ClientReply::Refused`] with
/// [`Refusal::Version`].
pub const CONTROL_VERSION: u16 = 15;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::{CALL_BYTES_MAX, CONTROL_BYTES_MAX};
    use crate::code;
    use crate::key::Label;
    use proptest::prelude::*;

    #[test]
    fn messages_read_back_and_refuse_trailing_bytes() {
        let request = ClientRequest::Call { domain: 1, card: None, verb: 0x0303, payload: vec![1; 64] };
        let mut bytes = encode(&request).unwrap();
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap(), request);
        bytes.push(0);
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap_err(), MessageError::Malformed);
    }

    #[test]
    fn what_is_read_across_versions_begins_alike_in_all() {
        let hello = ClientRequest::Hello { version: 2, credential: None, completions: false };
        assert_eq!(encode(&hello).unwrap()[..2], [0, 2]);
        let refused = ClientReply::Refused(Refusal::Version { daemon: 3, client: 2 });
        assert_eq!(encode(&refused).unwrap(), [11, 0, 3, 2]);
        let keeper = KeeperOrder::Start {
            version: 2,
            domains: 1,
            insecure_seed: None,
            service: false,
            unattended: None,
        };
        assert_eq!(encode(&keeper).unwrap()[..2], [0, 2]);
        let card = CardStart {
            version: 2,
            index: 9,
            generation: 9,
            personality: Personality::Coprocessor,
            domains: 9,
            poll: PollMode::Spin,
            separate_tenants: true,
            weak_algorithms: true,
            tokens: TokenForms::default(),
            processors: None,
            prepared_keys_bytes: 9,
        };
        assert_eq!(encode(&CardOrder::Start(card)).unwrap()[..2], [0, 2]);
    }

    #[test]
    fn the_first_message_of_another_version_is_known_whatever_follows() {
        let (other, more) = (CONTROL_VERSION + 1, [200, 9, 9, 9]);
        let bytes = [&[0, other as u8][..], &more].concat();
        let error = decode::<ClientRequest>(&bytes).unwrap_err();
        assert_eq!(error, MessageError::Version(other));
        assert_eq!(decode::<CardOrder>(&bytes).unwrap_err(), error);
        assert_eq!(decode::<KeeperOrder>(&[&bytes[..], &[1]].concat()).unwrap_err(), error);
        let own = [&[0, CONTROL_VERSION as u8][..], &more].concat();
        assert_eq!(decode::<ClientRequest>(&own).unwrap_err(), MessageError::Malformed);
        assert_eq!(decode::<ClientRequest>(&[250, 1]).unwrap_err(), MessageError::Malformed);
    }

    #[test]
    fn a_message_carries_only_valid_labels() {
        let good = ClientRequest::OpenLabel { label: Label::new("ABC").unwrap() };
        let mut bytes = encode(&good).unwrap();
        let at = bytes.iter().position(|byte| *byte == b'A').unwrap();
        bytes[at] = b'1';
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap_err(), MessageError::Malformed);
    }

    #[test]
    fn too_long_is_refused_both_ways() {
        let long = ClientReply::Called { codes: code::OK, payload: vec![0; CONTROL_BYTES_MAX + 1] };
        assert!(matches!(encode(&long).unwrap_err(), MessageError::TooLong(_)));
        assert!(matches!(
            decode::<ClientReply>(&vec![0; CONTROL_BYTES_MAX + 1]),
            Err(MessageError::TooLong(_))
        ));
    }

    #[test]
    fn the_longest_call_fits_a_message() {
        let payload = vec![7; CALL_BYTES_MAX];
        encode(&ClientRequest::Call {
            domain: u16::MAX,
            card: Some(u32::MAX),
            verb: u16::MAX,
            payload: payload.clone(),
        })
        .unwrap();
        let codes = crate::Codes::new(i32::MIN, i32::MAX);
        encode(&ClientReply::Called { codes, payload }).unwrap();
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<ClientRequest>(&bytes);
            let _ = decode::<ClientReply>(&bytes);
            let _ = decode::<CardOrder>(&bytes);
            let _ = decode::<CardNotice>(&bytes);
            let _ = decode::<KeeperOrder>(&bytes);
            let _ = decode::<KeeperNotice>(&bytes);
            let _ = decode::<CardGreeting>(&bytes);
            let _ = decode::<LaunchOrder>(&bytes);
            let _ = decode::<LaunchReply>(&bytes);
        }
    }
}

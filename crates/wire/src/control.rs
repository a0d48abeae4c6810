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
//! | daemon | keeper | [`KeeperOrder`] | [`KeeperNotice`], one each, in order |
//! | keeper | card | [`Handout`] | none |

mod card;
mod client;
mod keeper;
mod level;
mod message;
mod officer;
mod refusal;

pub use card::{CardNotice, CardOrder, CardRow, CardStart, CardState, Personality, PollMode};
pub use client::{ClientReply, ClientRequest, RecordRow, Status, Store};
pub use keeper::{Handout, KeeperNotice, KeeperOrder, MasterKeyPair};
pub use level::{LEVEL_VARIABLE, LevelLimit, UnknownLevel};
pub use message::{MessageError, decode, encode};
pub use officer::{
    NewState, OfficerOrder, OfficerRefusal, OfficerReply, PURPOSE_PART, PURPOSE_PASSPHRASE, Part, Register,
    RegisterRow, Sealed,
};
pub use refusal::Refusal;

/// Version of every message here; peers of another version are refused by name.
pub const CONTROL_VERSION: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::CONTROL_BYTES_MAX;
    use crate::key::Label;
    use proptest::prelude::*;

    #[test]
    fn messages_read_back_and_refuse_trailing_bytes() {
        let request = ClientRequest::RecordWrite {
            store: Store::Des,
            label: Label::new("A.B").unwrap(),
            token: vec![1; 64],
        };
        let mut bytes = encode(&request).unwrap();
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap(), request);
        bytes.push(0);
        assert_eq!(decode::<ClientRequest>(&bytes).unwrap_err(), MessageError::Malformed);
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
        let long = ClientReply::Token(vec![0; CONTROL_BYTES_MAX + 1]);
        assert!(matches!(encode(&long).unwrap_err(), MessageError::TooLong(_)));
        assert!(matches!(
            decode::<ClientReply>(&vec![0; CONTROL_BYTES_MAX + 1]),
            Err(MessageError::TooLong(_))
        ));
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
        }
    }
}

//! Master-key registers, and the orders of officers to the keeper.

use super::{MasterKeyName, MasterKeyPattern};
use crate::registers::Register;
use serde::{Deserialize, Serialize};

/// How far a new-master-key register is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewState {
    /// No part loaded.
    Empty,
    /// The first part is loaded, the last is not.
    Partial,
    /// Complete: may be set.
    Full,
}

/// The public state of the registers of one kind in one domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRow {
    /// Number of the domain.
    pub domain: u16,
    /// The kind of register.
    pub register: Register,
    /// How far the new register is filled.
    pub new_state: NewState,
    /// Verification pattern of the new key, once complete.
    pub new_pattern: Option<MasterKeyPattern>,
    /// Verification pattern of the current key.
    pub current_pattern: Option<MasterKeyPattern>,
    /// Verification pattern of the old key.
    pub old_pattern: Option<MasterKeyPattern>,
    /// Whether current and old key are in the sealed copy, from which a keeper that starts anew can
    /// restore them.
    pub is_sealed: bool,
}

impl RegisterRow {
    /// Names of the keys of this register that cards have: the current one, then the old one.
    pub fn keys(&self) -> impl Iterator<Item = MasterKeyName> + use<> {
        let register = self.register;
        [self.current_pattern, self.old_pattern]
            .into_iter()
            .flatten()
            .map(move |pattern| MasterKeyName { register, pattern: pattern.name() })
    }
}

/// The place of a part among the parts of a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The first part: starts a new key; the register must be empty.
    First,
    /// A part between: combined by exclusive or with the parts before it.
    Middle,
    /// The last part: combined by exclusive or; completes the key.
    Last,
}

/// A secret on its way to the keeper, sealed to its start-up key: HPKE-like, an ephemeral X25519
/// share, HKDF-SHA256 (RFC 5869) over the shared secret with both public keys as salt and the
/// purpose as info, AES-256-GCM with a zero nonce (each key is used once) and the purpose as
/// associated data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The sender's ephemeral public key.
    pub share: [u8; 32],
    /// Ciphertext and tag.
    pub ciphertext: Vec<u8>,
}

/// The purpose of a [`Sealed`] key part, as far as all parts share it; [`purpose_of_part`] adds the
/// place of one. The purpose is bound into the secret, so that a secret cannot be passed off as
/// another.
pub const PURPOSE_PART: &[u8] = b"cryptand master-key part";
/// The purpose of a [`Sealed`] passphrase; bound into it as [`PURPOSE_PART`] is.
pub const PURPOSE_PASSPHRASE: &[u8] = b"cryptand unsealing passphrase";

/// The purpose of a sealed part: [`PURPOSE_PART`], its domain (little-endian), its register, and
/// whether it is the first, the last or one between them.
pub fn purpose_of_part(domain: u16, register: Register, part: Part) -> Vec<u8> {
    let [low, high] = domain.to_le_bytes();
    [PURPOSE_PART, &[low, high, register as u8, part as u8]].concat()
}

/// An order of one officer that another one must confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingOrder {
    /// Number that no other order of this keeper has.
    pub number: u64,
    /// User id of the officer who gave the order.
    pub officer: u32,
    /// The order that waits.
    pub what: TwoOfficers,
}

/// The orders that take two officers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TwoOfficers {
    /// To set new master keys: [`OfficerOrder::Set`].
    Set {
        /// Number of the domain.
        domain: u16,
    },
    /// To seal all registers: [`OfficerOrder::SealUnder`].
    Seal,
}

/// Officers' orders to the keeper. The keeper of a system service keeps [`OfficerOrder::Set`] and
/// [`OfficerOrder::SealUnder`] for a second officer: it answers [`OfficerReply::Awaits`], and gives the real answer to
/// the officer who confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfficerOrder {
    /// Asks for the key that secrets are sealed to; answered by [`OfficerReply::StartupKey`].
    StartupKey,
    /// Loads a part into the new register; answered by [`OfficerReply::PartLoaded`]. Refused, like
    /// [`OfficerOrder::MayLoad`] and [`OfficerOrder::Set`], while there are sealed registers that the keeper has not
    /// opened.
    LoadPart {
        /// Number of the domain.
        domain: u16,
        /// Register that the part is of.
        register: Register,
        /// Place of the part in the key.
        part: Part,
        /// The part, sealed for [`PURPOSE_PART`].
        sealed: Sealed,
    },
    /// Clears the new register; answered by [`OfficerReply::Done`].
    ClearNew {
        /// Number of the domain.
        domain: u16,
        /// Register that is cleared.
        register: Register,
    },
    /// Moves, at once, current to old and new to current in all full registers of a domain;
    /// answered by [`OfficerReply::Done`].
    Set {
        /// Number of the domain.
        domain: u16,
    },
    /// Seals all registers under a passphrase and has the daemon store them; answered by [`OfficerReply::Done`].
    /// Refused if nothing is loaded, and if there are sealed registers which the keeper has not opened, or which
    /// `former` does not open: somebody at an officer's unattended terminal cannot set a passphrase of his own.
    SealUnder {
        /// The passphrase, sealed for [`PURPOSE_PASSPHRASE`].
        sealed: Sealed,
        /// The passphrase of the sealed copy that is there, sealed likewise; none where there is no copy.
        former: Option<Sealed>,
    },
    /// Opens the sealed registers of the home; answered by [`OfficerReply::Done`].
    Unseal {
        /// The passphrase, sealed for [`PURPOSE_PASSPHRASE`].
        sealed: Sealed,
    },
    /// Asks for the state of all registers; answered by [`OfficerReply::Registers`].
    Registers,
    /// Asks which order waits for a second officer; answered by [`OfficerReply::Pending`].
    Pending,
    /// Confirms another officer's order, and carries it out.
    Confirm {
        /// Number of the order to confirm: its [`PendingOrder::number`].
        number: u64,
    },
    /// Asks whether a part would be taken from this officer now, before one is drawn or typed; answered by
    /// [`OfficerReply::Done`]. Changes nothing.
    MayLoad {
        /// Number of the domain.
        domain: u16,
        /// Register that the part is of.
        register: Register,
        /// Place of the part in the key.
        part: Part,
    },
}

impl OfficerOrder {
    /// Whether the keeper must know of the home's sealed copy to judge this order: the order opens
    /// or replaces the copy, or would give cards other keys than those in it.
    /// [`OfficerOrder::Confirm`] carries such an order out.
    pub const fn needs_sealed(&self) -> bool {
        match self {
            Self::LoadPart { .. }
            | Self::MayLoad { .. }
            | Self::Set { .. }
            | Self::SealUnder { .. }
            | Self::Unseal { .. }
            | Self::Confirm { .. } => true,
            Self::StartupKey | Self::ClearNew { .. } | Self::Registers | Self::Pending => false,
        }
    }
}

/// The keeper's answer to an officer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfficerReply {
    /// The X25519 public key that secrets are sealed to; made anew at each start of the keeper.
    StartupKey([u8; 32]),
    /// A part was combined; its own verification pattern, and the register's once complete.
    PartLoaded {
        /// Pattern of this part alone.
        part_pattern: MasterKeyPattern,
        /// Pattern of the whole key, after the last part.
        key_pattern: Option<MasterKeyPattern>,
    },
    /// Rows of all registers.
    Registers(Vec<RegisterRow>),
    /// The order waits for another officer.
    Awaits(PendingOrder),
    /// The order that waits for another officer; none if no order waits.
    Pending(Option<PendingOrder>),
    /// The order was carried out.
    Done,
    /// The order was refused, for this reason.
    Refused(OfficerRefusal),
}

/// Why the keeper refused an officer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OfficerRefusal {
    /// The sealed secret does not open: a stale start-up key, or a changed message.
    SealedSecret,
    /// A part of this length does not fit the register.
    PartLength,
    /// The order does not fit the state of the register.
    RegisterState,
    /// The key equals the current or the old one, by its verification pattern.
    SameKey,
    /// The passphrase does not open the sealed registers.
    Passphrase,
    /// The home holds no sealed registers.
    NothingSealed,
    /// Registers are already loaded.
    AlreadyUnsealed,
    /// The domain does not exist.
    Domain,
    /// The sealed registers are of a newer version.
    NewerVersion,
    /// There are sealed registers that this keeper has not opened: other keys in their place would leave records
    /// without theirs.
    NotUnsealed,
    /// Cards are being given new keys: the registers do not change until all cards have them.
    Spreading,
    /// Opening the sealed registers takes more memory than is free.
    Memory,
    /// Another officer must give this order than the one who gave the first half, or nobody knows
    /// who gave that half.
    SameOfficer,
    /// No order of this number waits for a second officer.
    NothingPending,
    /// The user who asks is no officer of this keeper.
    NotAnOfficer,
    /// The sealed registers could not be written.
    NotStored,
    /// There are sealed registers, and their passphrase was not given.
    FormerPassphrase,
    /// Too many wrong passphrases were given.
    Wait {
        /// Seconds until a passphrase may be tried again.
        seconds: u32,
    },
}

impl std::fmt::Display for OfficerRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Wait { seconds } => {
                return write!(f, "too many wrong passphrases: try again in {seconds} s");
            }
            Self::SealedSecret => "the sealed secret does not open: the keeper was started anew meanwhile, or the message was changed; run the command again",
            Self::PartLength => "the key part does not have the length of the register",
            Self::RegisterState => "the register is in a state that does not allow this",
            Self::SameKey => "the new master key has the pattern of the current or the old one; load another last part, or clear the register with \
                 `cryptand master-key clear` and begin anew",
            Self::Passphrase => "the passphrase does not open the sealed master keys",
            Self::NothingSealed => "there are no sealed master keys to open; `cryptand master-key load` loads parts",
            Self::AlreadyUnsealed => "master keys are loaded already: `cryptand master-key show` says which; where these are parts of new ones only, \
                 `cryptand master-key clear` them first",
            Self::Domain => "there is no such domain; `domains` in the settings says how many there are, counted from 0",
            Self::NewerVersion => "the sealed master keys were written by a newer version",
            Self::Memory => {
                "deriving the key from the passphrase takes more memory than was free when the keeper started; free some, or \
                 raise MemoryMax= of the unit, and start the home anew"
            }
            Self::SameOfficer => {
                "this takes another officer than the one who gave the first part, or ordered it; where nobody knows \
                 who that was, clear the register and begin anew"
            }
            Self::NothingPending => "nothing of this number waits for a second officer; `cryptand master-key pending` shows what waits",
            Self::NotAnOfficer => "this user is no officer of the keeper; the file of the service names them (officers = ...)",
            Self::FormerPassphrase => "replacing the existing sealed master keys needs their passphrase",
            Self::NotStored => "the sealed master keys were not written; the keeper's log says why",
            Self::Spreading => "cards are being given new master keys; run the command again in a moment",
            Self::NotUnsealed => {
                "there are sealed master keys, which were not unsealed since the keeper's start; other keys in their place would \
                 leave records without theirs. Open them first: `cryptand unseal`"
            }
        })
    }
}

impl std::error::Error for OfficerRefusal {}

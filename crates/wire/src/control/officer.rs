//! Master-key registers, and what officers ask of the keeper.

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
    /// The domain.
    pub domain: u16,
    /// The register.
    pub register: Register,
    /// How far the new register is filled.
    pub new_state: NewState,
    /// Verification pattern of the new key, once complete.
    pub new_pattern: Option<MasterKeyPattern>,
    /// Verification pattern of the current key.
    pub current_pattern: Option<MasterKeyPattern>,
    /// Verification pattern of the old key.
    pub old_pattern: Option<MasterKeyPattern>,
    /// Whether current and old key are in the sealed copy, so that a keeper that starts anew can have them back.
    pub is_sealed: bool,
}

impl RegisterRow {
    /// The keys that it holds and cards have: the current one, then the old one.
    pub fn keys(&self) -> impl Iterator<Item = MasterKeyName> + use<> {
        let register = self.register;
        [self.current_pattern, self.old_pattern]
            .into_iter()
            .flatten()
            .map(move |pattern| MasterKeyName { register, pattern: pattern.name() })
    }
}

/// Which part of a master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Starts a new key; the register must be empty.
    First,
    /// Combined by exclusive or.
    Middle,
    /// Combined by exclusive or; completes the key.
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

/// What a [`Sealed`] secret is for: bound into it, so that one cannot be passed off as another. Of a part it goes on
/// with the place that it is for: [`purpose_of_part`].
pub const PURPOSE_PART: &[u8] = b"cryptand master-key part";
/// See [`PURPOSE_PART`].
pub const PURPOSE_PASSPHRASE: &[u8] = b"cryptand unsealing passphrase";

/// What a part is sealed for: its domain, its register, and whether it is the first, the last or one between them.
pub fn purpose_of_part(domain: u16, register: Register, part: Part) -> Vec<u8> {
    let [low, high] = domain.to_le_bytes();
    [PURPOSE_PART, &[low, high, register as u8, part as u8]].concat()
}

/// An order of one officer that another one must confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingOrder {
    /// Tells it from every other of this keeper.
    pub number: u64,
    /// User id of who ordered it.
    pub officer: u32,
    /// What it is.
    pub what: TwoOfficers,
}

/// What takes two officers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TwoOfficers {
    /// [`OfficerOrder::Set`].
    Set {
        /// The domain.
        domain: u16,
    },
    /// [`OfficerOrder::SealUnder`].
    Seal,
}

/// Officers' orders to the keeper. The keeper of a system service keeps [`OfficerOrder::Set`] and
/// [`OfficerOrder::SealUnder`] for a second officer: it answers [`OfficerReply::Awaits`], and gives the real answer to
/// the officer who confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OfficerOrder {
    /// Answered by [`OfficerReply::StartupKey`].
    StartupKey,
    /// Loads a part into the new register; answered by [`OfficerReply::PartLoaded`]. Refused, like
    /// [`OfficerOrder::MayLoad`] and [`OfficerOrder::Set`], while there are sealed registers that the keeper has not
    /// opened.
    LoadPart {
        /// The domain.
        domain: u16,
        /// The register.
        register: Register,
        /// Which part.
        part: Part,
        /// The part, sealed for [`PURPOSE_PART`].
        sealed: Sealed,
    },
    /// Clears the new register; answered by [`OfficerReply::Done`].
    ClearNew {
        /// The domain.
        domain: u16,
        /// The register.
        register: Register,
    },
    /// Moves, at once, current to old and new to current in all full registers of a domain;
    /// answered by [`OfficerReply::Done`].
    Set {
        /// The domain.
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
    /// Answered by [`OfficerReply::Registers`].
    Registers,
    /// Asks which order waits for a second officer; answered by [`OfficerReply::Pending`].
    Pending,
    /// Confirms another officer's order, and carries it out.
    Confirm {
        /// [`PendingOrder::number`].
        number: u64,
    },
    /// Asks whether a part would be taken from this officer now, before one is drawn or typed; answered by
    /// [`OfficerReply::Done`]. Changes nothing.
    MayLoad {
        /// The domain.
        domain: u16,
        /// The register.
        register: Register,
        /// Which part.
        part: Part,
    },
}

impl OfficerOrder {
    /// Whether the keeper must know of the home's sealed copy to judge it: it opens or replaces the copy, or would give
    /// cards other keys than those in it. [`OfficerOrder::Confirm`] carries such an order out.
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
    /// The registers.
    Registers(Vec<RegisterRow>),
    /// It waits for another officer.
    Awaits(PendingOrder),
    /// What waits for another officer.
    Pending(Option<PendingOrder>),
    /// It is done.
    Done,
    /// It was refused, for this reason.
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
    /// The register is not in the state that this needs.
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
    /// Cards are being given new keys: the registers stay as they are until all have them.
    Spreading,
    /// Opening the sealed registers takes more memory than is free.
    Memory,
    /// This needs an officer other than the one who gave the first half; or it is unknown who that was.
    SameOfficer,
    /// Nothing of this number waits for a second officer.
    NothingPending,
    /// Who asks is no officer of this keeper.
    NotAnOfficer,
    /// The sealed registers could not be written.
    NotStored,
    /// There are sealed registers, and their passphrase was not given.
    FormerPassphrase,
    /// Too many wrong passphrases were given.
    Wait {
        /// Seconds until one may be tried again.
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

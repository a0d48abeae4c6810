//! Which key of a transaction is derived: what a profile has behind its fields, and the base key for it.
//!
//! | keyword | behind the 24 bytes of the profile | base key |
//! |---|---|---|
//! | DUKPT-.. | the key serial number, of 10 bytes | KEYGENKY with UKPT |
//! | ADUKPT.. | derivation data, of 20 bytes ([`Transaction`]) | DKYGENKY of AES with A-DUKPT, of D-ALL or D-PPROT |
//!
//! By AES, keys of AES are derived for ISO-4, and of TDES for blocks of 8 bytes; none that is stronger than its base
//! key.

use super::keys::{self, Working};
use super::{BLOCK_BYTES, Block};
use crate::call::Call;
use crate::ground::Refusal;
use crate::key::opening::Opening;
use crate::key::{Key, Renewal};
use crate::pass::{Cipher, Derive, KeyRule, Token};
use crate::wipe::Text;
use engine::{CipherAlgorithm, CipherDirection, Mode, SecretBytes};
use payments::dukpt::aes::{TRANSACTION_BYTES, Transaction, TransactionFault};
use payments::dukpt::tdes::Serial;
use token::usage::Use;
use token::variable::{PinField, VariableUse};
use wire::verb::{PinDerivation, PinDerivationBoth, PinDerivationOut, PinDerivations};
use wire::{Codes, code};

/// Where a profile has the derivation data.
const DATA_AT: usize = 24;

/// How a request says that the key of a side is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Not at all.
    Fixed,
    /// By TDES.
    Tdes,
    /// By AES.
    Aes,
}

impl Method {
    /// Of the side that comes in, and of the one that goes out.
    ///
    /// # Errors
    /// 8/33 for keys of single length.
    pub(crate) fn of(keyword: Option<PinDerivations>) -> Result<(Self, Self), Codes> {
        Ok(match keyword {
            None => (Self::Fixed, Self::Fixed),
            Some(PinDerivations::In) => (Self::Tdes, Self::Fixed),
            Some(PinDerivations::Out) => (Self::Fixed, Self::Tdes),
            Some(PinDerivations::Both) => (Self::Tdes, Self::Tdes),
            Some(PinDerivations::AesIn) => (Self::Aes, Self::Fixed),
            Some(PinDerivations::AesOut) => (Self::Fixed, Self::Aes),
            Some(PinDerivations::AesBoth) => (Self::Aes, Self::Aes),
            Some(PinDerivations::SingleIn | PinDerivations::SingleOut | PinDerivations::SingleBoth) => {
                return Err(code::KEYWORD);
            }
        })
    }

    /// The same, where each side has a keyword, or both have one.
    ///
    /// # Errors
    /// 8/33 for keys of single length.
    pub(crate) fn of_each(
        keyword_in: Option<PinDerivation>,
        keyword_out: Option<PinDerivationOut>,
        keyword_both: Option<PinDerivationBoth>,
    ) -> Result<(Self, Self), Codes> {
        match keyword_both {
            None => {}
            Some(PinDerivationBoth::Both) => return Ok((Self::Tdes, Self::Tdes)),
            Some(PinDerivationBoth::AesBoth) => return Ok((Self::Aes, Self::Aes)),
            Some(PinDerivationBoth::SingleBoth) => return Err(code::KEYWORD),
        }
        let out = match keyword_out {
            None => Self::Fixed,
            Some(PinDerivationOut::Out) => Self::Tdes,
            Some(PinDerivationOut::AesOut) => Self::Aes,
            Some(PinDerivationOut::SingleOut) => return Err(code::KEYWORD),
        };
        Ok((Self::of_one(keyword_in)?, out))
    }

    /// Of a side that comes in.
    ///
    /// # Errors
    /// 8/33 for keys of single length.
    pub(crate) fn of_one(keyword: Option<PinDerivation>) -> Result<Self, Codes> {
        match keyword {
            None => Ok(Self::Fixed),
            Some(PinDerivation::In) => Ok(Self::Tdes),
            Some(PinDerivation::AesIn) => Ok(Self::Aes),
            Some(PinDerivation::SingleIn) => Err(code::KEYWORD),
        }
    }
}

/// The key of a side.
#[derive(Clone, Copy)]
pub(crate) enum Derivation {
    /// As it is in its token.
    None,
    Tdes(Serial),
    Aes(Transaction),
}

impl Derivation {
    /// What is behind the fields of a profile, for a block of ISO-4 or one of 8 bytes.
    ///
    /// # Errors
    /// 8/21 for a profile that ends before it, 8/2050 for a counter that no terminal gets to, 8/50 for derivation data
    /// of another key than one for such a block, 8/34 for keys by TDES for ISO-4.
    pub(crate) fn read(profile: &[u8], method: Method, is_iso4: bool) -> Result<Self, Refusal> {
        match method {
            Method::Fixed => Ok(Self::None),
            Method::Tdes if is_iso4 => Err(code::KEYWORD_COMBINATION.into()),
            Method::Tdes => Ok(keys::serial(profile, true)?.map_or(Self::None, Self::Tdes)),
            Method::Aes => {
                let data = profile.get(DATA_AT..).and_then(|rest| rest.first_chunk::<TRANSACTION_BYTES>());
                let transaction = Transaction::read(data.ok_or(code::INVALID_PARAMETER)?);
                let transaction = transaction.map_err(|fault| match fault {
                    TransactionFault::Head => code::KEY_SERIAL,
                    TransactionFault::Counter => code::SERIAL_COUNTER,
                })?;
                if transaction.kind.is_aes() != is_iso4 {
                    return Err(code::KEY_SERIAL.into());
                }
                Ok(Self::Aes(transaction))
            }
        }
    }

    /// Starts opening the key of blocks of 8 bytes: for this use, or for keys to be derived from it.
    ///
    /// # Errors
    /// 8/39 for a key that is not for this.
    pub(crate) fn open<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
        field: &'a [u8],
        usage: Use,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        match self {
            Self::None => keys::open(call, field, usage, None),
            Self::Tdes(serial) => keys::open(call, field, usage, Some(serial)),
            Self::Aes(_) => call.key(field)?.variable()?.for_variable_use(VariableUse::DerivePinBlock),
        }
    }

    /// The same of blocks of ISO-4.
    ///
    /// # Errors
    /// 8/39 for a key that is not for this.
    pub(crate) fn open_field<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
        field: &'a [u8],
        usage: PinField,
    ) -> Result<Opening<'p, 'a>, Refusal> {
        let usage = match self {
            Self::Aes(_) => VariableUse::DerivePinField(usage),
            Self::None | Self::Tdes(_) => VariableUse::PinField(usage),
        };
        call.key(field)?.variable()?.for_variable_use(usage)
    }

    /// Starts deriving the key, where it is derived.
    ///
    /// # Errors
    /// 8/39 for a base key by TDES that is not of two parts, 8/170 for a key of AES that is stronger than its base key.
    pub(crate) fn working<'p>(&self, call: Call<'p, '_>, key: &Key) -> Result<Working<'p>, Codes> {
        match self {
            Self::None => Working::of(call, key, None),
            Self::Tdes(serial) => Working::of(call, key, Some(*serial)),
            Self::Aes(transaction) => {
                let (base, transaction) = (key.secret.clone(), *transaction);
                if transaction.kind.is_aes() && transaction.kind.bytes() > base.len() {
                    return Err(code::STRENGTH);
                }
                Ok(Working::Derived(call.ask(Derive::AesDukpt { base, transaction })))
            }
        }
    }

    /// Starts wrapping the key anew for a field of fixed length, as [`Key::renew`]. A base key of AES has a token that
    /// such a field does not hold: its record is what is renewed.
    pub(crate) fn renew<'p, 'a>(
        &self,
        call: Call<'p, 'a>,
        key: &Key,
        field: &'a [u8],
    ) -> Result<Option<Renewal<'p>>, Refusal> {
        match self {
            Self::Aes(_) => Ok(None),
            Self::None | Self::Tdes(_) => key.renew(call, field).map(Some),
        }
    }

    /// The token of what is wrapped anew, if there is one.
    pub(crate) async fn token(renewal: Option<Renewal<'_>>) -> Result<Option<Token>, Codes> {
        match renewal {
            Some(renewal) => renewal.token().await,
            None => Ok(None),
        }
    }

    /// A block of 8 bytes through TDES: by AES, keys of three parts are derived as well.
    ///
    /// # Errors
    /// As [`super::cipher`].
    pub(crate) async fn cipher(
        &self,
        call: Call<'_, '_>,
        key: &SecretBytes,
        direction: CipherDirection,
        block: &[u8; BLOCK_BYTES],
    ) -> Result<Block, Refusal> {
        let algorithm = CipherAlgorithm::Tdes3;
        if !matches!(self, Self::Aes(_)) || key.len() != algorithm.key_bytes() {
            return super::cipher(call, key, direction, block).await;
        }
        let (rule, mode) = (KeyRule::Chosen, Mode::Ecb);
        let (key, data) = (key.clone(), Text::from(&block[..]));
        let done = call.ask(Cipher { algorithm, rule, mode, direction, key, chain: [0; 16], data }).await?;
        let mut out = Block::default();
        out.copy_from_slice(&done.data);
        Ok(out)
    }
}

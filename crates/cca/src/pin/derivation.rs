//! Which key of a transaction is derived: what a profile has behind its fields, and the base key for it.
//!
//! | keyword | behind the 24 bytes of the profile | base key |
//! |---|---|---|
//! | DUKPT-.. | the key serial number, in characters or bytes ([`Serial::of_field`]) | KEYGENKY with UKPT |
//! | ADUKPT.. | derivation data, of 20 bytes ([`Transaction`]) | DKYGENKY of AES with A-DUKPT, of D-ALL or D-PPROT |
//!
//! By AES, keys of AES are derived for ISO-4, and keys of TDES for blocks of 8 bytes. No derived key may be stronger
//! than its base key.

use super::keys::{self, Working};
use crate::call::Call;
use crate::ground::Refusal;
use crate::key::opening::Opening;
use crate::key::{Key, Renewal};
use crate::pass::{Derive, Token};
use payments::dukpt::aes::{TRANSACTION_BYTES, Transaction, TransactionFault};
use payments::dukpt::tdes::Serial;
use token::usage::Use;
use token::variable::{PinField, VariableUse};
use wire::verb::{PinDerivation, PinDerivationBoth, PinDerivationOut, PinDerivations};
use wire::{Codes, code};

/// Offset of the derivation data in a profile.
const DATA_AT: usize = 24;

/// The method by which a request says that the key of a side is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// No derivation: the key is used as it is.
    Fixed,
    /// DUKPT by TDES.
    Tdes,
    /// DUKPT by AES.
    Aes,
}

impl Method {
    /// The methods of the input side and of the output side.
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

    /// The methods of both sides, where each side has a keyword of its own, or one keyword covers both.
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

    /// The method of an input side.
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

/// How the key of a side is derived, with the data for it.
#[derive(Clone, Copy)]
pub(crate) enum Derivation {
    /// The key is used as it is in its token.
    None,
    Tdes(Serial),
    Aes(Transaction),
}

impl Derivation {
    /// The derivation data behind the fields of a profile, for a block of ISO-4 or of 8 bytes.
    ///
    /// # Errors
    /// 8/21 for a profile that ends before the data, 8/2050 for what is no key serial number and for a counter that no
    /// terminal reaches, 8/50 for derivation data of a key for another purpose, 8/34 for keys by TDES for ISO-4.
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

    /// Starts opening the key for blocks of 8 bytes: a key for this use, or a base key if the key is derived.
    ///
    /// # Errors
    /// 8/39 for a key that does not permit this.
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

    /// Starts opening the key for blocks of ISO-4: a key for this use, or a base key if the key is derived.
    ///
    /// # Errors
    /// 8/39 for a key that does not permit this.
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

    /// Starts deriving the key of the transaction; without derivation, gives the key as it is.
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

    /// Starts wrapping the key anew for a field of fixed length, as [`Key::renew`]. The token of an AES base key does
    /// not fit such a field, so only its key record is renewed.
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

    /// The token of a key that is wrapped anew, if there is one.
    pub(crate) async fn token(renewal: Option<Renewal<'_>>) -> Result<Option<Token>, Codes> {
        match renewal {
            Some(renewal) => renewal.token().await,
            None => Ok(None),
        }
    }
}

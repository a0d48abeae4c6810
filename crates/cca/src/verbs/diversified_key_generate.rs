//! Diversified_Key_Generate (CSNBDKG): a DES key is derived from data, under a key that is for that.
//!
//! | keyword | data in bytes | how the key comes of them |
//! |---|---|---|
//! | CLR8-ENC | 8 | enciphered under a KEYGENKY key with CLR8-ENC |
//! | TDES-ENC, TDES-DEC | as the key | enciphered or deciphered under a DKYGENKY key, block by block |
//! | TDES-CBC | as the key | enciphered as a chain that begins with zeros |
//! | TDES-XOR | 18 | the card's key of 16 of them, XORed with the transaction counter, the other two |
//! | TDESEMV2, TDESEMV4 | 18 or 34 | the card's key, and the tree of EMV 2000; 16 bytes behind the counter are the tree's first vector |
//! | SESS-XOR | as the key | XORed with a DATA or MAC key |
//!
//! Which keys a DKYGENKY key may make is in [`token::derivation`] (8/39). The token in the field of the generated key
//! gives the key's type and length. The key gets odd parity. Derived keys of single length, or with equal halves, need
//! points of their own (8/90, 8/442).

use crate::call::{Call, Reply, Verdict};
use crate::chip::issuer;
use crate::ground::{Algorithm, Refusal};
use crate::key::target::{des_target, kept_as, with_wrapping};
use crate::parity;
use crate::pass::emv::{Diversify, Session};
use crate::pass::{Cipher, Derive, KeyRule, Skeleton};
use crate::wipe::Text;
use crate::wrap::check_parts;
use engine::{CipherAlgorithm, CipherDirection, Mode, SecretBytes};
use payments::emv::session_key::Tree;
use token::control_vector::{KeyForm, bit};
use token::{ControlVector, DesToken, KeyType};
use wire::point::Point;
use wire::verb::Diversification;
use wire::verb::diversified_key_generate::{Answer, Request};
use wire::{Codes, code};

/// Answers with the token of the derived key.
pub(crate) async fn diversified_key_generate(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let skeleton = skeleton(&request)?;
    let field = request.generating_key_id;
    let found = call.key(field)?.of(Algorithm::Des)?;
    let generating = *found.des().ok_or(code::TOKEN_INVALID)?;
    let skeleton = kept_as(skeleton, generating.control_vector())?;
    let method = Method::of(&call, &request, &generating, &skeleton)?;
    let key = found.open()?.await?;
    issuer::check_coming(&call, generating.control_vector(), &key.secret)?;
    let renewed = key.renew(call, field)?;
    let made = method.derive(call, &key.secret, request.data).await?;
    if skeleton.form() != KeyForm::Single && call.permit(Point::DiversifyEqualHalves).is_err() {
        check_parts(KeyForm::DoubleUnique, ControlVector::ZERO, &made)?;
    }
    let made = call.make(Skeleton::Des(skeleton), made);
    let (token, renewed) = (made.await?, renewed.token().await?);
    reply.write(Answer { generating_key_id: renewed.as_deref(), generated_key_id: Some(&token) })?;
    Ok(key.age.codes())
}

/// The token of the derived key, without the key. In a home of compatible tokens it has the wrapping of the keyword.
///
/// # Errors
/// 8/30 for a label, 8/47 for no token or one of another kind, 8/2111 for the original wrapping of a key that requires
/// the enhanced one.
fn skeleton(request: &Request<'_>) -> Result<DesToken, Refusal> {
    let mut token = des_target(request.generated_key_id)?.ok_or(code::TOKEN_INVALID)?.without_key();
    if request.bound.is_some() {
        let vector = token.control_vector().with_bits(bit(56), true).map_err(|_| code::KEY_USAGE)?;
        token = token.with_vector(vector)?;
    }
    with_wrapping(token, request.wrapping)
}

/// The method by which the key is derived.
enum Method {
    Blocks(Mode, CipherDirection),
    Difference,
    Session(Session),
}

impl Method {
    /// The method, if the generating key may make this key from this data.
    ///
    /// # Errors
    /// 8/39 if the generating key may not, 8/43 for a key length that the method does not make, 8/25 for a wrong length
    /// of the data, 8/90 for what the role does not permit.
    fn of(
        call: &Call<'_, '_>,
        request: &Request<'_>,
        generating: &DesToken,
        skeleton: &DesToken,
    ) -> Result<Self, Refusal> {
        let (from, made) = (generating.control_vector(), skeleton.control_vector());
        let of_length =
            |bytes: usize| if request.data.len() == bytes { Ok(()) } else { Err(code::TEXT_LENGTH) };
        let encipher = CipherDirection::Encipher;
        let leaves = !skeleton.export_prohibited() && (made.is_zero() || made.bit(17));
        if generating.export_prohibited() && leaves {
            return Err(code::KEY_USAGE.into());
        }
        Ok(match request.process {
            Diversification::Single => {
                let is_one = from.type_bits().0 == MAIN_GENERATING && from.bit(19) && !from.is_key_part();
                let types = [KeyType::Data, KeyType::Mac, KeyType::MacVer];
                if !is_one || !is_of(made, &types) || leaves_where_not(from, made) {
                    return Err(code::KEY_USAGE.into());
                }
                of_form(skeleton, KeyForm::Single)?;
                of_length(8)?;
                call.permit(Point::SingleLengthDes)?;
                Self::Blocks(Mode::Ecb, encipher)
            }
            Diversification::Encipher | Diversification::Decipher | Diversification::Chained => {
                if !issuer::deriving(call, from)?.may_make(made) {
                    return Err(code::KEY_USAGE.into());
                }
                if skeleton.form() == KeyForm::Single {
                    call.permit(Point::DiversifyEqualHalves)?;
                    call.permit(Point::SingleLengthDes)?;
                } else if skeleton.form().key_bytes() != 16 {
                    return Err(code::KEY_LENGTH_KEYWORD.into());
                }
                of_length(skeleton.form().key_bytes())?;
                match request.process {
                    Diversification::Encipher => Self::Blocks(Mode::Ecb, encipher),
                    Diversification::Decipher => Self::Blocks(Mode::Ecb, CipherDirection::Decipher),
                    _ => Self::Blocks(Mode::Cbc, encipher),
                }
            }
            Diversification::Counter | Diversification::TreeTwo | Diversification::TreeFour => {
                let deriving = issuer::deriving(call, from)?;
                let types = [&SESSION_TYPES[..], &[KeyType::SecMsg]].concat();
                if deriving.level != 0 || !deriving.may_make(made) || !is_of(made, &types) {
                    return Err(code::KEY_USAGE.into());
                }
                if skeleton.form().key_bytes() != 16 {
                    return Err(code::KEY_LENGTH_KEYWORD.into());
                }
                Self::Session(session(request.process, request.data)?)
            }
            Diversification::Difference => {
                if from != made.with_form(generating.form()) || !is_of(from, &SESSION_TYPES) {
                    return Err(code::KEY_USAGE.into());
                }
                if from.is_key_part() {
                    return Err(code::KEY_USAGE.into());
                }
                if skeleton.form() != generating.form() || skeleton.form().key_bytes() > 16 {
                    return Err(code::KEY_LENGTH_KEYWORD.into());
                }
                of_length(skeleton.form().key_bytes())?;
                if skeleton.form() == KeyForm::Single {
                    call.permit(Point::SingleLengthDes)?;
                }
                Self::Difference
            }
            Diversification::OneWayClear
            | Diversification::OneWayEnciphered
            | Diversification::DifferenceEnciphered => return Err(code::KEYWORD.into()),
        })
    }

    /// The derived key, with odd parity.
    async fn derive(
        self,
        call: Call<'_, '_>,
        generating: &SecretBytes,
        data: &[u8],
    ) -> Result<SecretBytes, Refusal> {
        let mut made = match self {
            Self::Blocks(mode, direction) => {
                let algorithm = CipherAlgorithm::Tdes2;
                if generating.len() != algorithm.key_bytes() {
                    return Err(code::KEY_USAGE.into());
                }
                let (rule, key, data) = (KeyRule::Internal, generating.clone(), Text::from(data));
                let asked = Cipher { algorithm, rule, mode, direction, key, chain: [0; 16], data };
                SecretBytes::from_slice(&call.ask(asked).await?.data)
            }
            Self::Difference => {
                let mut made = generating.clone();
                made.iter_mut().zip(data).for_each(|(byte, other)| *byte ^= other);
                made
            }
            Self::Session(session) => {
                let issuer = issuer::checked(&call, generating)?;
                let blocks = *data.first_chunk().ok_or(code::TEXT_LENGTH)?;
                let asked = Derive::Diversify(Box::new(Diversify { issuer, blocks, session }));
                call.ask(asked).await.key()?
            }
        };
        parity::make_odd(&mut made);
        Ok(made)
    }
}

/// The derivation of a session key, from the data after the first sixteen bytes, which belong to the card.
///
/// # Errors
/// 8/25 for data of another length.
pub(super) fn session(process: Diversification, data: &[u8]) -> Result<Session, Codes> {
    let (counter, rest) =
        data.get(16..).and_then(|rest| rest.split_first_chunk()).ok_or(code::TEXT_LENGTH)?;
    let vector = match (process, rest) {
        (_, []) => [0; 16],
        (Diversification::TreeTwo | Diversification::TreeFour, vector) => {
            vector.try_into().map_err(|_| code::TEXT_LENGTH)?
        }
        _ => return Err(code::TEXT_LENGTH),
    };
    let counter = *counter;
    Ok(match process {
        Diversification::TreeTwo => Session::Tree { tree: Tree::Two, vector, counter },
        Diversification::TreeFour => Session::Tree { tree: Tree::Four, vector, counter },
        _ => Session::Counter(counter),
    })
}

fn is_of(vector: ControlVector, types: &[KeyType]) -> bool {
    KeyType::of(vector).is_some_and(|key_type| types.contains(&key_type)) && !vector.is_key_part()
}

fn of_form(skeleton: &DesToken, form: KeyForm) -> Result<(), Codes> {
    if skeleton.form() == form { Ok(()) } else { Err(code::KEY_LENGTH_KEYWORD) }
}

/// Whether a key with control vector `made` may be exported although one with `from` may not.
fn leaves_where_not(from: ControlVector, made: ControlVector) -> bool {
    !from.bit(17) && (made.is_zero() || made.bit(17))
}

/// Main type of KEYGENKY.
const MAIN_GENERATING: u8 = 5;
/// Types of the keys of a session.
const SESSION_TYPES: [KeyType; 6] =
    [KeyType::Data, KeyType::DataC, KeyType::DataM, KeyType::DataMv, KeyType::Mac, KeyType::MacVer];

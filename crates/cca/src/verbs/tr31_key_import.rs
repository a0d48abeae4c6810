//! TR31_Key_Import (CSNBT31I): the key of a key block comes under the master key.
//!
//! The block is of a version that the role permits. Its protection key is a DES IMPORTER key with the usage IMPORT for
//! A, B and C; for D an AES IMPORTER key with the kind of the key, and either IMPORT and WR-TR31, or IMPTT31D and
//! VARDRV-D, which open blocks and nothing else. Usage, algorithm and mode say what the key is here
//! ([`token::tr31::uses`]); if they have more than one type, a keyword must choose, and a keyword for any other type is
//! refused. A control vector in IBM's optional block is used for the key if its type agrees with usage, mode and
//! keywords, or if usage and mode defer to the control vector. A key with exportability N does not leave this system;
//! one with E (forms of X9.24 alone) leaves only in key blocks, again with E.
//!
//! | answer | |
//! |---|---|
//! | `num_opt_blks` | how many optional blocks there were |
//! | `cv_source` | 0: usage and mode made the control vector; 1: it came beside them; 2: it came in their place |
//! | `protection_method` | 0 A, 1 B, 2 C, 3 D |
//!
//! Every fault of the MAC or the key after a well-formed header is answered with 8/66. EXTERNAL is refused: a key for
//! another system stays in its block.

use super::key_block::{VECTOR_USAGE, protection_number, refusal, vector_of};
use crate::call::{Call, Reply, Verdict};
use crate::chip::issuer;
use crate::ground::Refusal;
use crate::key::protection::Carried;
use crate::key::target::is_null;
use crate::pass::{KeyBlock, KeyBlockTask, Skeleton};
use engine::SecretBytes;
use payments::key_block::{Attributes as BlockCodes, Block, Exportability, Version, key_length};
use token::control_vector::{KeyForm, bit};
use token::des::Origin;
use token::tr31::uses::{
    Choice, Meaning, POINT_DERIVE_ANY, POINT_PIN_ANY_MODE, POINT_SECURITY_CODE, Refused, UsageRow,
    hash_keyword, rows,
};
use token::unconfirmed::CONTROL_VECTOR_BIT_NO_TR31;
use token::usage::Side;
use token::variable::{Completeness, Pedigree, VariableType};
use token::{ControlVector, DesToken, KeyType, TOKEN_BYTES, VariableToken};
use wire::point::Point;
use wire::verb::tr31_key_import::{Answer, Request};
use wire::verb::{
    Import2Translation, Import2Wrapping, KeyBlockDerived, KeyBlockLevel, KeyBlockOffset, KeyBlockType,
};
use wire::{Codes, code};

/// Answers with the token.
pub(crate) async fn tr31_key_import(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if !is_null(request.wrap_kek_identifier) {
        return Err(code::TOKEN_INVALID.into());
    }
    let block = Block::parse(request.tr31_key_block).map_err(|_| code::TOKEN_INVALID)?;
    let attributes = *block.attributes();
    call.permit(match attributes.version {
        Version::A => Point::Tr31ImportA,
        Version::B => Point::Tr31ImportB,
        Version::C => Point::Tr31ImportC,
        Version::D => Point::Tr31ImportD,
    })?;
    if attributes.algorithm == b'D' {
        call.permit(Point::SingleLengthDes)?;
    }
    let target = Target::of(&call, &request, &block)?;
    let payload = block.payload();
    let kek = request.unwrap_kek_identifier;
    let kek = call.protection_key(kek, Side::Receiving, attributes.version, &target.carried()?)?.await?;
    if !kek.protects(attributes.version) {
        return Err(code::KEY_USAGE.into());
    }
    let asked = KeyBlock {
        task: KeyBlockTask::Open,
        version: attributes.version,
        key: kek.secret.clone(),
        header: block.header().to_vec(),
        payload: payload.into(),
        mac: block.mac(),
    };
    let opened = call.ask(asked).await?;
    let (bytes, is_length) = key_length(&opened.payload, attributes.algorithm);
    if !opened.is_right.and(is_length).holds() {
        return Err(code::RSA_BLOCK.into());
    }
    let secret = SecretBytes::from_slice(&opened.payload[2..2 + bytes]);
    if kek.is_weaker_in_blocks(attributes.version, attributes.algorithm, bytes) {
        call.permit(Point::WeakImport).map_err(|_| code::STRENGTH)?;
    }
    let (cv_source, token_bytes) = (target.cv_source(), target.token_bytes(bytes));
    let skeleton = target.skeleton(&request, bytes)?;
    request.output_key_identifier.holds(token_bytes?)?;
    let skeleton = match attributes.exportability {
        Exportability::Trusted => in_blocks_alone(skeleton)?,
        _ => skeleton,
    };
    if let Skeleton::Des(token) = &skeleton {
        issuer::check_coming(&call, token.control_vector(), &secret)?;
    }
    let token = call.make(skeleton, secret).await?;
    reply.write(Answer {
        output_key_identifier: Some(&token),
        num_opt_blks: Some(block.optional().count() as i64),
        cv_source: Some(cv_source),
        protection_method: Some(protection_number(attributes.version)),
    })?;
    Ok(kek.age.codes())
}

/// The key that a block is imported as.
enum Target {
    /// A DES key of the type that usage and mode give.
    Row { row: &'static UsageRow, has_no_offset: bool, may_leave: bool },
    /// A DES key with the control vector from the block; `is_alone` is whether usage and mode defer to it.
    Vector { vector: ControlVector, is_alone: bool },
    /// An AES key, or one of HMAC, of the type that usage and mode give.
    Aes(Box<VariableToken>),
}

impl Target {
    /// The target that block and keywords give.
    ///
    /// # Errors
    /// 8/47 for a malformed control vector, and a key of HMAC without its hash; 8/39 for usage and mode that no key
    /// here has; 8/129 for a missing keyword, 8/183 for a keyword of another type than the block; 8/90 for a key that
    /// the role does not permit.
    fn of(call: &Call<'_, '_>, request: &Request<'_>, block: &Block<'_>) -> Result<Self, Refusal> {
        let codes = block.attributes();
        let may_leave = codes.exportability != Exportability::No;
        if let Some(vector) = vector_of(block)? {
            return Self::of_vector(request, codes, kept(vector, may_leave)?);
        }
        let row = chosen(request, codes)?;
        match row.point {
            Some(POINT_PIN_ANY_MODE) => call.permit(Point::Tr31PinAnyMode)?,
            Some(POINT_SECURITY_CODE) => call.permit(Point::Tr31SecurityCode)?,
            Some(POINT_DERIVE_ANY) => call.permit(Point::DiversifyAny)?,
            Some(_) => return Err(code::ACCESS_DENIED.into()),
            None => {}
        }
        let has_no_offset = request.offset == Some(KeyBlockOffset::None);
        let is_of_pins = matches!(row.meaning, Meaning::Des(KeyType::PinGen | KeyType::PinVer, _));
        if has_no_offset && !is_of_pins {
            return Err(code::TYPE_AND_VECTOR.into());
        }
        let Meaning::Variable(key_type, _) = row.meaning else {
            return Ok(Self::Row { row, has_no_offset, may_leave });
        };
        let attributes = match key_type {
            VariableType::Hmac => {
                // The hash stands in the optional block HM alone, which such a block has.
                let hash = block.optional_data(*b"HM").and_then(hash_keyword).ok_or(code::TOKEN_INVALID)?;
                row.attributes_of_hmac(hash, may_leave)
            }
            _ => row.attributes(may_leave),
        };
        let attributes = attributes.map_err(|refused| refusal(refused, true))?;
        let attributes = attributes.made(Pedigree::Unknown, Completeness::Complete);
        let payload = VariableToken::default_payload(key_type);
        Ok(Self::Aes(Box::new(VariableToken::skeleton(Origin::Internal, payload, attributes)?)))
    }

    /// The target by a control vector, refused if usage and mode or a keyword contradict it.
    fn of_vector(request: &Request<'_>, codes: &BlockCodes, vector: ControlVector) -> Result<Self, Refusal> {
        let is_alone = (codes.usage, codes.mode) == VECTOR_USAGE;
        let covers =
            |row: &UsageRow| matches!(row.meaning, Meaning::Des(key_type, _) if key_type.covers(vector));
        let is_of_codes = is_alone || rows(codes.usage, codes.algorithm, codes.mode).any(covers);
        // PINGEN keys also do all that PINVER keys do.
        let is_type = |keyword| {
            let only_verifies = KeyType::PinVer.covers(vector);
            des_type(keyword).covers(vector) && !(keyword == KeyBlockType::PinGen && only_verifies)
        };
        let words = KeyType::DKyGenKy.keywords_of(vector).unwrap_or_default();
        let is_named =
            request.key_type.is_none_or(is_type) && asked_words(request).all(|asked| words.contains(&asked));
        if !(matches!(codes.algorithm, b'T' | b'D') && is_of_codes && is_named) {
            return Err(code::TYPE_AND_VECTOR.into());
        }
        if vector.is_key_part() {
            return Err(code::KEY_USAGE.into());
        }
        if !KeyType::has_length(vector) {
            return Err(code::KEY_LENGTH_KEYWORD.into());
        }
        Ok(Self::Vector { vector, is_alone })
    }

    /// The attributes of the key, against which the protection key is checked.
    fn carried(&self) -> Result<Carried<'_>, Refusal> {
        Ok(match self {
            Self::Row { row, may_leave, .. } => Carried::Des(
                row.vector(KeyForm::Double, *may_leave).map_err(|refused| refusal(refused, true))?,
            ),
            Self::Vector { vector, .. } => Carried::Des(*vector),
            Self::Aes(token) => Carried::Aes(token.attributes()),
        })
    }

    /// CCA's number for the origin of the control vector: 0 to 2, as in the table above.
    fn cv_source(&self) -> i64 {
        match self {
            Self::Row { .. } | Self::Aes(_) => 0,
            Self::Vector { is_alone: false, .. } => 1,
            Self::Vector { is_alone: true, .. } => 2,
        }
    }

    /// Length in bytes of the token for a key of `key_bytes` bytes.
    fn token_bytes(&self, key_bytes: usize) -> Result<usize, Refusal> {
        match self {
            Self::Aes(token) => Ok(token.head().len() + token.wrapped_bytes(key_bytes)?),
            Self::Row { .. } | Self::Vector { .. } => Ok(TOKEN_BYTES),
        }
    }

    /// The token for a key of `key_bytes` bytes, without the key.
    ///
    /// # Errors
    /// 8/43 for a length that the type does not have, 8/183 for a length that contradicts the control vector; 8/2111
    /// for a control vector that requires the enhanced wrapping if a keyword forbids it.
    fn skeleton(self, request: &Request<'_>, key_bytes: usize) -> Result<Skeleton, Refusal> {
        let form = match key_bytes {
            8 => KeyForm::Single,
            16 => KeyForm::Double,
            _ => KeyForm::Triple,
        };
        let mut vector = match self {
            Self::Aes(token) if !token.attributes().key_type().has_length(key_bytes) => {
                return Err(code::KEY_LENGTH_KEYWORD.into());
            }
            Self::Aes(token) => return Ok(Skeleton::Variable(token)),
            Self::Vector { vector, .. } => vector,
            Self::Row { row, has_no_offset, may_leave } => {
                let vector = row.vector(form, may_leave).map_err(|refused| refusal(refused, true))?;
                with(vector, bit(NO_OFFSET), has_no_offset)?
            }
        };
        if request.translation == Some(Import2Translation::Enhanced) {
            if vector.is_zero() {
                return Err(code::NO_CONTROL_VECTOR.into());
            }
            vector = with(vector, bit(ENHANCED_ONLY), true)?;
        }
        if vector.is_enhanced_only() && request.wrapping == Some(Import2Wrapping::Ecb) {
            return Err(code::WRAPPING_BIT.into());
        }
        let form = vector.form().unwrap_or(form);
        if form.key_bytes() != key_bytes {
            return Err(code::TYPE_AND_VECTOR.into());
        }
        let is_enhanced = request.wrapping == Some(Import2Wrapping::Enhanced);
        let token = DesToken::skeleton(Origin::Internal, form, vector)?.with_enhanced(is_enhanced);
        Ok(Skeleton::Des(token))
    }
}

/// The row for usage, algorithm and mode of a block that the keywords choose.
fn chosen(request: &Request<'_>, codes: &BlockCodes) -> Result<&'static UsageRow, Codes> {
    let of_block = || rows(codes.usage, codes.algorithm, codes.mode);
    let fits = |row: &&UsageRow| {
        has_type(row, request.key_type) && asked_words(request).all(|word| row.keywords().contains(&word))
    };
    let is_chosen = request.key_type.is_some() || request.derived.is_some() || request.level.is_some();
    let mut fitting = of_block().filter(fits);
    let usual = if request.level == Some(KeyBlockLevel::One) { Choice::LevelOne } else { Choice::Usual };
    let is_asked = |row: &&UsageRow| match row.choice {
        Choice::Derives(_) => request.derived.is_some(),
        choice => choice == usual,
    };
    let row = match request.key_type {
        Some(_) => fitting.next(),
        None => fitting.find(is_asked),
    };
    row.ok_or_else(|| {
        let refused = if of_block().next().is_some() { Refused::Choice } else { Refused::Codes };
        refusal(refused, is_chosen)
    })
}

/// Whether a row has the key type that the keyword names; true without a keyword.
fn has_type(row: &UsageRow, keyword: Option<KeyBlockType>) -> bool {
    use KeyBlockType as K;
    let Some(keyword) = keyword else { return true };
    match (keyword, row.meaning) {
        (K::CardValue, _) => row.usage == *b"C0" && row.choice == Choice::Usual,
        (K::SecurityCode, _) => row.choice == Choice::SecurityCode,
        (K::OPinEnc, Meaning::Variable(VariableType::PinProt, words)) => words.contains(&"ENCRYPT"),
        (K::IPinEnc, Meaning::Variable(VariableType::PinProt, words)) => words.contains(&"DECRYPT"),
        (K::Exporter, Meaning::Variable(key_type, _)) => key_type == VariableType::Exporter,
        (K::Importer, Meaning::Variable(key_type, _)) => key_type == VariableType::Importer,
        (keyword, Meaning::Des(key_type, _)) => key_type == des_type(keyword),
        (_, Meaning::Variable(..)) => false,
    }
}

/// The type of DES keys that a keyword names.
fn des_type(keyword: KeyBlockType) -> KeyType {
    match keyword {
        KeyBlockType::CardValue | KeyBlockType::SecurityCode => KeyType::Mac,
        KeyBlockType::Exporter | KeyBlockType::OKeyXlat => KeyType::Exporter,
        KeyBlockType::Importer | KeyBlockType::IKeyXlat => KeyType::Importer,
        KeyBlockType::PinGen => KeyType::PinGen,
        KeyBlockType::PinVer => KeyType::PinVer,
        KeyBlockType::OPinEnc => KeyType::OPinEnc,
        KeyBlockType::IPinEnc => KeyType::IPinEnc,
    }
}

/// The derived keys and the level that the keywords for a key-generating key name.
fn asked_words(request: &Request<'_>) -> impl Iterator<Item = &'static str> + use<> {
    let derived = request.derived.map(|keyword| match keyword {
        KeyBlockDerived::Data => "DDATA",
        KeyBlockDerived::Mac => "DMAC",
        KeyBlockDerived::MacVerify => "DMV",
        KeyBlockDerived::Pin => "DMPIN",
        KeyBlockDerived::All => "DALL",
    });
    let level = request.level.map(|keyword| match keyword {
        KeyBlockLevel::Zero => "DKYL0",
        KeyBlockLevel::One => "DKYL1",
    });
    [derived, level].into_iter().flatten()
}

/// The token with the key's export restricted to key blocks.
fn in_blocks_alone(skeleton: Skeleton) -> Result<Skeleton, Refusal> {
    Ok(match skeleton {
        Skeleton::Des(token) => Skeleton::Des(token.with_blocks_alone()?),
        Skeleton::Variable(token) => {
            let attributes = token.attributes().clone().with_blocks_alone();
            Skeleton::Variable(Box::new(token.with_attributes(attributes)?))
        }
        other => other,
    })
}

/// The control vector for a key with an imported one: unchanged if the key may leave again, else with export forbidden.
fn kept(vector: ControlVector, may_leave: bool) -> Result<ControlVector, Codes> {
    if may_leave {
        return Ok(vector);
    }
    if vector.is_zero() {
        // A control vector of zero has no bit that forbids export.
        return Err(code::NO_CONTROL_VECTOR);
    }
    with(with(vector, bit(EXPORT), false)?, bit(CONTROL_VECTOR_BIT_NO_TR31), true)
}

fn with(vector: ControlVector, bits: u64, is_set: bool) -> Result<ControlVector, Codes> {
    if is_set == (vector.left() & bits != 0) {
        return Ok(vector);
    }
    vector.with_bits(bits, is_set).map_err(|_| code::TYPE_AND_VECTOR)
}

const EXPORT: u32 = 17;
const NO_OFFSET: u32 = 37;
const ENHANCED_ONLY: u32 = 56;

//! Unique_Key_Derive (CSNBUKD): keys of a transaction by DUKPT, into the tokens in their fields, or the initial key of
//! a terminal in a key block for it.
//!
//! | keyword | field | key | base key and derivation data |
//! |---|---|---|---|
//! | K1DATA | 1 | of data, of requests and both ways | KEYGENKY with UKPT, key serial number of 10 bytes |
//! | K2MAC | 2 | of MACs, the same | the same |
//! | K3PIN | 3 | of PIN blocks | the same |
//! | K3IPEK | 3 | initial, in a block of version B | the same, whose counter does not matter |
//! | A-DUKPT with one of these | as above | what the data say, into a token of AES, or of DES for keys of TDES; initial: in one of version D | DKYGENKY of AES with A-DUKPT, 20 bytes ([`Transaction`]) |
//!
//! The permitted attributes of the tokens are in [`token::transaction`] (8/39): no key may do more than the keyword
//! says, or leave in a way in which the base key may not. An initial key leaves only if the base key may, under an
//! EXPORTER key that is not weaker (8/170); its block says usage B1, mode X, not exportable, and the serial number or
//! identifier (KS, IK). The initial key keeps its parity bits unadjusted, since transaction keys are derived from all
//! bits. 8/2050 for a counter that no transaction has, 8/50 for other derivation data.

use crate::call::{Call, Reply, Verdict};
use crate::ground::{Algorithm, Refusal};
use crate::key::exchange::exportable_in_blocks;
use crate::key::field::Found;
use crate::key::protection::Carried;
use crate::key::target::{des_target, is_null, kept_as, with_wrapping};
use crate::key::{Key, variable_exchange};
use crate::parity;
use crate::pass::{Ask, Derive, Derived, KeyBlock, KeyBlockTask, Skeleton, Token};
use engine::SecretBytes;
use payments::dukpt::aes::{KeyKind, Purpose, TRANSACTION_BYTES, Transaction, TransactionFault};
use payments::dukpt::tdes::{self, SERIAL_BYTES, Serial};
use payments::key_block::{
    Attributes, Exportability, OptionalBlock, Padding, Version, assemble, header, payload, payload_bytes,
};
use token::derivation::leaves_in_no_other_way;
use token::transaction::{TerminalSide, TransactionKey};
use token::usage::{Side, Use};
use token::variable::{Carrier, Completeness, Pedigree, VariableUse};
use token::{DesToken, Format, TOKEN_BYTES, VariableToken};
use wire::point::Point;
use wire::verb::unique_key_derive::{Answer, Request};
use wire::verb::{Buffer, DerivationStandard, DerivedPinKey};
use wire::{Codes, code};

/// Answers with the tokens, or the block.
pub(crate) async fn unique_key_derive(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    if request.pin == Some(DerivedPinKey::Initial) {
        // Boxed, so that transaction keys take no room for its state.
        return Box::pin(initial(call, request, reply)).await;
    }
    if !is_null(request.transport_key_identifier) {
        return Err(code::TOKEN_INVALID.into());
    }
    let data = Data::of(&request)?;
    let field = request.base_derivation_key_identifier;
    let found = base(&call, &request)?;
    let pin_key = if request.pin_type.is_some() { TransactionKey::PinAsData } else { TransactionKey::Pin };
    let fields = [
        request.data.map(|_| (TransactionKey::Data, request.generated_key_identifier1)),
        request.mac.map(|_| (TransactionKey::Mac, request.generated_key_identifier2)),
        request.pin.map(|_| (pin_key, request.generated_key_identifier3)),
    ];
    let mut targets = Vec::with_capacity(fields.len());
    for (at, (key, field)) in (0..).zip(fields).filter_map(|(at, field)| Some((at, field?))) {
        targets.push((at, key, skeleton(&request, &found, &data, key, field)?));
    }
    let opening = match request.standard {
        DerivationStandard::Tdes => found.for_use(Use::DeriveTransactionKeys)?,
        // The check for each token already covered whether the base key derives such keys.
        DerivationStandard::Aes => found.open()?,
    };
    let key = opening.await?;
    let renewed = key.renew(call, field)?;
    let mut derived = Vec::with_capacity(targets.len());
    for (at, purpose, skeleton) in targets {
        derived.push((at, skeleton, data.derive(&call, &key, purpose)?));
    }
    let mut made = Vec::with_capacity(derived.len());
    for (at, skeleton, asked) in derived {
        let mut secret = asked.await.key()?;
        if matches!(skeleton, Skeleton::Des(_)) {
            parity::make_odd(&mut secret);
        }
        made.push((at, call.make(skeleton, secret)));
    }
    let mut tokens: [Option<Token>; 3] = Default::default();
    for (at, made) in made {
        tokens[at] = Some(made.await?);
    }
    let renewed = renewed.token().await?;
    reply.write(Answer {
        base_derivation_key_identifier: renewed.as_deref(),
        generated_key_identifier1: tokens[0].as_deref(),
        generated_key_identifier2: tokens[1].as_deref(),
        generated_key_identifier3: tokens[2].as_deref(),
        ..Answer::default()
    })?;
    Ok(key.age.codes())
}

/// Derives an initial key, and answers with its block.
async fn initial<'a>(call: Call<'_, 'a>, request: Request<'a>, reply: &mut Reply<'_, '_>) -> Verdict {
    let buffer = request.generated_key_identifier3;
    if Format::of(buffer.start()) == Format::Label {
        return Err(code::LABEL_NOT_FOUND.into());
    }
    let (field, transport) = (request.base_derivation_key_identifier, request.transport_key_identifier);
    let found = base(&call, &request)?;
    let data = InitialData::of(&request)?;
    let version = data.version();
    let (kek, opening) = match data {
        InitialData::Tdes(_) => {
            let vector = exportable_in_blocks(&found)?.control_vector();
            token::tr31::uses::may_leave_at_all(vector).map_err(|_| code::KEY_USAGE)?;
            let kek = call.protection_key(transport, Side::Sending, version, &Carried::Des(vector))?;
            (kek, found.for_use(Use::DeriveTransactionKeys)?)
        }
        InitialData::Aes(_) => {
            let attributes = variable_exchange::may_leave_in_blocks(&found)?.attributes();
            let kek = call.protection_key(transport, Side::Sending, version, &Carried::Aes(attributes))?;
            // An initial key derives keys for every use, so a base key for PIN blocks alone has none.
            (kek, found.for_variable_use(VariableUse::DerivePinBlock)?)
        }
    };
    let (kek, key) = (kek.await, opening.await);
    let (kek, key) = (kek?, key?);
    let asked = data.derive(&call, &key)?;
    let (renewed, renewed_kek) = (key.renew(call, field)?, kek.renew(call, transport)?);
    if !kek.protects(version) {
        return Err(code::KEY_USAGE.into());
    }
    let algorithm = if version == Version::D { b'A' } else { b'T' };
    if kek.is_weaker_in_blocks(version, algorithm, key.secret.len()) {
        call.permit(Point::WeakTransport).map_err(|_| code::STRENGTH)?;
    }
    let attributes = Attributes {
        version,
        usage: *b"B1",
        algorithm,
        mode: b'X',
        key_version: *b"00",
        exportability: Exportability::No,
        context: b'0',
    };
    let padding = if version == Version::D { Padding::Longest } else { Padding::Least };
    let field_bytes = payload_bytes(version, algorithm, key.secret.len(), padding);
    let (identifier, digits) = data.identifier();
    let optional = [OptionalBlock { identifier, data: &digits }];
    let header = header(&attributes, &optional, field_bytes).map_err(|_| code::SELF_CHECK)?;
    buffer.holds(header.len() + 2 * (field_bytes + version.mac_bytes()))?;
    let secret = asked.await.key()?;
    let mut random = vec![0; field_bytes.checked_sub(secret.len() + 2).ok_or(code::SELF_CHECK)?];
    call.random(&mut random);
    let sealed = KeyBlock {
        task: KeyBlockTask::Seal,
        version,
        key: kek.secret.clone(),
        payload: payload(version, &secret, &random).ok_or(code::SELF_CHECK)?,
        mac: vec![0; version.mac_bytes()],
        header: header.clone(),
    };
    let done = call.ask(sealed).await?;
    let block = assemble(&header, &done.payload, &done.mac);
    let (renewed, renewed_kek) = (renewed.token().await?, renewed_kek.token().await?);
    reply.write(Answer {
        base_derivation_key_identifier: renewed.as_deref(),
        generated_key_identifier3: Some(&block),
        transport_key_identifier: renewed_kek.as_deref(),
        ..Answer::default()
    })?;
    Ok(kek.age.max(key.age).codes())
}

/// The base key in its field.
///
/// # Errors
/// 8/30 for a label, 8/47 for another token.
fn base<'p, 'a>(call: &Call<'p, 'a>, request: &Request<'a>) -> Result<Found<'p, 'a>, Refusal> {
    let field = call.key(request.base_derivation_key_identifier)?;
    match request.standard {
        DerivationStandard::Tdes => field.of(Algorithm::Des),
        DerivationStandard::Aes => field.variable(),
    }
}

/// The derivation data of a transaction.
enum Data {
    Tdes(Serial),
    Aes(Transaction),
}

impl Data {
    /// # Errors
    /// 8/50 for data of another length, and for data of another key than the keyword's; 8/2050 for a counter that no
    /// transaction has.
    fn of(request: &Request<'_>) -> Result<Self, Codes> {
        if request.standard == DerivationStandard::Tdes {
            let serial = Serial::new(serial(request)?).map_err(|_| code::SERIAL_COUNTER)?;
            return Ok(Self::Tdes(serial));
        }
        let transaction = transaction(request)?;
        use Purpose as P;
        let is_of_keyword = match transaction.purpose {
            P::DataEncrypt | P::DataDecrypt | P::DataBoth => request.data.is_some(),
            P::MacGenerate | P::MacVerify | P::MacBoth => request.mac.is_some(),
            P::Pin => request.pin.is_some(),
            P::Initial | P::Derivation | P::KeyEncryption => false,
        };
        if is_of_keyword { Ok(Self::Aes(transaction)) } else { Err(code::KEY_SERIAL) }
    }

    /// The side of the terminal for these keys. By TDES the keys serve both directions.
    fn side(&self) -> TerminalSide {
        match self {
            Self::Aes(Transaction { purpose: Purpose::MacGenerate | Purpose::DataEncrypt, .. }) => {
                TerminalSide::Makes
            }
            Self::Aes(Transaction { purpose: Purpose::MacVerify | Purpose::DataDecrypt, .. }) => {
                TerminalSide::Takes
            }
            Self::Tdes(_) | Self::Aes(_) => TerminalSide::Both,
        }
    }

    /// Starts deriving a key.
    ///
    /// # Errors
    /// 8/39 for a TDES base key that is not of double length, 8/170 for a key of AES that is stronger than its base
    /// key.
    fn derive<'p>(
        &self,
        call: &Call<'p, '_>,
        key: &Key,
        wanted: TransactionKey,
    ) -> Result<Ask<'p, Derive, Derived>, Codes> {
        let base = key.secret.clone();
        Ok(call.ask(match self {
            Self::Tdes(serial) => {
                let purpose = match wanted {
                    TransactionKey::Data => tdes::Purpose::DataRequest,
                    TransactionKey::Mac => tdes::Purpose::MacRequest,
                    TransactionKey::Pin | TransactionKey::PinAsData => tdes::Purpose::Pin,
                };
                Derive::Dukpt { base: of_two_parts(base)?, serial: *serial, purpose }
            }
            Self::Aes(transaction) => {
                if transaction.kind.is_aes() && transaction.kind.bytes() > base.len() {
                    return Err(code::STRENGTH);
                }
                Derive::AesDukpt { base, transaction: *transaction }
            }
        }))
    }
}

/// The derivation data of a terminal's initial key.
enum InitialData {
    /// The key serial number.
    Tdes([u8; SERIAL_BYTES]),
    Aes(Transaction),
}

impl InitialData {
    /// # Errors
    /// 8/50 for data of another length or key, 8/2050 for AES data with a counter.
    fn of(request: &Request<'_>) -> Result<Self, Codes> {
        if request.standard == DerivationStandard::Tdes {
            return Ok(Self::Tdes(serial(request)?));
        }
        let transaction = transaction(request)?;
        if transaction.purpose == Purpose::Initial {
            Ok(Self::Aes(transaction))
        } else {
            Err(code::KEY_SERIAL)
        }
    }

    /// The version of the key block: B for TDES, D for AES.
    fn version(&self) -> Version {
        match self {
            Self::Tdes(_) => Version::B,
            Self::Aes(_) => Version::D,
        }
    }

    /// Starts deriving the key.
    ///
    /// # Errors
    /// 8/39 for a TDES base key that is not of double length, 8/50 for a key by AES of another length than its base
    /// key.
    fn derive<'p>(&self, call: &Call<'p, '_>, key: &Key) -> Result<Ask<'p, Derive, Derived>, Codes> {
        let base = key.secret.clone();
        Ok(call.ask(match self {
            Self::Tdes(serial) => {
                Derive::DukptInitial { base: of_two_parts(base)?, block: tdes::initial_block(serial) }
            }
            Self::Aes(transaction) if Some(transaction.kind) == KeyKind::aes(base.len()) => {
                Derive::AesDukpt { base, transaction: *transaction }
            }
            Self::Aes(_) => return Err(code::KEY_SERIAL),
        }))
    }

    /// The optional block that identifies the key's terminal: KS or IK, and its data.
    fn identifier(&self) -> ([u8; 2], Vec<u8>) {
        let digits =
            |bytes: &[u8]| bytes.iter().flat_map(|byte| format!("{byte:02X}").into_bytes()).collect();
        match self {
            Self::Tdes(serial) => {
                let block = tdes::initial_block(serial);
                (*b"KS", digits(&[&block[..], &[0; SERIAL_BYTES - 8]].concat()))
            }
            Self::Aes(transaction) => (*b"IK", digits(&transaction.initial_id)),
        }
    }
}

fn serial(request: &Request<'_>) -> Result<[u8; SERIAL_BYTES], Codes> {
    request.derivation_data.try_into().map_err(|_| code::KEY_SERIAL)
}

fn transaction(request: &Request<'_>) -> Result<Transaction, Codes> {
    let data: &[u8; TRANSACTION_BYTES] = request.derivation_data.try_into().map_err(|_| code::KEY_SERIAL)?;
    Transaction::read_for_any(data).map_err(|fault| match fault {
        TransactionFault::Head => code::KEY_SERIAL,
        TransactionFault::Counter => code::SERIAL_COUNTER,
    })
}

fn of_two_parts(base: SecretBytes) -> Result<SecretBytes, Codes> {
    if base.len() == 16 { Ok(base) } else { Err(code::KEY_USAGE) }
}

/// The token of a derived key, without the key, as the token in its field describes it.
///
/// # Errors
/// 8/30 for a label; 8/47 for no token, or one of another algorithm than the derived key; 8/39 for a token of another
/// use than the keyword's, and if the base key derives no such key or restricts its export further; 8/43 for a DES
/// token of another length; 8/34 for a wrapping keyword with AES keys; 8/72 for a field without room.
fn skeleton(
    request: &Request<'_>,
    found: &Found<'_, '_>,
    data: &Data,
    key: TransactionKey,
    field: Buffer<'_>,
) -> Result<Skeleton, Refusal> {
    let (side, given) = (data.side(), field.start());
    let kind = match data {
        Data::Tdes(_) => KeyKind::Tdes2,
        Data::Aes(transaction) => transaction.kind,
    };
    if !kind.is_aes() {
        let token = des_skeleton(request, given)?;
        let token = match found.des() {
            Some(base) => kept_as(token, base.control_vector())?,
            None => token,
        };
        let vector = token.control_vector();
        let leaves = vector.bit(17) && !token.export_prohibited();
        let is_base = match (found.des(), found.as_variable().map(VariableToken::attributes)) {
            (Some(base), _) => {
                !(leaves && base.export_prohibited()) && leaves_in_no_other_way(base.control_vector(), vector)
            }
            // A key that names what it derives names a type of AES.
            (_, Some(base)) => {
                let may_leave =
                    [Carrier::Aes, Carrier::Des].iter().all(|under| base.may_leave_in_blocks(*under));
                base.may(VariableUse::DerivePinBlock) && (may_leave || !leaves)
            }
            _ => false,
        };
        if !is_base || !key.takes(side, vector) {
            return Err(code::KEY_USAGE.into());
        }
        if token.form().key_bytes() != kind.bytes() {
            return Err(code::KEY_LENGTH_KEYWORD.into());
        }
        field.holds(TOKEN_BYTES)?;
        return Ok(Skeleton::Des(token));
    }
    if request.wrapping.is_some() {
        return Err(code::KEYWORD_COMBINATION.into());
    }
    let target = VariableToken::parse(super::key_generate2::internal(given)?)?.without_key();
    let made = target.attributes().clone().made(Pedigree::Unknown, Completeness::Complete);
    let base = found.variable()?.attributes();
    let made = if base.leaves_in_blocks_alone() { made.with_blocks_alone() } else { made };
    if !base.derives_for_transactions(&made) || !key.takes_variable(side, &made) {
        return Err(code::KEY_USAGE.into());
    }
    let skeleton = target.with_attributes(made)?;
    let payload_bytes = skeleton.wrapped_bytes(kind.bytes()).map_err(|_| code::KEY_BITS)?;
    field.holds(skeleton.head().len() + payload_bytes)?;
    Ok(Skeleton::Variable(Box::new(skeleton)))
}

/// The DES token in a field; in a home of compatible tokens it has the wrapping of the keyword.
///
/// # Errors
/// 8/30 for a label, 8/47 for no token or one of another kind, 8/2111 for the original wrapping of a key that requires
/// the enhanced one.
fn des_skeleton(request: &Request<'_>, field: &[u8]) -> Result<DesToken, Refusal> {
    let token = des_target(field)?.ok_or(code::TOKEN_INVALID)?.without_key();
    with_wrapping(token, request.wrapping)
}

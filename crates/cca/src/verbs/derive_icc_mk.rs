//! Derive_ICC_MK (CSNBDCM): the master key of a chip card, derived from the issuer's, for use here, or under an
//! EXPORTER key for the system that writes it into the card.
//!
//! | keyword | generating key | derived key |
//! |---|---|---|
//! | AC, MAC | DKYGENKY of level 1 or more, DMAC | DKYGENKY of the level below, DMAC |
//! | ENC | DMPIN | DMPIN |
//! | DATA | DDATA | DDATA |
//!
//! A key that derives keys of every type (DALL) needs a point of its own, and gives one of the named use. A derived key
//! leaves under a transport key only if the issuer's key may be exported (8/39). OPTION-A (the default) and OPTION-B
//! are keywords of this system.

use crate::call::{Call, Reply, Verdict};
use crate::chip::{card, issuer};
use crate::ground::Algorithm;
use crate::pass::emv::{Diversify, Session};
use crate::pass::{Derive, Skeleton};
use token::DesToken;
use token::control_vector::KeyForm;
use token::derivation::Derived;
use token::des::Origin;
use token::usage::{Side, Use, Wrapping};
use wire::code;
use wire::point::Point;
use wire::verb::IccKey;
use wire::verb::derive_icc_mk::{Answer, Request};

/// Answers with the token of the card's key.
pub(crate) async fn derive_icc_mk(call: Call<'_, '_>, reply: &mut Reply<'_, '_>) -> Verdict {
    let request: Request<'_> = call.read()?;
    let blocks = card::blocks(request.pan, request.pan_seq_number, request.sequence, request.card_key)?;
    request.icc_master_key_identifier.holds(token::TOKEN_BYTES)?;
    let (field, transport) = (request.issuer_master_key_identifier, request.transport_key_identifier);
    let found = call.key(field)?.of(Algorithm::Des)?;
    let issuer_token = *found.des().ok_or(code::TOKEN_INVALID)?;
    let deriving = issuer::deriving(&call, issuer_token.control_vector())?;
    let vector = deriving.below(derived(request.key)).ok_or(code::KEY_USAGE)?;
    let is_transported = !transport.is_empty();
    if is_transported {
        call.permit(Point::DeriveIccMkTransported)?;
        if issuer_token.export_prohibited() || !vector.may(Use::Export) {
            return Err(code::KEY_USAGE.into());
        }
    }
    let opening = found.open()?;
    let kek = match is_transported {
        true => Some(call.key_encrypting_key(transport, Side::Sending, Wrapping::Keys).await?),
        false => None,
    };
    let key = opening.await?;
    let renewed = key.renew(call, field)?;
    let renewed_kek = kek.as_ref().map(|kek| kek.renew(call, transport)).transpose()?;
    let asked = Diversify { issuer: issuer::checked(&call, &key.secret)?, blocks, session: Session::Card };
    let made = call.ask(Derive::Diversify(Box::new(asked))).await.key()?;
    let origin = if is_transported { Origin::External } else { Origin::Internal };
    let skeleton = DesToken::skeleton(origin, vector.form().unwrap_or(KeyForm::Double), vector)?;
    let made = match &kek {
        Some(kek) => kek.wrap(&call, skeleton, made)?,
        None => call.make(Skeleton::Des(skeleton), made),
    };
    let token = made.await?;
    let renewed = renewed.token().await?;
    let renewed_kek = match renewed_kek {
        Some(renewed) => renewed.token().await?,
        None => None,
    };
    let age = kek.as_ref().map_or(key.age, |kek| kek.age.max(key.age));
    reply.write(Answer {
        issuer_master_key_identifier: renewed.as_deref(),
        icc_master_key_identifier: Some(&token),
        transport_key_identifier: renewed_kek.as_deref(),
    })?;
    Ok(age.codes())
}

/// The kind of session keys that are derived from this key of a card.
fn derived(key: IccKey) -> Derived {
    match key {
        IccKey::Cryptogram | IccKey::Mac => Derived::Mac,
        IccKey::Encipherment => Derived::PinMessages,
        IccKey::Data => Derived::Data,
    }
}

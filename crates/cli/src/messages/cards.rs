//! Private keys that are labels in a home.

use crate::failure::{Failure, PgpFailure};
use crate::session;
use cardkeys::LabelKey;
use facility::Facility;
use keyring::CardPlace;
use openpgp::certificate::KeyPacket;
use openpgp::{PrivateKey, PrivateKeyError};
use std::sync::Arc;
use wire::Label;

/// The private half of a key on the cards of a home, whose daemon is started if it does not run.
pub fn open(who: &str, place: &CardPlace, public: KeyPacket) -> Result<Arc<dyn PrivateKey>, Failure> {
    let label = label(&place.label)?;
    let facility = connect(place)?;
    let key = LabelKey::new(facility, place.domain, label, public).map_err(|cause| failed(who, cause))?;
    Ok(Arc::new(key))
}

/// Reaches the home of a key.
pub fn connect(place: &CardPlace) -> Result<Facility, Failure> {
    session::connect_or_start(&place.home)
}

/// Parses a label.
pub fn label(text: &str) -> Result<Label, Failure> {
    Label::new(text).map_err(|error| Failure::Usage(format!("{text}: {error}")))
}

/// For `map_err`: the failure of a private key on a card.
pub fn failed(who: &str, cause: PrivateKeyError) -> Failure {
    PgpFailure::PrivateKey { who: who.to_owned(), cause }.into()
}

/// Place of a key on cards, as text for people.
pub fn place_name(place: &CardPlace) -> String {
    format!("label {}, domain {}, home {}", place.label, place.domain, place.home.display())
}

//! What officers send to the keeper: key parts and passphrases, encrypted at the officer's terminal with
//! [`engine::seal_to`]. In a home of one user the daemon forwards them unread; officers of a system service
//! connect to its keeper directly ([`Keeper`]).

use crate::control::connection::{ANSWER_WAIT, GREETING_WAIT};
use crate::control::{refusals, unexpected};
use crate::error::{FacilityError, ProtocolError};
use home::{Service, ServiceUsers};
use link::{Channel, ChannelError};
use wire::control::{CONTROL_VERSION, ClientReply, ClientRequest, OfficerOrder, OfficerReply, Sealed};

/// An officer's connection to the keeper of a system service.
#[derive(Debug)]
pub struct Keeper {
    channel: Channel,
}

impl Keeper {
    /// Connects to the keeper of a service, and checks that the process listening there runs as the keeper's user.
    ///
    /// # Errors
    /// [`FacilityError::Denied`] if this process's user is no officer, or a user other than the keeper's listens;
    /// [`FacilityError::Io`] if nobody listens; or another error of the connection.
    pub fn meet(service: &Service, users: &ServiceUsers) -> Result<Self, FacilityError> {
        let operation = "connect to the keeper of the system service";
        let failed = |cause| FacilityError::Io { operation, cause };
        let channel = Channel::connect(&service.officer_socket()).map_err(failed)?;
        if channel.peer().map_err(failed)?.uid != users.keeper {
            return Err(FacilityError::Denied { what: "the keeper: another user listens in its place" });
        }
        let keeper = Self { channel };
        let hello = ClientRequest::Hello { version: CONTROL_VERSION, credential: None, completions: false };
        match keeper.ask(operation, &hello, GREETING_WAIT)? {
            ClientReply::Done => Ok(keeper),
            _ => Err(unexpected(operation)),
        }
    }

    /// Gives an order.
    ///
    /// # Errors
    /// [`FacilityError`] of the connection.
    pub fn officer(&self, order: OfficerOrder) -> Result<OfficerReply, FacilityError> {
        let operation = "give an order to the keeper";
        match self.ask(operation, &ClientRequest::Officer(order), ANSWER_WAIT)? {
            ClientReply::Officer(reply) => Ok(reply),
            _ => Err(unexpected(operation)),
        }
    }

    fn ask(
        &self,
        operation: &'static str,
        request: &ClientRequest,
        wait: std::time::Duration,
    ) -> Result<ClientReply, FacilityError> {
        let failed = |cause| FacilityError::Protocol { operation, cause: ProtocolError::Channel(cause) };
        // A keeper that refuses the user answers so and closes the connection, possibly before it has read an order.
        let sent = match self.channel.send(request, &[]) {
            Err(ChannelError::Closed) => Ok(()),
            sent => sent,
        };
        let answer = sent.and_then(|()| self.channel.recv_timeout::<ClientReply>(wait));
        refusals(operation, answer.map_err(failed)?.0)
    }
}

/// The start-up key is not a valid public key: a secret derived from it would be public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartupKeyInvalid;

impl std::fmt::Display for StartupKeyInvalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the keeper's start-up key is not valid; ask for it again")
    }
}

impl std::error::Error for StartupKeyInvalid {}

/// Seals a secret to the start-up key of a keeper, for one purpose:
/// [`PURPOSE_PART`](wire::control::PURPOSE_PART) or
/// [`PURPOSE_PASSPHRASE`](wire::control::PURPOSE_PASSPHRASE). The secret stays the caller's to wipe.
///
/// # Errors
/// [`StartupKeyInvalid`].
pub fn seal(startup_key: &[u8; 32], purpose: &[u8], secret: &[u8]) -> Result<Sealed, StartupKeyInvalid> {
    let sealed = engine::seal_to(startup_key, purpose, secret).ok_or(StartupKeyInvalid)?;
    Ok(Sealed { share: sealed.share, ciphertext: sealed.ciphertext })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::control::{PURPOSE_PART, PURPOSE_PASSPHRASE};

    #[test]
    fn a_sealed_secret_opens_for_its_purpose_only() {
        let key = engine::SealingKey::generate();
        let sealed = seal(&key.public(), PURPOSE_PART, &[7; 24]).unwrap();
        let open = |purpose| key.open(purpose, &sealed.share, &sealed.ciphertext);
        assert_eq!(open(PURPOSE_PART).unwrap().as_slice(), [7; 24]);
        assert!(open(PURPOSE_PASSPHRASE).is_none());
    }

    #[test]
    fn a_point_of_small_order_is_refused() {
        assert_eq!(seal(&[0; 32], PURPOSE_PART, b"x").unwrap_err(), StartupKeyInvalid);
    }
}

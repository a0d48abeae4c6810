//! Clear RSA keys of this process whose operations run on a home's cards.

use engine::RsaPrivateKey;
use facility::Facility;
use openpgp::PrivateKeyError;
use openpgp::private_key::{RsaOperation, RsaProvider};
use token::pka::{Attributes, ClearKey, CrtComponents, Form, clear_token};
use wire::code;
use wire::verb::clear_rsa_private;
use zeroize::Zeroizing;

/// Runs the operations of clear RSA keys on a home's cards. To use accelerators only, select them in the facility.
#[derive(Clone, Debug)]
pub struct Accelerators {
    /// The home whose cards compute.
    pub facility: Facility,
    /// Domain that the requests name.
    pub domain: u16,
}

/// A clear key as the token that requests carry; wiped when dropped.
struct Accelerated {
    accelerators: Accelerators,
    token: Zeroizing<Vec<u8>>,
    modulus_bytes: usize,
}

impl RsaProvider for Accelerators {
    fn take(&self, key: &RsaPrivateKey) -> Result<Box<dyn RsaOperation>, PrivateKeyError> {
        let refused = || {
            failed("the key is not one that cards take: Chinese-remainder form, 512 to 4096 bits".to_owned())
        };
        let parts = [key.p(), key.q(), key.dp(), key.dq(), key.qinv()];
        let [Some(p), Some(q), Some(dp), Some(dq), Some(u)] = parts else { return Err(refused()) };
        let components = CrtComponents { p: &p, q: &q, dp: &dp, dq: &dq, u: &u };
        let (n, e) = (key.n(), key.e());
        let clear = ClearKey::Crt { n: &n, e: &e, components };
        let hashes = (engine::sha1, engine::sha256);
        let token = clear_token(Form::Crt, &clear, &Attributes::default(), &hashes).map_err(|_| refused())?;
        let (accelerators, modulus_bytes) = (self.clone(), key.modulus_bytes());
        Ok(Box::new(Accelerated { accelerators, token, modulus_bytes }))
    }
}

impl RsaOperation for Accelerated {
    fn private(&self, block: &[u8]) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError> {
        let ask = clear_rsa_private::Ask {
            key: &self.token,
            data: block,
            result: self.modulus_bytes,
            ..clear_rsa_private::Ask::new()
        };
        let Accelerators { facility, domain } = &self.accelerators;
        let answered = facility.ask(*domain, &ask).map_err(|error| failed(error.to_string()))?;
        if answered.codes() == code::TEXT_LENGTH {
            return Err(PrivateKeyError::NotOpened);
        }
        if !answered.codes().has_output() {
            return Err(failed(format!("the verb answered {}", answered.codes())));
        }
        Ok(Zeroizing::new(answered.got().result.to_vec()))
    }
}

fn failed(cause: String) -> PrivateKeyError {
    PrivateKeyError::Card { label: "(a key of this process)".to_owned(), cause }
}

//! Enciphers session keys by ECDH on curves that the engine supports (RFC 9580, 11.5).

use crate::compute::engine;
use crate::key::{KeyPacket, curve_and_point, derivation};
use engine::EcPrivateKey;
use pgp::crypto::aes_kw;
use pgp::crypto::ecdh::{build_ecdh_param, kdf};
use pgp::types::{EcdhPublicParams, KeyDetails, Mpi, PkeskBytes};
use zeroize::Zeroizing;

/// The key wrap takes texts of a multiple of this length, in bytes.
const BLOCK_BYTES: usize = 8;

/// Enciphers a framed session key to a public key.
pub(super) fn seal(key: &KeyPacket, params: &EcdhPublicParams, plain: &[u8]) -> Result<PkeskBytes, String> {
    let not_served = || "its curve is not served".to_owned();
    let (curve, point) = curve_and_point(key.public_params()).ok_or_else(not_served)?;
    let (hash, cipher) = derivation(params).ok_or_else(not_served)?;
    let ephemeral: EcPrivateKey = engine().ec_generate(curve).map_err(|error| error.to_string())?;
    let shared = ephemeral.ecdh(&point).map_err(|error| error.to_string())?;
    let fingerprint = key.fingerprint();
    let parameters = build_ecdh_param(&params.curve().oid(), cipher, hash, fingerprint.as_bytes());
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let wrap = kdf(hash, &shared, cipher.key_size(), &parameters).map_err(|error| text(&error))?;
    let wrapped = aes_kw::wrap(&Zeroizing::new(wrap), &padded(plain)).map_err(|error| text(&error))?;
    Ok(PkeskBytes::Ecdh {
        public_point: Mpi::from_slice(&ephemeral.public_bytes()),
        encrypted_session_key: wrapped.into(),
    })
}

/// The text padded with one to eight octets, each of which is their number.
fn padded(plain: &[u8]) -> Zeroizing<Vec<u8>> {
    let more = BLOCK_BYTES - plain.len() % BLOCK_BYTES;
    let mut padded = Zeroizing::new(Vec::with_capacity(plain.len() + more));
    padded.extend_from_slice(plain);
    padded.resize(plain.len() + more, u8::try_from(more).unwrap_or(0));
    padded
}

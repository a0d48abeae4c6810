//! The RSA verbs, a file each, through whole batches; the other side is OpenSSL.

mod asym;
mod batches;
mod clear_rsa;
mod contexts;
mod digital_signature;
mod malformed;
mod pka_encrypt_decrypt;
mod pka_key_generate;
mod pka_key_import;
mod pka_key_token_build;
mod pka_public_key_extract;
mod symmetric_key_transport;
mod tls_premaster;
mod unsound;

use std::path::Path;
use verb_requests::exercised::check;

#[test]
fn what_is_exercised_is_what_the_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercised");
    check(env!("CARGO_CRATE_NAME"), &folder, Path::new(env!("CARGO_TARGET_TMPDIR")));
}

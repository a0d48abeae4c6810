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

//! The verbs through the public interface, checked against OpenSSL: a file for each verb or pair.

mod agreement;
mod attacks;
mod attributes;
mod batch;
mod chip;
mod ciphers_aes;
mod ciphers_des;
mod control_vector_generate;
mod enhanced;
mod exchange;
mod format_preserving;
mod key_block;
mod key_generate;
mod key_import;
mod key_part_import;
mod key_test;
mod key_token_build;
mod keywords;
mod mac;
mod master_keys;
mod mdc;
mod one_way_hash;
mod pin;
mod pka_translate;
mod pka_transport;
mod pka_transport_aes;
mod random;
mod robustness;
mod sequences;
mod symmetric_key_generate;
mod texts;
mod three_parts;
mod token_forms;
mod translate;
mod unique;
mod uses;
mod variable;
mod wrong_by_one;

use std::path::Path;
use verb_requests::exercised::check;

#[test]
fn what_is_exercised_is_what_the_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exercised");
    check(env!("CARGO_CRATE_NAME"), &folder, Path::new(env!("CARGO_TARGET_TMPDIR")));
}

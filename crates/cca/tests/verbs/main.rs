//! The verbs through the public interface, checked against OpenSSL: a file for each verb or pair.

mod agreement;
mod attacks;
mod attributes;
mod batch;
mod ciphers_aes;
mod ciphers_des;
mod control_vector_generate;
mod enhanced;
mod exchange;
#[path = "../exercised/mod.rs"]
mod exercised;
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
mod peer;
mod pka_translate;
mod pka_transport;
mod pka_transport_aes;
mod random;
mod robustness;
mod sequences;
mod support;
mod symmetric_key_generate;
mod texts;
mod token_forms;
mod translate;
mod uses;
mod variable;
mod wrong_by_one;

//! The verbs: a file each, and files for what related verbs share.
//!
//! A verb is an `async fn` of the call and the reply. It checks every argument before it requests
//! work, so that a refusal costs nothing; it awaits only kernel work.

mod aes_cipher;
mod cipher_text_translate2;
mod clear_key_import;
mod clear_key_import_multiple;
mod clear_pin_encrypt;
mod clear_pin_generate;
mod clear_pin_generate_alternate;
mod clear_rsa_private;
mod clear_rsa_public;
mod code_conversion;
mod control_vector_generate;
mod cryptographic_variable_encipher;
mod cvv;
mod cvv_generate;
mod cvv_key_combine;
mod cvv_verify;
mod data_key_export;
mod data_key_import;
mod decipher;
mod derive_icc_mk;
mod des_cipher;
mod digital_signature_generate;
mod digital_signature_verify;
mod diversified_key_generate;
mod diversified_key_generate2;
mod ec_diffie_hellman;
mod emv_transaction;
mod encipher;
mod encrypted_pin_generate;
mod encrypted_pin_translate;
mod encrypted_pin_translate2;
mod encrypted_pin_verify;
mod encrypted_pin_verify2;
mod format_preserving;
mod format_preserving_decipher;
mod format_preserving_encipher;
mod format_preserving_translate;
mod hmac;
mod hmac_generate;
mod hmac_verify;
mod key_block;
mod key_encryption_translate;
mod key_export;
mod key_generate;
mod key_generate2;
mod key_import;
mod key_part_import;
mod key_part_import2;
mod key_test;
mod key_test2;
mod key_test_extended;
mod key_token_build;
mod key_token_build2;
mod key_token_change;
mod key_token_change2;
mod key_token_parse;
mod key_token_parse2;
mod key_translate;
mod key_translate2;
mod mac;
mod mac2;
mod mac_generate;
mod mac_generate2;
mod mac_verify;
mod mac_verify2;
mod mdc_generate;
mod null;
mod one_way_hash;
mod pin_change_unblock;
mod pka_decrypt;
mod pka_encrypt;
mod pka_key_generate;
mod pka_key_import;
mod pka_key_token_build;
mod pka_key_token_change;
mod pka_key_translate;
mod pka_public_key_extract;
mod prohibit_export;
mod prohibit_export2;
mod prohibit_export_extended;
mod random_number_generate;
mod random_number_generate_long;
mod recover_pin_from_offset;
mod restrict_key_attribute;
mod secure_messaging_for_keys;
mod secure_messaging_for_pins;
mod symmetric_algorithm_decipher;
mod symmetric_algorithm_encipher;
mod symmetric_key_export;
mod symmetric_key_generate;
mod symmetric_key_import;
mod symmetric_key_import2;
mod tls_premaster;
mod tr31_key_export;
mod tr31_key_import;
mod tr31_key_token_parse;
mod tr31_optional_data_build;
mod tr31_optional_data_read;
mod transaction_validation;
mod unique_key_derive;

use crate::call::{Call, Computation, Reply};
use crate::ground::Refusal;
use wire::Verb;
use wire::frame::Outcome;

macro_rules! served {
    (Daemon $module:ident $call:ident $reply:ident) => {
        Box::pin(async { Err(Refusal::Outcome(Outcome::NotServed)) })
    };
    // The function of a verb has the name of its module. A row without one does not compile.
    ($executor:ident $module:ident $call:ident $reply:ident) => {
        Box::pin($module::$module($call, $reply))
    };
}

macro_rules! dispatch {
    ($(
        $(#[$doc:meta])*
        $verb:ident $module:ident = $number:literal slot $slot:literal $entry_point:literal $executor:ident {
            $($rest:tt)*
        }
    )*) => {
        /// Begins the computation of a request. Nothing of it runs before it is polled.
        pub(crate) fn begin<'f>(call: Call<'f, 'f>, reply: &'f mut Reply<'_, '_>) -> Computation<'f> {
            match call.arguments.verb() {
                $(Verb::$verb => served!($executor $module call reply),)*
            }
        }
    };
}

wire::for_each_verb! { dispatch }

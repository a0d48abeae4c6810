//! The verb table: every verb's number, name, entry point, parameters, class and right, as data.
//!
//! Shells, command lines, fuzz targets and the page of documentation are made from it, so that no
//! signature is written twice. Parameters stand in the order of the CCA interface, after
//! `return_code`, `reason_code`, `exit_data_length` and `exit_data`.

use crate::grant::Rights;

/// Whether a verb may run again when the card that took it died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Has no effect but its answer: may be sent again.
    Pure,
    /// Changes something: never sent again once taken; its error says whether it ran.
    Once,
}

/// Who executes a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A card of the coprocessor personality.
    Coprocessor,
    /// A card of any personality.
    AnyCard,
    /// The daemon: key records.
    Daemon,
}

/// Which way a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the caller to the verb.
    In,
    /// Both ways.
    InOut,
    /// From the verb to the caller.
    Out,
}

/// How long a byte parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this many bytes.
    Fixed(usize),
    /// As many bytes as the integer parameter at this position says; for output its value on entry.
    By(usize),
    /// Decided by keywords; at most this many bytes.
    UpTo(usize),
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer (C `long`).
    Integer,
    /// Bytes.
    Bytes(Length),
    /// A key token, or the 64-byte field of a label.
    Key(Length),
    /// A rule array: 8-byte keywords, as many as the integer parameter at this position says.
    Keywords(usize),
}

/// One parameter of a verb.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in the interface.
    pub name: &'static str,
    /// Which way it travels.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
}

/// One row of the verb table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The verb.
    pub verb: Verb,
    /// Its name in kebab case.
    pub name: &'static str,
    /// Its CCA entry point; empty for verbs of our own.
    pub entry_point: &'static str,
    /// May it run twice.
    pub class: Class,
    /// Who executes it.
    pub place: Place,
    /// Whether it is written to the audit log before it is answered.
    pub audited: bool,
    /// The right that a queue needs for it.
    pub right: Rights,
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
}

impl Verb {
    /// The verb of this number.
    pub fn from_number(number: u16) -> Option<Self> {
        TABLE.iter().find(|entry| entry.verb as u16 == number).map(|entry| entry.verb)
    }

    /// The verb of this kebab-case name or CCA entry point.
    pub fn from_name(name: &str) -> Option<Self> {
        let entry = TABLE.iter().find(|entry| {
            entry.name == name
                || (!entry.entry_point.is_empty() && entry.entry_point.eq_ignore_ascii_case(name))
        });
        entry.map(|entry| entry.verb)
    }

    /// Its row of the table.
    pub fn entry(self) -> &'static Entry {
        &TABLE[self.index()]
    }
}

const fn kebab<const N: usize>(snake: &str) -> [u8; N] {
    replaced(snake, b'_', b'-')
}

const fn lower<const N: usize>(upper: &str) -> [u8; N] {
    replaced(upper, b'_', b'_')
}

const fn replaced<const N: usize>(from: &str, this: u8, by: u8) -> [u8; N] {
    let mut out = [0; N];
    let mut index = 0;
    while index < N {
        let byte = from.as_bytes()[index].to_ascii_lowercase();
        out[index] = if byte == this { by } else { byte };
        index += 1;
    }
    out
}

const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("identifiers are ASCII"),
    }
}

macro_rules! verbs {
    ($(
        $(#[$doc:meta])*
        $verb:ident $module:ident = $number:literal $entry_point:literal $class:ident $place:ident $audited:literal $right:ident {
            $($parameter:ident: $direction:ident $kind:expr;)*
        }
    )*) => {
        /// A verb, by its number on the wire.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Verb {
            $($(#[$doc])* $verb = $number,)*
        }

        #[allow(clippy::upper_case_acronyms)]
        enum Row { $($verb),* }

        impl Verb {
            const fn index(self) -> usize {
                match self { $(Self::$verb => Row::$verb as usize),* }
            }
        }

        /// Every verb.
        pub static TABLE: &[Entry] = &[$(Entry {
            verb: Verb::$verb,
            name: $module::NAME,
            entry_point: $entry_point,
            class: Class::$class,
            place: Place::$place,
            audited: $audited,
            right: Rights::$right,
            parameters: $module::PARAMETERS,
        }),*];

        $(
            #[doc = concat!("Positions of the parameters of `", stringify!($module), "`.")]
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, missing_docs)]
            pub mod $module {
                use super::*;
                #[allow(unused_imports)]
                use {Kind::*, Length::*};
                enum Position { $($parameter,)* #[allow(dead_code)] Count }
                $(pub const $parameter: usize = Position::$parameter as usize;)*
                const _: () = assert!((Position::Count as usize) <= crate::bounds::PARAMETERS_MAX);
                pub(super) const NAME: &str = {
                    const SNAKE: &str = stringify!($module);
                    const KEBAB: [u8; SNAKE.len()] = kebab(SNAKE);
                    text(&KEBAB)
                };
                pub(super) const PARAMETERS: &[Parameter] = &[$(Parameter {
                    name: {
                        const UPPER: &str = stringify!($parameter);
                        const LOWER: [u8; UPPER.len()] = lower(UPPER);
                        text(&LOWER)
                    },
                    direction: Direction::$direction,
                    kind: $kind,
                }),*];
            }
        )*
    };
}

verbs! {
    /// Does nothing: what the way to a card and back costs.
    Null null = 0x0001 "" Pure AnyCard false PUBLIC {}
    /// RSA private operation with a clear key token (external, CRT or ME form), raw.
    ClearRsaPrivate clear_rsa_private = 0x0002 "" Pure AnyCard false CLEAR_RSA {
        KEY_LENGTH: In Integer;
        KEY: In Bytes(By(KEY_LENGTH));
        DATA_LENGTH: In Integer;
        DATA: In Bytes(By(DATA_LENGTH));
        RESULT_LENGTH: InOut Integer;
        RESULT: Out Bytes(By(RESULT_LENGTH));
    }
    /// RSA public operation with a public or clear key token, raw.
    ClearRsaPublic clear_rsa_public = 0x0003 "" Pure AnyCard false CLEAR_RSA {
        KEY_LENGTH: In Integer;
        KEY: In Bytes(By(KEY_LENGTH));
        DATA_LENGTH: In Integer;
        DATA: In Bytes(By(DATA_LENGTH));
        RESULT_LENGTH: InOut Integer;
        RESULT: Out Bytes(By(RESULT_LENGTH));
    }
    /// Key_Token_Build: a skeleton, or a clear token.
    KeyTokenBuild key_token_build = 0x0101 "CSNBKTB" Pure Coprocessor false PUBLIC {
        KEY_TOKEN: Out Bytes(Fixed(64));
        KEY_TYPE: In Bytes(Fixed(8));
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_VALUE: In Bytes(UpTo(64));
        RESERVED_FIELD_1: In Bytes(UpTo(64));
        RESERVED_FIELD_2: In Integer;
        RESERVED_FIELD_3: In Bytes(UpTo(64));
        CONTROL_VECTOR: In Bytes(UpTo(16));
        RESERVED_FIELD_4: In Bytes(UpTo(64));
        RESERVED_FIELD_5: In Integer;
        RESERVED_FIELD_6: In Bytes(UpTo(64));
        MASTER_KEY_VERIFICATION_NUMBER: In Bytes(UpTo(8));
    }
    /// Key_Generate.
    KeyGenerate key_generate = 0x0102 "CSNBKGN" Pure Coprocessor false GENERATE {
        KEY_FORM: In Bytes(Fixed(4));
        KEY_LENGTH: In Bytes(Fixed(8));
        KEY_TYPE_1: In Bytes(Fixed(8));
        KEY_TYPE_2: In Bytes(Fixed(8));
        KEK_KEY_IDENTIFIER_1: InOut Key(Fixed(64));
        KEK_KEY_IDENTIFIER_2: InOut Key(Fixed(64));
        GENERATED_KEY_IDENTIFIER_1: InOut Key(Fixed(64));
        GENERATED_KEY_IDENTIFIER_2: InOut Key(Fixed(64));
    }
    /// Clear_Key_Import: a single-length DES DATA key.
    ClearKeyImport clear_key_import = 0x0103 "CSNBCKI" Pure Coprocessor true IMPORT_CLEAR {
        CLEAR_KEY: In Bytes(Fixed(8));
        TARGET_KEY_IDENTIFIER: InOut Key(Fixed(64));
    }
    /// Clear_Key_Import_Multiple: an AES or DES DATA key.
    ClearKeyImportMultiple clear_key_import_multiple = 0x0104 "CSNBCKM" Pure Coprocessor true IMPORT_CLEAR {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        CLEAR_KEY_LENGTH: In Integer;
        CLEAR_KEY: In Bytes(By(CLEAR_KEY_LENGTH));
        TARGET_KEY_IDENTIFIER: InOut Key(Fixed(64));
    }
    /// Key_Test: generate or verify the verification pattern of a key.
    KeyTest key_test = 0x0105 "CSNBKYT" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_IDENTIFIER: InOut Key(Fixed(64));
        VALUE_1: InOut Bytes(Fixed(8));
        VALUE_2: InOut Bytes(Fixed(8));
    }
    /// Encipher: DES and TDES.
    Encipher encipher = 0x0110 "CSNBENC" Pure Coprocessor false CIPHER {
        KEY_IDENTIFIER: InOut Key(Fixed(64));
        TEXT_LENGTH: InOut Integer;
        PLAINTEXT: In Bytes(UpTo(crate::bounds::TEXT_BYTES_MAX));
        INITIALIZATION_VECTOR: In Bytes(Fixed(8));
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        PAD_CHARACTER: In Integer;
        CHAINING_VECTOR: InOut Bytes(Fixed(18));
        CIPHERTEXT: Out Bytes(By(TEXT_LENGTH));
    }
    /// Decipher: DES and TDES.
    Decipher decipher = 0x0111 "CSNBDEC" Pure Coprocessor false CIPHER {
        KEY_IDENTIFIER: InOut Key(Fixed(64));
        TEXT_LENGTH: InOut Integer;
        CIPHERTEXT: In Bytes(UpTo(crate::bounds::TEXT_BYTES_MAX));
        INITIALIZATION_VECTOR: In Bytes(Fixed(8));
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        CHAINING_VECTOR: InOut Bytes(Fixed(18));
        PLAINTEXT: Out Bytes(By(TEXT_LENGTH));
    }
    /// Symmetric_Algorithm_Encipher: AES.
    SymmetricAlgorithmEncipher symmetric_algorithm_encipher = 0x0112 "CSNBSAE" Pure Coprocessor false CIPHER {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LENGTH: In Integer;
        KEY_IDENTIFIER: InOut Key(By(KEY_LENGTH));
        KEY_PARMS_LENGTH: InOut Integer;
        KEY_PARMS: InOut Bytes(By(KEY_PARMS_LENGTH));
        BLOCK_SIZE: In Integer;
        INITIALIZATION_VECTOR_LENGTH: In Integer;
        INITIALIZATION_VECTOR: In Bytes(By(INITIALIZATION_VECTOR_LENGTH));
        CHAIN_DATA_LENGTH: InOut Integer;
        CHAIN_DATA: InOut Bytes(By(CHAIN_DATA_LENGTH));
        CLEAR_TEXT_LENGTH: In Integer;
        CLEAR_TEXT: In Bytes(By(CLEAR_TEXT_LENGTH));
        CIPHER_TEXT_LENGTH: InOut Integer;
        CIPHER_TEXT: Out Bytes(By(CIPHER_TEXT_LENGTH));
        OPTIONAL_DATA_LENGTH: In Integer;
        OPTIONAL_DATA: In Bytes(By(OPTIONAL_DATA_LENGTH));
    }
    /// Symmetric_Algorithm_Decipher: AES.
    SymmetricAlgorithmDecipher symmetric_algorithm_decipher = 0x0113 "CSNBSAD" Pure Coprocessor false CIPHER {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LENGTH: In Integer;
        KEY_IDENTIFIER: InOut Key(By(KEY_LENGTH));
        KEY_PARMS_LENGTH: InOut Integer;
        KEY_PARMS: InOut Bytes(By(KEY_PARMS_LENGTH));
        BLOCK_SIZE: In Integer;
        INITIALIZATION_VECTOR_LENGTH: In Integer;
        INITIALIZATION_VECTOR: In Bytes(By(INITIALIZATION_VECTOR_LENGTH));
        CHAIN_DATA_LENGTH: InOut Integer;
        CHAIN_DATA: InOut Bytes(By(CHAIN_DATA_LENGTH));
        CIPHER_TEXT_LENGTH: In Integer;
        CIPHER_TEXT: In Bytes(By(CIPHER_TEXT_LENGTH));
        CLEAR_TEXT_LENGTH: InOut Integer;
        CLEAR_TEXT: Out Bytes(By(CLEAR_TEXT_LENGTH));
        OPTIONAL_DATA_LENGTH: In Integer;
        OPTIONAL_DATA: In Bytes(By(OPTIONAL_DATA_LENGTH));
    }
    /// MAC_Generate.
    MacGenerate mac_generate = 0x0120 "CSNBMGN" Pure Coprocessor false MAC {
        KEY_IDENTIFIER: InOut Key(Fixed(64));
        TEXT_LENGTH: In Integer;
        TEXT: In Bytes(By(TEXT_LENGTH));
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        CHAINING_VECTOR: InOut Bytes(Fixed(18));
        MAC: Out Bytes(UpTo(9));
    }
    /// MAC_Verify.
    MacVerify mac_verify = 0x0121 "CSNBMVR" Pure Coprocessor false MAC {
        KEY_IDENTIFIER: InOut Key(Fixed(64));
        TEXT_LENGTH: In Integer;
        TEXT: In Bytes(By(TEXT_LENGTH));
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        CHAINING_VECTOR: InOut Bytes(Fixed(18));
        MAC: In Bytes(UpTo(9));
    }
    /// One_Way_Hash.
    OneWayHash one_way_hash = 0x0130 "CSNBOWH" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        TEXT_LENGTH: In Integer;
        TEXT: In Bytes(By(TEXT_LENGTH));
        CHAINING_VECTOR_LENGTH: In Integer;
        CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
        HASH_LENGTH: In Integer;
        HASH: InOut Bytes(By(HASH_LENGTH));
    }
    /// Random_Number_Generate: 8 bytes.
    RandomNumberGenerate random_number_generate = 0x0140 "CSNBRNG" Pure Coprocessor false PUBLIC {
        FORM: In Bytes(Fixed(8));
        RANDOM_NUMBER: Out Bytes(Fixed(8));
    }
    /// Random_Number_Generate_Long: up to 8192 bytes.
    RandomNumberGenerateLong random_number_generate_long = 0x0141 "CSNBRNGL" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        RESERVED_LENGTH: In Integer;
        RESERVED: In Bytes(By(RESERVED_LENGTH));
        RANDOM_NUMBER_LENGTH: InOut Integer;
        RANDOM_NUMBER: Out Bytes(By(RANDOM_NUMBER_LENGTH));
    }
    /// PKA_Key_Token_Build.
    PkaKeyTokenBuild pka_key_token_build = 0x0201 "CSNDPKB" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_VALUES_STRUCTURE_LENGTH: In Integer;
        KEY_VALUES_STRUCTURE: In Bytes(By(KEY_VALUES_STRUCTURE_LENGTH));
        KEY_NAME_LN: In Integer;
        KEY_NAME: In Bytes(By(KEY_NAME_LN));
        CUSTOMER_DATA_LENGTH: In Integer;
        CUSTOMER_DATA: In Bytes(By(CUSTOMER_DATA_LENGTH));
        RESERVED_2_LENGTH: In Integer;
        RESERVED_2: In Bytes(By(RESERVED_2_LENGTH));
        RESERVED_3_LENGTH: In Integer;
        RESERVED_3: In Bytes(By(RESERVED_3_LENGTH));
        RESERVED_4_LENGTH: In Integer;
        RESERVED_4: In Bytes(By(RESERVED_4_LENGTH));
        RESERVED_5_LENGTH: In Integer;
        RESERVED_5: In Bytes(By(RESERVED_5_LENGTH));
        TOKEN_LENGTH: InOut Integer;
        TOKEN: Out Bytes(By(TOKEN_LENGTH));
    }
    /// PKA_Key_Generate.
    PkaKeyGenerate pka_key_generate = 0x0202 "CSNDPKG" Pure Coprocessor false GENERATE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        REGENERATION_DATA_LENGTH: In Integer;
        REGENERATION_DATA: In Bytes(By(REGENERATION_DATA_LENGTH));
        SKELETON_KEY_TOKEN_LENGTH: In Integer;
        SKELETON_KEY_TOKEN: In Key(By(SKELETON_KEY_TOKEN_LENGTH));
        TRANSPORT_KEY_IDENTIFIER: In Key(Fixed(64));
        GENERATED_KEY_IDENTIFIER_LENGTH: InOut Integer;
        GENERATED_KEY_IDENTIFIER: InOut Key(By(GENERATED_KEY_IDENTIFIER_LENGTH));
    }
    /// PKA_Key_Import.
    PkaKeyImport pka_key_import = 0x0203 "CSNDPKI" Pure Coprocessor true IMPORT_CLEAR {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        SOURCE_KEY_TOKEN_LENGTH: In Integer;
        SOURCE_KEY_TOKEN: In Key(By(SOURCE_KEY_TOKEN_LENGTH));
        IMPORTER_KEY_IDENTIFIER: In Key(Fixed(64));
        TARGET_KEY_IDENTIFIER_LENGTH: InOut Integer;
        TARGET_KEY_IDENTIFIER: InOut Key(By(TARGET_KEY_IDENTIFIER_LENGTH));
    }
    /// PKA_Public_Key_Extract.
    PkaPublicKeyExtract pka_public_key_extract = 0x0204 "CSNDPKX" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        SOURCE_KEY_IDENTIFIER_LENGTH: In Integer;
        SOURCE_KEY_IDENTIFIER: In Key(By(SOURCE_KEY_IDENTIFIER_LENGTH));
        TARGET_KEY_TOKEN_LENGTH: InOut Integer;
        TARGET_KEY_TOKEN: Out Bytes(By(TARGET_KEY_TOKEN_LENGTH));
    }
    /// PKA_Encrypt.
    PkaEncrypt pka_encrypt = 0x0210 "CSNDPKE" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_VALUE_LENGTH: In Integer;
        KEY_VALUE: In Bytes(By(KEY_VALUE_LENGTH));
        DATA_STRUCT_LENGTH: In Integer;
        DATA_STRUCT: In Bytes(By(DATA_STRUCT_LENGTH));
        RSA_PUBLIC_KEY_LENGTH: In Integer;
        RSA_PUBLIC_KEY: In Key(By(RSA_PUBLIC_KEY_LENGTH));
        RSA_ENCIPHER_LENGTH: InOut Integer;
        RSA_ENCIPHER: Out Bytes(By(RSA_ENCIPHER_LENGTH));
    }
    /// PKA_Decrypt.
    PkaDecrypt pka_decrypt = 0x0211 "CSNDPKD" Pure Coprocessor false PKA_DECIPHER {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        ENCIPHERED_KEY_LENGTH: In Integer;
        ENCIPHERED_KEY: In Bytes(By(ENCIPHERED_KEY_LENGTH));
        DATA_STRUCT_LENGTH: In Integer;
        DATA_STRUCT: In Bytes(By(DATA_STRUCT_LENGTH));
        RSA_PRIVATE_KEY_LENGTH: In Integer;
        RSA_PRIVATE_KEY: In Key(By(RSA_PRIVATE_KEY_LENGTH));
        KEY_VALUE_LENGTH: InOut Integer;
        KEY_VALUE: Out Bytes(By(KEY_VALUE_LENGTH));
    }
    /// Digital_Signature_Generate.
    DigitalSignatureGenerate digital_signature_generate = 0x0220 "CSNDDSG" Pure Coprocessor false SIGN {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        PKA_PRIVATE_KEY_ID_LENGTH: In Integer;
        PKA_PRIVATE_KEY_ID: In Key(By(PKA_PRIVATE_KEY_ID_LENGTH));
        HASH_LENGTH: In Integer;
        HASH: In Bytes(By(HASH_LENGTH));
        SIGNATURE_FIELD_LENGTH: InOut Integer;
        SIGNATURE_BIT_LENGTH: Out Integer;
        SIGNATURE_FIELD: Out Bytes(By(SIGNATURE_FIELD_LENGTH));
    }
    /// Digital_Signature_Verify.
    DigitalSignatureVerify digital_signature_verify = 0x0221 "CSNDDSV" Pure Coprocessor false PUBLIC {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        PKA_PUBLIC_KEY_ID_LENGTH: In Integer;
        PKA_PUBLIC_KEY_ID: In Key(By(PKA_PUBLIC_KEY_ID_LENGTH));
        HASH_LENGTH: In Integer;
        HASH: In Bytes(By(HASH_LENGTH));
        SIGNATURE_FIELD_LENGTH: In Integer;
        SIGNATURE_FIELD: In Bytes(By(SIGNATURE_FIELD_LENGTH));
    }
    /// Symmetric_Key_Export: a DATA key under an RSA public key.
    SymmetricKeyExport symmetric_key_export = 0x0230 "CSNDSYX" Pure Coprocessor true TRANSPORT {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        SOURCE_KEY_IDENTIFIER_LENGTH: In Integer;
        SOURCE_KEY_IDENTIFIER: In Key(By(SOURCE_KEY_IDENTIFIER_LENGTH));
        RSA_PUBLIC_KEY_IDENTIFIER_LEN: In Integer;
        RSA_PUBLIC_KEY_IDENTIFIER: In Key(By(RSA_PUBLIC_KEY_IDENTIFIER_LEN));
        RSA_ENCIPHERED_KEY_LENGTH: InOut Integer;
        RSA_ENCIPHERED_KEY: Out Bytes(By(RSA_ENCIPHERED_KEY_LENGTH));
    }
    /// Symmetric_Key_Import: a DATA key under an RSA public key.
    SymmetricKeyImport symmetric_key_import = 0x0231 "CSNDSYI" Pure Coprocessor true TRANSPORT {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        RSA_ENCIPHERED_KEY_LENGTH: In Integer;
        RSA_ENCIPHERED_KEY: In Bytes(By(RSA_ENCIPHERED_KEY_LENGTH));
        RSA_PRIVATE_KEY_IDENTIFIER_LEN: In Integer;
        RSA_PRIVATE_KEY_IDENTIFIER: In Key(By(RSA_PRIVATE_KEY_IDENTIFIER_LEN));
        TARGET_KEY_IDENTIFIER_LENGTH: InOut Integer;
        TARGET_KEY_IDENTIFIER: InOut Key(By(TARGET_KEY_IDENTIFIER_LENGTH));
    }
    /// DES_Key_Record_Create: a record without a key.
    DesKeyRecordCreate des_key_record_create = 0x0301 "CSNBKRC" Once Daemon true RECORD_WRITE {
        KEY_LABEL: In Bytes(Fixed(64));
    }
    /// DES_Key_Record_Read.
    DesKeyRecordRead des_key_record_read = 0x0302 "CSNBKRR" Pure Daemon false RECORD_READ {
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN: Out Bytes(Fixed(64));
    }
    /// DES_Key_Record_Write.
    DesKeyRecordWrite des_key_record_write = 0x0303 "CSNBKRW" Once Daemon true RECORD_WRITE {
        KEY_TOKEN: In Bytes(Fixed(64));
        KEY_LABEL: In Bytes(Fixed(64));
    }
    /// DES_Key_Record_Delete: the token or the whole record.
    DesKeyRecordDelete des_key_record_delete = 0x0304 "CSNBKRD" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_IDENTIFIER: In Bytes(Fixed(64));
    }
    /// AES_Key_Record_Create.
    AesKeyRecordCreate aes_key_record_create = 0x0311 "CSNBAKRC" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN_LENGTH: In Integer;
        KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
    }
    /// AES_Key_Record_Read.
    AesKeyRecordRead aes_key_record_read = 0x0312 "CSNBAKRR" Pure Daemon false RECORD_READ {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN_LENGTH: InOut Integer;
        KEY_TOKEN: Out Bytes(By(KEY_TOKEN_LENGTH));
    }
    /// AES_Key_Record_Write.
    AesKeyRecordWrite aes_key_record_write = 0x0313 "CSNBAKRW" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN_LENGTH: In Integer;
        KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
    }
    /// AES_Key_Record_Delete.
    AesKeyRecordDelete aes_key_record_delete = 0x0314 "CSNBAKRD" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
    }
    /// PKA_Key_Record_Create.
    PkaKeyRecordCreate pka_key_record_create = 0x0321 "CSNDKRC" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN_LENGTH: In Integer;
        KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
    }
    /// PKA_Key_Record_Read.
    PkaKeyRecordRead pka_key_record_read = 0x0322 "CSNDKRR" Pure Daemon false RECORD_READ {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN_LENGTH: InOut Integer;
        KEY_TOKEN: Out Bytes(By(KEY_TOKEN_LENGTH));
    }
    /// PKA_Key_Record_Write.
    PkaKeyRecordWrite pka_key_record_write = 0x0323 "CSNDKRW" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_LABEL: In Bytes(Fixed(64));
        KEY_TOKEN_LENGTH: In Integer;
        KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
    }
    /// PKA_Key_Record_Delete.
    PkaKeyRecordDelete pka_key_record_delete = 0x0324 "CSNDKRD" Once Daemon true RECORD_WRITE {
        RULE_ARRAY_COUNT: In Integer;
        RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
        KEY_IDENTIFIER: In Bytes(Fixed(64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_names_and_entry_points_are_unique() {
        let numbers: HashSet<_> = TABLE.iter().map(|entry| entry.verb as u16).collect();
        let names: HashSet<_> = TABLE.iter().map(|entry| entry.name).collect();
        let entry_points: Vec<_> =
            TABLE.iter().map(|entry| entry.entry_point).filter(|text| !text.is_empty()).collect();
        assert_eq!(numbers.len(), TABLE.len());
        assert_eq!(names.len(), TABLE.len());
        assert_eq!(entry_points.iter().collect::<HashSet<_>>().len(), entry_points.len());
    }

    #[test]
    fn rows_are_found_by_number_name_and_entry_point() {
        for entry in TABLE {
            assert_eq!(entry.verb.entry().name, entry.name);
            assert_eq!(Verb::from_number(entry.verb as u16), Some(entry.verb));
            assert_eq!(Verb::from_name(entry.name), Some(entry.verb));
        }
        assert_eq!(Verb::from_name("csnbenc"), Some(Verb::Encipher));
        assert_eq!(Verb::from_name("key-generate"), Some(Verb::KeyGenerate));
        assert_eq!(Verb::Encipher.entry().parameters[encipher::TEXT_LENGTH].name, "text_length");
        assert_eq!(Verb::from_name(""), None);
        assert_eq!(Verb::from_number(0), None);
    }

    #[test]
    fn a_length_names_an_integer_that_travels_before_it() {
        for entry in TABLE {
            for parameter in entry.parameters {
                let by = match parameter.kind {
                    Kind::Bytes(Length::By(by)) | Kind::Key(Length::By(by)) | Kind::Keywords(by) => by,
                    _ => continue,
                };
                let integer = entry.parameters[by];
                assert_eq!(integer.kind, Kind::Integer, "{}.{}", entry.name, parameter.name);
                assert_ne!(integer.direction, Direction::Out, "{}.{}", entry.name, parameter.name);
            }
        }
    }
}

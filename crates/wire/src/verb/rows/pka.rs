//! Verbs of RSA and elliptic-curve keys, and encryption under those of RSA.

#[doc(hidden)]
#[macro_export]
macro_rules! pka_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// PKA_Key_Token_Build.
            PkaKeyTokenBuild pka_key_token_build = 0x0201 slot 17 "CSNDPKB" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 7 {
                    kind: PkaTokenKind required, usage: PkaUsage, translation: PkaTranslation, version: EccVersion,
                }, rules PKA_BUILD_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_VALUES_STRUCTURE_LENGTH: In Length;
                    KEY_VALUES_STRUCTURE: In Bytes(By(KEY_VALUES_STRUCTURE_LENGTH)), secret;
                    KEY_NAME_LN: In Length;
                    KEY_NAME: In Bytes(By(KEY_NAME_LN));
                    CUSTOMER_DATA_LENGTH: In Length, optional;
                    CUSTOMER_DATA: In Bytes(By(CUSTOMER_DATA_LENGTH));
                    KEY_DERIVATION_DATA_LENGTH: In Length, optional;
                    KEY_DERIVATION_DATA: In Bytes(By(KEY_DERIVATION_DATA_LENGTH));
                    RESERVED_3_LENGTH: In Length;
                    RESERVED_3: In Bytes(By(RESERVED_3_LENGTH)), empty;
                    RESERVED_4_LENGTH: In Length;
                    RESERVED_4: In Bytes(By(RESERVED_4_LENGTH)), empty;
                    RESERVED_5_LENGTH: In Length;
                    RESERVED_5: In Bytes(By(RESERVED_5_LENGTH)), empty;
                    TOKEN_LENGTH: InOut Length;
                    TOKEN: Out Bytes(By(TOKEN_LENGTH)), secret;
                }
            }
            /// PKA_Key_Generate.
            PkaKeyGenerate pka_key_generate = 0x0202 slot 18 "CSNDPKG" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes Asym Apka]; lanes: One;
                asks: [ShortRsa WeakTransport ImportUnderImporter];
                keywords: 0 to 3 { output: PkaOutput, transport: OutputKekType }, rules PKA_OUTPUT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    REGENERATION_DATA_LENGTH: In Length;
                    REGENERATION_DATA: In Bytes(By(REGENERATION_DATA_LENGTH)), empty;
                    SKELETON_KEY_TOKEN_LENGTH: In Length;
                    SKELETON_KEY_TOKEN: In skeleton(By(SKELETON_KEY_TOKEN_LENGTH)) for GENERATE;
                    TRANSPORT_KEY_IDENTIFIER: In uses(Own) for GENERATE;
                    GENERATED_KEY_IDENTIFIER_LENGTH: InOut Length;
                    GENERATED_KEY_IDENTIFIER: InOut makes(By(GENERATED_KEY_IDENTIFIER_LENGTH)) for GENERATE, secret;
                }
            }
            /// PKA_Key_Import.
            PkaKeyImport pka_key_import = 0x0203 slot 19 "CSNDPKI" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes Asym Apka]; lanes: One;
                asks: [PkaKeyImportTransported ImportUnderImporter WeakImport];
                keywords: 0 to 3 { algorithm: ChangedPkaAlgorithm, transport: ImporterKind }, rules PKA_IMPORT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    SOURCE_KEY_TOKEN_LENGTH: In Length;
                    SOURCE_KEY_TOKEN: In uses(By(SOURCE_KEY_TOKEN_LENGTH)) for IMPORT, secret;
                    IMPORTER_KEY_IDENTIFIER: In uses(Own) for IMPORT;
                    TARGET_KEY_IDENTIFIER_LENGTH: InOut Length;
                    TARGET_KEY_IDENTIFIER: InOut makes(By(TARGET_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                }
            }
            /// PKA_Public_Key_Extract.
            PkaPublicKeyExtract pka_public_key_extract = 0x0204 slot 20 "CSNDPKX" Coprocessor {
                class: Pure; audited: Nothing; needs: [Asym Apka]; lanes: One;
                asks: [];
                keywords: 0 to 1 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    SOURCE_KEY_IDENTIFIER_LENGTH: In Length;
                    SOURCE_KEY_IDENTIFIER: In uses(By(SOURCE_KEY_IDENTIFIER_LENGTH)) for VERIFY;
                    TARGET_KEY_TOKEN_LENGTH: InOut Length;
                    TARGET_KEY_TOKEN: Out Bytes(By(TARGET_KEY_TOKEN_LENGTH));
                }
            }
            /// PKA_Key_Token_Change: a PKA token under the old master key is put under the current one.
            PkaKeyTokenChange pka_key_token_change = 0x0205 slot 41 "CSNDKTC" Coprocessor {
                class: Pure; audited: Nothing; needs: [Asym Apka]; lanes: One;
                asks: [];
                keywords: 1 to 2 { change: TokenChange required, algorithm: ChangedPkaAlgorithm }, rules NEW_MASTER_KEY_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for TEST;
                }
            }
            /// PKA_Key_Translate: an RSA token under a key of DES comes under one of AES.
            PkaKeyTranslate pka_key_translate = 0x0206 slot 76 "CSNDPKT" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes Asym Apka]; lanes: One;
                asks: [PkaKeyTranslateToExporter PkaKeyTranslateToImporter ImportUnderImporter WeakTransport];
                keywords: 1 to 1 { translation: PrivateKeyTranslation required }, rules PRIVATE_TRANSLATION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    SOURCE_KEY_IDENTIFIER_LENGTH: In Length;
                    SOURCE_KEY_IDENTIFIER: In uses(By(SOURCE_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    SOURCE_TRANSPORT_KEY_IDENTIFIER_LENGTH: In Length;
                    SOURCE_TRANSPORT_KEY_IDENTIFIER: In uses(By(SOURCE_TRANSPORT_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    TARGET_TRANSPORT_KEY_IDENTIFIER_LENGTH: In Length;
                    TARGET_TRANSPORT_KEY_IDENTIFIER: In uses(By(TARGET_TRANSPORT_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    TARGET_KEY_TOKEN_LENGTH: InOut Length;
                    TARGET_KEY_TOKEN: InOut makes(By(TARGET_KEY_TOKEN_LENGTH)) for EXPORT;
                }
            }
            /// PKA_Encrypt.
            PkaEncrypt pka_encrypt = 0x0210 slot 21 "CSNDPKE" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: RsaPublic;
                asks: [];
                keywords: 1 to 8 { format: RsaFormat required, hash_method: RsaHash, value: ValueRule }, rules ENCRYPT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_VALUE_LENGTH: In Length;
                    KEY_VALUE: In Bytes(By(KEY_VALUE_LENGTH)), secret;
                    DATA_STRUCT_LENGTH: In Length;
                    DATA_STRUCT: In Bytes(By(DATA_STRUCT_LENGTH)), empty;
                    RSA_PUBLIC_KEY_LENGTH: In Length;
                    RSA_PUBLIC_KEY: In uses(By(RSA_PUBLIC_KEY_LENGTH)) for RSA_ENCIPHER;
                    RSA_ENCIPHER_LENGTH: InOut Length;
                    RSA_ENCIPHER: Out Bytes(By(RSA_ENCIPHER_LENGTH));
                }
            }
            /// PKA_Decrypt.
            PkaDecrypt pka_decrypt = 0x0211 slot 22 "CSNDPKD" Coprocessor {
                class: Pure; audited: Nothing; needs: [Asym Apka]; lanes: RsaPrivate;
                asks: [DecipherBoth];
                keywords: 1 to 5 { format: RsaFormat required, hash_method: RsaHash }, rules RSA_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    ENCIPHERED_KEY_LENGTH: In Length;
                    ENCIPHERED_KEY: In Bytes(By(ENCIPHERED_KEY_LENGTH));
                    DATA_STRUCT_LENGTH: In Length;
                    DATA_STRUCT: In Bytes(By(DATA_STRUCT_LENGTH)), empty;
                    RSA_PRIVATE_KEY_LENGTH: In Length;
                    RSA_PRIVATE_KEY: In uses(By(RSA_PRIVATE_KEY_LENGTH)) for RSA_DECIPHER;
                    KEY_VALUE_LENGTH: InOut Length;
                    KEY_VALUE: Out Bytes(By(KEY_VALUE_LENGTH)), secret;
                }
            }
            /// Opens the premaster secret of TLS that a client enciphered (RFC 5246, section 7.4.7.1). CCA has no such
            /// verb.
            TlsPremaster tls_premaster = 0x0212 slot 112 "" Coprocessor {
                class: Pure; audited: Nothing; needs: [Asym Apka]; lanes: RsaPrivate;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    ENCRYPTED_PREMASTER_LENGTH: In Length;
                    ENCRYPTED_PREMASTER: In Bytes(By(ENCRYPTED_PREMASTER_LENGTH));
                    RSA_PRIVATE_KEY_LENGTH: In Length;
                    RSA_PRIVATE_KEY: In uses(By(RSA_PRIVATE_KEY_LENGTH)) for RSA_DECIPHER;
                    PREMASTER_SECRET: Out Bytes(Fixed(48)), secret;
                }
            }
        } }
    };
}

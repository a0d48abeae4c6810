//! Verbs that carry symmetric keys under RSA keys, and keys of variable length under AES keys.

#[doc(hidden)]
#[macro_export]
macro_rules! transport_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Symmetric_Key_Export: a DATA key under an RSA public key, or a key of variable length under one or under
            /// an AES EXPORTER key.
            SymmetricKeyExport symmetric_key_export = 0x0230 slot 25 "CSNDSYX" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes]; lanes: RsaPublic;
                asks: [WeakTransport WeakRakw TransportUnderRsa];
                keywords: 1 to 3 {
                    algorithm: ExportAlgorithm, format: ExportFormat required, hash_method: RsaHash,
                }, rules EXPORT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    SOURCE_KEY_IDENTIFIER_LENGTH: In Length;
                    SOURCE_KEY_IDENTIFIER: In uses(By(SOURCE_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    RSA_PUBLIC_KEY_IDENTIFIER_LEN: In Length;
                    RSA_PUBLIC_KEY_IDENTIFIER: In uses(By(RSA_PUBLIC_KEY_IDENTIFIER_LEN)) for EXPORT;
                    RSA_ENCIPHERED_KEY_LENGTH: InOut Length;
                    RSA_ENCIPHERED_KEY: Out Bytes(By(RSA_ENCIPHERED_KEY_LENGTH));
                }
            }
            /// Symmetric_Key_Import: a DATA key under an RSA public key.
            SymmetricKeyImport symmetric_key_import = 0x0231 slot 26 "CSNDSYI" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes Asym Apka]; lanes: RsaPrivate;
                asks: [DecipherBoth];
                keywords: 1 to 5 {
                    algorithm: KeyAlgorithm, format: TransportFormat required, hash_method: RsaHash, key_length: TransportLength,
                }, rules IMPORT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    RSA_ENCIPHERED_KEY_LENGTH: In Length;
                    RSA_ENCIPHERED_KEY: In Bytes(By(RSA_ENCIPHERED_KEY_LENGTH));
                    RSA_PRIVATE_KEY_IDENTIFIER_LEN: In Length;
                    RSA_PRIVATE_KEY_IDENTIFIER: In uses(By(RSA_PRIVATE_KEY_IDENTIFIER_LEN)) for IMPORT;
                    TARGET_KEY_IDENTIFIER_LENGTH: InOut Length;
                    TARGET_KEY_IDENTIFIER: InOut makes(By(TARGET_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                }
            }
            /// Symmetric_Key_Import2: a key of an external token of variable length or of an object of PKCS #11, under
            /// the master key.
            SymmetricKeyImport2 symmetric_key_import2 = 0x0170 slot 60 "CSNDSYI2" Coprocessor {
                class: Pure; audited: Keys; needs: [Aes Asym Apka]; lanes: One;
                asks: [WeakImport DecipherBoth TransportUnderRsa];
                keywords: 2 to 4 {
                    algorithm: Import2Algorithm required, format: Import2Format required, wrapping: Import2Wrapping,
                    translation: Import2Translation,
                }, rules IMPORT2_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    RSA_ENCIPHERED_KEY_LENGTH: In Length;
                    RSA_ENCIPHERED_KEY: In Bytes(By(RSA_ENCIPHERED_KEY_LENGTH));
                    RSA_PRIVATE_KEY_IDENTIFIER_LENGTH: In Length;
                    RSA_PRIVATE_KEY_IDENTIFIER: In uses(By(RSA_PRIVATE_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                    USER_MOD_DATA_LENGTH: In Length;
                    USER_MOD_DATA: In Bytes(By(USER_MOD_DATA_LENGTH));
                    TARGET_KEY_IDENTIFIER_LENGTH: InOut Length;
                    TARGET_KEY_IDENTIFIER: InOut makes(By(TARGET_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                }
            }
            /// Symmetric_Key_Generate: a new DATA key, for use here or under a key-encrypting key, and under an RSA
            /// public key.
            SymmetricKeyGenerate symmetric_key_generate = 0x0190 slot 80 "CSNDSYG" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes]; lanes: RsaPublic;
                asks: [SingleLengthDes];
                keywords: 1 to 7 {
                    algorithm: KeyAlgorithm, format: GeneratedFormat required, hash_method: RsaHash, key_length: GeneratedLength,
                    local_copy: LocalCopy,
                }, rules GENERATED_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_ENCRYPTING_KEY: In uses(Fixed(64)) for EXPORT;
                    RSAPUB_KEY_LENGTH: In Length;
                    RSAPUB_KEY: In uses(By(RSAPUB_KEY_LENGTH)) for EXPORT;
                    LOCENC_KEY_LENGTH: InOut Length;
                    LOCENC_KEY: InOut makes(By(LOCENC_KEY_LENGTH)) for EXPORT;
                    RSAENC_KEY_LENGTH: InOut Length;
                    RSAENC_KEY: Out Bytes(By(RSAENC_KEY_LENGTH));
                }
            }
        } }
    };
}

//! Verbs that carry DES keys under key-encrypting keys, and that forbid it.

#[doc(hidden)]
#[macro_export]
macro_rules! exchange_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Key_Import: a key under an IMPORTER key comes under the master key.
            KeyImport key_import = 0x0150 slot 45 "CSNBKIM" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [SingleLengthDes];
                keywords: 0 to 0 {};
                parameters {
                    KEY_TYPE: In Bytes(Fixed(8));
                    SOURCE_KEY_TOKEN: In uses(Fixed(64)) for IMPORT;
                    IMPORTER_KEY_IDENTIFIER: InOut renews(Fixed(64)) for IMPORT;
                    TARGET_KEY_IDENTIFIER: InOut makes(Fixed(64)) for IMPORT;
                }
            }
            /// Key_Export: a key under the master key comes under an EXPORTER key.
            KeyExport key_export = 0x0151 slot 46 "CSNBKEX" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [WeakTransport];
                keywords: 0 to 0 {};
                parameters {
                    KEY_TYPE: In Bytes(Fixed(8));
                    SOURCE_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    EXPORTER_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    TARGET_KEY_TOKEN: Out Bytes(Fixed(64));
                }
            }
            /// Data_Key_Import: Key_Import of a DATA key.
            DataKeyImport data_key_import = 0x0152 slot 47 "CSNBDKM" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [SingleLengthDes];
                keywords: 0 to 0 {};
                parameters {
                    SOURCE_KEY_TOKEN: In uses(Fixed(64)) for IMPORT;
                    IMPORTER_KEY_IDENTIFIER: InOut renews(Fixed(64)) for IMPORT;
                    TARGET_KEY_IDENTIFIER: InOut makes(Fixed(64)) for IMPORT;
                }
            }
            /// Data_Key_Export: Key_Export of a DATA key.
            DataKeyExport data_key_export = 0x0153 slot 48 "CSNBDKX" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [WeakTransport];
                keywords: 0 to 0 {};
                parameters {
                    SOURCE_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    EXPORTER_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    TARGET_KEY_TOKEN: Out Bytes(Fixed(64));
                }
            }
            /// Key_Translate: a key under one key-encrypting key comes under another.
            KeyTranslate key_translate = 0x0154 slot 49 "CSNBKTR" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [WeakTransport];
                keywords: 0 to 0 {};
                parameters {
                    INPUT_KEY_TOKEN: In uses(Fixed(64)) for EXPORT;
                    INPUT_KEK_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    OUTPUT_KEK_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    OUTPUT_KEY_TOKEN: Out Bytes(Fixed(64));
                }
            }
            /// Prohibit_Export: a key under the master key may not be exported from then on.
            ProhibitExport prohibit_export = 0x0155 slot 50 "CSNBPEX" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesTriple;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for WRITE;
                }
            }
            /// Prohibit_Export_Extended: whoever imports a key may not export it.
            ProhibitExportExtended prohibit_export_extended = 0x0156 slot 51 "CSNBPEXX" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesTriple;
                asks: [WeakTransport];
                keywords: 0 to 0 {};
                parameters {
                    SOURCE_KEY_TOKEN: InOut uses(Fixed(64)) for EXPORT;
                    KEK_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                }
            }
            /// Key_Encryption_Translate: a DATA key of double length between a token and a block in CBC.
            KeyEncryptionTranslate key_encryption_translate = 0x01A6 slot 96 "CSNBKET" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [];
                keywords: 1 to 1 { translation: KeyEncryption required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEK_IDENTIFIER_LENGTH: In Length;
                    KEK_IDENTIFIER: InOut renews(By(KEK_IDENTIFIER_LENGTH)) for EXPORT;
                    KEY_IN_LENGTH: In Length;
                    KEY_IN: In Bytes(By(KEY_IN_LENGTH));
                    KEY_OUT_LENGTH: InOut Length;
                    KEY_OUT: Out Bytes(By(KEY_OUT_LENGTH));
                }
            }
        } }
    };
}

//! Verbs that make, import and test symmetric keys.

#[doc(hidden)]
#[macro_export]
macro_rules! key_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Key_Generate.
            KeyGenerate key_generate = 0x0102 slot 4 "CSNBKGN" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesTriple;
                asks: [
                    KeyGenerateOne KeyGenerateSet KeyGenerateSetExtended KeyGenerateTransported
                    KeyGenerateSingleR SingleLengthDes WeakTransport
                ];
                keywords: 0 to 0 {};
                parameters {
                    KEY_FORM: In Bytes(Fixed(4));
                    KEY_LENGTH: In Bytes(Fixed(8));
                    KEY_TYPE_1: In Bytes(Fixed(8));
                    KEY_TYPE_2: In Bytes(Fixed(8));
                    KEK_KEY_IDENTIFIER_1: InOut renews(Fixed(64)) for GENERATE;
                    KEK_KEY_IDENTIFIER_2: InOut renews(Fixed(64)) for GENERATE;
                    GENERATED_KEY_IDENTIFIER_1: InOut makes(Fixed(64)) for GENERATE;
                    GENERATED_KEY_IDENTIFIER_2: InOut makes(Fixed(64)) for GENERATE;
                }
            }
            /// Clear_Key_Import: a single-length DES DATA key.
            ClearKeyImport clear_key_import = 0x0103 slot 5 "CSNBCKI" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [SingleLengthDes];
                keywords: 0 to 0 {};
                parameters {
                    CLEAR_KEY: In Bytes(Fixed(8)), secret;
                    TARGET_KEY_IDENTIFIER: InOut makes(Fixed(64)) for WRITE;
                }
            }
            /// Clear_Key_Import_Multiple: an AES or DES DATA key.
            ClearKeyImportMultiple clear_key_import_multiple = 0x0104 slot 6 "CSNBCKM" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [SingleLengthDes];
                keywords: 0 to 2 { algorithm: KeyAlgorithm, wrapping: TokenWrapping }, rules WRAPPING_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CLEAR_KEY_LENGTH: In Length;
                    CLEAR_KEY: In Bytes(By(CLEAR_KEY_LENGTH)), secret;
                    TARGET_KEY_IDENTIFIER: InOut makes(Fixed(64)) for WRITE;
                }
            }
            /// Key_Test: generate or verify the verification pattern of a key.
            KeyTest key_test = 0x0105 slot 7 "CSNBKYT" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes Asym Apka]; lanes: TdesTriple;
                asks: [];
                keywords: 1 to 5 {
                    process: TestProcess required, source: TestSource, register: TestRegister, algorithm: TestAlgorithm, parity: TestParity,
                }, rules TEST_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for TEST, secret;
                    VALUE_1: InOut Bytes(Fixed(8));
                    VALUE_2: InOut Bytes(Fixed(8));
                }
            }
            /// Key_Test_Extended: the same of a key under a key-encrypting key.
            KeyTestExtended key_test_extended = 0x0108 slot 43 "CSNBKYTX" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesTriple;
                asks: [];
                keywords: 1 to 5 {
                    process: TestProcess required, source: ExtendedTestSource, algorithm: ExtendedTestAlgorithm, parity: TestParity,
                };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for TEST;
                    RANDOM_NUMBER: InOut Bytes(Fixed(8));
                    VERIFICATION_PATTERN: InOut Bytes(Fixed(8));
                    KEK_KEY_IDENTIFIER: InOut renews(Fixed(64)) for TEST;
                }
            }
            /// Key_Part_Import: a clear part of a DES key is added to a token; one of 24 bytes, where that is of triple
            /// length.
            KeyPartImport key_part_import = 0x0109 slot 44 "CSNBKPI" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [SingleLengthDes];
                keywords: 1 to 2 { part: KeyPart required, wrapping: TokenWrapping }, rules WRAPPING_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_PART: In Bytes(Keyed(ENTERED_PART)), secret;
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for WRITE;
                }
            }
            /// Key_Token_Change: a DES or AES token under the old master key is put under the current one.
            KeyTokenChange key_token_change = 0x0106 slot 40 "CSNBKTC" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesTriple;
                asks: [];
                keywords: 1 to 4 {
                    change: TokenChange required, algorithm: ChangedAlgorithm, wrapping: TokenWrapping, bound: WrappingBound,
                }, rules CHANGE_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for TEST;
                }
            }
        } }
    };
}

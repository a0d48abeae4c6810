//! Verbs that test a key in any symmetric token, narrow what its token permits, and change the form of its token.

#[doc(hidden)]
#[macro_export]
macro_rules! attribute_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Key_Test2: generate or verify the verification pattern of a key in a token of any form, or of a master
            /// key.
            KeyTest2 key_test2 = 0x0180 slot 70 "CSNBKYT2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes Asym Apka]; lanes: TdesTriple;
                asks: [];
                keywords: 2 to 5 {
                    process: TestProcess2 required, algorithm: SymmetricAlgorithm, register: TestRegister, source: MasterKeySource,
                    method: TestMethod2, wrapping: WrappingAlgorithm,
                }, rules TEST_2_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for TEST, secret;
                    KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    KEK_KEY_IDENTIFIER: InOut renews(By(KEK_KEY_IDENTIFIER_LENGTH)) for TEST;
                    RESERVED_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED: In Bytes(By(RESERVED_LENGTH)), empty;
                    VERIFICATION_PATTERN_LENGTH: InOut Length;
                    VERIFICATION_PATTERN: InOut Bytes(By(VERIFICATION_PATTERN_LENGTH));
                }
            }
            /// Restrict_Key_Attribute: a key may leave in fewer ways from then on.
            RestrictKeyAttribute restrict_key_attribute = 0x0181 slot 71 "CSNBRKA" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesTriple;
                asks: [WeakTransport];
                keywords: 1 to 11 {
                    algorithm: RestrictedAlgorithm required, extent: RestrictionExtent, wrapping: WrappingAlgorithm,
                }, rules RESTRICTION_RULES, others attributes;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for WRITE, secret;
                    KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    KEK_KEY_IDENTIFIER: InOut renews(By(KEK_KEY_IDENTIFIER_LENGTH)) for WRITE;
                    OPT_PARAMETER1_LENGTH: In Length(RESERVED_LENGTH);
                    OPT_PARAMETER1: In Bytes(By(OPT_PARAMETER1_LENGTH)), empty;
                    OPT_PARAMETER2_LENGTH: In Length(RESERVED_LENGTH);
                    OPT_PARAMETER2: In Bytes(By(OPT_PARAMETER2_LENGTH)), empty;
                }
            }
            /// Key_Translate2: a key under one key-encrypting key comes under another, or its token takes another form.
            KeyTranslate2 key_translate2 = 0x0182 slot 72 "CSNBKTR2" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes]; lanes: TdesTriple;
                asks: [WeakTransport WeakImport KeyTranslate2Fixed];
                keywords: 0 to 3 {
                    process: TranslationProcess, algorithm: SymmetricAlgorithm, form: TranslatedWrapping,
                }, rules TRANSLATION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    INPUT_KEY_TOKEN_LENGTH: In Length;
                    INPUT_KEY_TOKEN: In uses(By(INPUT_KEY_TOKEN_LENGTH)) for EXPORT, secret;
                    INPUT_KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    INPUT_KEK_KEY_IDENTIFIER: InOut renews(By(INPUT_KEK_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    OUTPUT_KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    OUTPUT_KEK_KEY_IDENTIFIER: InOut renews(By(OUTPUT_KEK_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    OUTPUT_KEY_TOKEN_LENGTH: InOut Length;
                    OUTPUT_KEY_TOKEN: InOut makes(By(OUTPUT_KEY_TOKEN_LENGTH)) for EXPORT;
                }
            }
            /// Prohibit_Export2: a key may not be exported from then on.
            ProhibitExport2 prohibit_export2 = 0x0183 slot 73 "CSNBPEX2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesTriple;
                asks: [WeakTransport];
                keywords: 1 to 2 { algorithm: RestrictedAlgorithm required, wrapping: WrappingAlgorithm }, rules RESTRICTION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for WRITE, secret;
                    KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    KEK_KEY_IDENTIFIER: InOut renews(By(KEK_KEY_IDENTIFIER_LENGTH)) for WRITE;
                }
            }
        } }
    };
}

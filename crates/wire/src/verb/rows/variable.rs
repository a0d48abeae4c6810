//! Verbs of symmetric keys in tokens of variable length.

#[doc(hidden)]
#[macro_export]
macro_rules! variable_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Key_Token_Build2: a skeleton, or a clear token, of variable length.
            KeyTokenBuild2 key_token_build2 = 0x0160 slot 52 "CSNBKTB2" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 3 to KEYWORDS_MAX {
                    origin: TokenOrigin required, content: VariableContent, payload: VariablePayload,
                    algorithm: VariableAlgorithm required, key_type: VariableKeyType required,
                }, rules VARIABLE_BUILD_RULES, others usage;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CLEAR_KEY_BIT_LENGTH: In Length(KEY_BITS);
                    CLEAR_KEY_VALUE: In Bytes(Bits(CLEAR_KEY_BIT_LENGTH)), secret;
                    KEY_NAME_LENGTH: In Length;
                    KEY_NAME: In Bytes(By(KEY_NAME_LENGTH));
                    USER_ASSOCIATED_DATA_LENGTH: In Length;
                    USER_ASSOCIATED_DATA: In Bytes(By(USER_ASSOCIATED_DATA_LENGTH));
                    TOKEN_DATA_LENGTH: In Length;
                    TOKEN_DATA: In Bytes(By(TOKEN_DATA_LENGTH));
                    RESERVED_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED: In Bytes(By(RESERVED_LENGTH)), empty;
                    TARGET_KEY_TOKEN_LENGTH: InOut Length;
                    TARGET_KEY_TOKEN: Out Bytes(By(TARGET_KEY_TOKEN_LENGTH)), secret;
                }
            }
            /// Key_Token_Parse2: what a token of variable length says, as keywords and fields.
            KeyTokenParse2 key_token_parse2 = 0x0168 slot 75 "CSNBKTP2" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_TOKEN_LENGTH: In Length;
                    KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH)), secret;
                    KEY_TYPE: Out Bytes(Fixed(8));
                    RULE_ARRAY_COUNT: InOut Length;
                    RULE_ARRAY: Out Keywords(RULE_ARRAY_COUNT);
                    KEY_MATERIAL_STATE: Out Integer;
                    PAYLOAD_BIT_LENGTH: InOut Length;
                    PAYLOAD: Out Bytes(Bits(PAYLOAD_BIT_LENGTH)), secret;
                    KEY_VERIFICATION_TYPE: Out Integer;
                    KEY_VERIFICATION_PATTERN_LENGTH: InOut Length;
                    KEY_VERIFICATION_PATTERN: Out Bytes(By(KEY_VERIFICATION_PATTERN_LENGTH));
                    KEY_WRAPPING_METHOD: Out Integer;
                    KEY_HASH_METHOD: Out Integer;
                    KEY_NAME_LENGTH: InOut Length;
                    KEY_NAME: Out Bytes(By(KEY_NAME_LENGTH));
                    TLVDATA_LENGTH: InOut Length;
                    TLVDATA: Out Bytes(By(TLVDATA_LENGTH));
                    USER_ASSOC_DATA_LENGTH: InOut Length;
                    USER_ASSOC_DATA: Out Bytes(By(USER_ASSOC_DATA_LENGTH));
                    RESERVED_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED: In Bytes(By(RESERVED_LENGTH)), empty;
                }
            }
            /// Key_Generate2: an AES or HMAC key in one token of variable length or two.
            KeyGenerate2 key_generate2 = 0x0161 slot 53 "CSNBKGN2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: One;
                asks: [KeyGenerate2SetExtended WeakTransport];
                keywords: 2 to 2 { algorithm: VariableAlgorithm required, form: VariableKeyForm required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CLEAR_KEY_BIT_LENGTH: In Integer;
                    KEY_TYPE_1: In Bytes(Fixed(8));
                    KEY_TYPE_2: In Bytes(Fixed(8));
                    KEY_NAME_1_LENGTH: In Length;
                    KEY_NAME_1: In Bytes(By(KEY_NAME_1_LENGTH));
                    KEY_NAME_2_LENGTH: In Length;
                    KEY_NAME_2: In Bytes(By(KEY_NAME_2_LENGTH));
                    USER_ASSOCIATED_DATA_1_LENGTH: In Length;
                    USER_ASSOCIATED_DATA_1: In Bytes(By(USER_ASSOCIATED_DATA_1_LENGTH));
                    USER_ASSOCIATED_DATA_2_LENGTH: In Length;
                    USER_ASSOCIATED_DATA_2: In Bytes(By(USER_ASSOCIATED_DATA_2_LENGTH));
                    KEK_KEY_IDENTIFIER_1_LENGTH: In Length;
                    KEK_KEY_IDENTIFIER_1: InOut renews(By(KEK_KEY_IDENTIFIER_1_LENGTH)) for GENERATE;
                    KEK_KEY_IDENTIFIER_2_LENGTH: In Length;
                    KEK_KEY_IDENTIFIER_2: InOut renews(By(KEK_KEY_IDENTIFIER_2_LENGTH)) for GENERATE;
                    GENERATED_KEY_IDENTIFIER_1_LENGTH: InOut Length;
                    GENERATED_KEY_IDENTIFIER_1: InOut makes(By(GENERATED_KEY_IDENTIFIER_1_LENGTH)) for GENERATE;
                    GENERATED_KEY_IDENTIFIER_2_LENGTH: InOut Length;
                    GENERATED_KEY_IDENTIFIER_2: InOut makes(By(GENERATED_KEY_IDENTIFIER_2_LENGTH)) for GENERATE;
                }
            }
            /// Key_Part_Import2: an AES or HMAC key in clear parts.
            KeyPartImport2 key_part_import2 = 0x0162 slot 56 "CSNBKPI2" Coprocessor {
                class: Pure; audited: Keys; needs: [Aes]; lanes: One;
                asks: [KeyPartSecond KeyPartLast KeyPartOptional];
                keywords: 2 to 3 { algorithm: VariableAlgorithm required, part: VariableKeyPart required, least: KeyPartsLeast }, rules VARIABLE_PART_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CLEAR_KEY_PART_LENGTH: In Length(KEY_BITS);
                    CLEAR_KEY_PART: In Bytes(Bits(CLEAR_KEY_PART_LENGTH)), secret;
                    KEY_IDENTIFIER_LENGTH: InOut Length;
                    KEY_IDENTIFIER: InOut makes(By(KEY_IDENTIFIER_LENGTH)) for WRITE;
                }
            }
            /// Key_Token_Change2: a token of variable length under the old master key is put under the current one.
            KeyTokenChange2 key_token_change2 = 0x0163 slot 57 "CSNBKTC2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: One;
                asks: [];
                keywords: 2 to 2 { change: TokenChange required, algorithm: VariableAlgorithm required }, rules NEW_MASTER_KEY_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for TEST, secret;
                }
            }
        } }
    };
}

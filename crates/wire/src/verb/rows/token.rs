//! Verbs that build symmetric key tokens.

#[doc(hidden)]
#[macro_export]
macro_rules! token_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Key_Token_Build: a skeleton, or a clear token.
            KeyTokenBuild key_token_build = 0x0101 slot 3 "CSNBKTB" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to KEYWORDS_MAX {
                    origin: TokenOrigin required, algorithm: TokenAlgorithm, content: TokenContent, vector: TokenVector, length: TokenLength, wrapping: TokenWrapping,
                }, rules BUILD_RULES, others usage;
                parameters {
                    KEY_TOKEN: Out Bytes(Fixed(64)), secret;
                    KEY_TYPE: In Bytes(Fixed(8)), optional;
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_VALUE: In Bytes(Keyed(BUILT_KEY_VALUE)), secret;
                    RESERVED_FIELD_1: In Bytes(Fixed(0)), reserved;
                    RESERVED_FIELD_2: In Integer, reserved;
                    RESERVED_FIELD_3: In Bytes(Fixed(0)), reserved;
                    CONTROL_VECTOR: In Bytes(Keyed(BUILT_CONTROL_VECTOR));
                    RESERVED_FIELD_4: In Bytes(Fixed(0)), reserved;
                    RESERVED_FIELD_5: In Integer, reserved;
                    RESERVED_FIELD_6: In Bytes(Fixed(0)), reserved;
                    MASTER_KEY_VERIFICATION_NUMBER: In Bytes(Keyed(BUILT_VERIFICATION_PATTERN));
                }
            }
            /// Key_Token_Parse: what a DES token says, as keywords and fields.
            KeyTokenParse key_token_parse = 0x0184 slot 74 "CSNBKTP" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_TOKEN: In Bytes(Fixed(64));
                    KEY_TYPE: Out Bytes(Fixed(8));
                    RULE_ARRAY_COUNT: InOut Length;
                    RULE_ARRAY: Out Keywords(RULE_ARRAY_COUNT);
                    KEY_VALUE: Out Bytes(Fixed(16));
                    MASTER_KEY_VERIFICATION_PATTERN_V03: In Bytes(Fixed(0)), reserved;
                    RESERVED_FIELD_2: In Integer, reserved;
                    RESERVED_FIELD_3: In Bytes(Fixed(0)), reserved;
                    CONTROL_VECTOR: Out Bytes(Fixed(16));
                    RESERVED_FIELD_4: In Bytes(Fixed(0)), reserved;
                    RESERVED_FIELD_5: In Integer, reserved;
                    RESERVED_FIELD_6: In Bytes(Fixed(0)), reserved;
                    MASTER_KEY_VERIFICATION_PATTERN_V00: Out Bytes(Fixed(8));
                }
            }
            /// Control_Vector_Generate: the control vector of a key type with these usage keywords.
            ControlVectorGenerate control_vector_generate = 0x0107 slot 42 "CSNBCVG" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to KEYWORDS_MAX { length: TokenLength }, rules VECTOR_RULES, others usage;
                parameters {
                    KEY_TYPE: In Bytes(Fixed(8));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    RESERVED_FIELD_1: In Bytes(Fixed(0)), reserved;
                    CONTROL_VECTOR: Out Bytes(Fixed(16));
                }
            }
        } }
    };
}

//! Verbs that make and verify message authentication codes.

#[doc(hidden)]
#[macro_export]
macro_rules! mac_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// MAC_Generate.
            MacGenerate mac_generate = 0x0120 slot 12 "CSNBMGN" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: X919;
                asks: [];
                keywords: 0 to 3 { method: MacMethod, segment: Segment, format: MacFormat };
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for MAC_GENERATE;
                    TEXT_LENGTH: In Length(TEXT_LENGTH);
                    TEXT: In Bytes(By(TEXT_LENGTH));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CHAINING_VECTOR: InOut Bytes(Fixed(18));
                    MAC: Out Bytes(Keyed(SHOWN_MAC));
                }
            }
            /// MAC_Verify.
            MacVerify mac_verify = 0x0121 slot 13 "CSNBMVR" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: X919;
                asks: [MacVerifyShort];
                keywords: 0 to 3 { method: MacMethod, segment: Segment, format: MacFormat };
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for MAC_VERIFY;
                    TEXT_LENGTH: In Length(TEXT_LENGTH);
                    TEXT: In Bytes(By(TEXT_LENGTH));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CHAINING_VECTOR: InOut Bytes(Fixed(18));
                    MAC: In Bytes(Keyed(SHOWN_MAC));
                }
            }
            /// HMAC_Generate.
            HmacGenerate hmac_generate = 0x0142 slot 54 "CSNBHMG" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: Sha256;
                asks: [];
                keywords: 2 to 3 { algorithm: HmacAlgorithm required, method: HmacMethod required, segment: Segment };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for MAC_GENERATE, secret;
                    MESSAGE_TEXT_LENGTH: In Length(TEXT_LENGTH);
                    MESSAGE_TEXT: In Bytes(By(MESSAGE_TEXT_LENGTH));
                    CHAINING_VECTOR_LENGTH: InOut Length;
                    CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
                    MAC_LENGTH: InOut Length;
                    MAC_TEXT: Out Bytes(By(MAC_LENGTH));
                }
            }
            /// HMAC_Verify.
            HmacVerify hmac_verify = 0x0143 slot 55 "CSNBHMV" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: Sha256;
                asks: [];
                keywords: 2 to 3 { algorithm: HmacAlgorithm required, method: HmacMethod required, segment: Segment };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for MAC_VERIFY, secret;
                    MESSAGE_TEXT_LENGTH: In Length(TEXT_LENGTH);
                    MESSAGE_TEXT: In Bytes(By(MESSAGE_TEXT_LENGTH));
                    CHAINING_VECTOR_LENGTH: InOut Length;
                    CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
                    MAC_LENGTH: In Length;
                    MAC_TEXT: In Bytes(By(MAC_LENGTH));
                }
            }
            /// MAC_Generate2: CMACs and HMACs.
            MacGenerate2 mac_generate2 = 0x01A1 slot 91 "CSNBMGN2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: CmacAes;
                asks: [];
                keywords: 1 to 3 { algorithm: VariableAlgorithm required, method: KeyedHash, segment: Segment }, rules KEYED_HASH_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for MAC_GENERATE, secret;
                    MESSAGE_TEXT_LENGTH: In Length(TEXT_LENGTH);
                    MESSAGE_TEXT: In Bytes(By(MESSAGE_TEXT_LENGTH));
                    CHAINING_VECTOR_LENGTH: InOut Length;
                    CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
                    MAC_LENGTH: InOut Length;
                    MAC_TEXT: Out Bytes(By(MAC_LENGTH));
                }
            }
            /// MAC_Verify2: CMACs and HMACs.
            MacVerify2 mac_verify2 = 0x01A2 slot 92 "CSNBMVR2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: CmacAes;
                asks: [];
                keywords: 1 to 3 { algorithm: VariableAlgorithm required, method: KeyedHash, segment: Segment }, rules KEYED_HASH_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for MAC_VERIFY, secret;
                    MESSAGE_TEXT_LENGTH: In Length(TEXT_LENGTH);
                    MESSAGE_TEXT: In Bytes(By(MESSAGE_TEXT_LENGTH));
                    CHAINING_VECTOR_LENGTH: InOut Length;
                    CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
                    MAC_LENGTH: In Length;
                    MAC_TEXT: In Bytes(By(MAC_LENGTH));
                }
            }
        } }
    };
}

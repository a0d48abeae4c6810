//! Verbs that encipher and decipher under DES and AES keys.

#[doc(hidden)]
#[macro_export]
macro_rules! cipher_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Encipher: DES and TDES.
            Encipher encipher = 0x0110 slot 8 "CSNBENC" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesCbcEncipher;
                asks: [];
                keywords: 0 to 3 { method: DesMethod, chaining: DesChaining, key_source: DesKeySource };
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for ENCIPHER;
                    TEXT_LENGTH: InOut Length(TEXT_LENGTH);
                    PLAINTEXT: In Bytes(By(TEXT_LENGTH));
                    INITIALIZATION_VECTOR: In Bytes(Fixed(8)), optional;
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PAD_CHARACTER: In Integer;
                    CHAINING_VECTOR: InOut Bytes(Fixed(18));
                    CIPHERTEXT: Out Bytes(Padded { by: TEXT_LENGTH, block: 8, with: "X9.23" });
                }
            }
            /// Decipher: DES and TDES.
            Decipher decipher = 0x0111 slot 9 "CSNBDEC" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesCbcDecipher;
                asks: [];
                keywords: 0 to 3 { method: DesMethod, chaining: DesChaining, key_source: DesKeySource };
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64)) for DECIPHER;
                    TEXT_LENGTH: InOut Length(TEXT_LENGTH);
                    CIPHERTEXT: In Bytes(By(TEXT_LENGTH));
                    INITIALIZATION_VECTOR: In Bytes(Fixed(8)), optional;
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CHAINING_VECTOR: InOut Bytes(Fixed(18));
                    PLAINTEXT: Out Bytes(By(TEXT_LENGTH));
                }
            }
            /// Symmetric_Algorithm_Encipher: AES.
            SymmetricAlgorithmEncipher symmetric_algorithm_encipher = 0x0112 slot 10 "CSNBSAE" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: AesCbc;
                asks: [];
                keywords: 1 to 4 {
                    algorithm: AesAlgorithm required, method: AesMethod, key_rule: AesKeyRule, part: AesPosition,
                }, rules AES_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LENGTH: In Length(KEY_LENGTH_KEYWORD);
                    KEY_IDENTIFIER: InOut renews(By(KEY_LENGTH)) for ENCIPHER, secret;
                    KEY_PARMS_LENGTH: InOut Length;
                    KEY_PARMS: InOut Bytes(By(KEY_PARMS_LENGTH));
                    BLOCK_SIZE: In Integer;
                    INITIALIZATION_VECTOR_LENGTH: In Length;
                    INITIALIZATION_VECTOR: In Bytes(By(INITIALIZATION_VECTOR_LENGTH));
                    CHAIN_DATA_LENGTH: InOut Length;
                    CHAIN_DATA: InOut Bytes(By(CHAIN_DATA_LENGTH));
                    CLEAR_TEXT_LENGTH: In Length(TEXT_LENGTH);
                    CLEAR_TEXT: In Bytes(By(CLEAR_TEXT_LENGTH));
                    CIPHER_TEXT_LENGTH: InOut Length;
                    CIPHER_TEXT: Out Bytes(By(CIPHER_TEXT_LENGTH));
                    OPTIONAL_DATA_LENGTH: In Length;
                    OPTIONAL_DATA: In Bytes(By(OPTIONAL_DATA_LENGTH));
                }
            }
            /// Symmetric_Algorithm_Decipher: AES.
            SymmetricAlgorithmDecipher symmetric_algorithm_decipher = 0x0113 slot 11 "CSNBSAD" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: One;
                asks: [];
                keywords: 1 to 4 {
                    algorithm: AesAlgorithm required, method: AesMethod, key_rule: AesKeyRule, part: AesPosition,
                }, rules AES_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LENGTH: In Length(KEY_LENGTH_KEYWORD);
                    KEY_IDENTIFIER: InOut renews(By(KEY_LENGTH)) for DECIPHER, secret;
                    KEY_PARMS_LENGTH: InOut Length;
                    KEY_PARMS: InOut Bytes(By(KEY_PARMS_LENGTH));
                    BLOCK_SIZE: In Integer;
                    INITIALIZATION_VECTOR_LENGTH: In Length;
                    INITIALIZATION_VECTOR: In Bytes(By(INITIALIZATION_VECTOR_LENGTH));
                    CHAIN_DATA_LENGTH: InOut Length;
                    CHAIN_DATA: InOut Bytes(By(CHAIN_DATA_LENGTH));
                    CIPHER_TEXT_LENGTH: In Length(TEXT_LENGTH);
                    CIPHER_TEXT: In Bytes(By(CIPHER_TEXT_LENGTH));
                    CLEAR_TEXT_LENGTH: InOut Length;
                    CLEAR_TEXT: Out Bytes(By(CLEAR_TEXT_LENGTH));
                    OPTIONAL_DATA_LENGTH: In Length;
                    OPTIONAL_DATA: In Bytes(By(OPTIONAL_DATA_LENGTH));
                }
            }
            /// Cipher_Text_Translate2: a text under one key comes under another.
            CipherTextTranslate2 cipher_text_translate2 = 0x01A3 slot 93 "CSNBCTT2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: AesCbc;
                asks: [TranslateDataKeys TranslateAesToDes TranslateWeakerAes TranslateWeakerDes];
                keywords: 4 to 5 {
                    key_in: KeyInAlgorithm required, method_in: MethodIn required, key_out: KeyOutAlgorithm required, method_out: MethodOut required,
                    chaining: DesChaining,
                }, rules TRANSLATE_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_IN_LENGTH: In Length;
                    KEY_IDENTIFIER_IN: InOut renews(By(KEY_IDENTIFIER_IN_LENGTH)) for TRANSLATE;
                    INIT_VECTOR_IN_LENGTH: In Length;
                    INIT_VECTOR_IN: In Bytes(By(INIT_VECTOR_IN_LENGTH));
                    CIPHER_TEXT_IN_LENGTH: In Length(TEXT_LENGTH);
                    CIPHER_TEXT_IN: In Bytes(By(CIPHER_TEXT_IN_LENGTH));
                    CHAINING_VECTOR_LENGTH: InOut Length;
                    CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
                    KEY_IDENTIFIER_OUT_LENGTH: In Length;
                    KEY_IDENTIFIER_OUT: InOut renews(By(KEY_IDENTIFIER_OUT_LENGTH)) for TRANSLATE;
                    INIT_VECTOR_OUT_LENGTH: In Length;
                    INIT_VECTOR_OUT: In Bytes(By(INIT_VECTOR_OUT_LENGTH));
                    CIPHER_TEXT_OUT_LENGTH: InOut Length;
                    CIPHER_TEXT_OUT: Out Bytes(By(CIPHER_TEXT_OUT_LENGTH));
                    RESERVED1_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                }
            }
            /// Cryptographic_Variable_Encipher: a text under a CVARENC key.
            CryptographicVariableEncipher cryptographic_variable_encipher = 0x01A4 slot 94 "CSNBCVE" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: DesCbc;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    CVARENC_KEY_ID: InOut renews(Fixed(64)) for ENCIPHER;
                    TEXT_LENGTH: In Length(TEXT_LENGTH);
                    PLAIN_TEXT: In Bytes(By(TEXT_LENGTH));
                    INIT_VECTOR: In Bytes(Fixed(8));
                    CIPHER_TEXT: Out Bytes(By(TEXT_LENGTH));
                }
            }
        } }
    };
}

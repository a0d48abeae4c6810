//! Verbs that encipher and decipher under DES and AES keys.

#[doc(hidden)]
#[macro_export]
macro_rules! cipher_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Encipher: DES and TDES.
            Encipher encipher = 0x0110 slot 8 "CSNBENC" Coprocessor {
                class: Pure; audited: false;
                keywords: 0 to 3 { method: DesMethod, chaining: DesChaining, key_source: DesKeySource };
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64));
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
                class: Pure; audited: false;
                keywords: 0 to 3 { method: DesMethod, chaining: DesChaining, key_source: DesKeySource };
                parameters {
                    KEY_IDENTIFIER: InOut renews(Fixed(64));
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
                class: Pure; audited: false;
                keywords: 1 to 4 {
                    algorithm: AesAlgorithm, method: AesMethod, key_rule: AesKeyRule, part: AesPosition,
                }, rules AES_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LENGTH: In Length(KEY_LENGTH_KEYWORD);
                    KEY_IDENTIFIER: InOut renews(By(KEY_LENGTH)), secret;
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
                class: Pure; audited: false;
                keywords: 1 to 4 {
                    algorithm: AesAlgorithm, method: AesMethod, key_rule: AesKeyRule, part: AesPosition,
                }, rules AES_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LENGTH: In Length(KEY_LENGTH_KEYWORD);
                    KEY_IDENTIFIER: InOut renews(By(KEY_LENGTH)), secret;
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
        } }
    };
}

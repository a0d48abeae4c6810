//! Verbs that encipher texts into texts of the same characters.

#[doc(hidden)]
#[macro_export]
macro_rules! format_preserving_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Format_Preserving_Algorithms_Encipher: FF1.
            FormatPreservingEncipher format_preserving_encipher = 0x01D9 slot 137 "CSNBFFXE" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: AesEcb;
                asks: [];
                keywords: 3 to 3 {
                    method: FormatMethod required, algorithm: FormatAlgorithm required, alphabets: FormatAlphabets required,
                }, rules FORMAT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for ENCIPHER;
                    TWEAK_LENGTH: In Length;
                    TWEAK: In Bytes(By(TWEAK_LENGTH));
                    TWEAK_ALPHABET_LENGTH: In Length;
                    TWEAK_ALPHABET: In Bytes(By(TWEAK_ALPHABET_LENGTH));
                    ALPHABET_LENGTH: In Length;
                    ALPHABET: In Bytes(By(ALPHABET_LENGTH));
                    PLAINTEXT_LENGTH: In Length(TEXT_LENGTH);
                    PLAINTEXT: In Bytes(By(PLAINTEXT_LENGTH));
                    RESERVED1_LENGTH: In Length;
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length;
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    CIPHERTEXT_LENGTH: InOut Length;
                    CIPHERTEXT: Out Bytes(By(CIPHERTEXT_LENGTH));
                }
            }
            /// Format_Preserving_Algorithms_Decipher: FF1.
            FormatPreservingDecipher format_preserving_decipher = 0x01DA slot 138 "CSNBFFXD" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: AesEcb;
                asks: [];
                keywords: 3 to 3 {
                    method: FormatMethod required, algorithm: FormatAlgorithm required, alphabets: FormatAlphabets required,
                }, rules FORMAT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER_LENGTH: In Length;
                    KEY_IDENTIFIER: InOut renews(By(KEY_IDENTIFIER_LENGTH)) for DECIPHER;
                    TWEAK_LENGTH: In Length;
                    TWEAK: In Bytes(By(TWEAK_LENGTH));
                    TWEAK_ALPHABET_LENGTH: In Length;
                    TWEAK_ALPHABET: In Bytes(By(TWEAK_ALPHABET_LENGTH));
                    ALPHABET_LENGTH: In Length;
                    ALPHABET: In Bytes(By(ALPHABET_LENGTH));
                    CIPHERTEXT_LENGTH: In Length(TEXT_LENGTH);
                    CIPHERTEXT: In Bytes(By(CIPHERTEXT_LENGTH));
                    RESERVED1_LENGTH: In Length;
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length;
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    PLAINTEXT_LENGTH: InOut Length;
                    PLAINTEXT: Out Bytes(By(PLAINTEXT_LENGTH));
                }
            }
            /// Format_Preserving_Algorithms_Translate: from under one key, tweak and alphabet under others.
            FormatPreservingTranslate format_preserving_translate = 0x01DB slot 139 "CSNBFFXT" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: AesEcb;
                asks: [FormatWeaker FormatPreservingDecipher];
                keywords: 5 to 5 {
                    method_in: FormatMethodIn required, method_out: FormatMethodOut required, algorithm: FormatAlgorithm required,
                    alphabets_in: FormatAlphabetsIn required, alphabets_out: FormatAlphabetsOut required,
                }, rules FORMAT_TRANSLATE_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    INPUT_KEY_IDENTIFIER_LENGTH: In Length;
                    INPUT_KEY_IDENTIFIER: InOut renews(By(INPUT_KEY_IDENTIFIER_LENGTH)) for TRANSLATE;
                    OUTPUT_KEY_IDENTIFIER_LENGTH: In Length;
                    OUTPUT_KEY_IDENTIFIER: InOut renews(By(OUTPUT_KEY_IDENTIFIER_LENGTH)) for TRANSLATE;
                    INPUT_TWEAK_LENGTH: In Length;
                    INPUT_TWEAK: In Bytes(By(INPUT_TWEAK_LENGTH));
                    INPUT_TWEAK_ALPHABET_LENGTH: In Length;
                    INPUT_TWEAK_ALPHABET: In Bytes(By(INPUT_TWEAK_ALPHABET_LENGTH));
                    INPUT_ALPHABET_LENGTH: In Length;
                    INPUT_ALPHABET: In Bytes(By(INPUT_ALPHABET_LENGTH));
                    OUTPUT_TWEAK_LENGTH: In Length;
                    OUTPUT_TWEAK: In Bytes(By(OUTPUT_TWEAK_LENGTH));
                    OUTPUT_TWEAK_ALPHABET_LENGTH: In Length;
                    OUTPUT_TWEAK_ALPHABET: In Bytes(By(OUTPUT_TWEAK_ALPHABET_LENGTH));
                    OUTPUT_ALPHABET_LENGTH: In Length;
                    OUTPUT_ALPHABET: In Bytes(By(OUTPUT_ALPHABET_LENGTH));
                    RESERVED1_LENGTH: In Length;
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length;
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    CIPHERTEXT_LENGTH: InOut Length;
                    CIPHERTEXT: InOut Bytes(By(CIPHERTEXT_LENGTH));
                }
            }
        } }
    };
}

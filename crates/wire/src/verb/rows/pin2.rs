//! Verbs that work with PINs under keys of AES as well as of DES.

#[doc(hidden)]
#[macro_export]
macro_rules! pin2_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Encrypted_PIN_Translate2: a PIN block under another key, or its PIN in a block of another format or PAN.
            EncryptedPinTranslate2 encrypted_pin_translate2 = 0x01D8 slot 121 "CSNBPTR2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: AesEcb;
                asks: [
                    PinTranslate PinReformat PinTranslate2 PinReformat2 PinUnrestricted PanChange PinAnyBlock
                    PinBound PinIso1 PinAnyDigits PinCheckDigits PinFineCodes
                ];
                keywords: 1 to 5 {
                    translation: PinTranslation required, change: PanChange, message: PanChangeMessage,
                    derivation_in: PinDerivation, derivation_out: PinDerivationOut,
                    derivation_both: PinDerivationBoth, extraction: PinExtraction,
                }, rules PIN_TRANSLATE2_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH: In Length;
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(By(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH)) for PIN;
                    OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH: In Length;
                    OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(By(OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH)) for PIN;
                    AUTHENTICATION_KEY_IDENTIFIER_LENGTH: In Length;
                    AUTHENTICATION_KEY_IDENTIFIER: InOut renews(By(AUTHENTICATION_KEY_IDENTIFIER_LENGTH)) for PIN;
                    INPUT_PIN_PROFILE_LENGTH: In Length;
                    INPUT_PIN_PROFILE: In Bytes(By(INPUT_PIN_PROFILE_LENGTH));
                    INPUT_PAN_DATA_LENGTH: In Length;
                    INPUT_PAN_DATA: In Bytes(By(INPUT_PAN_DATA_LENGTH));
                    INPUT_PIN_BLOCK_LENGTH: In Length;
                    INPUT_PIN_BLOCK: In Bytes(By(INPUT_PIN_BLOCK_LENGTH));
                    OUTPUT_PIN_PROFILE_LENGTH: In Length;
                    OUTPUT_PIN_PROFILE: In Bytes(By(OUTPUT_PIN_PROFILE_LENGTH));
                    OUTPUT_PAN_DATA_LENGTH: In Length;
                    OUTPUT_PAN_DATA: In Bytes(By(OUTPUT_PAN_DATA_LENGTH));
                    AUTHENTICATION_DATA_LENGTH: In Length;
                    AUTHENTICATION_DATA: In Bytes(By(AUTHENTICATION_DATA_LENGTH));
                    OUTPUT_PIN_BLOCK_LENGTH: InOut Length;
                    OUTPUT_PIN_BLOCK: Out Bytes(By(OUTPUT_PIN_BLOCK_LENGTH));
                    RESERVED1_LENGTH: In Length;
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length;
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    RESERVED3_LENGTH: In Length;
                    RESERVED3: In Bytes(By(RESERVED3_LENGTH)), empty;
                }
            }
            /// Encrypted_PIN_Verify2: whether the PIN of a block is the PIN of another.
            EncryptedPinVerify2 encrypted_pin_verify2 = 0x01DC slot 122 "CSNBPVR2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesDouble;
                asks: [PinDukpt PinUnrestricted PinAnyBlock PinIso1 PinAnyDigits PinCheckDigits PinFineCodes];
                keywords: 1 to 3 {
                    comparison: PinComparison required, derivation: PinDerivationOf, extraction: PinExtraction,
                }, rules PIN_VERIFY2_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    REFERENCE_PIN_RULE_ARRAY_COUNT: In Length(KEYWORD_COUNT);
                    REFERENCE_PIN_RULE_ARRAY: In Bytes(Words(REFERENCE_PIN_RULE_ARRAY_COUNT));
                    PIN_CHECK_LENGTH: In Integer;
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH: In Length;
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(By(INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH)) for PIN;
                    REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH: In Length;
                    REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(By(REFERENCE_PIN_ENCRYPTING_KEY_IDENTIFIER_LENGTH)) for PIN;
                    INPUT_PIN_PROFILE_LENGTH: In Length;
                    INPUT_PIN_PROFILE: In Bytes(By(INPUT_PIN_PROFILE_LENGTH));
                    INPUT_PIN_BLOCK_LENGTH: In Length;
                    INPUT_PIN_BLOCK: In Bytes(By(INPUT_PIN_BLOCK_LENGTH));
                    REFERENCE_PIN_PROFILE_LENGTH: In Length;
                    REFERENCE_PIN_PROFILE: In Bytes(By(REFERENCE_PIN_PROFILE_LENGTH));
                    REFERENCE_PIN_BLOCK_LENGTH: In Length;
                    REFERENCE_PIN_BLOCK: In Bytes(By(REFERENCE_PIN_BLOCK_LENGTH));
                    INPUT_PAN_DATA: In Bytes(Fixed(12)), optional;
                    REFERENCE_PAN_DATA: In Bytes(Fixed(12)), optional;
                    RESERVED1_LENGTH: In Length;
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length;
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    RESERVED3_LENGTH: In Length;
                    RESERVED3: In Bytes(By(RESERVED3_LENGTH)), empty;
                    RESERVED4_LENGTH: In Length;
                    RESERVED4: In Bytes(By(RESERVED4_LENGTH)), empty;
                }
            }
            /// Recover_PIN_From_Offset: the PIN that an offset leads to, in a block.
            RecoverPinFromOffset recover_pin_from_offset = 0x01DD slot 123 "CSNBPFO" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [PinUnrestricted PinIso1 PinAnyTable PinAnyDigits];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PIN_ENC_KEY_ID_LENGTH: In Length;
                    PIN_ENC_KEY_ID: InOut renews(By(PIN_ENC_KEY_ID_LENGTH)) for PIN;
                    PIN_GEN_KEY_ID_LENGTH: In Length;
                    PIN_GEN_KEY_ID: InOut renews(By(PIN_GEN_KEY_ID_LENGTH)) for PIN;
                    PIN_PROFILE: In Bytes(Fixed(24));
                    PAN_DATA: In Bytes(Fixed(12)), optional;
                    OFFSET: In Bytes(Fixed(16));
                    RESERVED_1: In Integer, reserved;
                    DATA_ARRAY: In Bytes(Fixed(48));
                    ENCRYPTED_PIN_BLK_LENGTH: InOut Length;
                    ENCRYPTED_PIN_BLK: Out Bytes(By(ENCRYPTED_PIN_BLK_LENGTH));
                }
            }
        } }
    };
}

//! Verbs that make, translate and verify PINs and card verification values.

#[doc(hidden)]
#[macro_export]
macro_rules! pin_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Encrypted_PIN_Translate: a PIN block under another key, or its PIN in a block of another format.
            EncryptedPinTranslate encrypted_pin_translate = 0x01C0 slot 113 "CSNBPTR" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesDouble;
                asks: [
                    PinUnrestricted PanChange PinAnyBlock PinBound PinIso1 PinAnyDigits PinCheckDigits
                    PinFineCodes
                ];
                keywords: 1 to 3 {
                    translation: PinTranslation required, derivations: PinDerivations, extraction: PinExtraction,
                }, rules PIN_TRANSLATE_RULES;
                parameters {
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    OUTPUT_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    INPUT_PIN_PROFILE: In Bytes(Keyed(PROFILE_IN));
                    PAN_DATA_IN: In Bytes(Fixed(12)), optional;
                    PIN_BLOCK_IN: In Bytes(Fixed(8));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    OUTPUT_PIN_PROFILE: In Bytes(Keyed(PROFILE_OUT));
                    PAN_DATA_OUT: In Bytes(Fixed(12)), optional;
                    SEQUENCE_NUMBER: In Integer;
                    PIN_BLOCK_OUT: Out Bytes(Fixed(8));
                }
            }
            /// Encrypted_PIN_Verify: whether the PIN of a block is right.
            EncryptedPinVerify encrypted_pin_verify = 0x01C1 slot 114 "CSNBPVR" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym Aes]; lanes: TdesDouble;
                asks: [PinUnrestricted PinAnyBlock PinIso1 PinAnyTable PinAnyDigits PinCheckDigits PinFineCodes];
                keywords: 1 to 3 {
                    method: PinVerifyMethod required, derivation: PinDerivation, extraction: PinExtraction,
                }, rules PIN_VERIFY_RULES;
                parameters {
                    INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    PIN_VERIFYING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    INPUT_PIN_PROFILE: In Bytes(Keyed(PROFILE_VERIFIED));
                    PAN_DATA: In Bytes(Fixed(12)), optional;
                    ENCRYPTED_PIN_BLOCK: In Bytes(Fixed(8));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PIN_CHECK_LENGTH: In Integer;
                    DATA_ARRAY: In Bytes(Fixed(48));
                }
            }
            /// Clear_PIN_Generate: a clear PIN, or the offset or PVV of one.
            ClearPinGenerate clear_pin_generate = 0x01C2 slot 115 "CSNBPGN" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [PinAnyTable PinAnyDigits];
                keywords: 1 to 1 { method: PinMethod required }, rules PIN_METHOD_RULES;
                parameters {
                    PIN_GENERATING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PIN_LENGTH: In Integer;
                    PIN_CHECK_LENGTH: In Integer;
                    DATA_ARRAY: In Bytes(Fixed(48)), secret;
                    RETURNED_RESULT: Out Bytes(Fixed(16)), secret;
                }
            }
            /// Clear_PIN_Generate_Alternate: the offset or PVV of the PIN of a block.
            ClearPinGenerateAlternate clear_pin_generate_alternate = 0x01C3 slot 116 "CSNBCPA" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [PinUnrestricted PinIso1 PinAnyTable PinAnyDigits PinFineCodes];
                keywords: 1 to 2 { method: PinAlternateMethod required, extraction: PinExtraction }, rules PIN_METHOD_RULES;
                parameters {
                    PIN_ENCRYPTION_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    PIN_GENERATION_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    PIN_PROFILE: In Bytes(Fixed(24));
                    PAN_DATA: In Bytes(Fixed(12)), optional;
                    ENCRYPTED_PIN_BLOCK: In Bytes(Fixed(8));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PIN_CHECK_LENGTH: In Integer;
                    DATA_ARRAY: In Bytes(Fixed(48));
                    RETURNED_RESULT: Out Bytes(Fixed(16));
                }
            }
            /// Encrypted_PIN_Generate: a PIN in a block.
            EncryptedPinGenerate encrypted_pin_generate = 0x01C4 slot 117 "CSNBEPG" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [PinUnrestricted PinIso1 PinAnyTable PinAnyDigits];
                keywords: 1 to 1 { method: PinEncryptedMethod required }, rules PIN_METHOD_RULES;
                parameters {
                    PIN_GENERATING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    OUTBOUND_PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PIN_LENGTH: In Integer;
                    DATA_ARRAY: In Bytes(Fixed(48));
                    PIN_PROFILE: In Bytes(Fixed(24));
                    PAN_DATA: In Bytes(Fixed(12)), optional;
                    SEQUENCE_NUMBER: In Integer;
                    ENCRYPTED_PIN_BLOCK: Out Bytes(Fixed(8));
                }
            }
            /// Clear_PIN_Encrypt: a clear PIN, or a random one, in a block.
            ClearPinEncrypt clear_pin_encrypt = 0x01C5 slot 118 "CSNBCPE" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [PinUnrestricted PinIso1 PinAnyDigits];
                keywords: 0 to 1 { source: PinSource };
                parameters {
                    PIN_ENCRYPTING_KEY_IDENTIFIER: InOut renews(Fixed(64)) for PIN;
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CLEAR_PIN: In Bytes(Fixed(16)), secret;
                    PIN_PROFILE: In Bytes(Fixed(24));
                    PAN_DATA: In Bytes(Fixed(12)), optional;
                    SEQUENCE_NUMBER: In Integer;
                    ENCRYPTED_PIN_BLOCK: Out Bytes(Fixed(8));
                }
            }
            /// CVV_Generate: a card verification value.
            CvvGenerate cvv_generate = 0x01C6 slot 119 "CSNBCSG" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: X919;
                asks: [];
                keywords: 0 to 2 { pan_digits: CvvPan, cvv_digits: CvvDigits };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PAN_DATA: In Bytes(Keyed(CVV_PAN));
                    EXPIRATION_DATE: In Bytes(Fixed(4));
                    SERVICE_CODE: In Bytes(Fixed(3));
                    CVV_KEY_A_IDENTIFIER: InOut renews(Fixed(64)) for MAC_GENERATE;
                    CVV_KEY_B_IDENTIFIER: InOut renews(Fixed(64)) for MAC_GENERATE;
                    CVV_VALUE: Out Bytes(Fixed(5)), secret;
                }
            }
            /// CVV_Verify: whether a card verification value is right.
            CvvVerify cvv_verify = 0x01C7 slot 120 "CSNBCSV" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: X919;
                asks: [CardValueShort];
                keywords: 0 to 2 { pan_digits: CvvPan, cvv_digits: CvvDigits };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PAN_DATA: In Bytes(Keyed(CVV_PAN));
                    EXPIRATION_DATE: In Bytes(Fixed(4));
                    SERVICE_CODE: In Bytes(Fixed(3));
                    CVV_KEY_A_IDENTIFIER: InOut renews(Fixed(64)) for MAC_VERIFY;
                    CVV_KEY_B_IDENTIFIER: InOut renews(Fixed(64)) for MAC_VERIFY;
                    CVV_VALUE: In Bytes(Fixed(5));
                }
            }
            /// Transaction_Validation: card security codes of American Express, made or verified.
            TransactionValidation transaction_validation = 0x01CF slot 141 "CSNBTRV" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [SecurityCodeUnconfirmed];
                keywords: 1 to 3 {
                    action: SecurityCodeAction, codes: SecurityCodes required, version: SecurityCodeVersion,
                };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    TRANSACTION_KEY_LENGTH: In Length;
                    TRANSACTION_KEY: In uses(By(TRANSACTION_KEY_LENGTH)) for AUTHENTICATE;
                    TRANSACTION_INFO_LENGTH: In Length;
                    TRANSACTION_INFO: In Bytes(By(TRANSACTION_INFO_LENGTH));
                    VALIDATION_VALUES_LENGTH: InOut Length;
                    VALIDATION_VALUES: InOut Bytes(By(VALIDATION_VALUES_LENGTH)), secret;
                }
            }
        } }
    };
}

//! Verbs of chip cards: keys that are derived from data, and cryptograms.

#[doc(hidden)]
#[macro_export]
macro_rules! chip_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Diversified_Key_Generate: a DES key that is derived from data.
            DiversifiedKeyGenerate diversified_key_generate = 0x01D0 slot 124 "CSNBDKG" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [DiversifyEqualHalves DiversifyAny SingleLengthDes];
                keywords: 1 to 3 {
                    process: Diversification required, wrapping: TokenWrapping, bound: WrappingBound,
                }, rules DIVERSIFICATION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    GENERATING_KEY_ID: InOut renews(Fixed(64)) for GENERATE;
                    DATA_LENGTH: In Length(TEXT_LENGTH);
                    DATA: In Bytes(By(DATA_LENGTH));
                    DECRYPTING_KEY_ID: In Bytes(Fixed(64)), reserved;
                    GENERATED_KEY_ID: InOut makes(Fixed(64)) for GENERATE;
                }
            }
            /// Diversified_Key_Generate2: an AES key that is derived from data.
            DiversifiedKeyGenerate2 diversified_key_generate2 = 0x01D1 slot 125 "CSNBDKG2" Coprocessor {
                class: Pure; audited: Nothing; needs: [Aes]; lanes: AesCbc;
                asks: [DiversifyAny2];
                keywords: 1 to 3 {
                    process: Diversification2 required, length: DiversifiedLength,
                }, rules DIVERSIFICATION_2_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    GENERATING_KEY_ID_LENGTH: In Length;
                    GENERATING_KEY_ID: InOut renews(By(GENERATING_KEY_ID_LENGTH)) for GENERATE;
                    DERIVATION_DATA_LENGTH: In Length(TEXT_LENGTH);
                    DERIVATION_DATA: In Bytes(By(DERIVATION_DATA_LENGTH));
                    RESERVED1_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    GENERATED_KEY_ID1_LENGTH: InOut Length;
                    GENERATED_KEY_ID1: InOut makes(By(GENERATED_KEY_ID1_LENGTH)) for GENERATE;
                    GENERATED_KEY_ID2_LENGTH: In Length(RESERVED_LENGTH);
                    GENERATED_KEY_ID2: In Bytes(By(GENERATED_KEY_ID2_LENGTH)), empty;
                }
            }
            /// EMV_Transaction: whether a card's request cryptogram is right, and the issuer's response to it.
            EmvTransaction emv_transaction = 0x01D2 slot 126 "CSNBEAC" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: X919;
                asks: [DiversifyAny];
                keywords: 2 to 8 {
                    algorithm: EmvAlgorithm, action: EmvAction required, scheme: EmvScheme required, session: EmvSession,
                    card_key: EmvCardKey, sequence: EmvSequence, response: EmvResponse, padding: EmvPadding,
                }, rules EMV_TRANSACTION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    ISSUER_MASTER_KEY_IDENTIFIER_LENGTH: In Length;
                    ISSUER_MASTER_KEY_IDENTIFIER: InOut renews(By(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH)) for AUTHENTICATE;
                    ISSUER_ARPC_MASTER_KEY_IDENTIFIER_LENGTH: In Length;
                    ISSUER_ARPC_MASTER_KEY_IDENTIFIER: InOut renews(By(ISSUER_ARPC_MASTER_KEY_IDENTIFIER_LENGTH)) for AUTHENTICATE;
                    PAN_LENGTH: In Length(PAN);
                    PAN: In Bytes(By(PAN_LENGTH));
                    PAN_SEQ_NUMBER: In Bytes(Fixed(2)), optional;
                    CRYPTOGRAM_INFO_LENGTH: In Length(TEXT_LENGTH);
                    CRYPTOGRAM_INFO: In Bytes(By(CRYPTOGRAM_INFO_LENGTH));
                    ATC: In Bytes(Fixed(2));
                    ARC: In Bytes(Keyed(EMV_RESPONSE_CODE));
                    ARQC: In Bytes(Fixed(8));
                    ARPC: Out Bytes(Fixed(8));
                    UNPREDICTABLE_NUMBER: In Bytes(Fixed(4)), optional;
                    RESERVED1_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH));
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                }
            }
            /// Derive_ICC_MK: the master key of a chip card, derived from the issuer's.
            DeriveIccMk derive_icc_mk = 0x01D3 slot 127 "CSNBDCM" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesDouble;
                asks: [DeriveIccMkTransported DiversifyAny WeakTransport];
                keywords: 1 to 4 {
                    algorithm: EmvAlgorithm, key: IccKey required, card_key: EmvCardKey, sequence: EmvSequence,
                };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    ISSUER_MASTER_KEY_IDENTIFIER_LENGTH: In Length;
                    ISSUER_MASTER_KEY_IDENTIFIER: InOut renews(By(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH)) for GENERATE;
                    ICC_MASTER_KEY_IDENTIFIER_LENGTH: InOut Length;
                    ICC_MASTER_KEY_IDENTIFIER: InOut makes(By(ICC_MASTER_KEY_IDENTIFIER_LENGTH)) for GENERATE;
                    TRANSPORT_KEY_IDENTIFIER_LENGTH: In Length;
                    TRANSPORT_KEY_IDENTIFIER: InOut renews(By(TRANSPORT_KEY_IDENTIFIER_LENGTH)) for GENERATE;
                    PAN_LENGTH: In Length(PAN);
                    PAN: In Bytes(By(PAN_LENGTH));
                    PAN_SEQ_NUMBER: In Bytes(Fixed(2)), optional;
                    RESERVED1_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                }
            }
            /// PIN_Change_Unblock: the data of a command that gives a chip card a new PIN.
            PinChangeUnblock pin_change_unblock = 0x01D5 slot 128 "CSNBPCU" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [
                    PinChangeOutbound PinChangeInbound DiversifyAny PinUnrestricted PinIso1 PinAnyDigits
                    PinCheckDigits PinFineCodes
                ];
                keywords: 1 to 2 { session: PinChangeSession, method: PinChange required }, rules PIN_CHANGE_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    AUTHENTICATION_MASTER_KEY_LENGTH: In Length;
                    AUTHENTICATION_MASTER_KEY: InOut renews(By(AUTHENTICATION_MASTER_KEY_LENGTH)) for PIN;
                    ISSUER_MASTER_KEY_LENGTH: In Length;
                    ISSUER_MASTER_KEY: InOut renews(By(ISSUER_MASTER_KEY_LENGTH)) for PIN;
                    KEY_GENERATION_DATA_LENGTH: In Length(TEXT_LENGTH);
                    KEY_GENERATION_DATA: In Bytes(By(KEY_GENERATION_DATA_LENGTH));
                    NEW_REF_PIN_KEY_LENGTH: In Length;
                    NEW_REF_PIN_KEY: InOut renews(By(NEW_REF_PIN_KEY_LENGTH)) for PIN;
                    NEW_REF_PIN_BLOCK: In Bytes(Fixed(8));
                    NEW_REF_PIN_PROFILE: In Bytes(Fixed(24));
                    NEW_REF_PAN_DATA: In Bytes(Fixed(12)), optional;
                    CURRENT_REF_PIN_KEY_LENGTH: In Length;
                    CURRENT_REF_PIN_KEY: InOut renews(By(CURRENT_REF_PIN_KEY_LENGTH)) for PIN;
                    CURRENT_REF_PIN_BLOCK: In Bytes(Fixed(8)), optional;
                    CURRENT_REF_PIN_PROFILE: In Bytes(Fixed(24)), optional;
                    CURRENT_REF_PAN_DATA: In Bytes(Fixed(12)), optional;
                    OUTPUT_PIN_DATA_LENGTH: In Length(RESERVED_LENGTH);
                    OUTPUT_PIN_DATA: In Bytes(By(OUTPUT_PIN_DATA_LENGTH)), empty;
                    OUTPUT_PIN_PROFILE: In Bytes(Fixed(24));
                    OUTPUT_PIN_MESSAGE_LENGTH: InOut Length;
                    OUTPUT_PIN_MESSAGE: Out Bytes(By(OUTPUT_PIN_MESSAGE_LENGTH));
                }
            }
            /// Secure_Messaging_for_Keys: a message to a chip card with a key in it.
            SecureMessagingForKeys secure_messaging_for_keys = 0x01D6 slot 129 "CSNBSKY" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesDouble;
                asks: [SecureMessagingAnyPlace];
                keywords: 0 to 1 { mode: MessageMode };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    INPUT_KEY_IDENTIFIER: InOut renews(Fixed(64)) for EXPORT;
                    KEY_ENCRYPTING_KEY: In Bytes(Fixed(64)), optional;
                    SESSION_KEY: InOut renews(Fixed(64)) for EXPORT;
                    TEXT_LENGTH: InOut Length(TEXT_LENGTH);
                    CLEAR_TEXT: In Bytes(By(TEXT_LENGTH));
                    INITIALIZATION_VECTOR: In Bytes(Fixed(8)), optional;
                    KEY_OFFSET: In Integer;
                    KEY_OFFSET_FIELD_LENGTH: In Integer;
                    CIPHER_TEXT: Out Bytes(By(TEXT_LENGTH));
                    OUTPUT_CHAINING_VALUE: Out Bytes(Fixed(8));
                }
            }
            /// Secure_Messaging_for_PINs: a message to a chip card with a PIN block in it.
            SecureMessagingForPins secure_messaging_for_pins = 0x01D7 slot 130 "CSNBSPN" Coprocessor {
                class: Pure; audited: Nothing; needs: [Sym]; lanes: TdesDouble;
                asks: [
                    SecureMessagingAnyPlace PinUnrestricted PanChange PinAnyBlock PinBound PinIso1 PinAnyDigits
                    PinCheckDigits PinFineCodes
                ];
                keywords: 0 to 2 { mode: PinMessageMode, encryption: PinInMessage }, rules PIN_MESSAGE_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    IN_PIN_BLK: In Bytes(Fixed(8));
                    IN_PIN_ENC_KEY_ID: InOut renews(Fixed(64)) for PIN;
                    IN_PIN_PROFILE: In Bytes(Fixed(24));
                    IN_PAN_DATA: In Bytes(Fixed(12)), optional;
                    SECMSG_KEY: InOut renews(Fixed(64)) for PIN;
                    OUT_PIN_PROFILE: In Bytes(Fixed(24));
                    OUT_PAN_DATA: In Bytes(Fixed(12)), optional;
                    TEXT_LENGTH: InOut Length(TEXT_LENGTH);
                    CLEAR_TEXT: In Bytes(By(TEXT_LENGTH));
                    INITIALIZATION_VECTOR: In Bytes(Fixed(8)), optional;
                    PIN_OFFSET: In Integer;
                    PIN_OFFSET_FIELD_LENGTH: In Integer;
                    CIPHER_TEXT: Out Bytes(By(TEXT_LENGTH));
                    OUTPUT_CHAINING_VALUE: Out Bytes(Fixed(8));
                }
            }
        } }
    };
}

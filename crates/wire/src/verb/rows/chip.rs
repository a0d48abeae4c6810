//! Verbs of chip cards: keys that are derived from data, and cryptograms.

#[doc(hidden)]
#[macro_export]
macro_rules! chip_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Diversified_Key_Generate: a DES key that is derived from data.
            DiversifiedKeyGenerate diversified_key_generate = 0x01D0 slot 122 "CSNBDKG" Coprocessor {
                class: Pure; audited: false;
                keywords: 1 to 3 {
                    process: Diversification, wrapping: TokenWrapping, bound: WrappingBound,
                }, rules DIVERSIFICATION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    GENERATING_KEY_ID: InOut renews(Fixed(64));
                    DATA_LENGTH: In Length(TEXT_LENGTH);
                    DATA: In Bytes(By(DATA_LENGTH));
                    DECRYPTING_KEY_ID: In Bytes(Fixed(64)), reserved;
                    GENERATED_KEY_ID: InOut makes(Fixed(64));
                }
            }
            /// Diversified_Key_Generate2: an AES key that is derived from data.
            DiversifiedKeyGenerate2 diversified_key_generate2 = 0x01D1 slot 123 "CSNBDKG2" Coprocessor {
                class: Pure; audited: false;
                keywords: 1 to 3 {
                    process: Diversification2, length: DiversifiedLength,
                }, rules DIVERSIFICATION_2_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    GENERATING_KEY_ID_LENGTH: In Length;
                    GENERATING_KEY_ID: InOut renews(By(GENERATING_KEY_ID_LENGTH));
                    DERIVATION_DATA_LENGTH: In Length(TEXT_LENGTH);
                    DERIVATION_DATA: In Bytes(By(DERIVATION_DATA_LENGTH));
                    RESERVED1_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    GENERATED_KEY_ID1_LENGTH: InOut Length;
                    GENERATED_KEY_ID1: InOut makes(By(GENERATED_KEY_ID1_LENGTH));
                    GENERATED_KEY_ID2_LENGTH: In Length(RESERVED_LENGTH);
                    GENERATED_KEY_ID2: In Bytes(By(GENERATED_KEY_ID2_LENGTH)), empty;
                }
            }
            /// EMV_Transaction: whether a card's request cryptogram is right, and the issuer's response to it.
            EmvTransaction emv_transaction = 0x01D2 slot 124 "CSNBEAC" Coprocessor {
                class: Pure; audited: false;
                keywords: 2 to 7 {
                    algorithm: EmvAlgorithm, action: EmvAction, scheme: EmvScheme, session: EmvSession,
                    card_key: EmvCardKey, sequence: EmvSequence, response: EmvResponse,
                }, rules EMV_TRANSACTION_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    ISSUER_MASTER_KEY_IDENTIFIER_LENGTH: In Length;
                    ISSUER_MASTER_KEY_IDENTIFIER: InOut renews(By(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH));
                    ISSUER_ARPC_MASTER_KEY_IDENTIFIER_LENGTH: In Length;
                    ISSUER_ARPC_MASTER_KEY_IDENTIFIER: InOut renews(By(ISSUER_ARPC_MASTER_KEY_IDENTIFIER_LENGTH));
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
            DeriveIccMk derive_icc_mk = 0x01D3 slot 125 "CSNBDCM" Coprocessor {
                class: Pure; audited: true;
                keywords: 1 to 4 {
                    algorithm: EmvAlgorithm, key: IccKey, card_key: EmvCardKey, sequence: EmvSequence,
                };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    ISSUER_MASTER_KEY_IDENTIFIER_LENGTH: In Length;
                    ISSUER_MASTER_KEY_IDENTIFIER: InOut renews(By(ISSUER_MASTER_KEY_IDENTIFIER_LENGTH));
                    ICC_MASTER_KEY_IDENTIFIER_LENGTH: InOut Length;
                    ICC_MASTER_KEY_IDENTIFIER: InOut makes(By(ICC_MASTER_KEY_IDENTIFIER_LENGTH));
                    TRANSPORT_KEY_IDENTIFIER_LENGTH: In Length;
                    TRANSPORT_KEY_IDENTIFIER: InOut renews(By(TRANSPORT_KEY_IDENTIFIER_LENGTH));
                    PAN_LENGTH: In Length(PAN);
                    PAN: In Bytes(By(PAN_LENGTH));
                    PAN_SEQ_NUMBER: In Bytes(Fixed(2)), optional;
                    RESERVED1_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED1: In Bytes(By(RESERVED1_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                }
            }
        } }
    };
}

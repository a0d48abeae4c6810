//! Verbs that derive the keys of terminals and of their transactions.

#[doc(hidden)]
#[macro_export]
macro_rules! derived_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Unique_Key_Derive: keys of a transaction, or the initial key of a terminal, by DUKPT.
            UniqueKeyDerive unique_key_derive = 0x01CE slot 140 "CSNBUKD" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes]; lanes: TdesDouble;
                asks: [WeakTransport];
                keywords: 1 to 9 {
                    standard: DerivationStandard, form: InitialKeyForm, wrapping: TokenWrapping,
                    data: DerivedDataKey, mac: DerivedMacKey, pin: DerivedPinKey, pin_type: DerivedPinType,
                }, rules UNIQUE_KEY_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    BASE_DERIVATION_KEY_IDENTIFIER_LENGTH: In Length;
                    BASE_DERIVATION_KEY_IDENTIFIER: InOut renews(By(BASE_DERIVATION_KEY_IDENTIFIER_LENGTH)) for GENERATE;
                    DERIVATION_DATA_LENGTH: In Length(KEY_SERIAL);
                    DERIVATION_DATA: In Bytes(By(DERIVATION_DATA_LENGTH));
                    GENERATED_KEY_IDENTIFIER1_LENGTH: InOut Length;
                    GENERATED_KEY_IDENTIFIER1: InOut makes(By(GENERATED_KEY_IDENTIFIER1_LENGTH)) for GENERATE;
                    GENERATED_KEY_IDENTIFIER2_LENGTH: InOut Length;
                    GENERATED_KEY_IDENTIFIER2: InOut makes(By(GENERATED_KEY_IDENTIFIER2_LENGTH)) for GENERATE;
                    GENERATED_KEY_IDENTIFIER3_LENGTH: InOut Length;
                    GENERATED_KEY_IDENTIFIER3: InOut makes(By(GENERATED_KEY_IDENTIFIER3_LENGTH)) for GENERATE;
                    TRANSPORT_KEY_IDENTIFIER_LENGTH: In Length;
                    TRANSPORT_KEY_IDENTIFIER: InOut renews(By(TRANSPORT_KEY_IDENTIFIER_LENGTH)) for GENERATE;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    RESERVED3_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED3: In Bytes(By(RESERVED3_LENGTH)), empty;
                    RESERVED4_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED4: In Bytes(By(RESERVED4_LENGTH)), empty;
                    RESERVED5_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED5: In Bytes(By(RESERVED5_LENGTH)), empty;
                    RESERVED6_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED6: In Bytes(By(RESERVED6_LENGTH)), empty;
                }
            }
        } }
    };
}

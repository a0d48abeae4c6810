//! Verbs of key agreement.

#[doc(hidden)]
#[macro_export]
macro_rules! agreement_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// EC_Diffie-Hellman: a symmetric key from a private key of an elliptic curve and the public key of another
            /// party.
            EcDiffieHellman ec_diffie_hellman = 0x01B0 slot 100 "CSNDEDH" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes Apka]; lanes: One;
                asks: [
                    PkaKeyImportTransported WeakTransport WeakImport AgreementTransportKey AgreementP224
                    AgreementP256 AgreementP384 AgreementP521 AgreementBrainpool256 AgreementBrainpool384
                    AgreementKoblitz256 AgreementWeak SingleLengthDes KeyGenerateTransported
                ];
                keywords: 1 to 6 {
                    scheme: AgreementScheme, agreement: KeyAgreement required, output_kek_type: OutputKekType,
                    output_type: AgreedKeyType, hash: AgreementHash, wrapping: AgreedKeyWrapping,
                    translation: AgreedKeyTranslation,
                }, rules AGREEMENT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PRIVATE_KEY_IDENTIFIER_LENGTH: In Length;
                    PRIVATE_KEY_IDENTIFIER: In uses(By(PRIVATE_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                    PRIVATE_KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    PRIVATE_KEK_KEY_IDENTIFIER: In uses(By(PRIVATE_KEK_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                    PUBLIC_KEY_IDENTIFIER_LENGTH: In Length;
                    PUBLIC_KEY_IDENTIFIER: In uses(By(PUBLIC_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                    CHAINING_VECTOR_LENGTH: In Length;
                    CHAINING_VECTOR: In Bytes(By(CHAINING_VECTOR_LENGTH)), empty;
                    PARTY_IDENTIFIER_LENGTH: In Length;
                    PARTY_IDENTIFIER: In Bytes(By(PARTY_IDENTIFIER_LENGTH));
                    KEY_BIT_LENGTH: In Integer;
                    RESERVED_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED: In Bytes(By(RESERVED_LENGTH)), empty;
                    RESERVED2_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED2: In Bytes(By(RESERVED2_LENGTH)), empty;
                    RESERVED3_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED3: In Bytes(By(RESERVED3_LENGTH)), empty;
                    RESERVED4_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED4: In Bytes(By(RESERVED4_LENGTH)), empty;
                    RESERVED5_LENGTH: In Length(RESERVED_LENGTH);
                    RESERVED5: In Bytes(By(RESERVED5_LENGTH)), empty;
                    OUTPUT_KEK_KEY_IDENTIFIER_LENGTH: In Length;
                    OUTPUT_KEK_KEY_IDENTIFIER: InOut renews(By(OUTPUT_KEK_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                    OUTPUT_KEY_IDENTIFIER_LENGTH: InOut Length;
                    OUTPUT_KEY_IDENTIFIER: InOut makes(By(OUTPUT_KEY_IDENTIFIER_LENGTH)) for IMPORT, secret;
                }
            }
        } }
    };
}

//! Verbs of digital signatures.

#[doc(hidden)]
#[macro_export]
macro_rules! signature_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Digital_Signature_Generate.
            DigitalSignatureGenerate digital_signature_generate = 0x0220 slot 23 "CSNDDSG" Coprocessor {
                class: Pure; audited: Nothing; needs: [Asym Apka]; lanes: RsaPrivate;
                asks: [SignAnyData];
                keywords: 0 to 8 {
                    algorithm: SignatureAlgorithm, input: SignatureInput, format: SignatureFormat, hash_method: SignatureHash,
                    eddsa_hash: EddsaHash,
                }, rules SIGN_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PKA_PRIVATE_KEY_ID_LENGTH: In Length;
                    PKA_PRIVATE_KEY_ID: In uses(By(PKA_PRIVATE_KEY_ID_LENGTH)) for SIGN;
                    HASH_LENGTH: In Length;
                    HASH: In Bytes(By(HASH_LENGTH));
                    SIGNATURE_FIELD_LENGTH: InOut Length;
                    SIGNATURE_BIT_LENGTH: Out Integer;
                    SIGNATURE_FIELD: Out Bytes(By(SIGNATURE_FIELD_LENGTH));
                }
            }
            /// Digital_Signature_Verify.
            DigitalSignatureVerify digital_signature_verify = 0x0221 slot 24 "CSNDDSV" Coprocessor {
                class: Pure; audited: Nothing; needs: [Asym Apka]; lanes: RsaPublic;
                asks: [];
                keywords: 0 to 9 {
                    algorithm: SignatureAlgorithm, input: SignatureInput, format: SignatureFormat, hash_method: SignatureHash,
                    eddsa_hash: EddsaHash, salt: SaltLength, verifying_key: VerifyingKey,
                }, rules VERIFY_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    PKA_PUBLIC_KEY_ID_LENGTH: In Length;
                    PKA_PUBLIC_KEY_ID: In uses(By(PKA_PUBLIC_KEY_ID_LENGTH)) for VERIFY;
                    HASH_LENGTH: In Length;
                    HASH: In Bytes(By(HASH_LENGTH));
                    SIGNATURE_FIELD_LENGTH: In Length;
                    SIGNATURE_FIELD: In Bytes(By(SIGNATURE_FIELD_LENGTH));
                }
            }
        } }
    };
}

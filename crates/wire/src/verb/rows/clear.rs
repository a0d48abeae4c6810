//! Verbs of our own: the empty one, and RSA under clear tokens.

#[doc(hidden)]
#[macro_export]
macro_rules! clear_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Does nothing: what the way to a card and back costs.
            Null null = 0x0001 slot 0 "" AnyCard {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {}
            }
            /// RSA private operation with a clear key token (external, CRT or ME form), raw.
            ClearRsaPrivate clear_rsa_private = 0x0002 slot 1 "" AnyCard {
                class: Pure; audited: Nothing; needs: []; lanes: RsaPrivate;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_LENGTH: In Length;
                    KEY: In Bytes(By(KEY_LENGTH)), secret;
                    DATA_LENGTH: In Length;
                    DATA: In Bytes(By(DATA_LENGTH));
                    RESULT_LENGTH: InOut Length;
                    RESULT: Out Bytes(By(RESULT_LENGTH));
                }
            }
            /// RSA public operation with a public or clear key token, raw.
            ClearRsaPublic clear_rsa_public = 0x0003 slot 2 "" AnyCard {
                class: Pure; audited: Nothing; needs: []; lanes: RsaPublic;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_LENGTH: In Length;
                    KEY: In Bytes(By(KEY_LENGTH));
                    DATA_LENGTH: In Length;
                    DATA: In Bytes(By(DATA_LENGTH));
                    RESULT_LENGTH: InOut Length;
                    RESULT: Out Bytes(By(RESULT_LENGTH));
                }
            }
        } }
    };
}

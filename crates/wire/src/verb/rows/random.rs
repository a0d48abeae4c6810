//! Verbs that give random numbers.

#[doc(hidden)]
#[macro_export]
macro_rules! random_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Random_Number_Generate: 8 bytes.
            RandomNumberGenerate random_number_generate = 0x0140 slot 15 "CSNBRNG" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    FORM: In Bytes(Fixed(8));
                    RANDOM_NUMBER: Out Bytes(Fixed(8));
                }
            }
            /// Random_Number_Generate_Long: up to 8192 bytes.
            RandomNumberGenerateLong random_number_generate_long = 0x0141 slot 16 "CSNBRNGL" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { form: RandomForm required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    RESERVED_LENGTH: In Length;
                    RESERVED: In Bytes(By(RESERVED_LENGTH)), empty;
                    RANDOM_NUMBER_LENGTH: InOut Length;
                    RANDOM_NUMBER: Out Bytes(By(RANDOM_NUMBER_LENGTH));
                }
            }
        } }
    };
}

//! Verbs that hash.

#[doc(hidden)]
#[macro_export]
macro_rules! hash_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// One_Way_Hash.
            OneWayHash one_way_hash = 0x0130 slot 14 "CSNBOWH" Coprocessor {
                class: Pure; audited: false;
                keywords: 1 to 2 { method: HashMethod, segment: Segment }, rules HASH_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    TEXT_LENGTH: In Length(TEXT_LENGTH);
                    TEXT: In Bytes(By(TEXT_LENGTH));
                    CHAINING_VECTOR_LENGTH: In Length;
                    CHAINING_VECTOR: InOut Bytes(By(CHAINING_VECTOR_LENGTH));
                    HASH_LENGTH: In Length;
                    HASH: InOut Bytes(By(HASH_LENGTH));
                }
            }
        } }
    };
}

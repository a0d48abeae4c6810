//! Verbs that hash and convert texts, without a key.

#[doc(hidden)]
#[macro_export]
macro_rules! hash_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// One_Way_Hash.
            OneWayHash one_way_hash = 0x0130 slot 14 "CSNBOWH" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: Sha256;
                asks: [];
                keywords: 1 to 2 { method: HashMethod required, segment: Segment };
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
            /// MDC_Generate: a modification detection code, by DES.
            MdcGenerate mdc_generate = 0x01A0 slot 90 "CSNBMDG" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: DesEcb;
                asks: [];
                keywords: 0 to 2 { method: MdcMethod, segment: Segment };
                parameters {
                    TEXT_LENGTH: In Length(TEXT_LENGTH);
                    TEXT_DATA: In Bytes(By(TEXT_LENGTH));
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    CHAINING_VECTOR: InOut Bytes(Fixed(18));
                    MDC: InOut Bytes(Fixed(16)), secret;
                }
            }
            /// Code_Conversion: a text from one character set into another, byte by byte.
            CodeConversion code_conversion = 0x01A5 slot 95 "CSNBXEA" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { conversion: Conversion required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    TEXT_LENGTH: In Length(TEXT_LENGTH);
                    SOURCE_TEXT: In Bytes(By(TEXT_LENGTH));
                    TARGET_TEXT: Out Bytes(By(TEXT_LENGTH));
                    CODE_TABLE_LENGTH: In Length;
                    CODE_TABLE: In Bytes(By(CODE_TABLE_LENGTH));
                }
            }
        } }
    };
}

//! Verbs of key blocks (ASC X9 TR 31), and of the keys that come in them alone.

#[doc(hidden)]
#[macro_export]
macro_rules! key_block_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// TR31_Key_Export: a key in a key block, under a key-encrypting key.
            Tr31KeyExport tr31_key_export = 0x01C8 slot 131 "CSNBT31X" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes]; lanes: CmacTdes;
                asks: [Tr31AnyWithVector WeakTransport];
                keywords: 1 to 6 {
                    method: KeyBlockMethod required, usage: KeyBlockUsage, mode: KeyBlockMode, export: KeyBlockExport,
                    vector: KeyBlockVector, source: KeyBlockSource,
                }, rules KEY_BLOCK_EXPORT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_VERSION_NUMBER: In Bytes(Fixed(2));
                    KEY_FIELD_LENGTH: In Integer;
                    SOURCE_KEY_IDENTIFIER_LENGTH: In Length;
                    SOURCE_KEY_IDENTIFIER: In uses(By(SOURCE_KEY_IDENTIFIER_LENGTH)) for EXPORT;
                    UNWRAP_KEK_IDENTIFIER_LENGTH: In Length;
                    UNWRAP_KEK_IDENTIFIER: In uses(By(UNWRAP_KEK_IDENTIFIER_LENGTH)) for EXPORT;
                    WRAP_KEK_IDENTIFIER_LENGTH: In Length;
                    WRAP_KEK_IDENTIFIER: In uses(By(WRAP_KEK_IDENTIFIER_LENGTH)) for EXPORT;
                    OPT_BLKS_LENGTH: In Length;
                    OPT_BLKS: In Bytes(By(OPT_BLKS_LENGTH));
                    TR31_KEY_BLOCK_LENGTH: InOut Length;
                    TR31_KEY_BLOCK: Out Bytes(By(TR31_KEY_BLOCK_LENGTH));
                }
            }
            /// TR31_Key_Import: the key of a key block, under the master key.
            Tr31KeyImport tr31_key_import = 0x01C9 slot 132 "CSNBT31I" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym Aes]; lanes: CmacTdes;
                asks: [Tr31ImportA Tr31ImportB Tr31ImportC Tr31ImportD Tr31PinAnyMode DiversifyAny SingleLengthDes WeakImport];
                keywords: 1 to 7 {
                    place: KeyBlockPlace required, wrapping_key: KeyBlockWrappingKey, key_type: KeyBlockType,
                    derived: KeyBlockDerived, level: KeyBlockLevel, offset: KeyBlockOffset,
                    wrapping: Import2Wrapping, translation: Import2Translation,
                }, rules KEY_BLOCK_IMPORT_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    TR31_KEY_BLOCK_LENGTH: In Length;
                    TR31_KEY_BLOCK: In uses(By(TR31_KEY_BLOCK_LENGTH)) for IMPORT;
                    UNWRAP_KEK_IDENTIFIER_LENGTH: In Length;
                    UNWRAP_KEK_IDENTIFIER: In uses(By(UNWRAP_KEK_IDENTIFIER_LENGTH)) for IMPORT;
                    WRAP_KEK_IDENTIFIER_LENGTH: In Length;
                    WRAP_KEK_IDENTIFIER: In uses(By(WRAP_KEK_IDENTIFIER_LENGTH)) for IMPORT;
                    OUTPUT_KEY_IDENTIFIER_LENGTH: InOut Length;
                    OUTPUT_KEY_IDENTIFIER: InOut makes(By(OUTPUT_KEY_IDENTIFIER_LENGTH)) for IMPORT;
                    NUM_OPT_BLKS: Out Integer;
                    CV_SOURCE: Out Integer;
                    PROTECTION_METHOD: Out Integer;
                }
            }
            /// TR31_Optional_Data_Build: an optional block behind others, for a key block to be made.
            Tr31OptionalDataBuild tr31_optional_data_build = 0x01CA slot 133 "CSNBT31O" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    OPT_BLOCKS_BFR_LENGTH: In Length;
                    OPT_BLOCKS_LENGTH: InOut Integer;
                    OPT_BLOCKS: InOut Bytes(By(OPT_BLOCKS_BFR_LENGTH));
                    NUM_OPT_BLOCKS: Out Integer;
                    OPT_BLOCK_ID: In Bytes(Fixed(2));
                    OPT_BLOCK_DATA_LENGTH: In Length;
                    OPT_BLOCK_DATA: In Bytes(By(OPT_BLOCK_DATA_LENGTH));
                }
            }
            /// TR31_Key_Token_Parse: what the header of a key block says.
            Tr31KeyTokenParse tr31_key_token_parse = 0x01CB slot 134 "CSNBT31P" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: InOut Length;
                    RULE_ARRAY: Out Keywords(RULE_ARRAY_COUNT);
                    TR31_KEY_LENGTH: In Length;
                    TR31_KEY: In uses(By(TR31_KEY_LENGTH)) for IMPORT;
                    KEY_BLOCK_VERSION: Out Bytes(Fixed(1));
                    KEY_BLOCK_LENGTH: Out Integer;
                    KEY_USAGE: Out Bytes(Fixed(2));
                    ALGORITHM: Out Bytes(Fixed(1));
                    MODE: Out Bytes(Fixed(1));
                    KEY_VERSION_NUMBER: Out Bytes(Fixed(2));
                    EXPORTABILITY: Out Bytes(Fixed(1));
                    NUM_OPT_BLOCKS: Out Integer;
                }
            }
            /// TR31_Optional_Data_Read: which optional blocks a key block has, or the data of one.
            Tr31OptionalDataRead tr31_optional_data_read = 0x01CC slot 135 "CSNBT31R" Coprocessor {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { reading: KeyBlockReading required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    TR31_KEY_LENGTH: In Length;
                    TR31_KEY: In uses(By(TR31_KEY_LENGTH)) for IMPORT;
                    OPT_BLOCK_ID: In Bytes(Fixed(2)), optional;
                    NUM_OPT_BLOCKS: InOut Integer;
                    OPT_BLOCK_IDS: Out Bytes(Keyed(OPTIONAL_BLOCK_LISTS));
                    OPT_BLOCK_LENGTHS: Out Bytes(Keyed(OPTIONAL_BLOCK_LISTS));
                    OPT_BLOCK_DATA_LENGTH: InOut Length;
                    OPT_BLOCK_DATA: Out Bytes(By(OPT_BLOCK_DATA_LENGTH));
                }
            }
            /// CVV_Key_Combine: two keys of single length for card verification values in one of double length.
            CvvKeyCombine cvv_key_combine = 0x01CD slot 136 "CSNBCKC" Coprocessor {
                class: Pure; audited: Keys; needs: [Sym]; lanes: TdesTriple;
                asks: [CombinedMixed];
                keywords: 0 to 2 { wrapping: Import2Wrapping, translation: Import2Translation }, rules COMBINED_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_AIDENTIFIER_LENGTH: In Length;
                    KEY_AIDENTIFIER: In uses(By(KEY_AIDENTIFIER_LENGTH)) for GENERATE;
                    KEY_BIDENTIFIER_LENGTH: In Length;
                    KEY_BIDENTIFIER: In uses(By(KEY_BIDENTIFIER_LENGTH)) for GENERATE;
                    OUTPUT_KEY_IDENTIFIER_LENGTH: InOut Length;
                    OUTPUT_KEY_IDENTIFIER: InOut makes(By(OUTPUT_KEY_IDENTIFIER_LENGTH)) for GENERATE;
                }
            }
        } }
    };
}

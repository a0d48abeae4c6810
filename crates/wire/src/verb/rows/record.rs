//! Verbs of key records, which the daemon executes.

#[doc(hidden)]
#[macro_export]
macro_rules! record_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// DES_Key_Record_Create: a record without a key.
            DesKeyRecordCreate des_key_record_create = 0x0301 slot 27 "CSNBKRC" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_LABEL: In Bytes(Fixed(64)) for WRITE;
                }
            }
            /// DES_Key_Record_Read.
            DesKeyRecordRead des_key_record_read = 0x0302 slot 28 "CSNBKRR" Daemon {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_LABEL: In Bytes(Fixed(64)) for READ;
                    KEY_TOKEN: Out Bytes(Fixed(64));
                }
            }
            /// DES_Key_Record_Write.
            DesKeyRecordWrite des_key_record_write = 0x0303 slot 29 "CSNBKRW" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    KEY_TOKEN: In Bytes(Fixed(64));
                    KEY_LABEL: In Bytes(Fixed(64)) for WRITE;
                }
            }
            /// DES_Key_Record_Delete: the token or the whole record.
            DesKeyRecordDelete des_key_record_delete = 0x0304 slot 30 "CSNBKRD" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { deletion: RecordDeletion required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER: In Bytes(Fixed(64)) for DELETE;
                }
            }
            /// AES_Key_Record_Create.
            AesKeyRecordCreate aes_key_record_create = 0x0311 slot 31 "CSNBAKRC" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for WRITE;
                    KEY_TOKEN_LENGTH: In Length;
                    KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
                }
            }
            /// AES_Key_Record_Read.
            AesKeyRecordRead aes_key_record_read = 0x0312 slot 32 "CSNBAKRR" Daemon {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for READ;
                    KEY_TOKEN_LENGTH: InOut Length;
                    KEY_TOKEN: Out Bytes(By(KEY_TOKEN_LENGTH));
                }
            }
            /// AES_Key_Record_Write.
            AesKeyRecordWrite aes_key_record_write = 0x0313 slot 33 "CSNBAKRW" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for WRITE;
                    KEY_TOKEN_LENGTH: In Length;
                    KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
                }
            }
            /// AES_Key_Record_Delete.
            AesKeyRecordDelete aes_key_record_delete = 0x0314 slot 34 "CSNBAKRD" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { deletion: RecordDeletion required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for DELETE;
                }
            }
            /// PKA_Key_Record_Create.
            PkaKeyRecordCreate pka_key_record_create = 0x0321 slot 35 "CSNDKRC" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for WRITE;
                    KEY_TOKEN_LENGTH: In Length;
                    KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
                }
            }
            /// PKA_Key_Record_Read.
            PkaKeyRecordRead pka_key_record_read = 0x0322 slot 36 "CSNDKRR" Daemon {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for READ;
                    KEY_TOKEN_LENGTH: InOut Length;
                    KEY_TOKEN: Out Bytes(By(KEY_TOKEN_LENGTH));
                }
            }
            /// PKA_Key_Record_Write.
            PkaKeyRecordWrite pka_key_record_write = 0x0323 slot 37 "CSNDKRW" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 0 to 0 {};
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL: In Bytes(Fixed(64)) for WRITE;
                    KEY_TOKEN_LENGTH: In Length;
                    KEY_TOKEN: In Bytes(By(KEY_TOKEN_LENGTH));
                }
            }
            /// PKA_Key_Record_Delete.
            PkaKeyRecordDelete pka_key_record_delete = 0x0324 slot 38 "CSNDKRD" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { deletion: RecordDeletion required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_IDENTIFIER: In Bytes(Fixed(64)) for DELETE;
                }
            }
            /// One record made with its key (CREATE), or one or two given other keys, both or neither (REPLACE); the
            /// store is that of the token. The second label is blank where there is one record.
            KeyRecordsWrite key_records_write = 0x0331 slot 39 "" Daemon {
                class: Once; audited: Records; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { writing: RecordWriting required };
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    KEY_LABEL_1: In Bytes(Fixed(64)) for WRITE;
                    KEY_TOKEN_1_LENGTH: In Length;
                    KEY_TOKEN_1: In Bytes(By(KEY_TOKEN_1_LENGTH));
                    KEY_LABEL_2: In Bytes(Fixed(64)) for WRITE;
                    KEY_TOKEN_2_LENGTH: In Length;
                    KEY_TOKEN_2: In Bytes(By(KEY_TOKEN_2_LENGTH));
                }
            }
        } }
    };
}

//! Verbs that query the facility and the caller's rights.

#[doc(hidden)]
#[macro_export]
macro_rules! administration_verbs {
    ($callback:path, $families:tt { $($rows:tt)* }) => {
        $crate::next_verbs! { $callback, $families { $($rows)*
            /// Cryptographic_Facility_Query: the state of the domain's master-key registers, and what there is of cards
            /// and domains for the caller.
            CryptographicFacilityQuery cryptographic_facility_query = 0x0332 slot 110 "CSUACFQ" Daemon {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 2 { query: FacilityQuery required, adapter: FacilityAdapter },
                    rules FACILITY_RULES, answers FACILITY_ELEMENTS;
                parameters {
                    RULE_ARRAY_COUNT: InOut Length;
                    RULE_ARRAY: InOut Keywords(RULE_ARRAY_COUNT);
                    VERB_DATA_LENGTH: InOut Length;
                    VERB_DATA: Out Bytes(By(VERB_DATA_LENGTH));
                }
            }
            /// Access_Control_Maintenance: the role that is in force for the caller.
            AccessControlMaintenance access_control_maintenance = 0x0333 slot 111 "CSUAACM" Daemon {
                class: Pure; audited: Nothing; needs: []; lanes: One;
                asks: [];
                keywords: 1 to 1 { action: AccessControlAction required }, rules ACCESS_CONTROL_RULES;
                parameters {
                    RULE_ARRAY_COUNT: In Length;
                    RULE_ARRAY: In Keywords(RULE_ARRAY_COUNT);
                    NAME: In Bytes(Fixed(8)), optional;
                    OUTPUT_DATA_LENGTH: InOut Length;
                    OUTPUT_DATA: Out Bytes(By(OUTPUT_DATA_LENGTH));
                }
            }
        } }
    };
}

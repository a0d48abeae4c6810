//! The messages' numbers, sizes and offsets, as `linux/netlink.h` and `linux/xfrm.h` lay them out for programs of 64
//! bits. Numbers are in the machine's order, but for SPIs, ports and addresses, which are in the network's.
//!
//! ```text
//! datagram:   | message | message | ...              each begins at a multiple of four
//! message:    | length (4) | type (2) | flags (2) | sequence (4) | port (4) | structure | attribute | attribute | ...
//! attribute:  | length (2) | type (2) | value | padding to four |
//! ```

/// Length of a message's header.
pub(crate) const HEADER_BYTES: usize = 16;
/// Length of an attribute's header.
pub(crate) const ATTRIBUTE_HEADER_BYTES: usize = 4;

/// netlink's own types of messages, flags of headers, and attributes of acknowledgements.
pub(crate) mod netlink {
    pub(crate) const NOOP: u16 = 1;
    pub(crate) const ERROR: u16 = 2;
    pub(crate) const DONE: u16 = 3;
    /// The first type that belongs to a protocol.
    pub(crate) const FIRST: u16 = 0x10;

    pub(crate) const REQUEST: u16 = 0x001;
    pub(crate) const MULTI: u16 = 0x002;
    pub(crate) const ACK: u16 = 0x004;
    /// Both bits of a dump.
    pub(crate) const DUMP: u16 = 0x300;
    pub(crate) const REPLACE: u16 = 0x100;
    pub(crate) const CAPPED: u16 = 0x100;
    pub(crate) const ACK_TLVS: u16 = 0x200;

    /// Attributes of an extended acknowledgement.
    pub(crate) const ACK_TEXT: u16 = 1;
    pub(crate) const ACK_OFFSET: u16 = 2;
}

/// XFRM's types of messages (XFRM_MSG_*).
pub(crate) mod message {
    pub(crate) const NEWSA: u16 = 0x10;
    pub(crate) const DELSA: u16 = 0x11;
    pub(crate) const GETSA: u16 = 0x12;
    pub(crate) const NEWPOLICY: u16 = 0x13;
    pub(crate) const DELPOLICY: u16 = 0x14;
    pub(crate) const GETPOLICY: u16 = 0x15;
    pub(crate) const ALLOCSPI: u16 = 0x16;
    pub(crate) const ACQUIRE: u16 = 0x17;
    pub(crate) const EXPIRE: u16 = 0x18;
    pub(crate) const UPDPOLICY: u16 = 0x19;
    pub(crate) const UPDSA: u16 = 0x1a;
    pub(crate) const POLEXPIRE: u16 = 0x1b;
    pub(crate) const FLUSHSA: u16 = 0x1c;
    pub(crate) const FLUSHPOLICY: u16 = 0x1d;
    pub(crate) const NEWAE: u16 = 0x1e;
    pub(crate) const GETAE: u16 = 0x1f;
    pub(crate) const MIGRATE: u16 = 0x21;
    pub(crate) const NEWSADINFO: u16 = 0x22;
    pub(crate) const GETSADINFO: u16 = 0x23;
    pub(crate) const NEWSPDINFO: u16 = 0x24;
    pub(crate) const GETSPDINFO: u16 = 0x25;
    pub(crate) const MAPPING: u16 = 0x26;
    pub(crate) const SETDEFAULT: u16 = 0x27;
    pub(crate) const GETDEFAULT: u16 = 0x28;
}

/// XFRM's types of attributes (XFRMA_*).
pub(crate) mod attribute {
    pub(crate) const ALG_AUTH: u16 = 1;
    pub(crate) const ALG_CRYPT: u16 = 2;
    pub(crate) const ALG_COMP: u16 = 3;
    pub(crate) const ENCAP: u16 = 4;
    pub(crate) const TMPL: u16 = 5;
    pub(crate) const SA: u16 = 6;
    pub(crate) const POLICY: u16 = 7;
    pub(crate) const SEC_CTX: u16 = 8;
    pub(crate) const LTIME_VAL: u16 = 9;
    pub(crate) const REPLAY_VAL: u16 = 10;
    pub(crate) const REPLAY_THRESH: u16 = 11;
    pub(crate) const ETIMER_THRESH: u16 = 12;
    pub(crate) const SRCADDR: u16 = 13;
    pub(crate) const COADDR: u16 = 14;
    pub(crate) const LASTUSED: u16 = 15;
    pub(crate) const POLICY_TYPE: u16 = 16;
    pub(crate) const MIGRATE: u16 = 17;
    pub(crate) const ALG_AEAD: u16 = 18;
    pub(crate) const KMADDRESS: u16 = 19;
    pub(crate) const ALG_AUTH_TRUNC: u16 = 20;
    pub(crate) const MARK: u16 = 21;
    pub(crate) const TFCPAD: u16 = 22;
    pub(crate) const REPLAY_ESN_VAL: u16 = 23;
    pub(crate) const SA_EXTRA_FLAGS: u16 = 24;
    pub(crate) const PROTO: u16 = 25;
    pub(crate) const ADDRESS_FILTER: u16 = 26;
    pub(crate) const OFFLOAD_DEV: u16 = 28;
    pub(crate) const SET_MARK: u16 = 29;
    pub(crate) const SET_MARK_MASK: u16 = 30;
    pub(crate) const IF_ID: u16 = 31;
    pub(crate) const MTIMER_THRESH: u16 = 32;
    pub(crate) const SA_DIR: u16 = 33;
    pub(crate) const LAST: u16 = SA_DIR;

    /// Attributes of GETSADINFO's reply.
    pub(crate) const SAD_COUNT: u16 = 1;
    pub(crate) const SAD_BUCKETS: u16 = 2;
    /// Attributes of GETSPDINFO's reply.
    pub(crate) const SPD_INFO: u16 = 1;
    pub(crate) const SPD_BUCKETS: u16 = 2;
    pub(crate) const SPD_THRESHOLD_V4: u16 = 3;
    pub(crate) const SPD_THRESHOLD_V6: u16 = 4;
}

/// Groups of subscribers, as bits of `nl_groups`.
pub(crate) mod group {
    pub(crate) const ACQUIRE: u32 = 1;
    pub(crate) const EXPIRE: u32 = 1 << 1;
    pub(crate) const SA: u32 = 1 << 2;
    pub(crate) const POLICY: u32 = 1 << 3;
    pub(crate) const AEVENTS: u32 = 1 << 4;
    pub(crate) const MIGRATE: u32 = 1 << 6;
    pub(crate) const MAPPING: u32 = 1 << 7;
}

/// Families of addresses.
pub(crate) const AF_UNSPEC: u16 = 0;
pub(crate) const AF_INET: u16 = 2;
pub(crate) const AF_INET6: u16 = 10;

/// Protocols above IP.
pub(crate) mod protocol {
    pub(crate) const ANY: u8 = 0;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const ESP: u8 = 50;
    pub(crate) const AH: u8 = 51;
    pub(crate) const DSTOPTS: u8 = 60;
    pub(crate) const COMP: u8 = 108;
    /// IPSEC_PROTO_ANY: any of ESP, AH and IPComp.
    pub(crate) const IPSEC_ANY: u8 = 255;
}

/// Modes of SAs and templates.
pub(crate) mod mode {
    pub(crate) const TRANSPORT: u8 = 0;
    pub(crate) const TUNNEL: u8 = 1;
    pub(crate) const ROUTE_OPTIMIZATION: u8 = 2;
    pub(crate) const BEET: u8 = 4;
    /// The first number that no mode has.
    pub(crate) const END: u8 = 5;
}

/// Flags of SAs.
pub(crate) mod flag {
    pub(crate) const NO_ECN: u8 = 1;
    pub(crate) const DECAP_DSCP: u8 = 2;
    pub(crate) const NO_PMTU_DISCOVERY: u8 = 4;
    pub(crate) const AF_UNSPEC: u8 = 32;
    pub(crate) const ESN: u8 = 128;
    /// A bit of XFRMA_SA_EXTRA_FLAGS, not of `flags`.
    pub(crate) const DONT_ENCAP_DSCP: u32 = 1;
}

/// Where fields stand in `struct xfrm_selector`.
pub(crate) mod selector {
    pub(crate) const DESTINATION: usize = 0;
    pub(crate) const SOURCE: usize = 16;
    pub(crate) const DESTINATION_PORT: usize = 32;
    pub(crate) const DESTINATION_MASK: usize = 34;
    pub(crate) const SOURCE_PORT: usize = 36;
    pub(crate) const SOURCE_MASK: usize = 38;
    pub(crate) const FAMILY: usize = 40;
    pub(crate) const DESTINATION_BITS: usize = 42;
    pub(crate) const SOURCE_BITS: usize = 43;
    pub(crate) const PROTOCOL: usize = 44;
    pub(crate) const INTERFACE: usize = 48;
    pub(crate) const BYTES: usize = 56;
}

/// Where fields stand in `struct xfrm_usersa_info`.
pub(crate) mod sa_info {
    pub(crate) const SELECTOR: usize = 0;
    pub(crate) const DESTINATION: usize = 56;
    pub(crate) const SPI: usize = 72;
    pub(crate) const PROTOCOL: usize = 76;
    pub(crate) const SOURCE: usize = 80;
    pub(crate) const LIFETIME: usize = 96;
    pub(crate) const CURRENT: usize = 160;
    pub(crate) const STATS: usize = 192;
    pub(crate) const SEQUENCE: usize = 204;
    pub(crate) const REQUEST: usize = 208;
    pub(crate) const FAMILY: usize = 212;
    pub(crate) const MODE: usize = 214;
    pub(crate) const WINDOW: usize = 215;
    pub(crate) const FLAGS: usize = 216;
    pub(crate) const BYTES: usize = 224;
    /// Fields of `struct xfrm_userspi_info` behind the `struct xfrm_usersa_info` that it begins with.
    pub(crate) const SPI_MIN: usize = 224;
    pub(crate) const SPI_MAX: usize = 228;
    pub(crate) const WITH_RANGE_BYTES: usize = 232;
    /// Fields of `struct xfrm_user_expire` behind the `struct xfrm_usersa_info` that it begins with.
    pub(crate) const HARD: usize = 224;
    pub(crate) const WITH_HARD_BYTES: usize = 232;
}

/// Where fields stand in `struct xfrm_usersa_id`.
pub(crate) mod sa_id {
    pub(crate) const DESTINATION: usize = 0;
    pub(crate) const SPI: usize = 16;
    pub(crate) const FAMILY: usize = 20;
    pub(crate) const PROTOCOL: usize = 22;
    pub(crate) const BYTES: usize = 24;
}

/// Where fields stand in `struct xfrm_aevent_id`, which begins with `struct xfrm_usersa_id`.
pub(crate) mod aevent {
    pub(crate) const SOURCE: usize = 24;
    pub(crate) const FLAGS: usize = 40;
    pub(crate) const REQUEST: usize = 44;
    pub(crate) const BYTES: usize = 48;

    pub(crate) const REPLAY_THRESHOLD: u32 = 1;
    pub(crate) const TIMER_THRESHOLD: u32 = 8;
    /// XFRM_AE_CU: the cause of an event is that a request changed the SA.
    pub(crate) const UPDATED: u32 = 64;
}

/// Where fields stand in `struct xfrm_userpolicy_info`.
pub(crate) mod policy_info {
    pub(crate) const SELECTOR: usize = 0;
    pub(crate) const LIFETIME: usize = 56;
    pub(crate) const CURRENT: usize = 120;
    pub(crate) const PRIORITY: usize = 152;
    pub(crate) const INDEX: usize = 156;
    pub(crate) const DIRECTION: usize = 160;
    pub(crate) const ACTION: usize = 161;
    pub(crate) const FLAGS: usize = 162;
    pub(crate) const SHARE: usize = 163;
    pub(crate) const BYTES: usize = 168;
    /// Fields of `struct xfrm_user_polexpire` behind the `struct xfrm_userpolicy_info` that it begins with.
    pub(crate) const HARD: usize = 168;
    pub(crate) const WITH_HARD_BYTES: usize = 176;
    /// Highest value of `share` (XFRM_SHARE_UNIQUE).
    pub(crate) const SHARE_LAST: u8 = 3;
}

/// Where fields stand in `struct xfrm_userpolicy_id`.
pub(crate) mod policy_id {
    pub(crate) const SELECTOR: usize = 0;
    pub(crate) const INDEX: usize = 56;
    pub(crate) const DIRECTION: usize = 60;
    pub(crate) const BYTES: usize = 64;
}

/// Where fields stand in `struct xfrm_user_tmpl`.
pub(crate) mod template {
    pub(crate) const DESTINATION: usize = 0;
    pub(crate) const SPI: usize = 16;
    pub(crate) const PROTOCOL: usize = 20;
    pub(crate) const FAMILY: usize = 24;
    pub(crate) const SOURCE: usize = 28;
    pub(crate) const REQUEST: usize = 44;
    pub(crate) const MODE: usize = 48;
    pub(crate) const OPTIONAL: usize = 50;
    pub(crate) const ALGORITHMS: usize = 52;
    pub(crate) const BYTES: usize = 64;
    /// Upper bound of templates in a policy (XFRM_MAX_DEPTH).
    pub(crate) const MAX: usize = 6;
}

/// Where fields stand in `struct xfrm_user_acquire`.
pub(crate) mod acquire {
    pub(crate) const DESTINATION: usize = 0;
    pub(crate) const SPI: usize = 16;
    pub(crate) const PROTOCOL: usize = 20;
    pub(crate) const SOURCE: usize = 24;
    pub(crate) const SELECTOR: usize = 40;
    pub(crate) const POLICY: usize = 96;
    pub(crate) const ALGORITHMS: usize = 264;
    pub(crate) const SEQUENCE: usize = 276;
    pub(crate) const BYTES: usize = 280;
}

/// Where fields stand in `struct xfrm_user_mapping`, which begins with `struct xfrm_usersa_id`.
pub(crate) mod mapping {
    pub(crate) const REQUEST: usize = 24;
    pub(crate) const OLD_SOURCE: usize = 28;
    pub(crate) const NEW_SOURCE: usize = 44;
    pub(crate) const OLD_PORT: usize = 60;
    pub(crate) const NEW_PORT: usize = 62;
    pub(crate) const BYTES: usize = 64;
}

/// Where fields stand in `struct xfrm_user_migrate`.
pub(crate) mod migrate {
    pub(crate) const OLD_DESTINATION: usize = 0;
    pub(crate) const OLD_SOURCE: usize = 16;
    pub(crate) const NEW_DESTINATION: usize = 32;
    pub(crate) const NEW_SOURCE: usize = 48;
    pub(crate) const PROTOCOL: usize = 64;
    pub(crate) const MODE: usize = 65;
    pub(crate) const REQUEST: usize = 68;
    pub(crate) const OLD_FAMILY: usize = 72;
    pub(crate) const NEW_FAMILY: usize = 74;
    pub(crate) const BYTES: usize = 76;
}

/// Offsets and lengths of the fields before the key in attributes of algorithms.
pub(crate) mod algorithm {
    pub(crate) const NAME_BYTES: usize = 64;
    pub(crate) const KEY_BITS: usize = 64;
    /// Length of `struct xfrm_algo` without its key.
    pub(crate) const PLAIN_BYTES: usize = 68;
    /// Where the ICV's length in bits stands in `struct xfrm_algo_auth` and `struct xfrm_algo_aead`.
    pub(crate) const ICV_BITS: usize = 68;
    pub(crate) const WITH_ICV_BYTES: usize = 72;
}

/// Where fields stand in `struct xfrm_replay_state_esn`.
pub(crate) mod replay_esn {
    pub(crate) const WORDS: usize = 0;
    pub(crate) const OUT: usize = 4;
    pub(crate) const IN: usize = 8;
    pub(crate) const OUT_HIGH: usize = 12;
    pub(crate) const IN_HIGH: usize = 16;
    pub(crate) const WINDOW: usize = 20;
    pub(crate) const BYTES: usize = 24;
    /// Upper bound of the words of a bitmap.
    pub(crate) const WORDS_MAX: u32 = 128;
}

/// Lengths of smaller structures.
pub(crate) const ADDRESS_BYTES: usize = 16;
pub(crate) const LIFETIME_BYTES: usize = 64;
pub(crate) const CURRENT_BYTES: usize = 32;
pub(crate) const ENCAP_BYTES: usize = 24;
pub(crate) const REPLAY_BYTES: usize = 12;
pub(crate) const MARK_BYTES: usize = 8;
pub(crate) const FILTER_BYTES: usize = 36;
pub(crate) const POLICY_TYPE_BYTES: usize = 6;
pub(crate) const SEC_CTX_BYTES: usize = 8;
pub(crate) const KMADDRESS_BYTES: usize = 40;
pub(crate) const OFFLOAD_BYTES: usize = 8;
/// UDP_ENCAP_ESPINUDP: the type of encapsulation of ESP in UDP.
pub(crate) const ENCAP_ESP_IN_UDP: u16 = 2;

/// Error numbers that requests are answered with.
pub(crate) mod errno {
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const ESRCH: i32 = 3;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EEXIST: i32 = 17;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const ERANGE: i32 = 34;
    pub(crate) const ENOSYS: i32 = 38;
    pub(crate) const EPROTONOSUPPORT: i32 = 93;
    pub(crate) const EOPNOTSUPP: i32 = 95;
}

//! Lengths of parameters that depend on keywords.

/// Lengths by keywords, as [`Length::Keyed`](super::Length::Keyed) takes them.
pub(crate) type Keyed = &'static [(&'static [&'static str], usize)];

/// Length of a MAC that is returned: 0 while the text goes on in a later call.
pub(super) const SHOWN_MAC: Keyed = &[
    (&["FIRST"], 0),
    (&["MIDDLE"], 0),
    (&["MACLEN6"], 6),
    (&["MACLEN8"], 8),
    (&["HEX-8"], 8),
    (&["HEX-9"], 9),
    (&[], 4),
];
/// Length of the profile of an incoming PIN block: 24 bytes, then a key serial number that is
/// padded to 24 bytes, or the derivation data of AES DUKPT, of 20 bytes.
pub(super) const PROFILE_IN: Keyed =
    &[(&["DUKPT-IP"], 48), (&["DUKPT-BH"], 48), (&["ADUKPTIP"], 44), (&["ADUKPTBH"], 44), (&[], 24)];
/// Length of the profile of a PIN block that is verified; further fields follow as in
/// [`PROFILE_IN`].
pub(super) const PROFILE_VERIFIED: Keyed = &[(&["DUKPT-IP"], 48), (&["ADUKPTIP"], 44), (&[], 24)];
/// Length of the profile of an outgoing PIN block; further fields follow as in [`PROFILE_IN`].
pub(super) const PROFILE_OUT: Keyed =
    &[(&["DUKPT-OP"], 48), (&["DUKPT-BH"], 48), (&["ADUKPTOP"], 44), (&["ADUKPTBH"], 44), (&[], 24)];
/// Length of the PAN of a card verification value.
pub(super) const CVV_PAN: Keyed = &[
    (&["PAN-14"], 14),
    (&["PAN-15"], 15),
    (&["PAN-16"], 16),
    (&["PAN-17"], 17),
    (&["PAN-18"], 18),
    (&["PAN-19"], 19),
    (&[], 13),
];
/// Length of the code in a response: a response code, or the status update of the card.
pub(super) const EMV_RESPONSE_CODE: Keyed = &[(&["METHOD-2"], 4), (&[], 2)];
/// Length of a list of a key block's optional blocks: two bytes for each of at most 99.
pub(super) const OPTIONAL_BLOCK_LISTS: Keyed = &[(&["INFO"], 198), (&[], 0)];
/// Length of the key that a token is built from: 16 bytes, or more for longer keys.
pub(super) const BUILT_KEY_VALUE: Keyed = &[
    (&["KEY-CLR", "KEYLN32"], 32),
    (&["KEY-CLR", "KEYLN24"], 24),
    (&["KEY", "KEYLN24"], 24),
    (&["KEY", "TRIPLE"], 24),
    (&["KEY", "TRIPLE-O"], 24),
    (&["KEY-CLR", "TRIPLE"], 24),
    (&["KEY"], 16),
    (&["KEY-CLR"], 16),
    (&[], 0),
];
/// Length of a part of a key: 16 bytes; COMPLETE takes no part.
pub(super) const ENTERED_PART: Keyed = &[(&["COMPLETE"], 0), (&[], 16)];
/// Length of the control vector that a token is built from.
pub(super) const BUILT_CONTROL_VECTOR: Keyed = &[(&["CV"], 16), (&[], 0)];
/// Length of the verification pattern that a token is built from.
pub(super) const BUILT_VERIFICATION_PATTERN: Keyed = &[(&["KEY"], 8), (&[], 0)];

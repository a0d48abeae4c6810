//! The groups of keywords that verbs choose from, each as an enumeration.

use super::keywords::{Choice, Group, Keyword, Need};

macro_rules! need {
    ($name:ident required) => {
        Need::Required
    };
    ($name:ident required_first) => {
        Need::Required
    };
    ($name:ident optional) => {
        Need::Optional
    };
    ($name:ident $default:ident) => {
        Need::Default($name::$default as usize)
    };
}

macro_rules! is_missed_first {
    (required_first) => {
        true
    };
    ($need:ident) => {
        false
    };
}

/// The type of a request's choice from a group, and how it is made from the keyword's place in the
/// group.
macro_rules! given {
    ($name:ident optional) => {
        type Given = Option<$name>;

        fn given(place: Option<usize>) -> Option<$name> {
            place.map(|place| Self::ALL[place].1)
        }
    };
    ($name:ident $need:ident) => {
        type Given = $name;

        fn given(place: Option<usize>) -> $name {
            Self::ALL[place.unwrap_or(0)].1
        }
    };
}

macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident $need:ident { $($variant:ident $text:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        impl Choice for $name {
            const GROUP: Group = Group {
                name: stringify!($name),
                words: Self::WORDS,
                need: need!($name $need),
                is_missed_first: is_missed_first!($need),
            };

            given! { $name $need }
        }

        impl $name {
            /// The keywords of the group, in the order of the variants.
            pub const WORDS: &'static [Keyword] = &[$(Keyword::new($text)),*];
            /// Each keyword as a number, with its variant.
            pub const ALL: &'static [(u64, Self)] = &[$((Keyword::new($text).word, Self::$variant)),*];

            /// The keyword of this choice.
            pub const fn keyword(self) -> Keyword {
                Self::WORDS[self as usize]
            }
        }
    )*};
}

groups! {
    /// The change to a private RSA key: from under a DES key to under an AES key, outside or inside
    /// this system, or into the format of a smart card.
    PrivateKeyTranslation required {
        External "EXTDWAKW", Internal "INTDWAKW", Visa "SCVISA", ModulusExponent "SCCOMME", Crt "SCCOMCRT"
    }
    /// Whether the token that is built is internal or external.
    TokenOrigin required { Internal "INTERNAL", External "EXTERNAL" }
    /// Algorithm of the key in the token that is built.
    TokenAlgorithm Des { Des "DES", Aes "AES" }
    /// Whether the token that is built holds a key, and in which form.
    TokenContent None { None "NO-KEY", Wrapped "KEY", Clear "KEY-CLR" }
    /// Source of the control vector of the token that is built, if not its key type.
    TokenVector optional { Given "CV", Zero "NO-CV" }
    /// Length of the key in the token that is built.
    TokenLength optional {
        Bytes8 "KEYLN8", Single "SINGLE", Bytes16 "KEYLN16", Double "DOUBLE", DoubleUnique "DOUBLE-O",
        Bytes24 "KEYLN24", Bytes32 "KEYLN32", Mixed "MIXED", Triple "TRIPLE", TripleUnique "TRIPLE-O",
    }
    /// How the key in the token is to be wrapped.
    TokenWrapping optional {
        Configured "USECONFG", Ecb "WRAP-ECB", Enhanced "WRAP-ENH", Enhanced2 "WRAPENH2", Enhanced3 "WRAPENH3",
    }
    /// Whether the key may from then on never be wrapped by the original method.
    WrappingBound optional { EnhancedOnly "ENH-ONLY" }
    /// Whether a token of variable length holds a key.
    VariableContent None { None "NO-KEY", Clear "KEY-CLR" }
    /// Whether the payload of a token has a variable or a fixed length, if not that of its key
    /// type.
    VariablePayload optional { Variable "V0PYLD", Fixed "V1PYLD" }
    /// Algorithm of the key in a token of variable length.
    VariableAlgorithm required { Aes "AES", Hmac "HMAC" }
    /// Type of the key in a token of variable length.
    VariableKeyType required {
        Cipher "CIPHER", Mac "MAC", Exporter "EXPORTER", Importer "IMPORTER", PinProt "PINPROT", PinCalc "PINCALC",
        PinPrw "PINPRW", DkyGenKy "DKYGENKY", SecMsg "SECMSG", KdkGenKy "KDKGENKY",
    }
    /// Number of tokens that a new key goes into, and the keys that wrap it.
    VariableKeyForm required {
        Op "OP", Opop "OPOP", Ex "EX", Im "IM", Opex "OPEX", Opim "OPIM", Imex "IMEX", Imim "IMIM", Exex "EXEX",
    }
    /// The step in which a key is entered in parts.
    VariableKeyPart required { First "FIRST", Add "ADD-PART", Complete "COMPLETE" }
    /// The least number of parts of the key; three if no keyword is given.
    KeyPartsLeast optional { Three "MIN3PART", Two "MIN2PART", One "MIN1PART" }
    /// The algorithm of a key.
    KeyAlgorithm Des { Des "DES", Aes "AES" }
    /// Whether a verification pattern is generated or verified.
    TestProcess required { Generate "GENERATE", Verify "VERIFY" }
    /// The form and place of the key that is tested.
    TestSource Token {
        Token "TOKEN", Enciphered "KEY-ENC", EncipheredDouble "KEY-ENCD", EncipheredTriple "KEY-ENCT",
        Clear "KEY-CLR", ClearDouble "KEY-CLRD", ClearTriple "KEY-CLRT", ClearAes128 "CLR-A128",
        ClearAes192 "CLR-A192", ClearAes256 "CLR-A256", Master "KEY-KM", OldMaster "KEY-OKM",
    }
    /// The register of the master key that is tested.
    TestRegister optional { Sym "SYM-MK", Asym "ASYM-MK", Aes "AES-MK", Apka "APKA-MK" }
    /// Method of the verification pattern.
    TestAlgorithm optional { EncZero "ENC-ZERO", Sha1 "SHA-1", Sha256 "SHA-256" }
    /// Whether the parity of the key is made odd first.
    TestParity AsItIs { Adjusted "ADJUST", AsItIs "NOADJUST" }
    /// Form of a tested key under a key-encrypting key: in its token, whose length the keywords
    /// need not say.
    ExtendedTestSource Enciphered { Enciphered "KEY-ENC", EncipheredDouble "KEY-ENCD", Token "TOKEN" }
    /// Method of the verification pattern of a key under a key-encrypting key.
    ExtendedTestAlgorithm optional { EncZero "ENC-ZERO" }
    /// Whether the verification pattern of a key in a token of any form is generated or verified;
    /// KEY-LEN is refused.
    TestProcess2 required { Generate "GENERATE", Verify "VERIFY", Length "KEY-LEN" }
    /// Algorithm of a symmetric key, if it is to be checked.
    SymmetricAlgorithm optional { Aes "AES", Des "DES", Hmac "HMAC" }
    /// Whether the current, the old or the new key of a register is tested.
    MasterKeySource optional { Current "KEY-KM", Old "KEY-OKM", New "KEY-NKM" }
    /// Method of the verification pattern of a key in a token of any form.
    TestMethod2 optional {
        EncZero "ENC-ZERO", CmacZero "CMACZERO", Sha1 "SHA-1", Sha256 "SHA-256", Sha2Vp1 "SHA2VP1",
    }
    /// Algorithm of the key-encrypting key that wraps the key.
    WrappingAlgorithm optional { Aes "IKEK-AES", Des "IKEK-DES", Pka "IKEK-PKA" }
    /// Algorithm of the key whose token is restricted.
    RestrictedAlgorithm required { Aes "AES", Des "DES", Hmac "HMAC" }
    /// Forbids every way of export.
    RestrictionExtent optional { All "NOEXPORT" }
    /// The change to a token: another wrapping key, another form, or a compliance mark.
    TranslationProcess Translate {
        Translate "TRANSLAT", Reformat "REFORMAT", Variable "V0PYLD", Fixed "V1PYLD", Checked "COMP-CHK", Tagged "COMP-TAG",
    }
    /// Method that wraps the key of a token that is made anew.
    TranslatedWrapping optional { Configured "USECONFG", Ecb "WRAP-ECB" }
    /// Which clear part of a key is entered, or that the key is complete.
    KeyPart required {
        First "FIRST", Middle "MIDDLE", Last "LAST", Added "ADD-PART", Complete "COMPLETE",
    }
    /// Whether a token is put under the current or the new master key.
    TokenChange required { Current "RTCMK", New "RTNMK" }
    /// Algorithm of the key in the token that is changed, if it is to be checked.
    ChangedAlgorithm optional { Des "DES", Aes "AES" }
    /// Algorithm of the key in the PKA token, if it is to be checked.
    ChangedPkaAlgorithm optional { Rsa "RSA", Ecc "ECC" }
    /// Mode of a cipher with DES keys.
    DesMethod Cbc { Cbc "CBC", X923 "X9.23", Cusp "CUSP", Ips "IPS" }
    /// Whether a text begins with the initialization vector or goes on from the chaining vector.
    DesChaining Initial { Initial "INITIAL", Continue "CONTINUE" }
    /// Repeats what the token says; changes nothing.
    DesKeySource optional { Token "TOKEN", Des "DES" }
    /// The only algorithm of these verbs.
    AesAlgorithm required { Aes "AES" }
    /// Mode of a cipher with AES keys.
    AesMethod Cbc { Cbc "CBC", Ecb "ECB", Pkcs "PKCS-PAD", Gcm "GCM" }
    /// Whether the key identifier is a clear key, or a token or label.
    AesKeyRule Clear { Clear "KEY-CLR", Identifier "KEYIDENT" }
    /// Position of this text in a text of several calls.
    AesPosition optional { Initial "INITIAL", Continue "CONTINUE", Final "FINAL", Only "ONLY" }
    /// Method by which a MAC is computed.
    MacMethod X99 {
        X99 "X9.9-1", X919 "X9.19OPT", Tdes "TDES-MAC", Emv "EMVMAC", EmvDouble "EMVMACD", Cmac "CMAC",
    }
    /// Position of this text in a text of several calls.
    Segment Only { Only "ONLY", First "FIRST", Middle "MIDDLE", Last "LAST" }
    /// Length and format of a MAC that is returned or compared.
    MacFormat Bytes4 { Bytes4 "MACLEN4", Bytes6 "MACLEN6", Bytes8 "MACLEN8", Hex8 "HEX-8", Hex9 "HEX-9" }
    /// Method of a clear PIN, its offset or its PVV.
    PinMethod required {
        Ibm "IBM-PIN", IbmOffset "IBM-PINO", Pool "GBP-PIN", PoolOffset "GBP-PINO", Visa "VISA-PVV",
        Interbank "INBK-PIN", Dutch "NL-PIN-1",
    }
    /// Method of the offset or the PVV of a PIN in a block.
    PinAlternateMethod required { IbmOffset "IBM-PINO", Visa "VISA-PVV", Dutch "NL-PIN-1" }
    /// Method of a PIN that is returned in a block.
    PinEncryptedMethod required { Ibm "IBM-PIN", Pool "GBP-PIN", Interbank "INBK-PIN", Dutch "NL-PIN-1" }
    /// Method by which a PIN in a block is verified.
    PinVerifyMethod required {
        Ibm "IBM-PIN", IbmOffset "IBM-PINO", Pool "GBP-PIN", PoolOffset "GBP-PINO", Visa "VISA-PVV",
        VisaFour "VISAPVV4", Interbank "INBK-PIN", Dutch "NL-PIN-1",
    }
    /// How the end of a PIN in a block is found, if not as its format usually has it.
    PinExtraction optional {
        PinBlock "PINBLOCK", PadDigit "PADDIGIT", HexDigit "HEXDIGIT", PadExist "PADEXIST", Length4 "PINLEN04",
        Length5 "PINLEN05", Length6 "PINLEN06", Length7 "PINLEN07", Length8 "PINLEN08", Length9 "PINLEN09",
        Length10 "PINLEN10", Length11 "PINLEN11", Length12 "PINLEN12", Length13 "PINLEN13", Length14 "PINLEN14",
        Length15 "PINLEN15", Length16 "PINLEN16",
    }
    /// Whether a PIN block stays as it is under the other key, or its PIN goes into a new block.
    PinTranslation required { Translate "TRANSLAT", Reformat "REFORMAT" }
    /// Which keys of a translation are derived for the transaction, and by which method.
    PinDerivations optional {
        In "DUKPT-IP", Out "DUKPT-OP", Both "DUKPT-BH", SingleIn "UKPTIPIN", SingleOut "UKPTOPIN",
        SingleBoth "UKPTBOTH", AesIn "ADUKPTIP", AesOut "ADUKPTOP", AesBoth "ADUKPTBH",
    }
    /// Whether the key of the incoming block is derived for the transaction.
    PinDerivation optional { In "DUKPT-IP", SingleIn "UKPTIPIN", AesIn "ADUKPTIP" }
    /// Whether the key of the outgoing block is derived for the transaction.
    PinDerivationOut optional { Out "DUKPT-OP", SingleOut "UKPTOPIN", AesOut "ADUKPTOP" }
    /// Whether the keys of both blocks are derived for the transaction, by one method.
    PinDerivationBoth optional { Both "DUKPT-BH", SingleBoth "UKPTBOTH", AesBoth "ADUKPTBH" }
    /// Whether a PIN is compared with the reference PIN whole, or only its last digits.
    PinComparison required { Whole "REFPIN", Truncated "TRUNCPIN" }
    /// Whether the key of a compared block is derived for the transaction.
    PinDerivationOf optional { Tdes "DUKPT", Single "UKPT", Aes "ADUKPT" }
    /// Whether the PAN of a PIN block changes, which authentication data must prove.
    PanChange optional { Change "PAN-CHG" }
    /// How the PANs are laid out in the text that the authentication data are a CMAC of.
    PanChangeMessage optional { Characters "PANAUTAS", Fields "PANAUTI4" }
    /// Method of format-preserving encryption.
    FormatMethod required { Ff1 "FF1", Ff2 "FF2", Ff21 "FF2.1" }
    /// Method of the incoming text.
    FormatMethodIn required { Ff1 "ICFF1", Ff2 "ICFF2", Ff21 "ICFF2.1" }
    /// Method of the outgoing text.
    FormatMethodOut required { Ff1 "OCFF1", Ff2 "OCFF2", Ff21 "OCFF2.1" }
    /// The block cipher in these methods.
    FormatAlgorithm required { Aes "AES" }
    /// Characters of text and tweak: decimal digits, or alphabets that the caller gives.
    FormatAlphabets required { Digits "BASE10", Own "CUSTOM" }
    /// Characters of the incoming text and its tweak: decimal digits, or alphabets that the caller
    /// gives.
    FormatAlphabetsIn required { Digits "IBASE10", Own "ICUSTOM" }
    /// Characters of the outgoing text and its tweak: decimal digits, or alphabets that the caller
    /// gives.
    FormatAlphabetsOut required { Digits "OBASE10", Own "OCUSTOM" }
    /// Whether the PIN of a block is given by the caller, or random.
    PinSource Given { Given "ENCRYPT", Random "RANDOM" }
    /// Number of digits of the PAN from which a card verification value is computed.
    CvvPan Digits13 {
        Digits13 "PAN-13", Digits14 "PAN-14", Digits15 "PAN-15", Digits16 "PAN-16", Digits17 "PAN-17",
        Digits18 "PAN-18", Digits19 "PAN-19",
    }
    /// Number of digits of a card verification value.
    CvvDigits One { One "CVV-1", Two "CVV-2", Three "CVV-3", Four "CVV-4", Five "CVV-5" }
    /// Whether a card security code is made or verified.
    SecurityCodeAction Verify { Generate "GENERATE", Verify "VERIFY" }
    /// Which card security codes: those of three, four or five digits, or all three.
    SecurityCodes required { Three "CSC-3", Four "CSC-4", Five "CSC-5", All "CSC-345" }
    /// Version of the card security codes: the second version also covers the service code.
    SecurityCodeVersion One { One "CSC-V1", Two "CSC-V2" }
    /// Method by which a DES key is derived from data.
    Diversification required {
        Single "CLR8-ENC", Encipher "TDES-ENC", Chained "TDES-CBC", Decipher "TDES-DEC", Counter "TDES-XOR",
        TreeTwo "TDESEMV2", TreeFour "TDESEMV4", Difference "SESS-XOR", OneWayClear "A28OWFCL",
        OneWayEnciphered "A28OWFEC", DifferenceEnciphered "A28XOREC",
    }
    /// Method by which an AES key is derived from data.
    Diversification2 required { OptionC "MK-OPTC", Session "SESS-ENC", Feedback "KDFFM-DK" }
    /// Length in bits of a derived AES key.
    DiversifiedLength optional { Bits128 "KLEN128", Bits192 "KLEN192", Bits256 "KLEN256" }
    /// Algorithm of a chip card's keys.
    EmvAlgorithm Tdes { Tdes "TDES" }
    /// Whether a request cryptogram is verified, a response made, or both.
    EmvAction required { Verify "VERARQC", Respond "GENARPC", Both "VERGEN" }
    /// Card scheme whose rules apply.
    EmvScheme required { Visa "VISA", MasterCard "MC", Emv "EMV" }
    /// How EMV's session key is derived from the card's key, if not by the tree with two branches.
    EmvSession optional { TreeTwo "TDESEMV2", TreeFour "TDESEMV4", Common "EMVCSK" }
    /// How the card's key is derived from the issuer's key.
    EmvCardKey A { A "OPTION-A", B "OPTION-B" }
    /// Whether the PAN's sequence number takes part in deriving the card's key; zeros stand for it
    /// otherwise.
    EmvSequence optional { Appended "APPANSEQ" }
    /// Method of the response, if not the first one.
    EmvResponse optional { One "METHOD-1", Two "METHOD-2" }
    /// How the text of a request cryptogram is filled to whole blocks, if not as the scheme does.
    EmvPadding optional { Zeros "PADZEROS", Bit "PADBIT", None "PADNONE" }
    /// Purpose of a chip card's master key.
    IccKey required { Cryptogram "AC", Mac "MAC", Encipherment "ENC", Data "DATA" }
    /// How the session key under which a PIN change is enciphered is derived from the card's key.
    PinChangeSession Counter {
        Counter "TDES-XOR", TreeTwo "TDESEMV2", TreeFour "TDESEMV4", Aes "AES-EMV1", Common "EMVCSK",
    }
    /// Card scheme of the block with a new PIN, made without or with the former PIN.
    PinChange required {
        Visa "VISAPCU1", VisaOfCurrent "VISAPCU2", AmexOfCurrent "AMEXPCU1", Amex "AMEXPCU2", Emv "EMV-PCU1",
        Iso2 "ISO2-EMV", Iso2MasterCard "ISO2-MC",
    }
    /// Mode in which a message is enciphered.
    MessageMode Cbc { Cbc "TDES-CBC", Ecb "TDES-ECB" }
    /// Cipher and mode for a message with a PIN block.
    PinMessageMode Cbc { Cbc "TDES-CBC", Ecb "TDES-ECB", AesCbc "AES-CBC", AesEcb "AES-ECB" }
    /// Whether the PIN block in a message is in the clear, or also enciphered under itself.
    PinInMessage Clear { Clear "CLEARPIN", Own "SELFENC" }
    /// Standard by which transaction keys are derived: X9.24-1 with TDES, X9.24-3 with AES.
    DerivationStandard Tdes { Tdes "DES", Aes "A-DUKPT" }
    /// Form in which a terminal's initial key is returned.
    InitialKeyForm optional { Token "TDES-TOK", Block "TR31-TOK" }
    /// Asks for the derived key of data.
    DerivedDataKey optional { Data "K1DATA" }
    /// Asks for the derived key of MACs.
    DerivedMacKey optional { Mac "K2MAC" }
    /// Asks for the derived key of PINs, or the initial key of the terminal.
    DerivedPinKey optional { Pin "K3PIN", Initial "K3IPEK" }
    /// Whether the derived key of PINs becomes a DATA key.
    DerivedPinType optional { Data "PIN-DATA" }
    /// Version of the key block, which decides how the block protects its key.
    KeyBlockMethod required { A "VARXOR-A", B "VARDRV-B", C "VARXOR-C", D "VARDRV-D" }
    /// Usage of the key in a key block.
    KeyBlockUsage optional {
        B0 "BDK", C0 "CVK", D0 "ENC", E0 "EMVACMK", E1 "EMVSCMK", E2 "EMVSIMK", E3 "EMVDAMK", E4 "EMVDNMK",
        E5 "EMVCPMK", K0 "KEK", K1 "KEK-WRAP", M0 "ISOMAC0", M1 "ISOMAC1", M3 "ISOMAC3", M6 "ISOMAC6", P0 "PINENC",
        V0 "PINVO", V1 "PINV3624", V2 "VISAPVV",
    }
    /// Mode of use of the key in a key block.
    KeyBlockMode optional {
        Both "ENCDEC", Decipher "DEC-ONLY", Encipher "ENC-ONLY", Mac "GENVER", Generate "GEN-ONLY", Verify "VER-ONLY",
        Derive "DERIVE", Any "ANY",
    }
    /// Whether the receiver of a key block may export its key.
    KeyBlockExport Trusted { Any "EXP-ANY", Trusted "EXP-TRST", None "EXP-NONE" }
    /// Whether the key's control vector is in the block: beside usage and mode, or in place of
    /// them.
    KeyBlockVector optional { Included "INCL-CV", Alone "ATTR-CV" }
    /// Algorithm of the key that is put into a block, if it is to be checked.
    KeyBlockSource optional { Des "SKEY-DES", Aes "SKEY-AES", Hmac "SKEYHMAC" }
    /// Whether the key of a block is for this system or another.
    KeyBlockPlace required { Internal "INTERNAL", External "EXTERNAL" }
    /// Algorithm of the key-encrypting key, if the key of a block goes to another system.
    KeyBlockWrappingKey optional { Aes "WKEY-AES", Des "WKEY-DES" }
    /// Type of the imported key, if usage and mode of the block do not decide it.
    KeyBlockType optional {
        CardValue "CVK-CVV", SecurityCode "CVK-CSC", Exporter "EXPORTER", OKeyXlat "OKEYXLAT", Importer "IMPORTER",
        IKeyXlat "IKEYXLAT", PinGen "PINGEN", PinVer "PINVER", OPinEnc "OPINENC", IPinEnc "IPINENC",
    }
    /// Types of the keys that an imported key derives.
    KeyBlockDerived optional { Data "DDATA", Mac "DMAC", MacVerify "DMV", Pin "DMPIN", All "DALL" }
    /// Number of derivation steps of an imported key.
    KeyBlockLevel optional { Zero "DKYL0", One "DKYL1" }
    /// Forbids offsets with an imported PIN key.
    KeyBlockOffset optional { None "NOOFFSET" }
    /// Whether the optional blocks of a key block are listed, or the data of one are read.
    KeyBlockReading required { Info "INFO", Data "DATA" }
    /// The only algorithm of these verbs.
    HmacAlgorithm required { Hmac "HMAC" }
    /// Hash with which the HMAC is computed.
    HmacMethod required {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
    }
    /// Hash of the MAC, if it is an HMAC.
    KeyedHash optional {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
    }
    /// Algorithm of the key that the incoming text is enciphered under.
    KeyInAlgorithm required { Aes "IKEY-AES", Des "IKEY-DES" }
    /// Mode of the incoming text.
    MethodIn required {
        Cbc "I-CBC", Ecb "I-ECB", Pkcs "IPKCSPAD", X923 "I-X923", Cusp "I-CUSP", Ips "I-IPS",
    }
    /// Algorithm of the key that the outgoing text is enciphered under.
    KeyOutAlgorithm required { Aes "OKEY-AES", Des "OKEY-DES" }
    /// Mode of the outgoing text.
    MethodOut required {
        Cbc "O-CBC", Ecb "O-ECB", Pkcs "OPKCSPAD", X923 "O-X923", Cusp "O-CUSP", Ips "O-IPS",
    }
    /// Whether a text is converted into ASCII, into EBCDIC, or by a table.
    Conversion required { ToAscii "TOASCII", ToEbcdic "TOEBCDIC", Table "USETABLE" }
    /// Direction in which the form of a key under a key-encrypting key changes.
    KeyEncryption required { CbcToEcb "CBCTOECB", EcbToCbc "ECBTOCBC" }
    /// Method of the hash.
    HashMethod required {
        Md5 "MD5", Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
        Sha3_224 "SHA3-224", Sha3_256 "SHA3-256", Sha3_384 "SHA3-384", Sha3_512 "SHA3-512",
        Ripemd160 "RPMD-160",
    }
    /// Method of a modification detection code, and whether the text is padded.
    MdcMethod Mdc2 { Mdc2 "MDC-2", Mdc4 "MDC-4", PaddedMdc2 "PADMDC-2", PaddedMdc4 "PADMDC-4" }
    /// The information that is asked of the facility.
    FacilityQuery required {
        Sym "STATCCA", SymAndAsym "STATCCAE", Aes "STATAES", Apka "STATAPKA", Adapters "STATCRD2",
        Patterns "STATICSA", AllPatterns "STATICSB", Domains "DOM-NUMS", UsableDomains "DOM-USAG",
        ControlDomains "DOM-CONT", Card "STATCARD", Diagnostics "STATDIAG", Environment "STATEID",
        Export "STATEXPT", PatternsC "STATICSC", PatternsE "STATICSE", PatternsF "STATICSF", PatternsX "STATICSX",
        KeyParts "STATKPR", KeyPartList "STATKPRL", Shares "STATMOFN", PinTables "STATDECT",
        PinTableBytes "NUM-DECT", WeakPins "STATWPIN", WeakPinBytes "SIZEWPIN", Time "TIMEDATE",
        Wrapping "WRAPMTHD", Entry "TKESTATE", Compliance "GETCOMPD", Pending "QPENDING",
    }
    /// The information that is asked of roles and profiles, or the change that is made to them.
    AccessControlAction required {
        Roles "LSTROLES", Role "GET-ROLE", Profiles "LSTPROFS", Profile "GET-PROF", Expiration "CHGEXPDT",
        Authentication "CHG-AD", FailureCount "RESET-FC", DeleteProfile "DEL-PROF", DeleteRole "DEL-ROLE",
        Counts "Q-NUM-RP", CountsOfUsers "Q-NUM-UR",
    }
    /// The adapter that is asked; changes nothing.
    FacilityAdapter optional { Any "ADAPTER1" }
    /// Parity of the random bytes: as drawn, odd or even.
    RandomForm required { Random "RANDOM", Odd "ODD", Even "EVEN" }
    /// Algorithm and form of the key in a PKA token.
    PkaTokenKind required {
        Public "RSA-PUBL", Private "RSA-PRIV", Crt "RSA-CRT", AesPrivate "RSA-AESM", AesCrt "RSA-AESC",
        EccPublic "ECC-PUBL", EccPair "ECC-PAIR", QuantumPublic "QSA-PUBL", QuantumPair "QSA-PAIR",
        Variable "RSAMEVAR", Optimized "RSA-OPT",
    }
    /// Uses that a PKA key is restricted to.
    PkaUsage optional {
        Signature "SIG-ONLY", KeyManagement "KEY-MGMT", KeyManagementOnly "KM-ONLY", TlsOnly "TLS-ONLY",
    }
    /// Whether a PKA key may be translated to another transport key.
    PkaTranslation optional { Allowed "XLATE-OK", Forbidden "NO-XLATE" }
    /// Version of the private section of an elliptic-curve key, if not the first.
    EccVersion optional { One "ECC-VER1" }
    /// Form of a generated PKA key: under the master key, clear, or under a transport key; RETAIN
    /// is refused.
    PkaOutput Master { Master "MASTER", Clear "CLEAR", Transported "XPORT", Retained "RETAIN" }
    /// Kind of the transport key of a private key, if the keyword gives it beside the token.
    ImporterKind optional { Des "IKEK-DES", Aes "IKEK-AES", Pka "IKEK-PKA" }
    /// Formats of a block that is enciphered by RSA.
    RsaFormat required_first {
        ZeroPad "ZERO-PAD", Mrp "MRP", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP", Oaep2 "PKOAEP2",
    }
    /// Hash of the block's format.
    RsaHash optional {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
    }
    /// Hash of the text that is signed.
    SignatureHash optional {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512", Ripemd160 "RPMD-160",
    }
    /// Whether the value to be enciphered is a key identifier.
    ValueRule optional { Identified "KEYIDENT" }
    /// Whether only a public key in a trusted block may verify.
    VerifyingKey optional { TrustedBlock "TPK-ONLY" }
    /// The algorithm of the RSA formats.
    SignatureAlgorithm optional { Rsa "RSA" }
    /// Whether the input is a hash or a text.
    SignatureInput optional { Hash "HASH", Message "MESSAGE", QuantumHash "CRDLHASH" }
    /// Formats of a block that is signed by RSA, and signature methods of elliptic curves.
    SignatureFormat Iso9796 {
        Iso9796 "ISO-9796", Pkcs10 "PKCS-1.0", Pkcs11 "PKCS-1.1", ZeroPad "ZERO-PAD", X931 "X9.31",
        Pss "PKCS-PSS", Ecdsa "ECDSA", Eddsa "EDDSA", Schnorr "EC-SDSA", Quantum "CRDL-DSA",
    }
    /// The hash that EdDSA prescribes for the curve.
    EddsaHash optional { Eddsa "ED-HASH" }
    /// Whether PKCS-PSS accepts only salts of the given length or salts of any length.
    SaltLength optional { Exact "EXMATCH", Any "NEXMATCH" }
    /// Formats of a block that carries a symmetric key.
    TransportFormat required_first { ZeroPad "ZERO-PAD", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP" }
    /// Algorithm of the exported key.
    ExportAlgorithm Des { Des "DES", Aes "AES", Hmac "HMAC" }
    /// Formats of an exported symmetric key.
    ExportFormat required_first {
        ZeroPad "ZERO-PAD", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP", Aeskw "AESKW", AeskwCv "AESKWCV",
        Oaep2 "PKOAEP2", Rakw "CKM-RAKW",
    }
    /// Algorithm of the imported key.
    Import2Algorithm required { Aes "AES", Hmac "HMAC", Des "DES" }
    /// Format in which the imported key is wrapped.
    Import2Format required { Aeskw "AESKW", AeskwCv "AESKWCV", Oaep2 "PKOAEP2", Rakw "CKM-RAKW" }
    /// Method that wraps an imported DES key.
    Import2Wrapping optional { Configured "USECONFG", Ecb "WRAP-ECB", Enhanced "WRAP-ENH" }
    /// Whether an imported DES key may from then on only be wrapped by the enhanced method.
    Import2Translation optional { Enhanced "ENH-ONLY" }
    /// Length of the key in a block whose format does not give it.
    TransportLength optional { Bytes8 "KEYLN8", Bytes16 "KEYLN16", Bytes24 "KEYLN24", Bytes32 "KEYLN32" }
    /// Scheme of the agreement: elliptic-curve keys alone, or with a key that resists quantum
    /// computers.
    AgreementScheme Ecdh { Ecdh "ECDH", Hybrid "QSA-ECDH" }
    /// Result of the agreement: a key that is derived from the shared secret, or the secret itself.
    KeyAgreement required { Derive1 "DERIV01", Derive2 "DERIV02", PassThrough "PASSTHRU" }
    /// Algorithm of the key-encrypting key for the derived key.
    OutputKekType optional { Des "OKEK-DES", Aes "OKEK-AES" }
    /// Algorithm of the derived key.
    AgreedKeyType optional { Des "KEY-DES", Aes "KEY-AES" }
    /// Hash of the key derivation.
    AgreementHash optional { Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512" }
    /// Method that wraps a derived DES key.
    AgreedKeyWrapping optional {
        Configured "USECONFG", Ecb "WRAP-ECB", Enhanced "WRAP-ENH", Enhanced2 "WRAPENH2", Enhanced3 "WRAPENH3",
    }
    /// Whether a derived DES key may later be wrapped by another method.
    AgreedKeyTranslation optional { EnhancedOnly "ENH-ONLY" }
    /// Formats of a block that carries a new key.
    GeneratedFormat required_first {
        ZeroPad "ZERO-PAD", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP", Pka92 "PKA92", NlEpp5 "NL-EPP-5",
    }
    /// Length of a new key.
    GeneratedLength optional {
        Bytes8 "KEYLN8", Single "SINGLE", Replicated "SINGLE-R", Bytes16 "KEYLN16", Double "DOUBLE", Bytes24 "KEYLN24",
        Bytes32 "KEYLN32",
    }
    /// The key that wraps the local copy of a new key: the master key, an EXPORTER key, an IMPORTER
    /// key.
    LocalCopy Operational { Operational "OP", Exportable "EX", Importable "IM" }
    /// Whether the token of a record or the whole record is deleted.
    RecordDeletion required { Token "TOKEN-DL", Record "LABEL-DL" }
    /// Whether records are created, or their keys are replaced.
    RecordWriting required { Create "CREATE", Replace "REPLACE" }
}

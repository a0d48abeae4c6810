//! The groups of keywords that verbs choose among, each as an enumeration.

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

/// What a request has of a group, and how it is told from the place of a keyword.
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
            /// Its keywords, in the order of the variants.
            pub const WORDS: &'static [Keyword] = &[$(Keyword::new($text)),*];
            /// Each keyword as a number, with what it means.
            pub const ALL: &'static [(u64, Self)] = &[$((Keyword::new($text).word, Self::$variant)),*];

            /// The keyword.
            pub const fn keyword(self) -> Keyword {
                Self::WORDS[self as usize]
            }
        }
    )*};
}

groups! {
    /// What becomes of a private RSA key: from DES to AES, outside or inside of this system, or the format of a smart
    /// card.
    PrivateKeyTranslation required {
        External "EXTDWAKW", Internal "INTDWAKW", Visa "SCVISA", ModulusExponent "SCCOMME", Crt "SCCOMCRT"
    }
    /// Whose token is built.
    TokenOrigin required { Internal "INTERNAL", External "EXTERNAL" }
    /// Of which algorithm.
    TokenAlgorithm Des { Des "DES", Aes "AES" }
    /// What it holds.
    TokenContent None { None "NO-KEY", Wrapped "KEY", Clear "KEY-CLR" }
    /// Where its control vector comes from, where that is not its type.
    TokenVector optional { Given "CV", Zero "NO-CV" }
    /// How long its key is.
    TokenLength optional {
        Bytes8 "KEYLN8", Single "SINGLE", Bytes16 "KEYLN16", Double "DOUBLE", DoubleUnique "DOUBLE-O",
        Bytes24 "KEYLN24", Bytes32 "KEYLN32", Mixed "MIXED", Triple "TRIPLE", TripleUnique "TRIPLE-O",
    }
    /// How it is to be wrapped.
    TokenWrapping optional {
        Configured "USECONFG", Ecb "WRAP-ECB", Enhanced "WRAP-ENH", Enhanced2 "WRAPENH2", Enhanced3 "WRAPENH3",
    }
    /// Whether its key is kept from the original wrapping from then on.
    WrappingBound optional { EnhancedOnly "ENH-ONLY" }
    /// What a token of variable length holds.
    VariableContent None { None "NO-KEY", Clear "KEY-CLR" }
    /// How long the payload of a token is, where that is not as long as its type commonly has it.
    VariablePayload optional { Variable "V0PYLD", Fixed "V1PYLD" }
    /// Of which algorithm the key of a token of variable length is.
    VariableAlgorithm required { Aes "AES", Hmac "HMAC" }
    /// Of which type it is.
    VariableKeyType required {
        Cipher "CIPHER", Mac "MAC", Exporter "EXPORTER", Importer "IMPORTER", PinProt "PINPROT", PinCalc "PINCALC",
        PinPrw "PINPRW", DkyGenKy "DKYGENKY", SecMsg "SECMSG", KdkGenKy "KDKGENKY",
    }
    /// How many tokens a new key goes into, and under what.
    VariableKeyForm required {
        Op "OP", Opop "OPOP", Ex "EX", Im "IM", Opex "OPEX", Opim "OPIM", Imex "IMEX", Imim "IMIM", Exex "EXEX",
    }
    /// What is done with a key that comes in parts.
    VariableKeyPart required { First "FIRST", Add "ADD-PART", Complete "COMPLETE" }
    /// How many parts it needs at least; three where none of these is given.
    KeyPartsLeast optional { Three "MIN3PART", Two "MIN2PART", One "MIN1PART" }
    /// The algorithm of a key.
    KeyAlgorithm Des { Des "DES", Aes "AES" }
    /// Whether a verification pattern is made or checked.
    TestProcess required { Generate "GENERATE", Verify "VERIFY" }
    /// What is tested.
    TestSource Token {
        Token "TOKEN", Enciphered "KEY-ENC", EncipheredDouble "KEY-ENCD", EncipheredTriple "KEY-ENCT",
        Clear "KEY-CLR", ClearDouble "KEY-CLRD", ClearTriple "KEY-CLRT", ClearAes128 "CLR-A128",
        ClearAes192 "CLR-A192", ClearAes256 "CLR-A256", Master "KEY-KM", OldMaster "KEY-OKM",
    }
    /// Which master key.
    TestRegister optional { Sym "SYM-MK", Asym "ASYM-MK", Aes "AES-MK", Apka "APKA-MK" }
    /// How the pattern is computed.
    TestAlgorithm optional { EncZero "ENC-ZERO", Sha1 "SHA-1", Sha256 "SHA-256" }
    /// Whether parity is made odd first.
    TestParity AsItIs { Adjusted "ADJUST", AsItIs "NOADJUST" }
    /// Where a key under a key-encrypting key is: in its token, whose length the keywords need not say.
    ExtendedTestSource Enciphered { Enciphered "KEY-ENC", EncipheredDouble "KEY-ENCD", Token "TOKEN" }
    /// How its pattern is computed.
    ExtendedTestAlgorithm optional { EncZero "ENC-ZERO" }
    /// What is done with the verification pattern of a key in a token of any form.
    TestProcess2 required { Generate "GENERATE", Verify "VERIFY", Length "KEY-LEN" }
    /// The algorithm of a symmetric key, where that is to be checked.
    SymmetricAlgorithm optional { Aes "AES", Des "DES", Hmac "HMAC" }
    /// Which key of a register is tested.
    MasterKeySource optional { Current "KEY-KM", Old "KEY-OKM", New "KEY-NKM" }
    /// How the pattern of a key in a token of any form is computed.
    TestMethod2 optional {
        EncZero "ENC-ZERO", CmacZero "CMACZERO", Sha1 "SHA-1", Sha256 "SHA-256", Sha2Vp1 "SHA2VP1",
    }
    /// Of which algorithm the key is that wraps the key.
    WrappingAlgorithm optional { Aes "IKEK-AES", Des "IKEK-DES", Pka "IKEK-PKA" }
    /// The algorithm of the key whose token is narrowed.
    RestrictedAlgorithm required { Aes "AES", Des "DES", Hmac "HMAC" }
    /// That it may leave in no way.
    RestrictionExtent optional { All "NOEXPORT" }
    /// What becomes of a token.
    TranslationProcess Translate {
        Translate "TRANSLAT", Reformat "REFORMAT", Variable "V0PYLD", Fixed "V1PYLD", Checked "COMP-CHK", Tagged "COMP-TAG",
    }
    /// How the key of a token that is made anew is wrapped.
    TranslatedWrapping optional { Configured "USECONFG", Ecb "WRAP-ECB" }
    /// Which clear part of a key comes, or that there was the last one.
    KeyPart required {
        First "FIRST", Middle "MIDDLE", Last "LAST", Added "ADD-PART", Complete "COMPLETE",
    }
    /// Which master key a token is put under.
    TokenChange required { Current "RTCMK", New "RTNMK" }
    /// Of which algorithm its key is, where that is to be checked.
    ChangedAlgorithm optional { Des "DES", Aes "AES" }
    /// Of which algorithm its key is.
    ChangedPkaAlgorithm optional { Rsa "RSA", Ecc "ECC" }
    /// How texts are enciphered under DES keys.
    DesMethod Cbc { Cbc "CBC", X923 "X9.23", Cusp "CUSP", Ips "IPS" }
    /// Where the chaining value of a text comes from.
    DesChaining Initial { Initial "INITIAL", Continue "CONTINUE" }
    /// What the token says anyway.
    DesKeySource optional { Token "TOKEN", Des "DES" }
    /// The one algorithm of these verbs.
    AesAlgorithm required { Aes "AES" }
    /// How texts are enciphered under AES keys.
    AesMethod Cbc { Cbc "CBC", Ecb "ECB", Pkcs "PKCS-PAD", Gcm "GCM" }
    /// What the key identifier is.
    AesKeyRule Clear { Clear "KEY-CLR", Identifier "KEYIDENT" }
    /// Which part of a text comes.
    AesPosition optional { Initial "INITIAL", Continue "CONTINUE", Final "FINAL", Only "ONLY" }
    /// How a MAC is computed.
    MacMethod X99 {
        X99 "X9.9-1", X919 "X9.19OPT", Tdes "TDES-MAC", Emv "EMVMAC", EmvDouble "EMVMACD", Cmac "CMAC",
    }
    /// Which part of a text comes.
    Segment Only { Only "ONLY", First "FIRST", Middle "MIDDLE", Last "LAST" }
    /// How much of a MAC is shown, and how.
    MacFormat Bytes4 { Bytes4 "MACLEN4", Bytes6 "MACLEN6", Bytes8 "MACLEN8", Hex8 "HEX-8", Hex9 "HEX-9" }
    /// How a clear PIN, its offset or its PVV is computed.
    PinMethod required {
        Ibm "IBM-PIN", IbmOffset "IBM-PINO", Pool "GBP-PIN", PoolOffset "GBP-PINO", Visa "VISA-PVV",
        Interbank "INBK-PIN", Dutch "NL-PIN-1",
    }
    /// How the offset or the PVV of a PIN in a block is computed.
    PinAlternateMethod required { IbmOffset "IBM-PINO", Visa "VISA-PVV", Dutch "NL-PIN-1" }
    /// How a PIN that leaves in a block is computed.
    PinEncryptedMethod required { Ibm "IBM-PIN", Pool "GBP-PIN", Interbank "INBK-PIN", Dutch "NL-PIN-1" }
    /// How a PIN in a block is verified.
    PinVerifyMethod required {
        Ibm "IBM-PIN", IbmOffset "IBM-PINO", Pool "GBP-PIN", PoolOffset "GBP-PINO", Visa "VISA-PVV",
        VisaFour "VISAPVV4", Interbank "INBK-PIN", Dutch "NL-PIN-1",
    }
    /// How the end of a PIN in a block is found, where that is not as the format has it.
    PinExtraction optional {
        PinBlock "PINBLOCK", PadDigit "PADDIGIT", HexDigit "HEXDIGIT", PadExist "PADEXIST", Length4 "PINLEN04",
        Length5 "PINLEN05", Length6 "PINLEN06", Length7 "PINLEN07", Length8 "PINLEN08", Length9 "PINLEN09",
        Length10 "PINLEN10", Length11 "PINLEN11", Length12 "PINLEN12", Length13 "PINLEN13", Length14 "PINLEN14",
        Length15 "PINLEN15", Length16 "PINLEN16",
    }
    /// Whether a PIN block stays as it is under the other key, or its PIN goes into a new one.
    PinTranslation required { Translate "TRANSLAT", Reformat "REFORMAT" }
    /// Which key of a translation is derived for the transaction.
    PinDerivations optional {
        In "DUKPT-IP", Out "DUKPT-OP", Both "DUKPT-BH", SingleIn "UKPTIPIN", SingleOut "UKPTOPIN",
        SingleBoth "UKPTBOTH", AesIn "ADUKPTIP", AesOut "ADUKPTOP", AesBoth "ADUKPTBH",
    }
    /// Whether the key of a block that comes in is derived for the transaction.
    PinDerivation optional { In "DUKPT-IP", SingleIn "UKPTIPIN", AesIn "ADUKPTIP" }
    /// Whether the key of a block that goes out is.
    PinDerivationOut optional { Out "DUKPT-OP", SingleOut "UKPTOPIN", AesOut "ADUKPTOP" }
    /// Whether both are, by one method.
    PinDerivationBoth optional { Both "DUKPT-BH", SingleBoth "UKPTBOTH", AesBoth "ADUKPTBH" }
    /// How much of a PIN is compared with a reference.
    PinComparison required { Whole "REFPIN", Truncated "TRUNCPIN" }
    /// Whether the key of a block that is compared is derived for the transaction.
    PinDerivationOf optional { Tdes "DUKPT", Single "UKPT", Aes "ADUKPT" }
    /// Whether the PAN of a PIN block becomes another, as authentication data prove.
    PanChange optional { Change "PAN-CHG" }
    /// How the PANs lie in what the authentication data are a CMAC of.
    PanChangeMessage optional { Characters "PANAUTAS", Fields "PANAUTI4" }
    /// A method that keeps the format of a text.
    FormatMethod required { Ff1 "FF1", Ff2 "FF2", Ff21 "FF2.1" }
    /// The method of the text that comes in.
    FormatMethodIn required { Ff1 "ICFF1", Ff2 "ICFF2", Ff21 "ICFF2.1" }
    /// The method of the text that goes out.
    FormatMethodOut required { Ff1 "OCFF1", Ff2 "OCFF2", Ff21 "OCFF2.1" }
    /// The cipher that these methods are made of.
    FormatAlgorithm required { Aes "AES" }
    /// Of which characters text and tweak are: digits, or those of alphabets of the caller's.
    FormatAlphabets required { Digits "BASE10", Own "CUSTOM" }
    /// The same of the text that comes in.
    FormatAlphabetsIn required { Digits "IBASE10", Own "ICUSTOM" }
    /// The same of the text that goes out.
    FormatAlphabetsOut required { Digits "OBASE10", Own "OCUSTOM" }
    /// Whether the PIN of a block is the caller's, or random.
    PinSource Given { Given "ENCRYPT", Random "RANDOM" }
    /// Digits of a PAN that a card verification value is of.
    CvvPan Digits13 {
        Digits13 "PAN-13", Digits14 "PAN-14", Digits15 "PAN-15", Digits16 "PAN-16", Digits17 "PAN-17",
        Digits18 "PAN-18", Digits19 "PAN-19",
    }
    /// Digits of a card verification value.
    CvvDigits One { One "CVV-1", Two "CVV-2", Three "CVV-3", Four "CVV-4", Five "CVV-5" }
    /// Whether a card security code is made or verified.
    SecurityCodeAction Verify { Generate "GENERATE", Verify "VERIFY" }
    /// Which card security codes: of so many digits, or all three.
    SecurityCodes required { Three "CSC-3", Four "CSC-4", Five "CSC-5", All "CSC-345" }
    /// Which version of card security codes: the second is of the service code as well.
    SecurityCodeVersion One { One "CSC-V1", Two "CSC-V2" }
    /// How a DES key is derived from data.
    Diversification required {
        Single "CLR8-ENC", Encipher "TDES-ENC", Chained "TDES-CBC", Decipher "TDES-DEC", Counter "TDES-XOR",
        TreeTwo "TDESEMV2", TreeFour "TDESEMV4", Difference "SESS-XOR", OneWayClear "A28OWFCL",
        OneWayEnciphered "A28OWFEC", DifferenceEnciphered "A28XOREC",
    }
    /// How an AES key is derived from data.
    Diversification2 required { OptionC "MK-OPTC", Session "SESS-ENC", Feedback "KDFFM-DK" }
    /// How many bits a derived AES key has.
    DiversifiedLength optional { Bits128 "KLEN128", Bits192 "KLEN192", Bits256 "KLEN256" }
    /// Of which algorithm the keys of a chip card are.
    EmvAlgorithm Tdes { Tdes "TDES" }
    /// Whether a request cryptogram is verified, a response made, or both.
    EmvAction required { Verify "VERARQC", Respond "GENARPC", Both "VERGEN" }
    /// By whose rules.
    EmvScheme required { Visa "VISA", MasterCard "MC", Emv "EMV" }
    /// How EMV's key of the session is derived from the card's, where that is not by the tree with two branches.
    EmvSession optional { TreeTwo "TDESEMV2", TreeFour "TDESEMV4", Common "EMVCSK" }
    /// How the card's key is derived from the issuer's.
    EmvCardKey A { A "OPTION-A", B "OPTION-B" }
    /// Whether the sequence number of the PAN takes part in that: zeros do where it does not.
    EmvSequence optional { Appended "APPANSEQ" }
    /// How a response is made, where that is not by the first method.
    EmvResponse optional { One "METHOD-1", Two "METHOD-2" }
    /// What a master key of a chip card is for.
    IccKey required { Cryptogram "AC", Mac "MAC", Encipherment "ENC", Data "DATA" }
    /// How the key of the session is derived from the card's, under which a PIN change is enciphered.
    PinChangeSession Counter {
        Counter "TDES-XOR", TreeTwo "TDESEMV2", TreeFour "TDESEMV4", Aes "AES-EMV1",
    }
    /// Whose block of a new PIN is made, without and with the PIN that was there before.
    PinChange required {
        Visa "VISAPCU1", VisaOfCurrent "VISAPCU2", AmexOfCurrent "AMEXPCU1", Amex "AMEXPCU2", Emv "EMV-PCU1",
    }
    /// How a message is enciphered.
    MessageMode Cbc { Cbc "TDES-CBC", Ecb "TDES-ECB" }
    /// How a message with a PIN block is enciphered.
    PinMessageMode Cbc { Cbc "TDES-CBC", Ecb "TDES-ECB", AesCbc "AES-CBC", AesEcb "AES-ECB" }
    /// Whether the PIN block of a message is also a key that enciphers it.
    PinInMessage Clear { Clear "CLEARPIN", Own "SELFENC" }
    /// By which standard keys of transactions are derived: X9.24-1 with TDES, X9.24-3 with AES.
    DerivationStandard Tdes { Tdes "DES", Aes "A-DUKPT" }
    /// In what the initial key of a terminal leaves.
    InitialKeyForm optional { Token "TDES-TOK", Block "TR31-TOK" }
    /// The derived key of data.
    DerivedDataKey optional { Data "K1DATA" }
    /// The derived key of MACs.
    DerivedMacKey optional { Mac "K2MAC" }
    /// The derived key of PINs, or the initial key of the terminal.
    DerivedPinKey optional { Pin "K3PIN", Initial "K3IPEK" }
    /// Whether the key of PINs becomes a DATA key.
    DerivedPinType optional { Data "PIN-DATA" }
    /// How a key block protects its key: the version of the block.
    KeyBlockMethod required { A "VARXOR-A", B "VARDRV-B", C "VARXOR-C", D "VARDRV-D" }
    /// What the key of a block is for.
    KeyBlockUsage optional {
        B0 "BDK", C0 "CVK", D0 "ENC", E0 "EMVACMK", E1 "EMVSCMK", E2 "EMVSIMK", E3 "EMVDAMK", E4 "EMVDNMK",
        E5 "EMVCPMK", K0 "KEK", K1 "KEK-WRAP", M0 "ISOMAC0", M1 "ISOMAC1", M3 "ISOMAC3", M6 "ISOMAC6", P0 "PINENC",
        V0 "PINVO", V1 "PINV3624", V2 "VISAPVV",
    }
    /// How the key of a block may be used.
    KeyBlockMode optional {
        Both "ENCDEC", Decipher "DEC-ONLY", Encipher "ENC-ONLY", Mac "GENVER", Generate "GEN-ONLY", Verify "VER-ONLY",
        Derive "DERIVE", Any "ANY",
    }
    /// Whether whoever imports the key of a block may export it.
    KeyBlockExport Trusted { Any "EXP-ANY", Trusted "EXP-TRST", None "EXP-NONE" }
    /// Whether the control vector of a key goes with it: beside usage and mode, or in their place.
    KeyBlockVector optional { Included "INCL-CV", Alone "ATTR-CV" }
    /// Of which algorithm the key is that leaves in a block, where that is to be checked.
    KeyBlockSource optional { Des "SKEY-DES", Aes "SKEY-AES", Hmac "SKEYHMAC" }
    /// Whether the key of a block is for this system or another.
    KeyBlockPlace required { Internal "INTERNAL", External "EXTERNAL" }
    /// Of which algorithm the key is that the key of a block is put under for another system.
    KeyBlockWrappingKey optional { Aes "WKEY-AES", Des "WKEY-DES" }
    /// Which type a key of a block has, where usage and mode do not say it alone.
    KeyBlockType optional {
        CardValue "CVK-CVV", SecurityCode "CVK-CSC", Exporter "EXPORTER", OKeyXlat "OKEYXLAT", Importer "IMPORTER",
        IKeyXlat "IKEYXLAT", PinGen "PINGEN", PinVer "PINVER", OPinEnc "OPINENC", IPinEnc "IPINENC",
    }
    /// Which keys a key of a block derives.
    KeyBlockDerived optional { Data "DDATA", Mac "DMAC", MacVerify "DMV", Pin "DMPIN", All "DALL" }
    /// In how many steps.
    KeyBlockLevel optional { Zero "DKYL0", One "DKYL1" }
    /// Whether a PIN key of a block is kept from offsets.
    KeyBlockOffset optional { None "NOOFFSET" }
    /// Whether optional blocks of a key block are listed, or one is read.
    KeyBlockReading required { Info "INFO", Data "DATA" }
    /// The one algorithm of these verbs.
    HmacAlgorithm required { Hmac "HMAC" }
    /// The hash of an HMAC.
    HmacMethod required {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
    }
    /// The hash of an HMAC, where the MAC is one.
    KeyedHash optional {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
    }
    /// The algorithm of the key that a text is enciphered under.
    KeyInAlgorithm required { Aes "IKEY-AES", Des "IKEY-DES" }
    /// How it is.
    MethodIn required {
        Cbc "I-CBC", Ecb "I-ECB", Pkcs "IPKCSPAD", X923 "I-X923", Cusp "I-CUSP", Ips "I-IPS",
    }
    /// The algorithm of the key that it comes under.
    KeyOutAlgorithm required { Aes "OKEY-AES", Des "OKEY-DES" }
    /// How it does.
    MethodOut required {
        Cbc "O-CBC", Ecb "O-ECB", Pkcs "OPKCSPAD", X923 "O-X923", Cusp "O-CUSP", Ips "O-IPS",
    }
    /// Which character set a text is converted into.
    Conversion required { ToAscii "TOASCII", ToEbcdic "TOEBCDIC", Table "USETABLE" }
    /// In which direction the form of a key under a key-encrypting key changes.
    KeyEncryption required { CbcToEcb "CBCTOECB", EcbToCbc "ECBTOCBC" }
    /// A hash.
    HashMethod required {
        Md5 "MD5", Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
        Sha3_224 "SHA3-224", Sha3_256 "SHA3-256", Sha3_384 "SHA3-384", Sha3_512 "SHA3-512",
        Ripemd160 "RPMD-160",
    }
    /// How a modification detection code is computed, and whether the text is padded.
    MdcMethod Mdc2 { Mdc2 "MDC-2", Mdc4 "MDC-4", PaddedMdc2 "PADMDC-2", PaddedMdc4 "PADMDC-4" }
    /// What is asked of the facility.
    FacilityQuery required {
        Sym "STATCCA", SymAndAsym "STATCCAE", Aes "STATAES", Apka "STATAPKA", Adapters "STATCRD2",
        Patterns "STATICSA", AllPatterns "STATICSB", Domains "DOM-NUMS", UsableDomains "DOM-USAG",
        ControlDomains "DOM-CONT", Card "STATCARD", Diagnostics "STATDIAG", Environment "STATEID",
        Export "STATEXPT", PatternsC "STATICSC", PatternsE "STATICSE", PatternsF "STATICSF", PatternsX "STATICSX",
        KeyParts "STATKPR", KeyPartList "STATKPRL", Shares "STATMOFN", PinTables "STATDECT",
        PinTableBytes "NUM-DECT", WeakPins "STATWPIN", WeakPinBytes "SIZEWPIN", Time "TIMEDATE",
        Wrapping "WRAPMTHD", Entry "TKESTATE", Compliance "GETCOMPD", Pending "QPENDING",
    }
    /// What is asked of roles and profiles, or done with them.
    AccessControlAction required {
        Roles "LSTROLES", Role "GET-ROLE", Profiles "LSTPROFS", Profile "GET-PROF", Expiration "CHGEXPDT",
        Authentication "CHG-AD", FailureCount "RESET-FC", DeleteProfile "DEL-PROF", DeleteRole "DEL-ROLE",
        Counts "Q-NUM-RP", CountsOfUsers "Q-NUM-UR",
    }
    /// Which adapter is asked: the keyword says nothing.
    FacilityAdapter optional { Any "ADAPTER1" }
    /// What the low bits of random bytes are.
    RandomForm required { Random "RANDOM", Odd "ODD", Even "EVEN" }
    /// What a PKA token holds.
    PkaTokenKind required {
        Public "RSA-PUBL", Private "RSA-PRIV", Crt "RSA-CRT", AesPrivate "RSA-AESM", AesCrt "RSA-AESC",
        EccPublic "ECC-PUBL", EccPair "ECC-PAIR", QuantumPublic "QSA-PUBL", QuantumPair "QSA-PAIR",
        Variable "RSAMEVAR", Optimized "RSA-OPT",
    }
    /// What a PKA key may do.
    PkaUsage optional {
        Signature "SIG-ONLY", KeyManagement "KEY-MGMT", KeyManagementOnly "KM-ONLY", TlsOnly "TLS-ONLY",
    }
    /// Whether a PKA key may be carried under another transport key.
    PkaTranslation optional { Allowed "XLATE-OK", Forbidden "NO-XLATE" }
    /// Which version the private section of an elliptic-curve key has, where that is not the first one.
    EccVersion optional { One "ECC-VER1" }
    /// What becomes of a generated PKA key.
    PkaOutput Master { Master "MASTER", Clear "CLEAR", Transported "XPORT", Retained "RETAIN" }
    /// Of which kind the transport key of a private key is, where that is said beside its token.
    ImporterKind optional { Des "IKEK-DES", Aes "IKEK-AES", Pka "IKEK-PKA" }
    /// Formats of a block that RSA enciphers.
    RsaFormat required_first {
        ZeroPad "ZERO-PAD", Mrp "MRP", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP", Oaep2 "PKOAEP2",
    }
    /// The hash of a format.
    RsaHash optional {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512",
    }
    /// The hash of a signature.
    SignatureHash optional {
        Sha1 "SHA-1", Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512", Ripemd160 "RPMD-160",
    }
    /// Where a value to be enciphered is.
    ValueRule optional { Identified "KEYIDENT" }
    /// Of which token the public key is that verifies.
    VerifyingKey optional { TrustedBlock "TPK-ONLY" }
    /// The algorithm of the formats of RSA.
    SignatureAlgorithm optional { Rsa "RSA" }
    /// What is signed.
    SignatureInput optional { Hash "HASH", Message "MESSAGE", QuantumHash "CRDLHASH" }
    /// Formats of a block that RSA signs, and the methods of elliptic curves.
    SignatureFormat Iso9796 {
        Iso9796 "ISO-9796", Pkcs10 "PKCS-1.0", Pkcs11 "PKCS-1.1", ZeroPad "ZERO-PAD", X931 "X9.31",
        Pss "PKCS-PSS", Ecdsa "ECDSA", Eddsa "EDDSA", Schnorr "EC-SDSA", Quantum "CRDL-DSA",
    }
    /// The hash that EdDSA has for the curve.
    EddsaHash optional { Eddsa "ED-HASH" }
    /// Which salts of PKCS-PSS are accepted.
    SaltLength optional { Exact "EXMATCH", Any "NEXMATCH" }
    /// Formats in which symmetric keys are carried.
    TransportFormat required_first { ZeroPad "ZERO-PAD", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP" }
    /// Of which algorithm the key is that is exported.
    ExportAlgorithm Des { Des "DES", Aes "AES", Hmac "HMAC" }
    /// Formats in which symmetric keys are exported.
    ExportFormat required_first {
        ZeroPad "ZERO-PAD", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP", Aeskw "AESKW", AeskwCv "AESKWCV",
        Oaep2 "PKOAEP2", Rakw "CKM-RAKW",
    }
    /// Of which algorithm the key is that comes in with its token.
    Import2Algorithm required { Aes "AES", Hmac "HMAC", Des "DES" }
    /// How it is wrapped.
    Import2Format required { Aeskw "AESKW", AeskwCv "AESKWCV", Oaep2 "PKOAEP2", Rakw "CKM-RAKW" }
    /// How a DES key of it is to be wrapped.
    Import2Wrapping optional { Configured "USECONFG", Ecb "WRAP-ECB", Enhanced "WRAP-ENH" }
    /// Whether it is to be wrapped so alone from then on.
    Import2Translation optional { Enhanced "ENH-ONLY" }
    /// How long the key in a block without a format is.
    TransportLength optional { Bytes8 "KEYLN8", Bytes16 "KEYLN16", Bytes24 "KEYLN24", Bytes32 "KEYLN32" }
    /// What the parties agree by: the keys of curves alone, or a key that resists quantum computers as well.
    AgreementScheme Ecdh { Ecdh "ECDH", Hybrid "QSA-ECDH" }
    /// What becomes of the secret that two parties agree on: a key that is derived from it, or the secret itself.
    KeyAgreement required { Derive1 "DERIV01", Derive2 "DERIV02", PassThrough "PASSTHRU" }
    /// Of which algorithm the key is that the derived key is put under.
    OutputKekType optional { Des "OKEK-DES", Aes "OKEK-AES" }
    /// Of which algorithm the derived key is.
    AgreedKeyType optional { Des "KEY-DES", Aes "KEY-AES" }
    /// The hash of the derivation.
    AgreementHash optional { Sha224 "SHA-224", Sha256 "SHA-256", Sha384 "SHA-384", Sha512 "SHA-512" }
    /// How a derived DES key is wrapped.
    AgreedKeyWrapping optional {
        Configured "USECONFG", Ecb "WRAP-ECB", Enhanced "WRAP-ENH", Enhanced2 "WRAPENH2", Enhanced3 "WRAPENH3",
    }
    /// Whether a derived DES key may be wrapped in another way later.
    AgreedKeyTranslation optional { EnhancedOnly "ENH-ONLY" }
    /// Formats in which new keys are carried.
    GeneratedFormat required_first {
        ZeroPad "ZERO-PAD", Pkcs1 "PKCS-1.2", Oaep "PKCSOAEP", Pka92 "PKA92", NlEpp5 "NL-EPP-5",
    }
    /// How long a new key is.
    GeneratedLength optional {
        Bytes8 "KEYLN8", Single "SINGLE", Replicated "SINGLE-R", Bytes16 "KEYLN16", Double "DOUBLE", Bytes24 "KEYLN24",
        Bytes32 "KEYLN32",
    }
    /// Under what the local copy of a new key is: the master key, an EXPORTER key, an IMPORTER key.
    LocalCopy Operational { Operational "OP", Exportable "EX", Importable "IM" }
    /// How much of a record is deleted.
    RecordDeletion required { Token "TOKEN-DL", Record "LABEL-DL" }
    /// Whether records are made, or given other keys.
    RecordWriting required { Create "CREATE", Replace "REPLACE" }
}

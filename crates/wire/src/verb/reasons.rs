//! Why keywords of the verbs' definitions are refused: one line for each.
//!
//! A keyword in a group of its verb is refused by a rule, with its codes; a keyword in no group is
//! unknown (8/33). Both have a reason here, which docs/reference/verbs.md shows.

use super::{Rule, RuleArray, Verb};
use crate::Codes;
use crate::code;

/// Keywords that are refused for one reason.
struct Reason {
    /// The verbs that the reason is for; if empty, every verb whose rules refuse the keywords.
    verbs: &'static [Verb],
    words: &'static [&'static str],
    why: &'static str,
}

macro_rules! reasons {
    ($($([$($verb:ident),+])? $($word:literal),+ => $why:literal;)*) => {
        const REASONS: &[Reason] = &[$(Reason {
            verbs: &[$($(Verb::$verb),+)?],
            words: &[$($word),+],
            why: $why,
        }),*];
    };
}

reasons! {
    "WRAPENH2", "WRAPENH3" => "how the method derives its keys is not published";
    "RTNMK" => "no card has a master key before it is set";
    [ControlVectorGenerate] "KEYLN32" => "no DES key is so long";
    "KDKGENKY" => "what its usage fields mean is not published";
    "KEY-LEN" => "what the pattern tells of a key's length is not published";
    "KEY-NKM" => "no card has a master key before it is set";
    "NL-PIN-1" => "the method is not published";
    [DiversifiedKeyGenerate] "A28OWFCL", "A28OWFEC", "A28XOREC" => "methods of the Australian standard AS 2805, which is not public";
    "AMEXPCU1", "AMEXPCU2", "EMV-PCU1", "AES-EMV1" => "the block that such cards take is not published where it was looked for";
    [SecureMessagingForPins] "AES-CBC", "AES-ECB" => "messages under AES keys are not served";
    [UniqueKeyDerive] "TDES-TOK" => "the token is one that is not CCA's, and its control vector is not published: a key block says what the key is";
    "SELFENC" => "a PIN block under itself is compared with those of all PINs";
    "KDFFM-DK", "KLEN128", "KLEN192", "KLEN256" => "the derivation is one of the German banking industry, and not public";
    [Tr31KeyExport] "SKEYHMAC" => "which hash a key of HMAC is for has no place in what is read here";
    [Tr31KeyImport] "EXTERNAL", "WKEY-AES", "WKEY-DES" => "a key for another system stays in its block";
    [Tr31KeyImport] "DMV", "DALL" => "codes of a block do not tell a key that derives such keys from one that derives less";
    [Tr31KeyImport] "OKEYXLAT", "IKEYXLAT" => "codes of a block do not tell a key that translates from one that exports or imports";
    "UKPTIPIN", "UKPTOPIN", "UKPTBOTH", "UKPT" => "the derived keys have a single length, which can be searched";
    "FF2", "ICFF2", "OCFF2" => "the method was proposed and not taken into SP 800-38G";
    "FF2.1", "ICFF2.1", "OCFF2.1" => "the method has no public definition";
    "IKEK-PKA" => "what is wrapped by an RSA key is an object without a token";
    "COMP-CHK", "COMP-TAG" => "there is no compliance mode";
    "QSA-PUBL", "QSA-PAIR", "QSA-ECDH", "CRDL-DSA", "CRDLHASH" => "there are no post-quantum keys";
    "RSAMEVAR", "RSA-OPT" => "the layout of its section is not published whole, or no longer made";
    "SCVISA", "SCCOMME", "SCCOMCRT" => "the forms that smart cards take are not published";
    "RETAIN" => "a key that one card has does not fit cards that come and go";
    [SymmetricAlgorithmEncipher] "A28MACGN", "A28MACVR", "A28OWFEC", "A28OWFCL" => "methods of the Australian standard AS 2805, which is not public";
    [SymmetricAlgorithmEncipher] "DES" => "goes with the keywords that begin with A28 alone";
    [PkaEncrypt] "KEYIDENT" => "a clear key by its label is what the caller's side would have to say";
    "AESKWCV" => "where the token has its control vector is not published";
    [SymmetricKeyImport2] "DES" => "DES keys come by AESKWCV alone, which is not published whole";
    [SymmetricKeyImport2] "USECONFG", "WRAP-ECB", "WRAP-ENH", "ENH-ONLY" => "ways to wrap DES keys, which do not come by this verb";
    [EcDiffieHellman] "WRAP-ECB", "WRAP-ENH", "ENH-ONLY" => "tokens have the form that the home makes";
    "PKA92", "NL-EPP-5" => "formats of key-encrypting keys alone, older than the rules that protect these";
    "SINGLE-R" => "a key of two equal halves is searched for like one of single length";
    "ISO-9796" => "the scheme is broken";
    "EC-SDSA" => "Schnorr signatures are not computed";
    "NEXMATCH" => "a salt of any length is one that the caller does not expect";
    "TPK-ONLY" => "there are no trusted blocks";
    "DERIV01" => "what the derivation hashes beside the secret is not published";
    "DOM-CONT" => "which domains may be controlled is the settings' matter";
    "STATCARD", "STATDIAG", "STATEID", "STATEXPT", "STATMOFN", "TIMEDATE" => "of hardware, or of its clock, its functions' exports and its diagnostics";
    "STATICSC", "STATICSE", "STATICSF", "STATICSX" => "of layouts that are not published whole";
    "STATKPR", "STATKPRL" => "there are no operational key parts in cards";
    "STATDECT", "NUM-DECT", "STATWPIN", "SIZEWPIN" => "there are no tables of PINs";
    "WRAPMTHD" => "how keys are wrapped is a setting of the home";
    "TKESTATE" => "there are no TKE workstations";
    "GETCOMPD", "QPENDING" => "there is no compliance mode, and no change waits in a card";
    "LSTPROFS", "GET-PROF", "CHGEXPDT", "CHG-AD", "RESET-FC", "DEL-PROF", "Q-NUM-UR" => "there are no profiles";
    "DEL-ROLE", "Q-NUM-RP" => "roles are changed in the settings";
}

/// Why a verb refuses a keyword; none if it has no rule against the keyword.
pub fn why_refused(verb: Verb, word: &str) -> Option<&'static str> {
    let of_verb = |reason: &&Reason| reason.verbs.contains(&verb) && reason.words.contains(&word);
    let of_any = |reason: &&Reason| reason.verbs.is_empty() && reason.words.contains(&word);
    let refused = verb.entry().keywords.refusal(word).is_some();
    let found = REASONS.iter().find(of_verb).or_else(|| REASONS.iter().find(of_any).filter(|_| refused));
    found.map(|reason| reason.why)
}

/// Keywords that a verb's definition lists, and that are in no group of the verb: each is answered
/// with 8/33.
pub fn unknown(verb: Verb) -> impl Iterator<Item = &'static str> {
    let array = verb.entry().keywords;
    let own = REASONS.iter().filter(move |reason| reason.verbs.contains(&verb));
    own.flat_map(|reason| reason.words)
        .copied()
        .filter(move |word| array.words().all(|known| known.text != *word))
}

impl RuleArray {
    /// The codes that a keyword is always refused with, whatever other keywords are given; none if
    /// it is not.
    pub fn refusal(&self, word: &str) -> Option<Codes> {
        self.rules.iter().find_map(|rule| match rule {
            Rule::Refused(text) if *text == word => Some(code::KEYWORD),
            Rule::Unserved(text, codes) if *text == word => Some(*codes),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::TABLE;

    #[test]
    fn every_keyword_that_is_refused_has_a_reason() {
        for entry in TABLE {
            for word in entry.keywords.words().filter(|word| entry.keywords.refuses(word.text)) {
                assert!(
                    why_refused(entry.verb, word.text).is_some(),
                    "{} {}: src/verb/reasons.rs does not say why it is refused",
                    entry.name,
                    word.text
                );
            }
        }
    }

    #[test]
    fn every_reason_is_that_of_a_keyword_that_is_refused() {
        for reason in REASONS {
            for word in reason.words {
                let refuses = |verb: Verb| verb.entry().keywords.refusal(word).is_some();
                for verb in reason.verbs {
                    let array = verb.entry().keywords;
                    let is_unknown = unknown(*verb).any(|unknown| unknown == *word);
                    assert!(is_unknown || refuses(*verb), "{} {word}", verb.entry().name);
                    // A verb with an open rule array checks such keywords itself.
                    assert!(refuses(*verb) || !array.open, "{} {word}", verb.entry().name);
                }
                let is_used = !reason.verbs.is_empty() || TABLE.iter().any(|entry| refuses(entry.verb));
                assert!(is_used, "no verb refuses {word}");
            }
        }
    }
}

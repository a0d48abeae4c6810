//! Why a key does not leave under a usage and a mode: the words that it lacks, or that keep it here. A key leaves only
//! if nothing that such a block comes in as may do more ([`token::tr31::uses`]).

use token::tr31::uses::{self, Choice, Meaning, UsageRow, of_algorithm};
use token::variable::Attributes;
use token::{ControlVector, DesToken, KeyType, VariableToken};

/// The cause in words, for a key of this token; none if its words are not the cause.
pub fn why(token: &[u8], usage: [u8; 2], mode: u8) -> Option<String> {
    let read = DesToken::parse(token).ok();
    if let Some(read) = &read {
        let vector = read.control_vector();
        let key_type = KeyType::of(vector)?;
        let own = key_type.keywords_of(vector)?;
        if read.export_prohibited() {
            return Some("a flag of its token keeps it here: it came so, or was made so".to_owned());
        }
        let form = vector.form()?;
        let words_of = |row: &UsageRow| of_vector(key_type, row.vector(form, true).ok()?);
        let leaves = |mode| uses::may_leave(vector, usage, mode, false).is_ok();
        return told(key_type.name(), &own, (usage, mode, b'T'), &words_of, &leaves);
    }
    let read = VariableToken::parse(token).ok()?;
    let algorithm = if read.key_type().is_aes() { b'A' } else { b'H' };
    let own = words(read.attributes());
    let words_of = |row: &UsageRow| Some(words(&row.attributes(true).ok()?));
    let leaves = |mode| uses::may_leave_variable(read.attributes(), usage, mode).is_ok();
    told(read.key_type().name(), &own, (usage, mode, algorithm), &words_of, &leaves)
}

fn of_vector(key_type: KeyType, vector: ControlVector) -> Option<Vec<&'static str>> {
    key_type.keywords_of(vector)
}

fn words(attributes: &Attributes) -> Vec<&'static str> {
    let said = attributes.keywords();
    said.usage.into_iter().chain(said.management).collect()
}

type WordsOf<'a> = dyn Fn(&UsageRow) -> Option<Vec<&'static str>> + 'a;

fn told(
    type_name: &str,
    own: &[&'static str],
    (usage, mode, algorithm): ([u8; 2], u8, u8),
    words_of: &WordsOf<'_>,
    leaves: &dyn Fn(u8) -> bool,
) -> Option<String> {
    let (code, letter) = (String::from_utf8_lossy(&usage), char::from(mode));
    let of_usage: Vec<&UsageRow> = of_algorithm(algorithm).filter(|row| row.usage == usage).collect();
    let rows: Vec<&UsageRow> = of_usage.iter().copied().filter(|row| row.mode == mode).collect();
    let is_own = |row: &&&UsageRow| type_of(row) == type_name;
    let Some(row) =
        rows.iter().filter(|row| row.choice == Choice::Usual).find(is_own).or(rows.iter().find(is_own))
    else {
        let of_type = of_usage.iter().filter(|row| type_of(row) == type_name && row.mode != b'N');
        let mut modes: Vec<u8> = of_type.map(|row| row.mode).collect();
        modes.sort_unstable();
        modes.dedup();
        // Those that it leaves with; where it leaves with none, those of its type.
        if modes.iter().any(|mode| leaves(*mode)) {
            modes.retain(|mode| leaves(*mode));
        }
        let modes: Vec<String> = modes.into_iter().map(|mode| char::from(mode).to_string()).collect();
        let names: Vec<&str> = names(&rows);
        return Some(match (modes.is_empty(), names.is_empty()) {
            (false, _) => format!("{type_name} keys leave under {code} with the mode {}", modes.join(" or ")),
            (true, false) => format!(
                "the key is {type_name}, and {code} with the mode {letter} is of {}",
                names.join(", ")
            ),
            (true, true) => format!("the key is {type_name}, which leaves under no {code}"),
        });
    };
    let forbids = |word: &&&str| word.starts_with("NO-X") || **word == "NOEX-SYM" || **word == "NOEX-AES";
    let keeps: Vec<&str> = own.iter().filter(forbids).copied().collect();
    if !keeps.is_empty() {
        return Some(format!("{} keeps the key here", keeps.join(", ")));
    }
    let wanted = words_of(row)?;
    let is_use =
        |word: &&&str| !word.starts_with("XPRT") && !word.starts_with("NOEX") && **word != "XPORT-OK";
    let missing: Vec<&str> =
        wanted.iter().filter(is_use).filter(|word| !own.contains(word)).copied().collect();
    if missing.is_empty() {
        return None;
    }
    let besides: Vec<&str> =
        own.iter().filter(is_use).filter(|word| !wanted.contains(word)).copied().collect();
    let besides = match besides.is_empty() {
        true => String::new(),
        false => format!("; it has {}, which such a key has not", besides.join(", ")),
    };
    let all: Vec<&str> = wanted.iter().filter(is_use).copied().collect();
    let missing = missing.join(", ");
    if missing == "DKYL0" && own.contains(&"DKYL1") {
        return Some(format!(
            "the key has DKYL1, and as {code}, mode {letter}, it would come back with DKYL0: --vector says which it is"
        ));
    }
    Some(format!(
        "the key lacks {missing}, and as {code}, mode {letter}, it would come back with that{besides}; what leaves so is made with \
         `--usage {}`",
        all.join(",")
    ))
}

fn type_of(row: &UsageRow) -> &'static str {
    match row.meaning {
        Meaning::Des(of, _) => of.name(),
        Meaning::Variable(of, _) => of.name(),
    }
}

fn names(rows: &[&UsageRow]) -> Vec<&'static str> {
    let mut names: Vec<&str> = rows.iter().map(|row| type_of(row)).collect();
    names.dedup();
    names
}

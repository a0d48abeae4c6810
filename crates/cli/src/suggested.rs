//! What was meant, where a word of the command line is none: commands, options and values by their distance, two at
//! most. Words that run into one another, as in `tls-status` or `keylist`, are taken apart.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use strsim::osa_distance;

/// Suggestions that a person reads.
const SUGGESTIONS_MAX: usize = 2;
/// Letters of a word for each of which one may be wrong; one may be in any word.
const LETTERS_PER_SLIP: usize = 3;
/// Letters that a word has at least, for those that begin with it to be meant.
const BEGINNING_MIN: usize = 3;

/// The error with suggestions by distance in place of those of the library.
pub fn with_suggestions(mut error: Error, command: &Command, typed: &[String]) -> Error {
    let text = |error: &Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (wrong, suggested, candidates) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let (reached, _) = reached(command, typed);
            (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand, commands_below(reached))
        }
        ErrorKind::UnknownArgument => {
            let (reached, _) = reached(command, typed);
            let options = reached.get_arguments().chain(command.get_arguments());
            let names = options.filter(|option| !option.is_hide_set()).filter_map(|option| option.get_long());
            let names = names.map(|name| format!("--{name}")).collect();
            (ContextKind::InvalidArg, ContextKind::SuggestedArg, names)
        }
        ErrorKind::InvalidValue => {
            let values = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(values)) => values.clone(),
                _ => Vec::new(),
            };
            (ContextKind::InvalidValue, ContextKind::SuggestedValue, values)
        }
        _ => return error,
    };
    let Some(word) = text(&error, wrong) else { return error };
    // A word that is no option is no misspelt one either.
    if wrong == ContextKind::InvalidArg && !word.starts_with("--") {
        return error;
    }
    error.remove(suggested);
    if wrong != ContextKind::InvalidArg {
        error.remove(ContextKind::Suggested);
    }
    let near = nearest(&word, candidates.iter().map(String::as_str));
    if !near.is_empty() {
        let near = near.into_iter().map(str::to_owned).collect();
        error.insert(suggested, ContextValue::Strings(near));
    }
    error
}

/// The command that the words lead to, and those of the words that name it.
pub fn reached<'c>(command: &'c Command, typed: &[String]) -> (&'c Command, Vec<String>) {
    let (mut at, mut path) = (command, Vec::new());
    for word in typed {
        if let Some(below) = at.find_subcommand(word) {
            at = below;
            path.push(below.get_name().to_owned());
        }
    }
    (at, path)
}

/// Every command below this one, as it is typed behind it; those nearer come first.
fn commands_below(command: &Command) -> Vec<String> {
    let own = || command.get_subcommands().filter(|below| !below.is_hide_set());
    let mut names: Vec<String> = own().map(|below| below.get_name().to_owned()).collect();
    for below in own() {
        names.extend(commands_below(below).into_iter().map(|rest| format!("{} {rest}", below.get_name())));
    }
    names
}

/// The names that a word may stand for, the nearest first.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let bare = |text: &str| text.replace([' ', '-', '_'], "").to_lowercase();
    let wanted = bare(word);
    let most = (wanted.len() / LETTERS_PER_SLIP).max(1);
    let mut near: Vec<(usize, usize, &str)> = names
        .enumerate()
        .filter_map(|(at, name)| {
            let last = name.rsplit(' ').next().filter(|last| name.len() > last.len());
            let slips = match () {
                () if bare(name) == wanted => 0,
                // `generate` where `key generate` is meant.
                () if last.is_some_and(|last| last == word) => 1,
                () if wanted.len() >= BEGINNING_MIN
                    && !name.contains(' ')
                    && bare(name).starts_with(&wanted) =>
                {
                    1
                }
                () => osa_distance(&wanted, &bare(name)),
            };
            // Of what is several words, only the whole of it is meant by one.
            let allowed = if last.is_some() { most.min(1) } else { most };
            (slips <= allowed).then_some((slips, at, name))
        })
        .collect();
    near.sort_unstable();
    // A word that only lacks its blanks stands for nothing else.
    if near.first().is_some_and(|(slips, ..)| *slips == 0) {
        near.truncate(1);
    }
    near.into_iter().map(|(_, _, name)| name).take(SUGGESTIONS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    fn tip(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let command = args::command();
        let error = args::command().try_get_matches_from(&words).unwrap_err();
        let text = with_suggestions(error, &command, &words[1..]).to_string();
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "))?;
        Some(tip.split_once(": ")?.1.to_owned())
    }

    #[test]
    fn what_was_meant_is_named_two_at_most() {
        for (line, meant) in [
            ("cryptand statsu", Some("'status'")),
            ("cryptand decr", Some("'decrypt'")),
            ("cryptand tls-status", Some("'tls status'")),
            ("cryptand tlsstatus", Some("'tls status'")),
            ("cryptand keylist", Some("'key list'")),
            ("cryptand key-list", Some("'key list'")),
            ("cryptand master_key", Some("'master-key'")),
            ("cryptand masterkey-show", Some("'master-key show'")),
            ("cryptand tls statsu", Some("'status'")),
            ("cryptand key lsit", Some("'list'")),
            ("cryptand frobnicate", None),
            ("cryptand key generate A.B --tpye aes128", Some("'--type'")),
            ("cryptand key list --jsn", Some("'--json'")),
            ("cryptand key part A.B frist", Some("'first'")),
        ] {
            assert_eq!(tip(line).as_deref(), meant, "{line}");
        }
    }

    #[test]
    fn no_more_than_two_are_named_and_the_nearest_first() {
        let names = ["sign", "signs", "signed", "key sign", "resign"];
        assert_eq!(nearest("sign", names.into_iter()), ["sign"]);
        assert_eq!(nearest("sigm", names.into_iter()), ["sign"]);
        assert_eq!(nearest("singed", names.into_iter()), ["signed"]);
        assert_eq!(
            nearest("generate", ["key list", "key generate", "pgp generate", "pin generate"].into_iter()),
            ["key generate", "pgp generate"]
        );
    }
}

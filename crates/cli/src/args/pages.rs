//! Every command that a page shows is one that the parser takes: the commands of blocks as a whole, those in a
//! sentence by their names and options.

use super::command;
use clap::error::ErrorKind;
use std::fs;
use std::path::{Path, PathBuf};

/// What ends a command within a line of a shell.
const ENDS: [&str; 9] = ["|", "||", "&&", ";", "&", "<", "\\", "#", "done"];

/// What stands behind `cryptand` in the texts that keys are derived with, which pages quote.
const NO_COMMANDS: [&str; 2] = ["sample", "internal"];

/// README.md, SECURITY.md and every page of docs.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md"), root.join("SECURITY.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Lines of blocks, indented or fenced, with those that a backslash continues; and the other lines.
fn parted(page: &str) -> (Vec<String>, Vec<&str>) {
    let (mut found, mut others) = (Vec::<String>::new(), Vec::new());
    let (mut is_fenced, mut is_continued) = (false, false);
    for line in page.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        let inside = if is_fenced { Some(line) } else { line.strip_prefix("    ") };
        let Some(line) = inside else {
            others.push(line);
            continue;
        };
        let (text, continues) = match line.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (line, false),
        };
        match found.last_mut() {
            Some(last) if is_continued => last.push_str(text),
            _ => found.push(text.to_owned()),
        }
        is_continued = continues;
    }
    (found, others)
}

/// The commands of this program in a line of a shell, each as its words.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let words = shlex::split(&line.replace("$(", " ; ").replace(')', " ; ")).unwrap_or_default();
    let mut found: Vec<Vec<String>> = Vec::new();
    let (mut is_open, mut is_first, mut is_user) = (false, true, false);
    for word in words {
        let is_end = ENDS.contains(&word.as_str());
        if std::mem::take(&mut is_user) {
            // The name of a user: the command comes behind it.
        } else if is_end || word.starts_with(['>', '<']) || word.starts_with("2>") {
            (is_open, is_first) = (false, is_end);
        } else if word == "cryptand" && is_first {
            found.push(vec![word]);
            is_open = true;
        } else if is_open {
            let ends = word.ends_with(';');
            found.last_mut().unwrap().push(word.trim_end_matches(';').to_owned());
            (is_open, is_first) = (!ends, ends);
        } else {
            is_user = is_first && word == "-u";
            let is_begun = word.ends_with(';') || matches!(word.as_str(), "do" | "then" | "else");
            is_first = is_begun || is_first && (is_user || is_before(&word));
        }
    }
    found
}

/// Whether a word stands before a command: it starts one as another user, sets a variable, or is the shell's own.
fn is_before(word: &str) -> bool {
    let is_setting = word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    is_setting
        || matches!(word, "sudo" | "runuser" | "--" | "do" | "then" | "if" | "while" | "until" | "!" | "time")
}

/// What is wrong with a command, by the parser.
fn fault(words: &[String]) -> Option<String> {
    let error = command().try_get_matches_from(words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => Some(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

/// What is wrong with the names and options of a command whose rest is left out.
fn named_fault(words: &[String]) -> Option<String> {
    let root = command();
    let (mut at, mut is_value) = (&root, false);
    for word in &words[1..] {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if NO_COMMANDS.contains(&word.as_str()) {
            return None;
        }
        if let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) {
            let (name, is_given) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
            let is_it = |argument: &&clap::Arg| {
                argument.get_long() == Some(name)
                    || argument.get_all_aliases().is_some_and(|all| all.contains(&name))
            };
            let found = at.get_arguments().find(is_it).or_else(|| root.get_arguments().find(is_it));
            if found.is_none() && !matches!(name, "help" | "version") {
                return Some(format!("{}: no option --{name}", at.get_name()));
            }
            is_value = !is_given && found.is_some_and(|found| found.get_action().takes_values());
        } else if let Some(below) = at.find_subcommand(word) {
            at = below;
        } else if at.has_subcommands()
            && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
        {
            return Some(format!("{}: no command {word}", at.get_name()));
        }
    }
    None
}

#[test]
fn commands_of_blocks_are_taken_by_the_parser() {
    let (mut wrong, mut read) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for line in parted(&text).0 {
            // With something left out it is the form of a command, and not one that is typed.
            let is_form = ["...", "…", "[-", "<", "$", "─"].iter().any(|mark| line.contains(mark));
            for words in commands(&line) {
                read += 1;
                let found = if is_form { named_fault(&words) } else { fault(&words) };
                wrong.extend(found.map(|fault| format!("{}: {line}: {fault}", page.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 200, "{read} commands were read");
}

#[test]
fn commands_in_sentences_exist() {
    let (mut wrong, mut read) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for line in parted(&text).1 {
            for shown in line.split('`').skip(1).step_by(2).filter(|shown| shown.starts_with("cryptand ")) {
                for words in commands(shown) {
                    read += 1;
                    wrong.extend(
                        named_fault(&words).map(|fault| format!("{}: `{shown}`: {fault}", page.display())),
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 200, "{read} commands were read");
}

#[test]
fn the_law_sees_what_it_is_for() {
    let of = |line: &str| commands(line);
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(of("sudo cryptand key list | head"), [words("cryptand key list")]);
    assert_eq!(of("for a in 1 2; do cryptand stop; done"), [words("cryptand stop")]);
    assert_eq!(of("sudo -u cryptand cryptand stop"), [words("cryptand stop")]);
    assert_eq!(of("podman exec cryptand /usr/bin/cryptand stop"), Vec::<Vec<String>>::new());
    assert_eq!(of("systemctl restart cryptand"), Vec::<Vec<String>>::new());
    assert_eq!(of("runuser -u cryptand -- cryptand key list >list"), [words("cryptand key list")]);
    assert!(fault(&words("cryptand key lsit")).is_some() && fault(&words("cryptand key list")).is_none());
    assert!(
        named_fault(&words("cryptand key lsit")).is_some() && named_fault(&words("cryptand key")).is_none()
    );
    assert!(named_fault(&words("cryptand key list --jsn")).is_some());
    assert!(named_fault(&words("cryptand report --only tls")).is_none());
}

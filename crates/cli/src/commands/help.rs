//! `cryptand help`: a command's options, or a page of the documentation, which lies beside the installed program.

use crate::args;
use crate::failure::Failure;
use crate::output::print;
use crate::suggested;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The word that lists the pages.
const TOPICS: &str = "topics";
/// Folders of pages below each other, at most.
const DEPTH_MAX: usize = 3;
/// The folder of pages of figures, each of which has the name of what it measures.
const FIGURES: &str = "measured/";
/// What shows a page where the environment names no program: a page that fits the screen ends it at once.
const PAGER: &str = "if command -v less >/dev/null; then exec less -FRX; else exec cat; fi";

/// A page of the documentation.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    /// Its path below the folder of all pages, without the ending: howto/tls.
    path: String,
    file: PathBuf,
}

impl Page {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Prints the help of a command, or a page.
pub fn run(words: &[String]) -> Result<(), Failure> {
    let mut command = args::command();
    command.build();
    let (reached, path) = suggested::reached(&command, words);
    // Where a page and a command have one name, the command is meant: the page is `tls.md` or `howto/tls`.
    if path.len() == words.len() {
        let mut text = reached.clone().render_long_help().to_string();
        let pages = pages().unwrap_or_default();
        for page in path.last().map(|name| meant(&pages, name)).unwrap_or_default() {
            text.push_str(&format!("\nA page on it: `cryptand help {}`\n", page.path));
        }
        return print(&text);
    }
    let pages = pages()?;
    if words == [TOPICS] {
        return print(&list(&pages));
    }
    let topic = words.join("-");
    match &meant(&pages, &topic)[..] {
        [page] => show(page),
        [] => Err(unknown(&command, &pages, &topic)),
        several => {
            let names: Vec<&str> = several.iter().map(|page| page.path.as_str()).collect();
            Err(Failure::Usage(format!("help {topic}: several pages have this name: {}", names.join(", "))))
        }
    }
}

/// The pages of this name, or of this path. A page of figures gives way to another page of its name.
fn meant<'p>(pages: &'p [Page], topic: &str) -> Vec<&'p Page> {
    let topic = topic.strip_suffix(".md").unwrap_or(topic);
    let topic = topic.strip_prefix("docs/").unwrap_or(topic);
    if let Some(page) = pages.iter().find(|page| page.path == topic) {
        return vec![page];
    }
    let named: Vec<&Page> = pages.iter().filter(|page| page.name() == topic).collect();
    let others: Vec<&Page> = named.iter().copied().filter(|page| !page.path.starts_with(FIGURES)).collect();
    if others.is_empty() { named } else { others }
}

fn unknown(command: &clap::Command, pages: &[Page], topic: &str) -> Failure {
    let commands =
        command.get_subcommands().filter(|below| !below.is_hide_set()).map(clap::Command::get_name);
    let near = suggested::nearest(topic, commands.chain(pages.iter().map(Page::name)));
    let near: Vec<String> = near.into_iter().map(|name| format!("`cryptand help {name}`")).collect();
    let near = if near.is_empty() { String::new() } else { format!(" did you mean {}?", near.join(" or ")) };
    let names: Vec<&str> = pages.iter().map(Page::name).collect();
    Failure::Missing(format!(
        "help {topic}: no command and no page of this name;{near} `cryptand --help` lists the commands, and the pages are:\n{}",
        names.join(" ")
    ))
}

/// Every page, with its heading.
fn list(pages: &[Page]) -> String {
    let width = pages.iter().map(|page| page.path.len()).max().unwrap_or(0);
    let line = |page: &Page| {
        let text = fs::read_to_string(&page.file).unwrap_or_default();
        let heading = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned();
        format!("{:<width$}  {heading}", page.path).trim_end().to_owned() + "\n"
    };
    pages.iter().map(line).collect()
}

fn show(page: &Page) -> Result<(), Failure> {
    let text =
        fs::read_to_string(&page.file).map_err(Failure::io(format!("read {}", page.file.display())))?;
    if !stdout().is_terminal() {
        return print(&text);
    }
    // The pager decides what an interruption means; a handler is not inherited by it.
    let _ = flag::register(SIGINT, Arc::default());
    let pager = env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let started =
        Command::new("sh").args(["-c", pager.as_deref().unwrap_or(PAGER)]).stdin(Stdio::piped()).spawn();
    let Ok(mut pager) = started else { return print(&text) };
    if let Some(mut input) = pager.stdin.take() {
        // A reader who has seen enough ends the pager.
        let _ = input.write_all(text.as_bytes());
    }
    match pager.wait() {
        Ok(status) if status.code() == Some(NO_PROGRAM) => print(&text),
        _ => Ok(()),
    }
}

/// The shell's exit code for a program that is not there.
const NO_PROGRAM: i32 = 127;

/// The pages that belong to this program, in the order of their paths.
fn pages() -> Result<Vec<Page>, Failure> {
    let own = env::current_exe().map_err(Failure::io("find this program's own path"))?;
    let places = places(&own);
    let folder = places.iter().find(|folder| folder.join("README.md").exists());
    let folder = folder.ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        Failure::Missing(format!(
            "the pages are not beside this program{}; `make install` puts them into share/doc/cryptand, and some \
             containers leave out /usr/share/doc",
            if places.is_empty() { String::new() } else { format!(", in {}", places.join(" or ")) }
        ))
    })?;
    let mut pages = Vec::new();
    collect(folder, "", DEPTH_MAX, &mut pages)?;
    pages.sort();
    Ok(pages)
}

/// Where the pages of a program lie: below the prefix that it is installed in, or in the tree that it was built in.
fn places(own: &Path) -> Vec<PathBuf> {
    let above = |levels: usize| own.ancestors().nth(levels).map(Path::to_owned);
    let is_in = |levels: usize, name: &str| {
        above(levels).is_some_and(|folder| folder.file_name() == Some(OsStr::new(name)))
    };
    // Around a program in any other place, such as a folder of /tmp, anybody's files may lie.
    let tree = if is_in(2, "target") { above(3).map(|tree| tree.join("docs")) } else { None };
    let installed =
        if is_in(1, "bin") { above(2).map(|prefix| prefix.join("share/doc/cryptand")) } else { None };
    tree.into_iter().chain(installed).collect()
}

fn collect(folder: &Path, path: &str, depth: usize, pages: &mut Vec<Page>) -> Result<(), Failure> {
    let failed = || Failure::io(format!("read {}", folder.display()));
    for entry in fs::read_dir(folder).map_err(failed())? {
        let file = entry.map_err(failed())?.path();
        let Some(name) = file.file_name().and_then(OsStr::to_str).map(str::to_owned) else { continue };
        match name.strip_suffix(".md") {
            Some(name) if file.is_file() => pages.push(Page { path: format!("{path}{name}"), file }),
            Some(_) => {}
            None if depth > 1 && file.is_dir() => {
                collect(&file, &format!("{path}{name}/"), depth - 1, pages)?
            }
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> Page {
        Page { path: path.to_owned(), file: PathBuf::new() }
    }

    #[test]
    fn a_page_is_meant_by_its_name_or_its_path() {
        let pages = ["howto/tls", "reference/keyblocks", "reference/verbs/pin", "start/pin"].map(page);
        let paths =
            |topic: &str| meant(&pages, topic).into_iter().map(|page| &*page.path).collect::<Vec<_>>();
        assert_eq!(paths("keyblocks"), ["reference/keyblocks"]);
        assert_eq!(paths("tls.md"), ["howto/tls"]);
        assert_eq!(paths("docs/howto/tls.md"), ["howto/tls"]);
        assert_eq!(paths("pin"), ["reference/verbs/pin", "start/pin"]);
        assert_eq!(paths("start/pin"), ["start/pin"]);
        let pages = ["measured/queues", "understand/queues", "measured/rates"].map(page);
        let paths =
            |topic: &str| meant(&pages, topic).into_iter().map(|page| &*page.path).collect::<Vec<_>>();
        assert_eq!(paths("queues"), ["understand/queues"]);
        assert_eq!(
            (paths("measured/queues"), paths("rates")),
            (vec!["measured/queues"], vec!["measured/rates"])
        );
        assert_eq!(paths("key"), [""; 0]);
    }

    #[test]
    fn what_is_no_page_is_answered_with_the_nearest_and_all() {
        let pages = ["howto/tls", "reference/keyblocks"].map(page);
        let said = unknown(&args::command(), &pages, "keyblok").to_string();
        assert!(
            said.contains("did you mean `cryptand help keyblock` or `cryptand help keyblocks`?"),
            "{said}"
        );
        assert!(said.ends_with("tls keyblocks"), "{said}");
        let said = unknown(&args::command(), &pages, "frobnication").to_string();
        assert!(!said.contains("did you mean"), "{said}");
    }

    #[test]
    fn pages_lie_beside_the_program_or_in_its_tree() {
        let places = |own: &str| places(Path::new(own));
        assert_eq!(places("/usr/bin/cryptand"), [Path::new("/usr/share/doc/cryptand")]);
        assert_eq!(places("/src/target/release/cryptand"), [Path::new("/src/docs")]);
        assert!(places("/tmp/x/cryptand").is_empty());
    }
}

//! The pages' code examples are files that are compiled, and what they link to or name is there.

use house_tests::{root, sources};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every page for people.
pub fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .map(|name| root().join(name))
            .into();
    pages.extend(sources("docs", "md").into_iter().map(|page| root().join(page.path)));
    pages
}

#[test]
fn examples_in_rust_are_files_that_are_compiled() {
    let examples = sources("crates/facility/examples", "rs");
    for (name, count) in [("docs/howto/programs.md", 2)] {
        let page = fs::read_to_string(root().join(name)).unwrap();
        let shown = page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown.len(), count, "{name}: examples in Rust");
        for example in shown {
            let is_a_file = examples.iter().any(|source| source.text.ends_with(example));
            assert!(is_a_file, "{name}: no file of crates/facility/examples ends so:\n{example}");
        }
    }
}

#[test]
fn files_that_pages_name_exist() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        // Of what stands between backticks, every second piece.
        for path in text.split('`').skip(1).step_by(2) {
            let is_one = ["crates/", "fuzz/"].iter().any(|folder| path.starts_with(folder));
            if is_one && !path.contains([' ', '*', '…']) {
                assert!(root().join(path).exists(), "{}: there is no {path}", page.display());
            }
        }
    }
}

#[test]
fn the_example_in_c_is_a_file_that_is_compiled() {
    let [page, example] = ["docs/reference/c-library.md", "crates/csulcca/examples/mac.c"]
        .map(|path| fs::read_to_string(root().join(path)).unwrap());
    assert!(
        page.contains(&format!("```c\n{example}```\n")),
        "docs/reference/c-library.md shows another program"
    );
}

#[test]
fn the_compose_file_is_that_of_the_page() {
    let [page, file, image] = ["docs/howto/containers.md", "packaging/compose.yml", "scripts/image"]
        .map(|path| fs::read_to_string(root().join(path)).unwrap());
    assert!(page.contains(&format!("```yaml\n{file}```\n")), "docs/howto/containers.md shows another file");
    let (_, served) = image.split_once("SERVED = \"").unwrap();
    let folder = served.split('"').next().unwrap();
    assert_eq!(file.matches(&format!("- cryptand:/{folder}\n")).count(), 2, "the image serves in /{folder}");
    let version = format!("image: cryptand-dev:{}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(file.matches(&version).count(), 2, "another version than {version}");
}

#[test]
fn links_between_pages_lead_to_files_and_headings() {
    let wrong = dead_links(pages());
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn links_between_installed_pages_lead_to_files_and_headings() {
    let folder = needs::short_folder();
    let pages = root().join("scripts/pages");
    assert!(Command::new(&pages).arg(folder.path()).status().unwrap().success());
    let listed = Command::new(&pages).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let installed = listed.lines().filter(|name| name.ends_with(".md")).map(|name| folder.path().join(name));
    let installed: Vec<PathBuf> = installed.collect();
    assert!(installed.len() > 20 && installed.iter().all(|page| page.exists()), "{installed:?}");
    let wrong = dead_links(installed);
    assert!(wrong.is_empty(), "links that lead nowhere once installed:\n{}", wrong.join("\n"));
}

fn dead_links(pages: Vec<PathBuf>) -> Vec<String> {
    let mut wrong = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(' ') || target.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            if !path.exists() || !(heading.is_empty() || has_heading(&path, heading)) {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    wrong
}

/// Files that write or compare pages, and name them by their paths in the tree.
const NAME_PAGES: &[&str] = &["crates/lab/src/promises", "crates/home/src/settings/text.rs"];

/// Who reads a message has the program, and seldom the tree: messages name `cryptand help`, which prints a page.
#[test]
fn messages_name_pages_as_they_are_installed() {
    let (mut wrong, mut named) = (Vec::new(), 0);
    let pages = sources("docs", "md");
    let is_page = |name: &str| {
        let name = name.trim_end_matches(".md");
        pages.iter().any(|page| {
            let path = page.path.trim_start_matches("docs/").trim_end_matches(".md");
            path == name || path.rsplit('/').next() == Some(name)
        })
    };
    for source in sources("crates", "rs").into_iter().filter(|source| source.path.contains("/src/")) {
        if NAME_PAGES.iter().any(|path| source.path.starts_with(path)) || source.path.ends_with("/tests.rs") {
            continue;
        }
        for (line, text) in source.code().filter(|(_, text)| !text.contains("include_str!")) {
            if text
                .split("docs/")
                .skip(1)
                .any(|rest| rest.split(['"', '`', ' ', ')']).next().is_some_and(|path| path.contains(".md")))
            {
                wrong.push(format!(
                    "{}:{line} names a page of the tree: say `cryptand help NAME`",
                    source.path
                ));
            }
            for rest in text.split("cryptand help ").skip(1) {
                let name: &str = rest
                    .split(|letter: char| !(letter.is_ascii_lowercase() || "-./".contains(letter)))
                    .next()
                    .unwrap_or("");
                named += 1;
                if !(name.is_empty() || name == "topics" || is_page(name)) {
                    wrong.push(format!("{}:{line}: there is no page {name}", source.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(named > 10, "{named} messages name a page");
}

/// Whether a page has a heading of this anchor, as code hosts make it: lower case, blanks as hyphens, no punctuation.
fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(page).unwrap();
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let made = |heading: &str| -> String {
        let kept = heading.to_lowercase();
        let kept =
            kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    };
    headings.map(made).any(|heading| heading == anchor)
}

//! Tests that draw the page in a browser at the widths of a phone, a tablet and a desk: nothing leaves its frame,
//! nothing scrolls sideways.

use super::html::tests::made;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Widths of the window, in pixels.
const WIDTHS: [u32; 3] = [390, 768, 1280];
/// Environment variable with a folder for the page and a picture of it at each width, for people to look at.
const PICTURES: &str = "CRYPTAND_PICTURES";

/// The path of a browser without a screen; none if this machine has none.
fn browser() -> Option<PathBuf> {
    let programs = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let mut all =
        std::env::split_paths(&path).flat_map(|folder| programs.map(|program| folder.join(program)));
    all.find(|program| program.exists())
}

/// Styles added to the page: none, and letters about a fifth wider than those of the widest screen fonts.
const STYLES: [&str; 2] = [
    "",
    "<style>* { font-family: 'DejaVu Sans', Verdana, sans-serif !important; letter-spacing: 0.1em !important; }</style>",
];

/// Script that lists misplaced elements: those beyond the right edge, unless they scroll within a table's frame; and
/// letters beyond the frame of their chart, or, with the widest letters, beyond the page.
const LOOK: &str = "<script>addEventListener('load', () => {
    const wrong = [], page = document.documentElement;
    for (const one of document.querySelectorAll('body *')) {
        const box = one.getBoundingClientRect(), held = one.parentElement.closest('.held');
        if (held && getComputedStyle(held).overflowX === 'auto') continue;
        if (box.width > 0 && box.right > page.clientWidth + 1) wrong.push(one.outerHTML.slice(0, 90));
    }
    for (const text of document.querySelectorAll('svg text')) {
        const box = text.getBoundingClientRect(), svg = text.ownerSVGElement;
        const is_shown = IS_WIDE && getComputedStyle(svg).overflow === 'visible';
        const frame = is_shown ? { left: 0, right: page.clientWidth, bottom: box.bottom } : svg.getBoundingClientRect();
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
            wrong.push(text.textContent);
    }
    if (page.scrollWidth > page.clientWidth) wrong.push('scrolls sideways');
    document.body.textContent = 'LOOKED ' + wrong.slice(0, 9).join(' | ') + ' END';
})</script>";

/// Script that copies the result of the framed page to the page around it.
const WATCH: &str = "<script>addEventListener('load', () => setTimeout(() => {
    document.body.textContent = document.querySelector('iframe').contentDocument.body.textContent }, 0))</script>";

/// A page with `page` in a frame of this width, since a window cannot be as narrow as a phone.
fn framed(page: &str, width: u32, height: u32) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<body style=\"margin:0\"><iframe style=\"width:{width}px;height:{height}px;border:0\" srcdoc=\"{page}\"></iframe>"
    )
}

fn run(browser: &Path, folder: &Path, arguments: &[&OsStr], page: &str) -> String {
    let file = folder.join("page.html");
    fs::write(&file, page).unwrap();
    let mut profile = OsStr::new("--user-data-dir=").to_owned();
    profile.push(folder.join("profile"));
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]).arg(profile);
    let output = command.args(arguments).arg(file).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn nothing_is_clipped_or_scrolls_sideways() {
    let Some(browser) = browser() else {
        return eprintln!("SKIPPED: no chromium here to draw the page");
    };
    let folder = tempfile::tempdir().unwrap();
    let page = made().1;
    for (style, width) in STYLES.iter().flat_map(|style| WIDTHS.map(|width| (style, width))) {
        let look = LOOK.replace("IS_WIDE", if style.is_empty() { "false" } else { "true" });
        let looking = page.replace("</body>", &format!("{style}{look}</body>"));
        let around = format!("{}{WATCH}", framed(&looking, width, 900));
        let drawn =
            run(&browser, folder.path(), &["--window-size=1400,900", "--dump-dom"].map(OsStr::new), &around);
        let looked = drawn.split("LOOKED").nth(1).and_then(|rest| rest.split("END").next());
        assert_eq!(looked, Some("  "), "{width} pixels wide, {style:?}: {drawn}");
        if let Some(pictures) = std::env::var_os(PICTURES).map(PathBuf::from).filter(|_| style.is_empty()) {
            fs::write(pictures.join("report.html"), &page).unwrap();
            let mut picture = OsStr::new("--screenshot=").to_owned();
            picture.push(pictures.join(format!("report-{width}.png")));
            let size = format!("--window-size={},5000", width.max(500));
            run(&browser, folder.path(), &[OsStr::new(&size), &picture], &framed(&page, width, 5000));
        }
    }
}

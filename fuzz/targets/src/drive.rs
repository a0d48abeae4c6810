//! Options of the load driver.

use driver::{Outside, Plan};
use options::tls::Drive;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;

/// What is not in an input.
static USUAL: LazyLock<Drive> = LazyLock::new(Drive::default);

/// In place of the machine: files by their names, hosts that are all the same, and processes with even numbers.
struct Pretended;

impl Outside for Pretended {
    fn text(&self, path: &Path) -> Result<String, String> {
        let name = path.to_string_lossy();
        match () {
            () if name.contains("chain") => Ok(include_str!("tls_client.pem").to_owned()),
            () if name.contains("names") => Ok("a.test # first\n\nb.test\n".to_owned()),
            () if name.contains("text") => Ok(name.into_owned()),
            () => Err(format!("{name}: there is none")),
        }
    }

    fn address(&self, text: &str) -> Result<SocketAddr, String> {
        if text.contains("gone") {
            Err(format!("{text}: no such host"))
        } else {
            Ok(([127, 0, 0, 1], 1).into())
        }
    }

    fn process(&self, pid: u32) -> Option<String> {
        pid.is_multiple_of(2).then(|| "server".to_owned())
    }
}

/// The options of `cryptand tls drive`, as the command hands them on: what is refused is named, and what is asked for
/// by HTTP is one request.
pub fn tls_drive(data: &[u8]) {
    let Ok(fields) = serde_json::from_slice(data) else { return };
    let Ok(typed) = options::changed(&*USUAL, fields) else { return };
    match Plan::with(&typed, &Pretended) {
        Ok(plan) => {
            for is_last in [false, true] {
                let Some(request) = plan.request(0, is_last) else { continue };
                let request = String::from_utf8(request).expect("text");
                let lines: Vec<&str> = request.split("\r\n").collect();
                assert_eq!(lines.len(), 4 + usize::from(is_last), "{request:?}");
                assert!(lines[0].split(' ').count() == 3 && lines.ends_with(&["", ""]), "{request:?}");
                assert!(lines.iter().all(|line| line.bytes().all(|byte| (b' '..=b'~').contains(&byte))));
            }
        }
        Err(why) => {
            let files = [&typed.ca, &typed.client_certificate, &typed.client_key].into_iter().flatten();
            let files = files.map(|path| path.to_string_lossy().into_owned());
            let of_sni = typed.sni.iter().filter_map(|list| list.strip_prefix('@')).map(str::to_owned);
            let mut named = files.chain(of_sni).chain([typed.target.clone(), "--".to_owned()]);
            assert!(named.any(|name| why.starts_with(&name)), "{why}");
        }
    }
}

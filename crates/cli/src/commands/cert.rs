//! `cryptand cert`: done by the program `cryptand-tls`, so that this one does not contain what reads and writes certificates.

use super::tls;
use crate::args::{Cert, CertMake};
use crate::failure::Failure;
use crate::session;
use serde_json::{Value, json};
use std::path::Path;

/// Becomes the program that does it. Returns only where that fails.
pub fn run(asked: Option<&Path>, typed: &Cert) -> Result<(), Failure> {
    // JSON has no other names of files.
    let text = |path: &Path| -> Result<String, Failure> {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| Failure::Usage(format!("{}: a file whose name is no UTF-8", path.display())))
    };
    let made = |make: &CertMake, days: Option<u32>| -> Result<Value, Failure> {
        let CertMake { label, names, organization, country, for_clients, output, domain } = make;
        Ok(json!({
            "home": text(&session::home_folder(asked)?)?, "domain": domain, "label": label, "names": names,
            "organization": organization, "country": country, "for_clients": for_clients, "days": days,
            "output": output.as_deref().map(text).transpose()?,
        }))
    };
    let passed = match typed {
        Cert::Request(make) => json!({"request": made(make, None)?}),
        Cert::SelfSigned { make, days } => json!({"self-signed": made(make, Some(*days))?}),
        Cert::Show { file, json } => json!({"show": {"file": text(file)?, "json": json}}),
        Cert::Check { file, label, domain, names, roots, soon, json } => {
            let home = label.is_some().then(|| session::home_folder(asked)).transpose()?;
            let (home, roots) =
                (home.as_deref().map(text).transpose()?, roots.as_deref().map(text).transpose()?);
            json!({"check": {
                "file": text(file)?, "home": home, "domain": domain, "label": label, "names": names, "roots": roots,
                "soon": soon, "json": json,
            }})
        }
    };
    tls::become_program(|command| command.arg("cert").arg(passed.to_string()))
}

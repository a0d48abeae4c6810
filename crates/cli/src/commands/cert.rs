//! `cryptand cert`: done by the program `cryptand-tls`, so that this one does not contain what reads and writes
//! certificates.

use super::tls;
use crate::args::{Cert, CertMake};
use crate::failure::Failure;
use crate::session;
use serde_json::{Value, json};
use std::path::Path;
use wire::Label;

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
    let place = |label: &str, domain: u16| -> Result<Value, Failure> {
        Ok(json!({"home": text(&session::home_folder(asked)?)?, "domain": domain, "label": label}))
    };
    // Names of files that are labels have no small letter and no folder.
    let source = |of: &Path, domain: u16| -> Result<Value, Failure> {
        let label = of.to_str().filter(|text| Label::new(text).is_ok() && !of.exists());
        match label {
            Some(label) => Ok(json!({"label": place(label, domain)?})),
            None => Ok(json!({"file": text(of)?})),
        }
    };
    let passed = match typed {
        Cert::Request(make) => json!({"request": made(make, None)?}),
        Cert::SelfSigned { make, days } => json!({"self-signed": made(make, Some(*days))?}),
        Cert::Install { label, file, domain, names, roots } => json!({"install": {
            "file": text(file)?, "key": place(label, *domain)?, "names": names,
            "roots": roots.as_deref().map(text).transpose()?,
        }}),
        Cert::Show { of, json, pem } => json!({"show": {"of": source(of, 0)?, "json": json, "pem": pem}}),
        Cert::Check { of, label, domain, names, roots, soon, json } => json!({"check": {
            "of": source(of, *domain)?,
            "key": label.as_deref().map(|label| place(label, *domain)).transpose()?,
            "names": names, "roots": roots.as_deref().map(text).transpose()?, "soon": soon, "json": json,
        }}),
    };
    tls::become_program(|command| command.arg("cert").arg(passed.to_string()))
}

//! Comma-separated values as RFC 4180 has them: the reading and the writing of one format.

/// Why a text is not comma-separated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvError {
    /// A quoted field that begins in this line (from 1) does not end.
    OpenQuote {
        /// The line in which it begins.
        line: usize,
    },
    /// A closing quote in this line (from 1) is followed by neither comma nor line end.
    AfterQuote {
        /// The line.
        line: usize,
    },
}

impl std::fmt::Display for CsvError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OpenQuote { line } => write!(f, "line {line}: a quoted field does not end"),
            Self::AfterQuote { line } => write!(f, "line {line}: a closing quote is not followed by a comma"),
        }
    }
}

impl std::error::Error for CsvError {}

/// The records of a text, each with its fields; empty lines are passed over.
///
/// # Errors
/// [`CsvError`] names the line.
pub fn records(text: &str) -> Result<Vec<Vec<String>>, CsvError> {
    let mut records = Vec::new();
    let mut fields = Vec::new();
    let mut rest = text.chars().peekable();
    let mut line = 1;
    while rest.peek().is_some() {
        let mut field = String::new();
        if rest.peek() == Some(&'"') {
            let begin = line;
            rest.next();
            loop {
                match rest.next() {
                    None => return Err(CsvError::OpenQuote { line: begin }),
                    Some('"') if rest.peek() == Some(&'"') => field.push(rest.next().unwrap_or('"')),
                    Some('"') => break,
                    Some(c) => {
                        line += usize::from(c == '\n');
                        field.push(c);
                    }
                }
            }
            if !matches!(rest.peek(), None | Some(',' | '\r' | '\n')) {
                return Err(CsvError::AfterQuote { line });
            }
        } else {
            while let Some(c) = rest.next_if(|c| !matches!(c, ',' | '\r' | '\n')) {
                field.push(c);
            }
        }
        fields.push(field);
        if rest.next_if_eq(&',').is_some() {
            if rest.peek().is_none() {
                fields.push(String::new());
            }
            continue;
        }
        rest.next_if_eq(&'\r');
        rest.next_if_eq(&'\n');
        line += 1;
        if fields != [""] {
            records.push(std::mem::take(&mut fields));
        }
        fields.clear();
    }
    if !fields.is_empty() {
        records.push(fields);
    }
    Ok(records)
}

/// Appends one record, quoting where a field needs it.
pub fn write_record<'a>(out: &mut String, fields: impl IntoIterator<Item = &'a str>) {
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_commas_and_line_ends_are_read() {
        let text = "a,b,c\r\n1,\"x, \"\"y\"\"\",\n\n\"two\nlines\",,3";
        assert_eq!(
            records(text).unwrap(),
            [vec!["a", "b", "c"], vec!["1", "x, \"y\"", ""], vec!["two\nlines", "", "3"]]
        );
    }

    #[test]
    fn broken_quotes_are_refused_with_their_line() {
        assert_eq!(records("a\n\"b").unwrap_err(), CsvError::OpenQuote { line: 2 });
        assert_eq!(records("a\n\"b\"c").unwrap_err(), CsvError::AfterQuote { line: 2 });
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(rows in prop::collection::vec(prop::collection::vec("[a-c,\"\n ]{0,6}", 2..5), 1..5)) {
            let mut text = String::new();
            for row in &rows {
                write_record(&mut text, row.iter().map(String::as_str));
            }
            prop_assert_eq!(records(&text).unwrap(), rows);
        }
    }
}

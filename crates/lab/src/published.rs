//! The published figures that today's measurements are set beside, as typed rows.
//!
//! The two tables lie in `data/`, with a README on their origin, columns and known anomalies, and are
//! part of the program: a clone stands alone.

use std::sync::LazyLock;

const MEASUREMENTS: &str = include_str!("../data/measurements.csv");
const CLAIMS: &str = include_str!("../data/claims.csv");

/// Columns of the table of measurements, in order: what its head names.
pub static COLUMNS: LazyLock<Vec<&str>> =
    LazyLock::new(|| MEASUREMENTS.lines().next().unwrap_or_default().split(',').collect());

const CLAIM_COLUMNS: [&str; 8] =
    ["id", "document", "section", "claim", "metric", "value", "unit", "condition"];

/// Why a table of published figures cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishedError {
    /// The text is not comma-separated values, or a record has another number of fields than the head; the error names
    /// the line.
    Csv(String),
    /// The head names other columns.
    Columns,
    /// A field that must be a number is not one.
    Number {
        /// Number of the record, from 1 after the head.
        record: usize,
        /// The column.
        column: &'static str,
    },
}

impl std::fmt::Display for PublishedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Csv(error) => write!(f, "published figures: {error}"),
            Self::Columns => f.write_str("published figures: the head names other columns"),
            Self::Number { record, column } => {
                write!(f, "published figures: record {record}: {column} is not a number")
            }
        }
    }
}

impl std::error::Error for PublishedError {}

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    fields: Vec<String>,
    /// Bits of the key; none if the row does not name them.
    pub key_bits: Option<u32>,
    /// Length of the data of one operation, in bytes.
    pub data_bytes: Option<u64>,
    /// Installed cards.
    pub engine_count: Option<u32>,
    /// Parallel jobs.
    pub jobs: Option<u32>,
    /// The figure; none where the cell is text.
    pub value: Option<f64>,
}

impl Row {
    /// The field of a column as printed in the table; empty where it does not apply.
    ///
    /// # Panics
    /// If [`COLUMNS`] has no such name.
    pub fn field(&self, column: &str) -> &str {
        let at = COLUMNS.iter().position(|name| *name == column).expect("a column of the table");
        &self.fields[at]
    }

    /// Name of the row.
    pub fn id(&self) -> &str {
        self.field("id")
    }

    /// The measured quantity, e.g. `ops_per_s`.
    pub fn metric(&self) -> &str {
        self.field("metric")
    }

    /// The table that the row belongs to: document, section and table, joined by dots.
    pub fn table_id(&self) -> String {
        let (document, section, table) = (self.field("document"), self.field("section"), self.field("table"));
        if section == table { format!("{document}.{table}") } else { format!("{document}.{section}.{table}") }
    }
}

/// Figures of our own in the columns of the published table.
pub struct Sheet {
    writer: csv::Writer<Vec<u8>>,
    common: Vec<(&'static str, String)>,
}

impl Sheet {
    /// A sheet with its head; `common` are the columns that are the same in every row.
    pub fn new(common: Vec<(&'static str, String)>) -> Self {
        let mut sheet = Self { writer: csv::Writer::from_writer(Vec::new()), common };
        sheet.write(COLUMNS.iter().map(|column| (*column).to_owned()).collect());
        sheet
    }

    /// Adds a row with these columns; all other columns are those of `like`, or empty.
    pub fn add(&mut self, like: Option<&Row>, columns: &[(&str, String)]) {
        let mut fields = like.map_or_else(|| vec![String::new(); COLUMNS.len()], |row| row.fields.clone());
        for (column, text) in self
            .common
            .iter()
            .map(|(column, text)| (*column, text))
            .chain(columns.iter().map(|(column, text)| (*column, text)))
        {
            if let Some(at) = COLUMNS.iter().position(|name| *name == column) {
                fields[at].clone_from(text);
            }
        }
        self.write(fields);
    }

    fn write(&mut self, fields: Vec<String>) {
        // Memory takes every write, and all records have as many fields as the head.
        let _ = self.writer.write_record(fields);
    }

    /// The sheet as CSV (RFC 4180).
    pub fn finish(self) -> String {
        text_of(self.writer)
    }
}

/// The text of a writer to memory.
pub(crate) fn text_of(writer: csv::Writer<Vec<u8>>) -> String {
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// One statement of the published reports' text.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Name of the statement.
    pub id: String,
    /// Short name of the report.
    pub document: String,
    /// Section of the report.
    pub section: String,
    /// Text of the statement.
    pub text: String,
    /// Kind of the figure.
    pub metric: String,
    /// The figure; none if the statement gives no figure.
    pub value: Option<f64>,
    /// Unit of the figure; empty where it has none.
    pub unit: String,
    /// The conditions of the statement.
    pub condition: String,
}

/// The published figures.
///
/// # Panics
/// Never: the table is part of the program and a test reads it.
pub fn measurements() -> Vec<Row> {
    read_measurements(MEASUREMENTS).expect("the built-in table is well formed")
}

/// The statements of the published reports.
///
/// # Panics
/// Never: the table is part of the program and a test reads it.
pub fn claims() -> Vec<Claim> {
    read_claims(CLAIMS).expect("the built-in table is well formed")
}

/// Reads a table of measurements.
///
/// # Errors
/// [`PublishedError`] names record and column.
pub fn read_measurements(text: &str) -> Result<Vec<Row>, PublishedError> {
    let mut rows = Vec::new();
    for (record, fields) in table(text, &COLUMNS)?.into_iter().enumerate() {
        let record = record + 1;
        let at = |column: &'static str| {
            fields[COLUMNS.iter().position(|name| *name == column).expect("a column of the table")].as_str()
        };
        rows.push(Row {
            key_bits: number(at("key_bits"), record, "key_bits")?,
            data_bytes: number(at("data_bytes"), record, "data_bytes")?,
            engine_count: number(at("engine_count"), record, "engine_count")?,
            jobs: number(at("jobs"), record, "jobs")?,
            value: at("value").parse().ok(),
            fields,
        });
    }
    Ok(rows)
}

fn read_claims(text: &str) -> Result<Vec<Claim>, PublishedError> {
    let claims = table(text, &CLAIM_COLUMNS)?.into_iter().map(|fields| {
        let [id, document, section, text, metric, value, unit, condition]: [String; 8] =
            fields.try_into().expect("as many fields as columns");
        Claim { id, document, section, text, metric, value: value.parse().ok(), unit, condition }
    });
    Ok(claims.collect())
}

fn table(text: &str, columns: &[&str]) -> Result<Vec<Vec<String>>, PublishedError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let unfit = |error: csv::Error| PublishedError::Csv(error.to_string());
    if reader.headers().map_err(unfit)? != columns {
        return Err(PublishedError::Columns);
    }
    let records = reader.records().map(|record| Ok(record?.iter().map(str::to_owned).collect()));
    records.collect::<Result<_, csv::Error>>().map_err(unfit)
}

fn number<T: std::str::FromStr>(
    field: &str,
    record: usize,
    column: &'static str,
) -> Result<Option<T>, PublishedError> {
    if field.is_empty() {
        return Ok(None);
    }
    field.parse().map(Some).map_err(|_| PublishedError::Number { record, column })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_built_in_tables_are_whole() {
        let rows = measurements();
        assert_eq!(rows.len(), 822);
        assert_eq!(rows.iter().map(Row::id).collect::<HashSet<_>>().len(), rows.len());
        let first = &rows[0];
        assert_eq!((first.id(), first.value), ("z990.4.2.1.kmc-dea.64.ops", Some(3_347_438.0)));
        assert_eq!((first.data_bytes, first.jobs, first.key_bits), (Some(64), Some(1), Some(56)));
        assert_eq!(first.table_id(), "z990.4.2.1.kmc-dea");
        let claims = claims();
        assert_eq!(claims.len(), 263);
        assert_eq!(claims[0].value, Some(1.0));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut sheet = Sheet::new(vec![("document", "of, \"us\"".to_owned())]);
        let rows = measurements();
        sheet.add(Some(&rows[0]), &[("note", "two\nlines".to_owned())]);
        sheet.add(None, &[("value", "2.5".to_owned())]);
        let read = read_measurements(&sheet.finish()).unwrap();
        assert_eq!((read[0].id(), read[0].field("note")), (rows[0].id(), "two\nlines"));
        assert_eq!((read[1].value, read[1].field("document")), (Some(2.5), "of, \"us\""));
    }

    #[test]
    fn broken_tables_are_refused() {
        assert_eq!(read_measurements("id,x\n").unwrap_err(), PublishedError::Columns);
        let head = COLUMNS.join(",");
        let short = format!("{head}\n1,2\n");
        assert!(
            matches!(read_measurements(&short), Err(PublishedError::Csv(why)) if why.contains("2 fields"))
        );
        let mut fields = vec![""; COLUMNS.len()];
        fields[9] = "many";
        let wrong = format!("{head}\n{}\n", fields.join(","));
        assert_eq!(
            read_measurements(&wrong).unwrap_err(),
            PublishedError::Number { record: 1, column: "key_bits" }
        );
    }
}

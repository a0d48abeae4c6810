//! Text tables with aligned columns.

/// Columns as wide as their longest cell, two spaces apart; numbers, and their titles, to the right.
pub fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([titles[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let is_number = |column: usize| {
        !rows.is_empty()
            && rows
                .iter()
                .all(|row| row.get(column).is_none_or(|cell| cell.starts_with(|c: char| c.is_ascii_digit())))
    };
    let numbers: Vec<bool> = (0..titles.len()).map(is_number).collect();
    let titles = titles.iter().map(|title| (*title).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(rows) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            let (before, behind) =
                if numbers[column] { (space, String::new()) } else { (String::new(), space) };
            line += &format!("{before}{cell}{behind}  ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = vec![vec!["in".to_owned(), "5".to_owned()], vec!["out".to_owned(), "1234".to_owned()]];
        assert_eq!(table(&["dir", "packets"], &rows), "dir  packets\nin         5\nout     1234\n");
        assert_eq!(table(&["dir", "packets"], &[]), "dir  packets\n");
    }
}

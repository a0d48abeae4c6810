//! Figures with as many digits as people need.

/// A figure of a table: whole with thousands set apart, or with as many digits as it needs.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => fixed(value, 0),
        size if size >= 10.0 => fixed(value, 1),
        _ => fixed(value, 2),
    }
}

/// A number with its thousands set apart and `digits` digits behind the point.
pub(crate) fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if out.ends_with(|last: char| last.is_ascii_digit()) && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// A whole number with its thousands set apart.
pub(crate) fn thousands(value: u64) -> String {
    fixed(value as f64, 0)
}

/// A number of few letters: `3.35 M`, `98.6 k`, `0.69`.
pub(crate) fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = if scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{unit}")
}

/// A ratio as a factor, for people.
pub(crate) fn times(ratio: f64) -> String {
    let digits = if ratio >= 10.0 {
        0
    } else if ratio >= 0.1 {
        2
    } else {
        3
    };
    format!("\u{d7}\u{2009}{}", fixed(ratio, digits))
}

/// A time given in nanoseconds, in the unit that suits its size.
pub(crate) fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns <= 0.0 => "0".to_owned(),
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e5 => format!("{:.1} \u{b5}s", ns / 1e3),
        ns if ns < 1e6 => format!("{:.0} \u{b5}s", ns / 1e3),
        ns if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// A number with five significant digits, for programs: more than any run is accurate to.
pub(crate) fn rounded(value: f64) -> String {
    if value <= 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = (4 - value.log10().floor() as i32).max(0) as usize;
    if value >= 1e5 {
        let step = 10f64.powi(value.log10().floor() as i32 - 4);
        return format!("{:.0}", (value / step).round() * step);
    }
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (value, text) in [
            (3_347_438.4, "3,347,438"),
            (123.4, "123"),
            (12.34, "12.3"),
            (0.691, "0.69"),
            (-1234.0, "-1,234"),
        ] {
            assert_eq!(figure(value), text);
        }
        assert_eq!((fixed(1_234_567.4, 0), fixed(0.5, 2)), ("1,234,567".into(), "0.50".into()));
        assert_eq!((nanoseconds(1234.0), nanoseconds(0.0)), ("1.2 \u{b5}s".into(), "0".into()));
        assert_eq!((times(3.138), times(0.004)), ("\u{d7}\u{2009}3.14".into(), "\u{d7}\u{2009}0.004".into()));
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (3_347_438.0, "3.35 M"),
            (98_600.0, "98.6 k"),
            (0.69, "0.69"),
            (100.0, "100"),
            (1e9, "1.00 G"),
            (12.34, "12.3"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn figures_are_rounded_to_what_they_carry() {
        for (value, text) in [
            (3_347_438.2, "3347400"),
            (123.456_78, "123.46"),
            (0.691_23, "0.69123"),
            (99_999.7, "100000"),
            (2.5, "2.5"),
            (0.0, "0"),
            (f64::INFINITY, "0"),
        ] {
            assert_eq!(rounded(value), text);
        }
    }
}

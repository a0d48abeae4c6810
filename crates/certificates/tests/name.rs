//! What a certificate may be for.

use certificates::Name;

#[test]
fn names_and_addresses_are_told_apart_and_others_refused() {
    assert_eq!(Name::parse("Shop.Example").unwrap(), Name::Dns("shop.example".into()));
    assert_eq!(Name::parse("*.shop.example").unwrap().to_string(), "*.shop.example");
    assert_eq!(Name::parse("localhost").unwrap().to_string(), "localhost");
    assert_eq!(Name::parse("2001:db8::1").unwrap(), Name::Ip("2001:db8::1".parse().unwrap()));
    let long = format!("{}.example", "a".repeat(64));
    for wrong in [
        "",
        "*",
        "a..b",
        "a.*.b",
        "w*.example",
        "-a.example",
        "a-.example",
        "münchen.example",
        "a b",
        "a.",
        &long,
    ] {
        assert!(Name::parse(wrong).is_err(), "{wrong}");
    }
}

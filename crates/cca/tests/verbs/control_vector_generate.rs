//! Control_Vector_Generate, and that Key_Token_Build writes the same vectors.

use token::KeyType;
use token::control_vector::KeyForm;
use verb_requests::support::{Request, processor, skeleton};
use wire::code;
use wire::verb::Verb;
use wire::verb::control_vector_generate::{CONTROL_VECTOR, KEY_TYPE};

fn vector(key_type: &str, keywords: &[&str]) -> Request {
    Request::new(Verb::ControlVectorGenerate).bytes(KEY_TYPE, format!("{key_type:8}")).rules(keywords)
}

#[test]
fn every_type_and_length_has_the_vector_that_a_skeleton_of_it_has() {
    let mut processor = processor();
    let lengths: [(&str, KeyForm); 9] = [
        ("KEYLN8", KeyForm::Single),
        ("SINGLE", KeyForm::Single),
        ("KEYLN16", KeyForm::Double),
        ("DOUBLE", KeyForm::Double),
        ("DOUBLE-O", KeyForm::DoubleUnique),
        ("KEYLN24", KeyForm::Triple),
        ("MIXED", KeyForm::Double),
        ("TRIPLE", KeyForm::Triple),
        ("TRIPLE-O", KeyForm::TripleUnique),
    ];
    for key_type in KeyType::ALL.iter().copied().filter(|key_type| key_type.has_default()) {
        for (word, form) in lengths {
            let request = vector(key_type.name(), &[word]);
            let Ok(expected) = key_type.vector_with(form, []) else {
                request.refused(&mut processor, code::KEY_LENGTH_KEYWORD);
                continue;
            };
            let made = request.ok(&mut processor).bytes(CONTROL_VECTOR);
            assert_eq!(made, expected.to_bytes(), "{key_type:?} {word}");
            assert_eq!(made, skeleton(&mut processor, key_type.name(), &[word])[32..48]);
        }
    }
}

#[test]
fn bad_calls_are_refused_by_name() {
    let mut processor = processor();
    vector("SECRET", &[]).refused(&mut processor, code::KEYWORD);
    vector("MAC", &["EPINVER"]).refused(&mut processor, code::KEYWORD);
    vector("KEYGENKY", &[]).refused(&mut processor, code::KEYWORD_COMBINATION);
    vector("MAC", &["ANY-MAC", "CVVKEY-A"]).refused(&mut processor, code::KEYWORD_COMBINATION);
    vector("MAC", &["KEYLN32"]).refused(&mut processor, code::KEYWORD);
    vector("MAC", &["DOUBLE", "SINGLE"]).refused(&mut processor, code::KEYWORD_COMBINATION);
}

//! What the verbs of chip cards compute beside the Python package pyemv: `tests/pyemv.rs`.
#![forbid(unsafe_code)]

//! What verbs compute and make, beside programs in Python that share no code with them.

mod pyemv;
mod tokens;

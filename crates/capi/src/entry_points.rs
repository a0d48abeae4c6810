//! Exported functions of a list of names.

/// The interface of an exported function.
#[derive(Clone, Copy, Debug)]
pub struct Prototype {
    /// Name under which the function is exported.
    pub name: &'static str,
    /// Parameters after `exit_data`, each with its name and whether it is a `long` instead of bytes.
    pub parameters: &'static [(&'static str, bool)],
    /// Whether the library answers the call itself, with a text.
    pub is_local: bool,
}

/// Whether at least one mark is given, such as the text behind `gives`.
#[doc(hidden)]
pub const fn is_given(marks: &[&str]) -> bool {
    !marks.is_empty()
}

/// Makes an exported function of each name, and `PROTOTYPES`, which lists them. A name does what the row of the verb
/// table with this entry point says, and must have as many parameters as the row. A name without a row is refused. A
/// name that `gives` a text answers with that text, and a name that `does` something ([`Own`](crate::Own)) does that.
///
/// ```text
/// capi::entry_points! {
///     CSNBKTC(rule_array_count: long, rule_array, key_identifier);
///     CSUACFV(version_data_length: long, version_data) gives VERSION;
///     CSUACRA(rule_array_count: long, rule_array, resource_name_length: long, resource_name) does Allocate;
/// }
/// ```
#[macro_export]
macro_rules! entry_points {
    ($($name:ident($($parameter:ident $(: $long:ident)?),* $(,)?) $(gives $text:ident)? $(does $own:ident)?;)*) => {
        /// The exported functions, in the order of the list.
        pub const PROTOTYPES: &[$crate::Prototype] = &[$($crate::Prototype {
            name: stringify!($name),
            parameters: &[$((stringify!($parameter), $crate::is_given(&[$(stringify!($long)),*]))),*],
            is_local: $crate::is_given(&[$(stringify!($text),)? $(stringify!($own),)?]),
        }),*];

        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As `capi::call` says.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub unsafe extern "C" fn $name(
                return_code: *mut std::ffi::c_long,
                reason_code: *mut std::ffi::c_long,
                _exit_data_length: *mut std::ffi::c_long,
                _exit_data: *mut std::ffi::c_uchar,
                $($parameter: *mut std::ffi::c_void),*
            ) {
                const BODY: $crate::Body =
                    $crate::Body::of(stringify!($name), &[$($text)?], &[$($crate::Own::$own)?]);
                const _: () = assert!(BODY.takes([$(stringify!($parameter)),*].len()));
                // SAFETY: the caller's promise, with a pointer for each parameter.
                unsafe { $crate::call(BODY, return_code, reason_code, &[$($parameter),*]) }
            }
        )*
    };
}

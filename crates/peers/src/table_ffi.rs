//! The functions of a library that is loaded when the program runs, as a table with checked names.

/// Declares the functions of a library that is loaded when the program runs, and how they are found.
macro_rules! functions {
    ($(#[$doc:meta])* struct $table:ident { $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        struct $table {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Finds every function.
            ///
            /// # Safety
            /// The library must be the one whose headers give these types, and stay loaded for as long as
            /// the table is used.
            unsafe fn find(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the caller vouches for the library, and so for the type of the function.
                        $name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? },
                    )*
                })
            }
        }
    };
}
pub(crate) use functions;

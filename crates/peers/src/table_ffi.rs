//! A macro that declares the functions of a library loaded at run time as a table with checked names.

/// Declares a struct of function pointers of a library that is loaded at run time, and `find`, which looks them up.
macro_rules! functions {
    ($(#[$doc:meta])* struct $table:ident { $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)* }) => {
        $(#[$doc])*
        #[allow(non_snake_case)]
        struct $table {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks up every function by its name.
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

//! Mistakes that can be planted in a part of a device, to verify that its tests find them.

/// A table of mistakes: an enum of them with `ALL`, whether one `is_planted`, and `plant`, which plants one in the devices
/// of this thread. Without the feature `planted`, which no product has, none ever is.
#[macro_export]
macro_rules! planted {
    ($(#[$doc:meta])* pub enum $Name:ident { $($(#[$what:meta])* $Each:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $Name { $($(#[$what])* $Each),* }

        impl $Name {
            /// All mistakes.
            pub const ALL: [$Name; [$($Name::$Each),*].len()] = [$($Name::$Each),*];

            /// True if the mistake is planted.
            #[cfg(feature = "planted")]
            #[inline]
            pub fn is_planted(self) -> bool {
                PLANTED.get() == Some(self)
            }

            /// True if the mistake is planted: never.
            #[cfg(not(feature = "planted"))]
            #[inline]
            pub fn is_planted(self) -> bool {
                false
            }
        }

        #[cfg(feature = "planted")]
        thread_local! {
            static PLANTED: std::cell::Cell<Option<$Name>> = const { std::cell::Cell::new(None) };
        }

        /// Plants a mistake in this thread's devices, or removes it.
        #[cfg(feature = "planted")]
        pub fn plant(mistake: Option<$Name>) {
            PLANTED.set(mistake);
        }
    };
}

//! The format's enumerations and flags: integers with names, because a file may hold any value.

use std::fmt;

/// An integer with names for some of its values.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident($int:ty) { $($(#[$variant_doc:meta])* $variant:ident = $value:literal => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$variant_doc])* #[allow(non_upper_case_globals, reason = "named like the variants of an enum")]
            pub const $variant: Self = Self($value);)*

            /// Returns the usual name of the value, if it has one.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name().unwrap_or("unknown"))
            }
        }
    };
}

/// A set of flags with names for some of them.
macro_rules! flags {
    ($(#[$doc:meta])* $name:ident($int:ty) { $($(#[$flag_doc:meta])* $flag:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$flag_doc])* pub const $flag: Self = Self($value);)*

            /// Returns whether all of `flags` are set.
            #[must_use]
            pub fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// Returns the names of the flags that are set. Flags without a name are left out.
            #[must_use]
            pub fn names(self) -> Vec<&'static str> {
                let known = [$((Self::$flag, stringify!($flag)),)*];
                known.into_iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| name).collect()
            }
        }
    };
}

names! {
    /// `IMAGE_FILE_MACHINE_…`: the processor that runs the image.
    Machine(u16) {
        /// Intel 386 and later, 32 bits.
        X86 = 0x014c => "x86",
        /// ARM Thumb-2, 32 bits.
        Arm = 0x01c4 => "ARM",
        /// AMD64, 64 bits.
        X64 = 0x8664 => "x64",
        /// ARM64.
        Arm64 = 0xaa64 => "ARM64",
    }
}

names! {
    /// `IMAGE_SUBSYSTEM_…`: the environment that the image needs.
    Subsystem(u16) {
        /// None: drivers and native processes.
        Native = 1 => "native",
        /// Windows with a graphical user interface.
        WindowsGui = 2 => "Windows GUI",
        /// Windows with a console.
        WindowsConsole = 3 => "Windows console",
        /// A UEFI application.
        EfiApplication = 10 => "EFI application",
        /// A UEFI boot service driver.
        EfiBootServiceDriver = 11 => "EFI boot service driver",
        /// A UEFI runtime driver.
        EfiRuntimeDriver = 12 => "EFI runtime driver",
        /// An application of the boot loader.
        BootApplication = 16 => "boot application",
    }
}

flags! {
    /// `IMAGE_FILE_…`: characteristics in the file header.
    Characteristics(u16) {
        /// The image has no relocations and runs only at its preferred address.
        RELOCS_STRIPPED = 0x0001,
        /// The image is valid; there were no unresolved references.
        EXECUTABLE_IMAGE = 0x0002,
        /// The image can use addresses above two gigabytes.
        LARGE_ADDRESS_AWARE = 0x0020,
        /// The machine has 32-bit words.
        MACHINE_32BIT = 0x0100,
        /// Debugging information was removed from the file.
        DEBUG_STRIPPED = 0x0200,
        /// A system file.
        SYSTEM = 0x1000,
        /// A library. Images of Rust drivers have this flag, and Windows ignores it.
        DLL = 0x2000,
        /// Only for machines with one processor.
        UP_SYSTEM_ONLY = 0x4000,
    }
}

flags! {
    /// `IMAGE_DLLCHARACTERISTICS_…`, which apply to all images.
    DllCharacteristics(u16) {
        /// The image can use 64-bit address space randomisation.
        HIGH_ENTROPY_VA = 0x0020,
        /// The image can be relocated when it is loaded.
        DYNAMIC_BASE = 0x0040,
        /// Code integrity checks are enforced.
        FORCE_INTEGRITY = 0x0080,
        /// The image is compatible with data execution prevention.
        NX_COMPAT = 0x0100,
        /// The image does not use structured exception handling.
        NO_SEH = 0x0400,
        /// The image must run in an app container.
        APPCONTAINER = 0x1000,
        /// A driver that uses the Windows Driver Model.
        WDM_DRIVER = 0x2000,
        /// The image supports Control Flow Guard.
        GUARD_CF = 0x4000,
        /// The image is aware of terminal servers; this has no meaning for a driver.
        TERMINAL_SERVER_AWARE = 0x8000,
    }
}

flags! {
    /// `IMAGE_SCN_…`: protection and kind of a section.
    SectionFlags(u32) {
        /// Contains code.
        CNT_CODE = 0x0000_0020,
        /// Contains initialised data.
        CNT_INITIALIZED_DATA = 0x0000_0040,
        /// Contains zero-initialised data.
        CNT_UNINITIALIZED_DATA = 0x0000_0080,
        /// Can be freed after the driver is initialised.
        MEM_DISCARDABLE = 0x0200_0000,
        /// Is never paged out.
        MEM_NOT_PAGED = 0x0800_0000,
        /// Is shared between processes.
        MEM_SHARED = 0x1000_0000,
        /// Can be executed.
        MEM_EXECUTE = 0x2000_0000,
        /// Can be read.
        MEM_READ = 0x4000_0000,
        /// Can be written.
        MEM_WRITE = 0x8000_0000,
    }
}

#[cfg(test)]
mod tests {
    use super::{Characteristics, Machine};

    #[test]
    fn unknown_values_keep_their_number_and_get_no_name() {
        assert_eq!(Machine(0x8664), Machine::X64);
        assert_eq!(Machine(0x1234).name(), None);
        assert_eq!(Machine(0x1234).to_string(), "unknown");
    }

    #[test]
    fn flags_are_named_from_the_lowest_bit() {
        assert_eq!(Characteristics(0x8022).names(), ["EXECUTABLE_IMAGE", "LARGE_ADDRESS_AWARE"]);
        assert!(!Characteristics(0x0002).contains(Characteristics(0x0022)));
    }
}

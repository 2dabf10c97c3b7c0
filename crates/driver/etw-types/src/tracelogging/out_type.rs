//! How a field's value is shown.

int_newtype! {
    /// How a field's value is displayed. For a struct: the number of its fields.
    OutType(u8) {
        /// The default format of the encoding.
        Default = 0,
        /// Not displayed.
        NoPrint = 1,
        /// Text.
        String = 2,
        /// True or false.
        Boolean = 3,
        /// Hexadecimal.
        Hex = 4,
        /// A process id.
        Pid = 5,
        /// A thread id.
        Tid = 6,
        /// A port, in network byte order.
        Port = 7,
        /// An IPv4 address.
        IPv4 = 8,
        /// An IPv6 address.
        IPv6 = 9,
        /// A `SOCKADDR`.
        SocketAddress = 10,
        /// XML.
        Xml = 11,
        /// JSON.
        Json = 12,
        /// A Win32 error code.
        Win32Error = 13,
        /// An NTSTATUS.
        NtStatus = 14,
        /// An HRESULT.
        HResult = 15,
        /// Date and time.
        DateTime = 16,
        /// A signed number.
        Signed = 17,
        /// An unsigned number.
        Unsigned = 18,
        /// Date and time, formatted independently of the culture.
        DateTimeCultureInsensitive = 33,
        /// UTF-8 text.
        Utf8 = 35,
        /// A PKCS#7 message that is prefixed with type information.
        Pkcs7WithTypeInfo = 36,
        /// A code address.
        CodePointer = 37,
        /// Date and time, in UTC.
        DateTimeUtc = 38,
    }
}

#[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
impl OutType {
    /// Flag: a tag follows.
    pub const ChainFlag: u8 = 0x80;
    /// Mask of the type itself.
    pub const TypeMask: u8 = 0x7F;
}

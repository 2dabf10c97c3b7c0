//! Requests, their buffers, and memory of clients.

use nt_machine::{IoRequest, RequestKind};

use super::{TextError, bytes, hexadecimal, number, number_of_32_bits};

/// The length of the output buffer of a control request, unless it is given.
pub const OUTPUT: u32 = 4096;

/// The size of the largest memory of a client in bytes.
const LARGEST: u32 = 16 << 20;

/// Reads a control request: `CODE[:HEX][/[LENGTH][:DATA]]`.
pub(crate) fn read_control(kind: RequestKind, text: &str) -> Result<IoRequest, TextError> {
    let (rest, buffer) = match text.split_once('/') {
        Some((rest, output)) => (rest, read_buffer(output)?),
        None => (text, Buffer { length: OUTPUT, data: Vec::new() }),
    };
    let (code, input) = rest.split_once(':').unwrap_or((rest, ""));
    let expected = "expected for example 222000";
    let code = u32::from_str_radix(code.trim_start_matches("0x"), 16)
        .map_err(|_| TextError::malformed(code, "is not a hexadecimal control code", expected))?;
    let request = IoRequest { kind, code, input: bytes(input)?, output: buffer.length, output_data: buffer.data };
    let is_lost = !request.output_data.is_empty() && !request.sends_output();
    if is_lost { Err(TextError::OutputLost(code)) } else { Ok(request) }
}

/// Reads the length of a read request.
pub(crate) fn read_read(text: &str) -> Result<IoRequest, TextError> {
    let output = number_of_32_bits(text, "is too many bytes for one read")?;
    Ok(IoRequest { kind: RequestKind::READ, output, ..IoRequest::default() })
}

/// Reads the data of a write request.
pub(crate) fn read_write(text: &str) -> Result<IoRequest, TextError> {
    Ok(IoRequest { kind: RequestKind::WRITE, input: bytes(text)?, ..IoRequest::default() })
}

/// Returns the text of a request after its option. Control requests, reads and writes have different ones.
pub(crate) fn written(request: &IoRequest) -> String {
    match request.kind {
        RequestKind::READ => request.output.to_string(),
        RequestKind::WRITE => hexadecimal(&request.input),
        _ => {
            let colon = if request.input.is_empty() { "" } else { ":" };
            format!("{:X}{colon}{}{}", request.code, hexadecimal(&request.input), output(request))
        }
    }
}

/// Returns the output buffer of a control request: its size and what it holds.
fn output(request: &IoRequest) -> String {
    let data = request.output_data.as_slice();
    if data.is_empty() || !request.sends_output() {
        return if request.output == OUTPUT { String::new() } else { format!("/{}", request.output) };
    }
    let room = request.room() as usize;
    let size = if data.len() == room { String::new() } else { room.to_string() };
    format!("/{size}:{}", hexadecimal(data))
}

/// A buffer: its length, and what it holds at its start.
struct Buffer {
    length: u32,
    data: Vec<u8>,
}

/// Reads a buffer: `LENGTH`, `LENGTH:HEX` or `:HEX`. Without a length, it is as long as its data.
fn read_buffer(text: &str) -> Result<Buffer, TextError> {
    let too_long = "is too many bytes for one request";
    let Some((length, data)) = text.split_once(':') else {
        return Ok(Buffer { length: number_of_32_bits(text, too_long)?, data: Vec::new() });
    };
    let data = bytes(data)?;
    let count =
        u32::try_from(data.len()).map_err(|_| TextError::malformed(text, too_long, "expected at most 0xFFFFFFFF"))?;
    let length = if length.is_empty() { count } else { number_of_32_bits(length, too_long)? };
    if length < count { Err(TextError::BufferTooShort { length, data: count }) } else { Ok(Buffer { length, data }) }
}

/// Reads memory of a client: its address, and then as an output buffer. Returns the address and all bytes.
pub(crate) fn read_memory(text: &str) -> Result<(u64, Vec<u8>), TextError> {
    let bad = || TextError::malformed(text, "is not memory", "expected for example 0x10000000/64 or 0x10000000/:0AFF");
    let (address, rest) = text.split_once('/').filter(|(_, rest)| !rest.is_empty()).ok_or_else(bad)?;
    let address = number(address)?;
    let Buffer { length, mut data } = read_buffer(rest)?;
    if length == 0 {
        return Err(bad());
    }
    if length > LARGEST {
        let most = "a client has at most 16 MiB in one piece";
        return Err(TextError::malformed(text, "is too much memory", most));
    }
    data.resize(length as usize, 0);
    Ok((address, data))
}

/// Returns memory of a client: its address, its size and what it holds, without the zeroes at the end.
pub(crate) fn written_memory(address: u64, data: &[u8]) -> String {
    let zeroes = data.iter().rev().take_while(|byte| **byte == 0).count();
    let (used, rest) = data.split_at(data.len() - zeroes);
    let size = if rest.is_empty() { String::new() } else { data.len().to_string() };
    let colon = if used.is_empty() { "" } else { ":" };
    format!("{address:#x}/{size}{colon}{}", hexadecimal(used))
}

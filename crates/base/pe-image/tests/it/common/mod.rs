//! A small PDB with every part that the reader uses: two functions, one of which has line numbers and an inlined call
//! inside an inlined call.

/// Size of a block in bytes.
const BLOCK: usize = 512;
/// The id of the image that the PDB belongs to.
pub(crate) const ID: [u8; 16] = *b"0123456789abcdef";

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// Returns bytes that are preceded by their length and padded with zeros to a multiple of four.
fn counted(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let mut part = [kind, &words(&[u32::try_from(data.len()).unwrap()]), data].concat();
    part.resize(part.len().next_multiple_of(4), 0);
    part
}

fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 2).unwrap();
    [&halves(&[length, kind]), data].concat()
}

/// Returns the stream with the id and a hash table with one name.
fn information() -> Vec<u8> {
    let mut stream = words(&[20_000_404, 0, 1]);
    stream.extend(ID);
    stream.extend(words(&[7]));
    stream.extend(b"/names\0");
    stream.extend(words(&[1, 8, 1, 1, 0, 0, 7]));
    stream
}

/// Returns numbered records, as in the streams of types and ids.
fn numbered(list: &[(u16, &[u8])]) -> Vec<u8> {
    let data: Vec<u8> = list.iter().flat_map(|(kind, data)| record(*kind, data)).collect();
    let end = 0x1000 + u32::try_from(list.len()).unwrap();
    let mut header = words(&[20_040_203, 56, 0x1000, end, u32::try_from(data.len()).unwrap()]);
    header.resize(56, 0);
    [header, data].concat()
}

fn types() -> Vec<u8> {
    numbered(&[(0x1505, b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0driver::Ring\0\xf1")])
}

fn ids() -> Vec<u8> {
    numbered(&[
        (0x1605, b"\0\0\0\0driver::ring\0\xf3\xf2\xf1"),
        (0x1601, b"\x00\x10\0\0\0\0\0\0grow\0\xf3\xf2\xf1"),
        (0x1602, b"\x00\x10\0\0\0\0\0\0push\0\xf3\xf2\xf1"),
    ])
}

/// Returns the stream of a module with a function of 0x40 bytes at 0x20. `Ring::push` is inlined from +8 to +0x18, and
/// `ring::grow` is inlined into it from +0xc to +0x10.
fn module() -> (Vec<u8>, [u32; 3]) {
    let place = [words(&[0, 0, 0, 0x40, 0, 0, 0, 0x20]), halves(&[1]), vec![0], b"driver::load\0".to_vec()].concat();
    let inlined = |id: u32, annotations: &[u8]| record(0x114d, &[&words(&[0, 0, id]), annotations].concat());
    // Line +1 at 8; line +2 at 12; the end at 24. Line +3 at 12, 4 bytes.
    let push = inlined(0x1002, &[6, 2, 3, 8, 11, 0x24, 4, 12, 0, 0]);
    let grow = inlined(0x1001, &[6, 6, 12, 4, 12, 0]);
    let end = record(0x114e, &[]);
    let records = [record(0x1110, &place), push, grow, end.clone(), end, record(6, &[])].concat();
    let symbols = [words(&[4]), records].concat();
    let files = counted(&words(&[0xf4]), &[words(&[1]), vec![0; 4], words(&[13]), vec![0; 4]].concat());
    let inlinees = counted(&words(&[0xf6]), &words(&[0, 0x1001, 8, 30, 0x1002, 8, 20]));
    let header = [words(&[0x20]), halves(&[1, 0]), words(&[0x40])].concat();
    let block = words(&[0, 3, 12 + 3 * 8, 0, 10, 8, 0x8000_000b, 0x18, 0x00fe_efee]);
    let lines = [files, inlinees, counted(&words(&[0xf2]), &[header, block].concat())].concat();
    let sizes = [u32::try_from(symbols.len()).unwrap(), 0, u32::try_from(lines.len()).unwrap()];
    ([symbols, lines].concat(), sizes)
}

/// Returns the header, one module, and the numbers of other streams. The section headers are in stream 6.
fn debug_information(sizes: [u32; 3]) -> Vec<u8> {
    let entry =
        [vec![0; 34], halves(&[5]), words(&sizes), vec![0; 16], b"load.o\0load.o\0".to_vec(), vec![0; 2]].concat();
    let mut others = [u16::MAX; 11];
    others[5] = 6;
    let others = halves(&others);
    let size = |part: &[u8]| u32::try_from(part.len()).unwrap();
    let mut header = words(&[u32::MAX, 19_990_903, 1, 0, 0]);
    header.extend(halves(&[8, 0]));
    header.extend(words(&[size(&entry), 0, 0, 0, 0, 0, size(&others), 0, 0, 0]));
    [header, entry, others].concat()
}

fn sections() -> Vec<u8> {
    [vec![0; 8], words(&[0x1000, 0x1000]), vec![0; 24]].concat()
}

fn publics() -> Vec<u8> {
    let public = |offset, name: &[u8]| record(0x110e, &[&words(&[2, offset])[..], &halves(&[1]), name].concat());
    [public(0x20, b"_ZN6driver4load17h0123456789abcdefE\0"), public(0x80, b"_ZN6driver6unload17h0123456789abcdefE\0")]
        .concat()
}

/// Returns the PDB file.
pub(crate) fn pdb() -> Vec<u8> {
    let (module, sizes) = module();
    let names = [words(&[0xeffe_effe, 1, 25]), b"\0src/load.rs\0src/ring.rs\0".to_vec()].concat();
    let streams =
        [Vec::new(), information(), types(), debug_information(sizes), ids(), module, sections(), names, publics()];
    let mut file = vec![0; BLOCK * 3];
    let mut directory = words(&[u32::try_from(streams.len()).unwrap()]);
    directory.extend(streams.iter().flat_map(|stream| u32::try_from(stream.len()).unwrap().to_le_bytes()));
    for stream in &streams {
        let first = u32::try_from(file.len() / BLOCK).unwrap();
        directory.extend(words(&(first..).take(stream.len().div_ceil(BLOCK)).collect::<Vec<_>>()));
        file.extend(stream);
        file.resize(file.len().next_multiple_of(BLOCK), 0);
    }
    let blocks = u32::try_from(file.len() / BLOCK).unwrap();
    let header = words(&[512, 1, blocks, u32::try_from(directory.len()).unwrap(), 0, 1]);
    file[..32].copy_from_slice(b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0");
    file[32..56].copy_from_slice(&header);
    file[BLOCK..BLOCK + 4].copy_from_slice(&words(&[2]));
    file[BLOCK * 2..BLOCK * 2 + directory.len()].copy_from_slice(&directory);
    file
}

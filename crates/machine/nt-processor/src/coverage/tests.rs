//! Blocks and constants of small pieces of code.

use pe_image::{Guard, Layout, Section, SectionFlags};

use super::Coverage;
use super::code::disassemble;

/// An image with code at 0x1000 and data at 0x2000.
fn layout(code: &[u8], data: &[u8]) -> Layout {
    let section =
        |rva, flags| Section { name: ".text".into(), rva, virtual_size: 0x1000, file_offset: 0, file_size: 0, flags };
    let mut bytes = vec![0; 0x3000];
    bytes[0x1000..0x1000 + code.len()].copy_from_slice(code);
    bytes[0x2000..0x2000 + data.len()].copy_from_slice(data);
    Layout {
        base: 0x1_4000_0000,
        entry: 0x1000,
        bytes,
        subsystem_version: (10, 0),
        headers: 0,
        sections: vec![section(0x1000, SectionFlags::MEM_EXECUTE), section(0x2000, SectionFlags::MEM_READ)],
        shares_pages: false,
        relocations: Vec::new(),
        imports: Vec::new(),
        exceptions: None,
        guard: Guard::default(),
        exports: Vec::new(),
    }
}

fn blocks(layout: &Layout) -> Vec<u32> {
    disassemble(layout, &[]).blocks()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn blocks_begin_at_targets_and_after_jumps_and_calls() {
    let code = [
        &[0x85, 0xC9][..],         // 1000 test ecx, ecx
        &[0x74, 0x05],             // 1002 jz 1009
        &[0xE8, 0x07, 0, 0, 0],    // 1004 call 1010
        &[0xC3],                   // 1009 ret
        &[1, 2, 3, 4, 5, 6],       // 100A data
        &[0x90, 0x90, 0xEB, 0xFD], // 1010 nop; nop; jmp 1011
    ];
    assert_eq!(blocks(&layout(&code.concat(), &[])), [0x1000, 0x1004, 0x1009, 0x1010, 0x1011]);
}

#[test]
fn a_breakpoint_of_the_driver_begins_no_block() {
    // test ecx, ecx; jz 1005; int3; ret: nothing follows a breakpoint by itself.
    assert_eq!(blocks(&layout(&[0x85, 0xC9, 0x74, 1, 0xCC, 0xC3], &[])), [0x1000, 0x1005]);
    // jmp 1002; int3
    assert_eq!(blocks(&layout(&[0xEB, 0, 0xCC], &[])), [0x1000]);
}

#[test]
fn lines_begin_blocks_except_inside_of_an_instruction() {
    // nop; mov eax, 0x90909090; nop; ret
    let layout = layout(&[0x90, 0xB8, 0x90, 0x90, 0x90, 0x90, 0x90, 0xC3], &[]);
    assert_eq!(disassemble(&layout, &[0x1001, 0x1003, 0x1006, 0x2000]).blocks(), [0x1000, 0x1001, 0x1006]);
}

#[test]
fn the_cases_of_a_switch_are_found_and_no_more() {
    let code = [
        &[0x83, 0xF9, 2][..],                  // 1000 cmp ecx, 2
        &[0x77, 0x15],                         // 1003 ja 101A
        &[0x48, 0x8D, 0x05, 0xF4, 0x0F, 0, 0], // 1005 lea rax, [2000]
        &[0x48, 0x63, 0x0C, 0x88],             // 100C movsxd rcx, dword ptr [rax + rcx * 4]
        &[0x48, 0x01, 0xC1],                   // 1010 add rcx, rax
        &[0xFF, 0xE1],                         // 1013 jmp rcx
        &[0xC3, 0x90, 0xC3, 0x90, 0xC3, 0xC3], // 1015, 1016, 1018; 101A
    ];
    // The table of another switch follows.
    let table = [0x1015, 0x1018, 0x1016, 0x1007].map(|target: u32| target.wrapping_sub(0x2000));
    let expected = [0x1000, 0x1005, 0x1015, 0x1016, 0x1018, 0x101A];
    assert_eq!(blocks(&layout(&code.concat(), &words(&table))), expected);
}

#[test]
fn the_cases_of_a_switch_with_two_tables_are_found() {
    let code = [
        &[0x83, 0xF9, 3][..],                        // 1000 cmp ecx, 3
        &[0x77, 0x1D],                               // 1003 ja 1022
        &[0x48, 0x8D, 0x15, 0xF4, 0xEF, 0xFF, 0xFF], // 1005 lea rdx, [the image]
        &[0x0F, 0xB6, 0x84, 0x0A, 0x10, 0x20, 0, 0], // 100C movzx eax, byte ptr [rdx + rcx + 2010]
        &[0x8B, 0x8C, 0x82, 0, 0x20, 0, 0],          // 1014 mov ecx, dword ptr [rdx + rax * 4 + 2000]
        &[0x48, 0x03, 0xCA],                         // 101B add rcx, rdx
        &[0xFF, 0xE1],                               // 101E jmp rcx
        &[0xC3, 0xC3, 0xC3],                         // 1020, 1021; 1022
    ];
    let table = [words(&[0x1020, 0x1021, 0x1006, 0x1006]), vec![0, 1, 1, 0, 9]].concat();
    assert_eq!(blocks(&layout(&code.concat(), &table)), [0x1000, 0x1005, 0x1020, 0x1021, 0x1022]);
}

/// Code without optimisation subtracts the last case from a copy of the index, and loads the index again. The comparison before
/// that is another one, of a larger number: more words than the table has would lead into the table.
#[test]
fn a_copy_of_the_index_is_checked_by_subtraction() {
    let code = [
        &[0x81, 0xFA, 0xE8, 3, 0, 0][..],    // 1000 cmp edx, 1000
        &[0x77, 0x25],                       // 1006 ja 102D
        &[0x89, 0xC8],                       // 1008 mov eax, ecx
        &[0x89, 0xC1],                       // 100A mov ecx, eax
        &[0x48, 0x89, 0x4C, 0x24, 0x30],     // 100C mov [rsp + 30], rcx
        &[0x83, 0xE8, 1],                    // 1011 sub eax, 1
        &[0x77, 0x17],                       // 1014 ja 102D
        &[0x48, 0x8B, 0x44, 0x24, 0x30],     // 1016 mov rax, [rsp + 30]
        &[0x48, 0x8D, 0x0D, 0x0E, 0, 0, 0],  // 101B lea rcx, [1030]
        &[0x48, 0x63, 0x04, 0x81],           // 1022 movsxd rax, dword ptr [rcx + rax * 4]
        &[0x48, 0x01, 0xC8],                 // 1026 add rax, rcx
        &[0xFF, 0xE0],                       // 1029 jmp rax
        &[0xC3, 0xC3, 0xC3, 0xCC, 0xCC],     // 102B, 102C; 102D
        &words(&[0xFFFF_FFFB, 0xFFFF_FFFC]), // 1030
        &words(&[0, 1, 2, 3, 4, 5, 6, 7]),
    ];
    let expected = [0x1000, 0x1008, 0x1016, 0x102B, 0x102C, 0x102D];
    assert_eq!(blocks(&layout(&code.concat(), &[])), expected);
}

/// Returns the blocks of code that checks the index in eax in this way, in 16 bytes, and of the cases of its table.
fn blocks_after_check(check: &[u8]) -> Vec<u32> {
    let mut code = check.to_vec();
    assert!(code.len() <= 16, "{check:x?}");
    code.resize(16, 0x90);
    code.extend(
        [
            &[0x48, 0x8D, 0x0D, 0xE9, 0x0F, 0, 0][..], // 1010 lea rcx, [2000]
            &[0x48, 0x63, 0x04, 0x81],                 // 1017 movsxd rax, dword ptr [rcx + rax * 4]
            &[0x48, 0x01, 0xC1],                       // 101B add rcx, rax
            &[0xFF, 0xE1],                             // 101E jmp rcx
            &[0xC3, 0xC3, 0xC3, 0xC3, 0xC3],           // 1020 to 1023; 1024 is the default case
        ]
        .concat(),
    );
    let table = [0x1020, 0x1021, 0x1022, 0x1023].map(|target: u32| target.wrapping_sub(0x2000));
    let blocks = blocks(&layout(&code, &words(&table)));
    blocks.into_iter().filter(|rva| *rva >= 0x1020).collect()
}

#[test]
fn each_check_of_an_index_bounds_the_table() {
    let default = 0x1024;
    // cmp eax, 2; ja
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 2, 0x77, 0x1F]), [0x1020, 0x1021, 0x1022, default]);
    // cmp eax, 2; jae
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 2, 0x73, 0x1F]), [0x1020, 0x1021, default]);
    // cmp eax, 2; jbe 100A; jmp 1024
    let both = [0x83, 0xF8, 2, 0x76, 0x05, 0xE9, 0x1A, 0, 0, 0];
    assert_eq!(blocks_after_check(&both), [0x1020, 0x1021, 0x1022, default]);
    // cmp al, 1; ja; movzx eax, al
    assert_eq!(blocks_after_check(&[0x3C, 1, 0x77, 0x20, 0x0F, 0xB6, 0xC0]), [0x1020, 0x1021, default]);
    // and eax, 3
    assert_eq!(blocks_after_check(&[0x83, 0xE0, 3]), [0x1020, 0x1021, 0x1022, 0x1023]);
    // cmp dword ptr [rsp + 8], 1; ja; mov eax, [rsp + 8]
    let stored = [0x83, 0x7C, 0x24, 8, 1, 0x77, 0x1D, 0x8B, 0x44, 0x24, 8];
    assert_eq!(blocks_after_check(&stored), [0x1020, 0x1021, default]);
}

#[test]
fn a_table_whose_index_is_not_checked_leads_nowhere() {
    // nop
    assert_eq!(blocks_after_check(&[0x90]), [0; 0]);
    // cmp eax, 2; ja; mov eax, edx: another value
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 2, 0x77, 0x1F, 0x89, 0xD0]), [0x1024]);
    // cmp eax, 2; ja; inc eax
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 2, 0x77, 0x1F, 0xFF, 0xC0]), [0x1024]);
    // cmp eax, 2; jg
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 2, 0x7F, 0x1F]), [0x1024]);
    // 1000 cmp eax, 2; ja; 1005 inc eax; jnz 1005: a loop
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 2, 0x77, 0x1F, 0xFF, 0xC0, 0x75, 0xFC]), [0x1024]);
    // cmp eax, 8; ja: more entries than lead into this function
    assert_eq!(blocks_after_check(&[0x83, 0xF8, 8, 0x77, 0x1F]), [0x1024]);
}

/// A table after a call that does not return, in the function's own section: its bytes look like code.
#[test]
fn a_table_is_not_taken_for_the_code_after_a_call() {
    let code = [
        &[0x85, 0xC9][..],                  // 1000 test ecx, ecx
        &[0x74, 0x1C],                      // 1002 jz 1020
        &[0x83, 0xE1, 1],                   // 1004 and ecx, 1
        &[0x48, 0x8D, 0x15, 0x1A, 0, 0, 0], // 1007 lea rdx, [1028]
        &[0x48, 0x63, 0x04, 0x8A],          // 100E movsxd rax, dword ptr [rdx + rcx * 4]
        &[0x48, 0x01, 0xD0],                // 1012 add rax, rdx
        &[0xFF, 0xE0],                      // 1015 jmp rax
        &[0xC3, 0xC3],                      // 1017, 1018
        &[0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90],
        &[0xE8, 0x0B, 0, 0, 0], // 1020 call 1030
        &[0x90, 0x90, 0x90],
        &words(&[0xFFFF_FFEF, 0xFFFF_FFF0]), // 1028
        &[0xEB, 0xFE],                       // 1030 jmp 1030
    ];
    let blocks = blocks(&layout(&code.concat(), &[]));
    assert_eq!(blocks, [0x1000, 0x1004, 0x1017, 0x1018, 0x1020, 0x1025, 0x1030]);
}

/// An array in the code, of which an element could be a function.
#[test]
fn bytes_that_code_reads_are_not_taken_for_code() {
    let mut code = [
        &[0x48, 0x8D, 0x0D, 0x19, 0, 0, 0][..], // 1000 lea rcx, [1020]
        &[0x0F, 0xB6, 0x04, 0x01],              // 1007 movzx eax, byte ptr [rcx + rax]
        &[0x0F, 0x28, 0x05, 0x1E, 0, 0, 0],     // 100B movaps xmm0, [1030]
        &[0x48, 0x8D, 0x0D, 0x1F, 0, 0, 0],     // 1012 lea rcx, [1038]
        &[0xC3],                                // 1019 ret
    ]
    .concat();
    code.resize(0x40, 0xC3);
    assert_eq!(blocks(&layout(&code, &[])), [0x1000]);
}

#[test]
fn a_function_that_only_a_pointer_leads_to_is_found_and_text_is_not_taken_for_one() {
    let mut code = vec![0xC3];
    code.resize(0x10, 0xCC);
    code.extend([0x31, 0xC0, 0xC3]); // 1010 xor eax, eax; ret
    code.resize(0x20, 0xCC);
    code.extend(b"Hello, driver\0"); // 1020
    code.resize(0x30, 0xCC);
    code.extend([0x48, 0x8D, 0x05, 0xE9, 0xFF, 0xFF, 0xFF, 0xC3]); // 1030 lea rax, [1020]; ret
    let mut image = layout(&code, &[]);
    for (slot, target) in [(0x2000, 0x1010), (0x2008, 0x1020), (0x2010, 0x1030), (0x2018, 0x2000)] {
        image.bytes[slot..slot + 8].copy_from_slice(&(image.base + target).to_le_bytes());
        image.relocations.push(slot as u32);
    }
    assert_eq!(blocks(&image), [0x1000, 0x1010, 0x1030]);
}

#[test]
fn control_codes_are_found_in_chains_and_ranges() {
    let code = [
        &[0x81, 0xE9, 4, 0x20, 0x22, 0][..],   // sub ecx, 0x222004
        &[0x74, 0x00],                         // jz
        &[0x83, 0xE9, 4],                      // sub ecx, 4
        &[0x74, 0x00],                         // jz
        &[0x83, 0xF9, 8],                      // cmp ecx, 8
        &[0x8D, 0x90, 0, 0x60, 0xDD, 0xFF],    // lea edx, [rax - 0x22A000]
        &[0xC1, 0xCA, 2],                      // ror edx, 2
        &[0x83, 0xFA, 2],                      // cmp edx, 2
        &[0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8], // mov rax, 0x0807060504030201
        &[0x48, 0x39, 0x01],                   // cmp qword ptr [rcx], rax
        &[0xB8, 0, 0xE0, 0xDC, 0xFF],          // mov eax, -0x232000
        &[0x03, 0x01],                         // add eax, dword ptr [rcx]
        &[0xC1, 0xC0, 30],                     // rol eax, 30
        &[0x83, 0xF8, 2],                      // cmp eax, 2
        &[0x48, 0x83, 0xEC, 0x28],             // sub rsp, 0x28
        &[0x66, 0x81, 0x39, 0x4D, 0x5A],       // cmp word ptr [rcx], 0x5A4D
        &[0xC3],
    ];
    let coverage = Coverage::new(&layout(&code.concat(), &[]), &[]).expect("memory");
    let found = coverage.constants();
    let chain = [0x22_2004, 0x22_2008, 0x22_2010];
    let ranges = [0x22_A000, 0x22_A004, 0x22_A008, 0x23_2000, 0x23_2004, 0x23_2008];
    for constant in chain.into_iter().chain(ranges).chain([0x5A4D, 0x0807_0605_0403_0201]) {
        assert!(found.contains(&constant), "{constant:#x} of {found:x?}");
    }
    assert!(!found.contains(&0x28), "the size of a frame");
}

#[test]
fn constants_of_the_same_function_are_near_and_the_next_one_is_nearest() {
    let code = [
        &[0x83, 0xF9, 0x11][..], // 1000 cmp ecx, 0x11
        &[0x74, 0x04],           // 1003 jz 1009
        &[0x83, 0xF9, 0x22],     // 1005 cmp ecx, 0x22
        &[0xC3],                 // 1008 ret
        &[0x83, 0xFA, 0x33],     // 1009 cmp edx, 0x33
        &[0xC3],                 // 100C ret
        &[0x90, 0x90, 0x90],     // 100D
        &[0x83, 0xF9, 0x44],     // 1010 cmp ecx, 0x44
        &[0xC3],                 // 1013 ret
    ];
    // Two entries of the exception directory: begin, end, unwind information.
    let table = words(&[0x1000, 0x100D, 0x2100, 0x1010, 0x1014, 0x2100]);
    let mut image = layout(&code.concat(), &table);
    image.exceptions = Some((0x2000, 24));
    image.bytes[0x2100] = 1;
    let coverage = Coverage::new(&image, &[]).expect("memory");
    assert_eq!(coverage.functions(), [0x1000, 0x1010]);
    assert_eq!(coverage.constants_near(&[0x1009], 8), [0x33, 0x22, 0x11]);
    assert_eq!(coverage.constants_near(&[0x1000, 0x1005], 2), [0x11, 0x22]);
    assert_eq!(coverage.constants_near(&[0x1010], 8), [0x44]);
}

#[test]
fn a_block_is_new_once_and_only_if_the_process_goes_on() {
    let coverage = Coverage::new(&layout(&[0x90, 0xC3], &[]), &[0x1001]).expect("memory");
    let inner = &coverage.inner;
    assert_eq!(coverage.blocks(), &[0x1000, 0x1001][..]);
    assert_eq!(coverage.hits(), 0);
    assert!(coverage.take_new().is_empty());
    for _ in 0..2 {
        inner.hits.set(1);
        inner.recent.set(1);
    }
    assert!(!inner.counted.get(1), "the process may still stop");
    assert_eq!(coverage.hits(), 1);
    assert_eq!(coverage.take_new(), vec![0x1001]);
    assert!(coverage.take_new().is_empty());
    assert!(inner.counted.get(1));
    inner.recent.set(1);
    assert_eq!(coverage.take_new(), [0; 0], "another process has counted it");
    assert_eq!([0, 1].map(|block| coverage.is_hit(block)), [false, true]);
    assert!(coverage.is_hit_at(0x1001));
    assert!(!coverage.is_hit_at(0x1000));
    assert!(!coverage.is_hit_at(0x1002));
}

/// Bytes that are not code of any compiler neither stop the search nor make it panic.
#[test]
fn hostile_code_and_tables_are_survived() {
    let mut state = 1_u64;
    for round in 0..200 {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        let code: Vec<u8> = (0..0x1000).map(|_| next()).collect();
        let data: Vec<u8> = (0..0x1000).map(|_| next()).collect();
        let mut image = layout(&code, &data);
        image.exceptions = Some((0x2000, 0x300));
        image.relocations = (0..64).map(|slot| 0x2400 + slot * 8).collect();
        let found = Coverage::new(&image, &[0, 0x1234, 0x1FFF, u32::MAX]).expect("memory");
        assert!(found.blocks().iter().all(|rva| (0x1000..0x2000).contains(rva)), "round {round}");
    }
}

//! Functions as compilers generate them, and tables that no compiler writes.

use super::{Function, Functions, Registers, UnwindError, Unwound};

/// The addresses of the image and of the stack.
const BASE: u64 = 0x1_4000_0000;
const STACK: u64 = 0x7000;
/// Addresses in the image.
const CODE: u32 = 0x100;
const INFO: u32 = 0x400;
const TABLE: u32 = 0x800;
const CALLER: u64 = 0xCA11;

const RBX: usize = 3;
const RSP: usize = 4;
const RBP: usize = 5;
const RSI: usize = 6;

/// An image with some functions, and a stack.
struct Scene {
    image: Vec<u8>,
    functions: u32,
    /// Words from [`STACK`] on.
    stack: Vec<u64>,
}

impl Scene {
    fn new(stack: &[u64]) -> Self {
        Self { image: vec![0x90; 0x1000], functions: 0, stack: stack.to_vec() }
    }

    fn put(&mut self, rva: u32, bytes: &[u8]) {
        let start = rva as usize;
        self.image[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Adds an entry to the table.
    fn function(mut self, begin: u32, end: u32, info: u32) -> Self {
        let entry: Vec<u8> = [begin, end, info].iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(TABLE + self.functions * 12, &entry);
        self.functions += 1;
        self
    }

    fn bytes(mut self, rva: u32, bytes: &[u8]) -> Self {
        self.put(rva, bytes);
        self
    }

    fn unwind(&self, registers: &mut Registers) -> Result<Unwound, UnwindError> {
        let functions = Functions::new(&self.image, TABLE, self.functions * 12)?;
        functions.unwind(BASE, registers, &mut |address| {
            let index = address.checked_sub(STACK).filter(|offset| offset % 8 == 0)? / 8;
            self.stack.get(usize::try_from(index).ok()?).copied()
        })
    }

    /// Returns the registers of the caller. `rsp` is the position in the stack, in words.
    fn caller(&self, rva: u32, rsp: u64, set: &[(usize, u64)]) -> Registers {
        let mut registers = at(rva, rsp);
        for &(number, value) in set {
            registers.general[number] = value;
        }
        self.unwind(&mut registers).expect("a caller");
        registers
    }
}

fn at(rva: u32, rsp: u64) -> Registers {
    let mut registers = Registers { rip: BASE + u64::from(rva), ..Registers::default() };
    registers.general[RSP] = STACK + rsp * 8;
    registers
}

#[test]
fn a_function_without_an_entry_is_a_leaf() {
    let scene = Scene::new(&[CALLER]).function(CODE, CODE + 0x10, INFO);
    let caller = scene.caller(CODE + 0x20, 0, &[]);
    assert_eq!(caller.rip, CALLER);
    assert_eq!(caller.rsp(), STACK + 8);
    // An address outside the image is treated as a leaf function as well.
    let mut outside = at(0, 0);
    outside.rip = 5;
    assert_eq!(scene.unwind(&mut outside).expect("a caller").function, None);
}

/// push rbx (1); push rsi (2); sub rsp, 16 (6).
fn plain() -> Scene {
    let stack = [1, 2, 0x51, 0xB0, CALLER];
    Scene::new(&stack).function(CODE, CODE + 0x20, INFO).bytes(INFO, &[1, 6, 3, 0, 6, 0x12, 2, 0x60, 1, 0x30])
}

#[test]
fn every_instruction_of_a_prolog_leads_to_the_same_caller() {
    // Position in the prolog, rsp as an index into the stack, and the values of rbx and rsi in the registers.
    for (position, rsp, rbx, rsi) in [(0, 4, 0xB0, 0x51), (1, 3, 9, 0x51), (2, 2, 9, 9), (6, 0, 9, 9), (0x18, 0, 9, 9)]
    {
        let caller = plain().caller(CODE + position, rsp, &[(RBX, rbx), (RSI, rsi)]);
        assert_eq!(caller.rip, CALLER, "at {position}");
        assert_eq!(caller.rsp(), STACK + 40, "at {position}");
        assert_eq!(caller.general[RBX], 0xB0, "at {position}");
        assert_eq!(caller.general[RSI], 0x51, "at {position}");
    }
}

#[test]
fn every_instruction_of_an_epilog_leads_to_the_same_caller() {
    // add rsp, 16; pop rsi; pop rbx; ret
    let scene = plain().bytes(CODE + 0x18, &[0x48, 0x83, 0xC4, 16, 0x5E, 0x5B, 0xC3]);
    for (position, rsp, rbx, rsi) in [(0x18, 0, 9, 9), (0x1C, 2, 9, 9), (0x1D, 3, 9, 0x51), (0x1E, 4, 0xB0, 0x51)] {
        let caller = scene.caller(CODE + position, rsp, &[(RBX, rbx), (RSI, rsi)]);
        assert_eq!(caller.rip, CALLER, "at {position:#x}");
        assert_eq!(caller.rsp(), STACK + 40, "at {position:#x}");
        assert_eq!(caller.general[RBX], 0xB0, "at {position:#x}");
        assert_eq!(caller.general[RSI], 0x51, "at {position:#x}");
    }
}

#[test]
fn a_jump_is_an_epilog_only_where_it_leaves_the_function() {
    let used_up = |code: &[u8]| {
        let scene = plain().bytes(CODE + 0x18, code);
        let caller = scene.caller(CODE + 0x18, 4, &[(RBX, 0xB0), (RSI, 0x51)]);
        caller.rsp() == STACK + 40
    };
    assert!(used_up(&[0xEB, 0x40]), "to another function");
    assert!(used_up(&[0xE9, 0xE3, 0xFF, 0xFF, 0xFF]), "to its own start");
    assert!(used_up(&[0xFF, 0x25, 0, 0, 0, 0]), "through an import");
    assert!(used_up(&[0x48, 0xFF, 0xE0]), "to a register, as a call at the end");
    let mut inside = at(CODE + 0x18, 4);
    let scene = plain().bytes(CODE + 0x18, &[0xEB, 0xF0]);
    assert_eq!(scene.unwind(&mut inside), Err(UnwindError::Stack(STACK + 48)), "no epilog: the codes are used");
    assert_eq!(inside, at(CODE + 0x18, 4), "an error changes nothing");
}

#[test]
fn a_frame_register_finds_the_frame_whatever_rsp_is() {
    // push rbp (1); sub rsp, 0x20 (5); lea rbp, [rsp + 16] (10); after that, the function can change rsp freely.
    let stack = [7, 7, 0, 0, 0, 0, 0xB9, CALLER];
    let scene = Scene::new(&stack)
        .function(CODE, CODE + 0x20, INFO)
        .bytes(INFO, &[1, 10, 3, 0x15, 10, 0x03, 5, 0x32, 1, 0x50])
        // lea rsp, [rbp + 16]; pop rbp; ret
        .bytes(CODE + 0x18, &[0x48, 0x8D, 0x65, 16, 0x5D, 0xC3]);
    let rbp = STACK + 16 + 16;
    for (position, rsp) in [(0x10, 0), (0x10, 1), (0x18, 0)] {
        let mut registers = at(CODE + position, rsp);
        registers.general[RBP] = rbp;
        let unwound = scene.unwind(&mut registers).expect("a caller");
        assert_eq!(registers.rip, CALLER);
        assert_eq!(registers.general[RBP], 0xB9);
        assert_eq!(registers.rsp(), STACK + 64);
        assert_eq!(unwound.frame, STACK + 16);
    }
    // Until it is set, the frame register belongs to the caller.
    let mut early = at(CODE + 5, 2);
    early.general[RBP] = 0xB9;
    assert_eq!(scene.unwind(&mut early).expect("a caller").frame, STACK + 16);
    assert_eq!(early.rip, CALLER);
    assert_eq!(early.rsp(), STACK + 64);
}

#[test]
fn registers_are_found_where_moves_put_them() {
    // sub rsp, 48 (4); mov [rsp + 8], rbx (9); movaps [rsp + 16], xmm6 (14); the same with wide offsets for rsi and xmm15.
    let mut info = vec![1, 20, 11, 0, 20, 0xF9, 32, 0, 0, 0, 18, 0x65, 40, 0, 0, 0, 14, 0x68, 1, 0];
    info.extend([9, 0x34, 1, 0, 4, 0x52, 0, 0]);
    let stack = [0, 0xB0, 6, 66, 15, 0x51, CALLER];
    let scene = Scene::new(&stack).function(CODE, CODE + 0x40, INFO).bytes(INFO, &info);
    let caller = scene.caller(CODE + 0x20, 0, &[]);
    assert_eq!(caller.rip, CALLER);
    assert_eq!(caller.rsp(), STACK + 56);
    assert_eq!(caller.general[RBX], 0xB0);
    assert_eq!(caller.general[RSI], 0x51);
    assert_eq!(caller.xmm[6], 6 | 66 << 64);
    assert_eq!(caller.xmm[15], 15 | 0x51 << 64);
}

#[test]
fn large_frames_have_two_forms() {
    for info in [&[1, 7, 2, 0, 7, 0x01, 17, 0][..], &[1, 7, 3, 0, 7, 0x11, 136, 0, 0, 0, 0, 0]] {
        let mut stack = vec![0; 17];
        stack.push(CALLER);
        let scene = Scene::new(&stack).function(CODE, CODE + 0x40, INFO).bytes(INFO, info);
        assert_eq!(scene.caller(CODE + 0x20, 0, &[]).rip, CALLER);
    }
}

#[test]
fn a_part_of_a_function_continues_what_it_is_chained_to() {
    // The first part pushes rbx and allocates 16 bytes, the second pushes rsi and has no handler of its own.
    let second = CODE + 0x40;
    let second_info = INFO + 0x40;
    let mut chained = vec![1 | 4 << 3, 1, 1, 0, 1, 0x60, 0, 0];
    chained.extend([CODE, CODE + 0x20, INFO].iter().flat_map(|word| word.to_le_bytes()));
    let scene = Scene::new(&[0x51, 0, 0, 0xB0, CALLER])
        .function(CODE, CODE + 0x20, INFO)
        .function(second, second + 0x20, second_info)
        .bytes(INFO, &[1 | 3 << 3, 5, 2, 0, 5, 0x12, 1, 0x30, 0x11, 0x22, 0, 0])
        .bytes(second_info, &chained);
    let mut registers = at(second + 8, 0);
    let unwound = scene.unwind(&mut registers).expect("a caller");
    assert_eq!(registers.rip, CALLER);
    assert_eq!(registers.general[RBX], 0xB0);
    assert_eq!(registers.general[RSI], 0x51);
    let handler = unwound.handler.expect("the whole function's");
    assert_eq!(handler.address, 0x2211);
    assert_eq!(handler.data, INFO + 12);
    assert!(handler.on_exception);
    assert!(handler.on_unwind);
}

#[test]
fn no_handler_is_called_in_prologs_and_epilogs() {
    let scene = Scene::new(&[0xB0, CALLER, CALLER])
        .function(CODE, CODE + 0x20, INFO)
        .bytes(INFO, &[1 | 1 << 3, 1, 1, 0, 1, 0x30, 0, 0, 9, 0, 0, 0])
        .bytes(CODE + 0x18, &[0x5B, 0xC3]);
    let handler = |position| scene.unwind(&mut at(CODE + position, 0)).expect("a caller").handler;
    assert_eq!(handler(0), None);
    assert_eq!(handler(0x18), None);
    assert!(handler(8).is_some_and(|handler| handler.on_exception && !handler.on_unwind));
}

#[test]
fn a_machine_frame_has_rip_and_rsp_in_it() {
    for (info, words) in [(0x0A, 0), (0x1A, 1)] {
        let mut stack = vec![0xE; words];
        stack.extend([CALLER, 0x10, 0x202, 0x1234, 0x18]);
        let scene = Scene::new(&stack).function(CODE, CODE + 0x20, INFO).bytes(INFO, &[1, 0, 1, 0, 0, info, 0, 0]);
        let caller = scene.caller(CODE + 8, 0, &[]);
        assert_eq!(caller.rip, CALLER);
        assert_eq!(caller.rsp(), 0x1234);
    }
}

#[test]
fn epilog_codes_of_version_2_are_passed_over() {
    let scene = Scene::new(&[0xB0, CALLER])
        .function(CODE, CODE + 0x20, INFO)
        .bytes(INFO, &[2, 1, 3, 0, 2, 0x16, 2, 0x06, 1, 0x30, 0, 0]);
    assert_eq!(scene.caller(CODE + 8, 0, &[]).rip, CALLER);
}

#[test]
fn damaged_tables_are_errors_that_name_the_damage() {
    let error = |info: &[u8]| {
        let scene = Scene::new(&[0; 8]).function(CODE, CODE + 0x20, INFO).bytes(INFO, info);
        scene.unwind(&mut at(CODE + 8, 0)).expect_err("damaged")
    };
    assert_eq!(error(&[3, 0, 0, 0]), UnwindError::Version(3));
    assert_eq!(error(&[1, 0, 1, 0, 0, 0x07]), UnwindError::Code { operation: 7, index: 0 });
    assert_eq!(error(&[1, 0, 1, 0, 0, 0x06]), UnwindError::Code { operation: 6, index: 0 });
    assert_eq!(error(&[1, 0, 2, 0, 0, 0x30, 0, 0x01]), UnwindError::Code { operation: 1, index: 1 });
    assert_eq!(error(&[1, 0, 1, 0, 0, 0x2A]), UnwindError::Code { operation: 10, index: 0 });
    let outside = |info| {
        let scene = Scene::new(&[0; 8]).function(CODE, CODE + 0x20, info).bytes(0xFFC, &[1, 0, 9, 0]);
        scene.unwind(&mut at(CODE + 8, 0)).expect_err("outside")
    };
    for rva in [0xFFC, 0xFFE, 0x1000, u32::MAX] {
        assert_eq!(outside(rva), UnwindError::Outside { field: "UNWIND_INFO", rva });
    }
    let table = Functions::new(&[0; 64], 40, 36).expect_err("outside");
    assert_eq!(table.to_string(), "exception directory at 0x28 is not completely within the image");
}

#[test]
fn a_chain_that_leads_to_itself_ends() {
    let mut info = vec![1 | 4 << 3, 0, 0, 0];
    info.extend([CODE, CODE + 0x20, INFO].iter().flat_map(|word| word.to_le_bytes()));
    let scene = Scene::new(&[0; 8]).function(CODE, CODE + 0x20, INFO).bytes(INFO, &info);
    assert_eq!(scene.unwind(&mut at(CODE + 8, 0)), Err(UnwindError::Chain));
}

#[test]
fn a_truncated_table_never_panics() {
    let whole = plain();
    for length in 0..whole.image.len() {
        let image = &whole.image[..length];
        let Ok(functions) = Functions::new(image, TABLE, 12) else { continue };
        let mut registers = at(CODE + 8, 0);
        let _ = functions.unwind(BASE, &mut registers, &mut |_| Some(0));
    }
}

/// For any bytes: no panic, the call ends, and the result is a caller or an error that changes nothing.
#[test]
fn random_tables_never_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut decoded = 0;
    for _ in 0..20_000 {
        let mut image: Vec<u8> = (0..32).flat_map(|_| random().to_le_bytes()).collect();
        // Every second image has a plausible start, so that more than the version is checked.
        if random() % 2 == 0 {
            image[0x40] = 1 | image[0x40] & 0x18;
            image[0x42] &= 7;
        }
        let entry = Function { begin: 0, end: 0xFF, info: 0x40 };
        let bytes: Vec<u8> = [entry.begin, entry.end, entry.info].iter().flat_map(|word| word.to_le_bytes()).collect();
        image[0x80..0x8C].copy_from_slice(&bytes);
        let functions = Functions::new(&image, 0x80, 12).expect("inside");
        let before = at((random() % 0x100) as u32, random() % 64);
        let mut registers = before;
        let result = functions.unwind(BASE, &mut registers, &mut |address| (address % 3 != 0).then_some(address));
        match result {
            Ok(_) => decoded += 1,
            Err(_) => assert_eq!(registers, before),
        }
    }
    assert!(decoded > 1000, "only {decoded} of the tables made any sense");
}

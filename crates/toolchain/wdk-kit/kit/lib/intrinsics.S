// Intrinsics of Microsoft's compiler that clang only declares, as functions. They are in ntoskrnl.lib, which every driver is linked
// with.

    .intel_syntax noprefix
    .text

    .globl __writemsr
__writemsr:
    mov rax, rdx
    shr rdx, 32
    wrmsr
    ret

    .globl __readpmc
__readpmc:
    rdpmc
    shl rdx, 32
    or rax, rdx
    ret

    .globl __invlpg
__invlpg:
    invlpg [rcx]
    ret

    .globl __wbinvd
__wbinvd:
    wbinvd
    ret

    .globl __sidt
__sidt:
    sidt [rcx]
    ret

    .globl __lidt
__lidt:
    lidt [rcx]
    ret

    .globl _sgdt
_sgdt:
    sgdt [rcx]
    ret

    .globl _lgdt
_lgdt:
    lgdt [rcx]
    ret

// The number of a debug register is part of the instruction, so each register has its own code: 0 to 7, except 4 and 5.
    .globl __readdr
__readdr:
    mov ecx, ecx
    cmp ecx, 7
    ja 9f
    lea rax, [rip + 1f]
    lea rax, [rax + rcx*4]
    jmp rax
    .p2align 2
1:
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    .if \number == 4 || \number == 5
    ud2
    .else
    mov rax, dr\number
    ret
    .endif
    .p2align 2
    .endr
9:
    ud2

    .globl __writedr
__writedr:
    mov ecx, ecx
    cmp ecx, 7
    ja 9f
    lea rax, [rip + 1f]
    lea rax, [rax + rcx*4]
    jmp rax
    .p2align 2
1:
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7
    .if \number == 4 || \number == 5
    ud2
    .else
    mov dr\number, rdx
    ret
    .endif
    .p2align 2
    .endr
9:
    ud2

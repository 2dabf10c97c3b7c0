// The stack probe of ARM64 code. Compilers call it before they allocate a frame, with the size of the frame in x15, in units of 16 bytes.
// It reads every page of the frame from the top down, so that guard pages are hit in order. It changes only x16 and x17.

    .text
    .globl __chkstk
    .p2align 2
__chkstk:
    mov x16, sp
    sub x17, x16, x15, lsl #4
1:
    sub x16, x16, #0x1000
    cmp x16, x17
    b.ls 2f
    ldr xzr, [x16]
    b 1b
2:
    ldr xzr, [x17]
    ret

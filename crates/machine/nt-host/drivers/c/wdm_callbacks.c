/* Functions that the kernel calls, and that begin with different kinds of instructions if they are optimised. The driver
   logs what they did, so that a function that was not entered as it should be is noticed. */

#include "plain.h"

#define NOINLINE __attribute__((noinline))
#define THREADS 4
#define CALLS 100

static volatile ULONG Count;
static volatile LONG Sum;
static KEVENT Done;
static KDPC Dpc;

/* Begins with an address that is relative to the instruction. */
static NOINLINE void Relative(PVOID Context)
{
    (void)Context;
    Count++;
}

/* Calls nothing and has no unwind information. */
static NOINLINE void Leaf(PVOID Context)
{
    *(ULONG *)Context += 2;
}

static NOINLINE void Empty(PVOID Context)
{
    (void)Context;
}

/* Is a jump to another function, which is not called from outside. */
static NOINLINE void Jump(PVOID Context)
{
    Leaf(Context);
}

static void (*volatile Own)(PVOID) = Leaf;

/* Calls a function of the driver through its address: that is no callback. */
static NOINLINE void Calls(PVOID Context)
{
    Own(Context);
    Own(Context);
    *(ULONG *)Context += 100;
}

static NOINLINE void Deferred(PKDPC Self, PVOID Context, PVOID First, PVOID Second)
{
    (void)Self, (void)First, (void)Second;
    *(ULONG *)Context += 1000;
    KeSetEvent(&Done, 0, FALSE);
}

static NOINLINE void Add(PVOID Context)
{
    (void)Context;
    __atomic_fetch_add(&Sum, 1, __ATOMIC_SEQ_CST);
}

static NOINLINE void Thread(PVOID Context)
{
    (void)Context;
    for (ULONG call = 0; call < CALLS; call++)
        KeExpandKernelStackAndCallout(Add, NULL, 0x1000);
    PsTerminateSystemThread(0);
}

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    LOG("unload\n");
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    static void (*const functions[])(PVOID) = {Relative, Leaf, Empty, Jump, Calls};
    ULONG value = 0;
    (void)Path;
    Driver->DriverUnload = Unload;
    KeInitializeEvent(&Done, SynchronizationEvent, FALSE);
    for (ULONG index = 0; index < sizeof(functions) / sizeof(*functions); index++)
        KeExpandKernelStackAndCallout(functions[index], &value, 0x1000);
    KeInitializeDpc(&Dpc, Deferred, &value);
    KeInsertQueueDpc(&Dpc, NULL, NULL);
    KeWaitForSingleObject(&Done, Executive, KernelMode, FALSE, NULL);
    LOG("count %u, value %u\n", Count, value);
#if BUG == 1
    PVOID threads[THREADS];
    for (ULONG number = 0; number < THREADS; number++) {
        HANDLE handle;
        NTSTATUS status = PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, Thread, NULL);
        if (status < 0)
            return status;
        ObReferenceObjectByHandle(handle, 0, NULL, 0, &threads[number], NULL);
        ZwClose(handle);
    }
    for (ULONG number = 0; number < THREADS; number++) {
        KeWaitForSingleObject(threads[number], 0, 0, FALSE, NULL);
        ObfDereferenceObject(threads[number]);
    }
    LOG("sum %d\n", Sum);
#elif BUG == 2
    KeExpandKernelStackAndCallout(Leaf, (PVOID)8, 0x1000); /* mark bad */
#endif
    (void)Thread;
    return 0;
}

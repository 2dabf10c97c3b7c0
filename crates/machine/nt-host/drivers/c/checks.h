/* Named steps of a driver, and the checks in them. The names are those of tests in Rust. Include the kit's headers first.

   A step returns 0, a status, or what CHECK returns. A client sends the name of a step to run only this one, "?" to get the
   names, or nothing to run all. The reply has one line for each step that failed: its name, and the check that failed. */
#pragma once

#define TEXT_OF_VALUE(value) #value
#define TEXT_OF(macro) TEXT_OF_VALUE(macro)

/* The check of a step that failed first. */
static const CHAR *FailedCheck;

#define CHECK(condition)                                                                                              \
    if (!(condition)) {                                                                                               \
        if (FailedCheck == NULL) {                                                                                    \
            FailedCheck = "line " TEXT_OF(__LINE__) ": " #condition;                                                  \
        }                                                                                                             \
        return (NTSTATUS)(0xE0000000 | __LINE__);                                                                     \
    }

typedef struct {
    const CHAR *Name;
    NTSTATUS (*Run)(void);
} STEP;

#define STEP(name, function) {#name, function}

/* Text for the client. What has no room is left out. */
typedef struct {
    CHAR *Start;
    ULONG Length, Room;
} REPORT;

static inline void Add(REPORT *Report, const CHAR *Text)
{
    for (; *Text != 0 && Report->Length < Report->Room; Text++) {
        Report->Start[Report->Length++] = *Text;
    }
}

static inline void AddStatus(REPORT *Report, NTSTATUS Status)
{
    static const CHAR digits[] = "0123456789ABCDEF";
    CHAR text[] = "status 0x........";
    ULONG index;

    for (index = 0; index < 8; index++) {
        text[9 + index] = digits[((ULONG)Status >> (28 - 4 * index)) & 15];
    }
    Add(Report, text);
}

static inline void RunStep(const STEP *Step, REPORT *Report)
{
    NTSTATUS status;

    FailedCheck = NULL;
    status = Step->Run();
    if (status != 0) {
        Add(Report, Step->Name);
        Add(Report, ": ");
        if (FailedCheck != NULL) {
            Add(Report, FailedCheck);
        } else {
            AddStatus(Report, status);
        }
        Add(Report, "\n");
    }
}

static inline BOOLEAN IsText(const CHAR *Text, const CHAR *Input, ULONG Length)
{
    ULONG index;

    for (index = 0; index < Length && Text[index] == Input[index]; index++) {
    }
    return index == Length && Text[index] == 0;
}

/* Does what the client asks for. The buffer is both the input and the output. */
static inline NTSTATUS RunSteps(const STEP *Steps, ULONG Count, CHAR *Buffer, ULONG Input, ULONG Room, ULONG_PTR *Length)
{
    REPORT report = {Buffer, 0, Room};
    BOOLEAN lists = IsText("?", Buffer, Input);
    ULONG first = 0, end = Count, index;

    *Length = 0;
    if (Input != 0 && !lists) {
        for (first = 0; first < Count && !IsText(Steps[first].Name, Buffer, Input); first++) {
        }
        if (first == Count) {
            return STATUS_OBJECT_NAME_NOT_FOUND;
        }
        end = first + 1;
    }
    for (index = first; index < end; index++) {
        if (lists) {
            Add(&report, Steps[index].Name);
            Add(&report, "\n");
        } else {
            RunStep(&Steps[index], &report);
        }
    }
    *Length = report.Length;
    return STATUS_SUCCESS;
}

/* Prints text that would change a terminal, leaves a symbolic link with such a name, and prints COUNT lines of 100 bytes. */
#include "plain.h"

#define HOSTILE "\033]0;title\a\rover\nno findings\nnt-host: WMI event\nwdm_print.sys: clean\n"

static void Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    Driver->DriverUnload = Unload;
    /* UTF-8, in the format and as an argument. */
    DbgPrint("Gr\xc3\xbc\xc3\x9f" "e %s\n", "\xe6\x97\xa5\xe6\x9c\xac");
#if LINK
    UNICODE_STRING link, target;
    DbgPrint(HOSTILE "\xe2\x80\xae");
    RtlInitUnicodeString(&link, L"\\??\\a\x1b[2J\nno findings\n\x202e");
    RtlInitUnicodeString(&target, L"\\Device\\None");
    return IoCreateSymbolicLink(&link, &target);
#else
    for (ULONG number = 0; number < COUNT; number++)
        DbgPrint("%099u\n", number);
    return 0;
#endif
}

"""Prints what the pefile package reads from an image, in the format of witnesses.rs."""

import sys

import pefile

pe = pefile.PE(sys.argv[1])
f, o, d = pe.FILE_HEADER, pe.OPTIONAL_HEADER, pe.OPTIONAL_HEADER.DATA_DIRECTORY
print("machine 0x%x" % f.Machine)
print("characteristics 0x%x" % f.Characteristics)
print("dll 0x%x" % o.DllCharacteristics)
print("subsystem %d" % o.Subsystem)
print("version %d.%d" % (o.MajorSubsystemVersion, o.MinorSubsystemVersion))
print("entry 0x%x" % o.AddressOfEntryPoint)
print("alignment 0x%x" % o.SectionAlignment)
print("image 0x%x" % o.SizeOfImage)
print("checksum 0x%x 0x%x" % (o.CheckSum, pe.generate_checksum()))
for s in pe.sections:
    print("section %s 0x%x 0x%x 0x%x" % (s.Name.rstrip(b"\0").decode(), s.VirtualAddress, s.Misc_VirtualSize, s.Characteristics))
for m in getattr(pe, "DIRECTORY_ENTRY_IMPORT", []):
    for i in m.imports:
        print("import %s %s" % (m.dll.decode(), i.name.decode() if i.name else "#%d" % i.ordinal))
for e in getattr(getattr(pe, "DIRECTORY_ENTRY_EXPORT", None), "symbols", []):
    print("export %s %d 0x%x" % (e.name.decode(), e.ordinal, e.address))
blocks = getattr(pe, "DIRECTORY_ENTRY_BASERELOC", [])
print("relocations %d" % sum(1 for b in blocks for e in b.entries if e.type))
for e in getattr(pe, "DIRECTORY_ENTRY_DEBUG", []):
    if hasattr(e.entry, "PdbFileName"):
        print("pdb %s" % e.entry.PdbFileName.rstrip(b"\0").decode())
c = getattr(getattr(pe, "DIRECTORY_ENTRY_LOAD_CONFIG", None), "struct", None)
print("cookie 0x%x guard 0x%x" % (getattr(c, "SecurityCookie", 0) or 0, getattr(c, "GuardFlags", 0) or 0))
if d[4].VirtualAddress:
    print("signature 0x%x 0x%x" % (d[4].VirtualAddress, d[4].Size))

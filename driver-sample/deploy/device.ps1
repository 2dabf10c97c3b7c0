# Makes a root-enumerated device with SetupAPI, as devcon does; neither devcon nor devgen is needed.
# Dot-sourced by install.ps1.

$source = @'
using System;
using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Text;

public static class RootDevice
{
    const uint GenerateId = 1;          // DICD_GENERATE_ID
    const uint HardwareId = 1;          // SPDRP_HARDWAREID
    const uint Register = 0x19;         // DIF_REGISTERDEVICE

    [StructLayout(LayoutKind.Sequential)]
    struct DeviceInfo
    {
        public int Size;
        public Guid Class;
        public uint Instance;
        public IntPtr Reserved;
    }

    [DllImport("setupapi.dll", SetLastError = true)]
    static extern IntPtr SetupDiCreateDeviceInfoList(ref Guid classId, IntPtr window);

    [DllImport("setupapi.dll", CharSet = CharSet.Unicode, SetLastError = true)]
    static extern bool SetupDiCreateDeviceInfoW(IntPtr list, string name, ref Guid classId, string description,
        IntPtr window, uint flags, ref DeviceInfo device);

    [DllImport("setupapi.dll", SetLastError = true)]
    static extern bool SetupDiSetDeviceRegistryPropertyW(IntPtr list, ref DeviceInfo device, uint property,
        byte[] value, uint size);

    [DllImport("setupapi.dll", SetLastError = true)]
    static extern bool SetupDiCallClassInstaller(uint function, IntPtr list, ref DeviceInfo device);

    [DllImport("setupapi.dll", CharSet = CharSet.Unicode, SetLastError = true)]
    static extern bool SetupDiGetDeviceInstanceIdW(IntPtr list, ref DeviceInfo device, StringBuilder id, uint size,
        IntPtr needed);

    [DllImport("setupapi.dll", SetLastError = true)]
    static extern bool SetupDiDestroyDeviceInfoList(IntPtr list);

    // Answers the device's instance id.
    public static string Create(string className, Guid classId, string hardwareId)
    {
        IntPtr list = SetupDiCreateDeviceInfoList(ref classId, IntPtr.Zero);
        if (list == new IntPtr(-1)) { throw new Win32Exception(); }
        try
        {
            DeviceInfo device = new DeviceInfo();
            device.Size = Marshal.SizeOf(typeof(DeviceInfo));
            Check(SetupDiCreateDeviceInfoW(list, className, ref classId, null, IntPtr.Zero, GenerateId, ref device));
            byte[] ids = Encoding.Unicode.GetBytes(hardwareId + "\0\0");
            Check(SetupDiSetDeviceRegistryPropertyW(list, ref device, HardwareId, ids, (uint)ids.Length));
            Check(SetupDiCallClassInstaller(Register, list, ref device));
            StringBuilder id = new StringBuilder(256);
            Check(SetupDiGetDeviceInstanceIdW(list, ref device, id, (uint)id.Capacity, IntPtr.Zero));
            return id.ToString();
        }
        finally
        {
            SetupDiDestroyDeviceInfoList(list);
        }
    }

    static void Check(bool succeeded)
    {
        if (!succeeded) { throw new Win32Exception(); }
    }
}
'@

function New-RootDevice {
    param([string]$ClassName, [string]$ClassGuid, [string]$HardwareId)
    if (-not ('RootDevice' -as [type])) {
        Add-Type -TypeDefinition $source
    }
    [RootDevice]::Create($ClassName, [Guid]$ClassGuid, $HardwareId)
}

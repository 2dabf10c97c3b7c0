# Creates root-enumerated devices, and removes and restarts devices. devcon and devgen are not needed.
# Dot-sourced after common.ps1.

$source = @'
using System;
using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Text;

public static class SetupDevice
{
    const uint GenerateId = 1;          // DICD_GENERATE_ID
    const uint HardwareId = 1;          // SPDRP_HARDWAREID
    const uint Register = 0x19;         // DIF_REGISTERDEVICE

    [StructLayout(LayoutKind.Sequential)]
    struct DeviceInfo                   // SP_DEVINFO_DATA
    {
        public int Size;
        public Guid Class;
        public uint Instance;
        public IntPtr Reserved;
    }

    [DllImport("setupapi.dll", SetLastError = true)]
    static extern IntPtr SetupDiCreateDeviceInfoList(ref Guid classId, IntPtr window);

    [DllImport("setupapi.dll", SetLastError = true)]
    static extern IntPtr SetupDiCreateDeviceInfoList(IntPtr anyClass, IntPtr window);

    [DllImport("setupapi.dll", CharSet = CharSet.Unicode, SetLastError = true)]
    static extern bool SetupDiCreateDeviceInfoW(IntPtr list, string name, ref Guid classId, string description,
        IntPtr window, uint flags, ref DeviceInfo device);

    [DllImport("setupapi.dll", CharSet = CharSet.Unicode, SetLastError = true)]
    static extern bool SetupDiOpenDeviceInfoW(IntPtr list, string id, IntPtr window, uint flags, ref DeviceInfo device);

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

    [DllImport("newdev.dll", SetLastError = true)]
    static extern bool DiUninstallDevice(IntPtr window, IntPtr list, ref DeviceInfo device, uint flags,
        out bool restart);

    // Returns the device's instance id.
    public static string Create(string className, Guid classId, string hardwareId)
    {
        IntPtr list = Valid(SetupDiCreateDeviceInfoList(ref classId, IntPtr.Zero));
        try
        {
            DeviceInfo device = NewInfo();
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

    // Returns whether Windows has to be restarted to finish.
    public static bool Remove(string instanceId)
    {
        IntPtr list = Valid(SetupDiCreateDeviceInfoList(IntPtr.Zero, IntPtr.Zero));
        try
        {
            DeviceInfo device = NewInfo();
            bool restart;
            Check(SetupDiOpenDeviceInfoW(list, instanceId, IntPtr.Zero, 0, ref device));
            Check(DiUninstallDevice(IntPtr.Zero, list, ref device, 0, out restart));
            return restart;
        }
        finally
        {
            SetupDiDestroyDeviceInfoList(list);
        }
    }

    static DeviceInfo NewInfo()
    {
        DeviceInfo device = new DeviceInfo();
        device.Size = Marshal.SizeOf(typeof(DeviceInfo));
        return device;
    }

    static IntPtr Valid(IntPtr list)
    {
        Check(list != new IntPtr(-1));
        return list;
    }

    static void Check(bool succeeded)
    {
        if (!succeeded) { throw new Win32Exception(); }
    }
}
'@

function Initialize-SetupDevice {
    if (-not ('SetupDevice' -as [type])) {
        Add-Type -TypeDefinition $source
    }
}

function New-RootDevice {
    param([string]$ClassName, [string]$ClassGuid, [string]$HardwareId)
    Initialize-SetupDevice
    [SetupDevice]::Create($ClassName, [Guid]$ClassGuid, $HardwareId)
}

function Remove-Device {
    param([string]$InstanceId)
    if ((Get-WindowsBuild) -ge $DeviceVerbsBuild) {
        Invoke-Program pnputil @('/remove-device', $InstanceId)
        return
    }
    Initialize-SetupDevice
    if ([SetupDevice]::Remove($InstanceId)) {
        Write-Warning "Restart Windows to finish removing $InstanceId."
    }
}

function Restart-Device {
    param([string]$InstanceId)
    if ((Get-WindowsBuild) -ge $DeviceVerbsBuild) {
        Invoke-Program pnputil @('/restart-device', $InstanceId)
        return
    }
    Disable-PnpDevice -InstanceId $InstanceId -Confirm:$false
    Enable-PnpDevice -InstanceId $InstanceId -Confirm:$false
}

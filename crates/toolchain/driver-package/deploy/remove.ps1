<#
.SYNOPSIS
Removes the devices of this package, so that Windows unloads the driver.
.DESCRIPTION
The driver package, the certificate and sessions stay: a recording then has the driver's last events. install.ps1 makes
the device again, and uninstall.ps1 removes everything. Fails if a device remains.
#>

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"

Assert-Administrator
$package = Read-Package
foreach ($device in @(Get-PackageDevice $package)) {
    Remove-Device $device.InstanceId
}
$rest = @(Get-PackageDevice $package)
if ($rest.Count -gt 0) {
    throw "The device $($rest[0].InstanceId) is still there. Close the programs that use it, and run remove.ps1 again."
}
Write-Host "No device of $($package.Name) remains."

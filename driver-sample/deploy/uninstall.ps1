<#
.SYNOPSIS
Takes back everything that install.ps1 did.
.DESCRIPTION
Ends a recording, removes the devices, the driver packages of this name, the device class if it is the package's own,
and the certificate. Can be run again: what is gone already is not missed. Test mode stays as it is.
.PARAMETER KeepCertificate
Goes on trusting the certificate, for the next package.
#>
param([switch]$KeepCertificate)

. "$PSScriptRoot\common.ps1"

function Remove-PackageDevice {
    param($Package)
    foreach ($device in @(Get-PackageDevice $Package)) {
        Invoke-Program pnputil @('/remove-device', $device.InstanceId)
    }
}

function Remove-PackageDriver {
    param($Package)
    foreach ($name in @(Get-PackageDriver $Package)) {
        Invoke-Program pnputil @('/delete-driver', $name, '/uninstall', '/force')
    }
}

# Only a class that this package brought, and only when no other device is in it.
function Remove-PackageClass {
    param($Package)
    if (-not $Package.OwnClass) {
        return
    }
    $others = Get-PnpDevice | Where-Object { $_.ClassGuid -eq $Package.ClassGuid }
    $key = "HKLM:\SYSTEM\CurrentControlSet\Control\Class\$($Package.ClassGuid)"
    if (-not $others -and (Test-Path $key)) {
        Remove-Item $key -Recurse
        Write-Host "Removed the device class $($Package.ClassName)."
    }
}

function Remove-PackageCertificate {
    param($Package)
    foreach ($store in 'Root', 'TrustedPublisher') {
        $path = "Cert:\LocalMachine\$store\$($Package.Thumbprint)"
        if (Test-Path $path) {
            Remove-Item $path
            Write-Host "Removed the certificate from $store."
        }
    }
}

Assert-Administrator
$package = Read-Package
Stop-Recording "$($package.Name)-record"
Remove-PackageDevice $package
Remove-PackageDriver $package
Remove-PackageClass $package
if (-not $KeepCertificate) {
    Remove-PackageCertificate $package
}
if (Test-TestSigning) {
    Write-Host 'Windows is still in test mode. To leave it: bcdedit /set testsigning off   and restart.'
}
Write-Host "$($package.Name) is gone."

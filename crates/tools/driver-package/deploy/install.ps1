<#
.SYNOPSIS
Installs this driver package on a test machine and starts its device.
.DESCRIPTION
Checks first, and changes nothing until everything is right: the processor, the build of Windows, the version of KMDF,
Secure Boot and test mode. It names every problem and its fix. Then it trusts the package's certificate, adds the package
to the driver store, makes a root device if the driver is for one and there is none, and starts it. Can be run again:
what is there already stays. uninstall.ps1 takes everything back. If a step fails, collect.ps1 gathers what Windows
has logged about it.

A test certificate goes to the machine's stores Root and TrustedPublisher. From then on Windows trusts all code that it
signs, programs as well as drivers, in test mode or not, until uninstall.ps1 removes it. Use a virtual machine.
.PARAMETER NoDevice
Makes no root device: for a driver whose device is there, or is to be made by something else.
#>
param([switch]$NoDevice)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"

# Everything that is in the way, at once. Changes nothing.
function Assert-Machine {
    param($Package)
    $problems = @()
    $here = Get-Architecture
    if ($here -ne $Package.Arch) {
        $problems += "The package is for $($Package.Arch), this Windows is $here. Make one with: cargo xtask package --arch $here"
    }
    $build = Get-WindowsBuild
    if ($build -lt $Package.MinimumBuild) {
        $problems += "The driver needs $($Package.MinimumWindows) (build $($Package.MinimumBuild)) or later, this is build $build."
    }
    if ($build -lt $DriverVerbsBuild) {
        $problems += "This script needs 'pnputil /add-driver', which Windows has from 10 1607 (build $DriverVerbsBuild) on; this is build $build."
    }
    if ($Package.Kmdf) {
        $framework = Get-FrameworkVersion
        if (-not $framework) {
            Write-Warning 'The version of KMDF could not be read from Wdf01000.sys; only the build of Windows was checked.'
        }
        elseif ($framework -lt [Version]$Package.Kmdf) {
            $problems += "The driver needs KMDF $($Package.Kmdf), this Windows has $framework and would refuse the driver. KMDF is part of Windows and cannot be updated apart from it."
        }
    }
    if ($Package.TestMode -and (Test-SecureBoot)) {
        $problems += 'Secure Boot is on, so test signing cannot be. Suspend BitLocker if it is used (manage-bde -protectors -disable C:), then switch Secure Boot off in the firmware or in the settings of the virtual machine.'
    }
    if ($Package.TestMode -and -not (Test-TestSigning)) {
        $problems += 'Windows is not in test mode. Run: bcdedit /set testsigning on   and restart.'
    }
    if ($problems.Count -gt 0) {
        throw ($problems -join [Environment]::NewLine)
    }
}

function Install-Certificate {
    param($Package)
    if (-not $Package.Stores) {
        Write-Host 'Windows trusts the signature as it is; no certificate is installed.'
        return
    }
    $file = Join-Path $PSScriptRoot $Package.Certificate
    foreach ($store in $Package.Stores) {
        if (Test-Path -LiteralPath "Cert:\LocalMachine\$store\$($Package.Thumbprint)") {
            Write-Host "The certificate is in $store already."
            continue
        }
        Import-Certificate -FilePath $file -CertStoreLocation "Cert:\LocalMachine\$store" | Out-Null
        Write-Host "The certificate is in $store now."
    }
    Write-Warning 'This machine now trusts all code that the certificate signs, programs too, in test mode or not. uninstall.ps1 ends that.'
}

# A root device has no bus that would find it; it is there because somebody made it.
function Install-RootDevice {
    param($Package)
    $id = $Package.HardwareIds | Where-Object { $_ -like 'Root\*' } | Select-Object -First 1
    if (-not $id) {
        Write-Host 'The driver is for devices that Windows finds itself.'
        return
    }
    if (Get-PackageDevice $Package) {
        Write-Host 'The device is there already.'
        return
    }
    $instance = New-RootDevice $Package.ClassName $Package.ClassGuid $id
    Write-Host "Made the device $instance."
}

function Assert-Started {
    param($Package)
    $devices = @(Get-PackageDevice $Package)
    foreach ($device in $devices) {
        Write-Host "$($device.InstanceId): $($device.Status)"
        if ($device.Status -ne 'OK') {
            throw "The device $($device.InstanceId) did not start: problem $($device.Problem)."
        }
    }
    if ($devices.Count -eq 0) {
        Write-Warning 'The driver is installed, but there is no device for it.'
    }
}

Assert-Administrator
$package = Read-Package
Assert-Machine $package
$inf = Join-Path $PSScriptRoot $package.Inf
try {
    Install-Certificate $package
    # First without a device: a package that Windows refuses leaves none behind.
    Invoke-Program pnputil @('/add-driver', $inf)
    if (-not $NoDevice) {
        Install-RootDevice $package
    }
    Invoke-Program pnputil @('/add-driver', $inf, '/install')
    Assert-Started $package
}
catch {
    $failure = $_
    Write-Warning "Installing failed: $failure"
    try {
        & "$PSScriptRoot\collect.ps1"
    }
    catch {
        Write-Warning "Gathering the logs failed too: $_"
    }
    Write-Warning 'What was done so far is still there, and the certificate may be trusted. Run uninstall.ps1 to take it back.'
    throw $failure
}
Write-Host "$($package.Name) $($package.DriverVer) is installed."

<#
.SYNOPSIS
Installs this driver package on a test machine and starts its device.
.DESCRIPTION
Checks that the machine can load test-signed drivers and says what to do where it cannot. Trusts the package's
certificate, adds the package to the driver store, makes a root device where the driver is for one and there is none,
and starts it. Can be run again: what is there already stays. uninstall.ps1 takes everything back.
When something fails, collect.ps1 gathers what Windows has logged about it.
.PARAMETER NoDevice
Makes no root device: for a driver whose device is there, or is to be made by something else.
#>
param([switch]$NoDevice)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"

# Everything that is in the way, at once.
function Assert-Machine {
    param($Package)
    $problems = @()
    $here = Get-Architecture
    if ($here -ne $Package.Arch) {
        $problems += "The package is for $($Package.Arch), this Windows is $here. Make one with: cargo xtask package --arch $here"
    }
    if (Test-SecureBoot) {
        $problems += 'Secure Boot is on, so test signing cannot be. Suspend BitLocker if it is used (manage-bde -protectors -disable C:), then switch Secure Boot off in the firmware or in the settings of the virtual machine.'
    }
    if (-not (Test-TestSigning)) {
        $problems += 'Windows is not in test mode. Run: bcdedit /set testsigning on   and restart.'
    }
    if ($problems.Count -gt 0) {
        throw ($problems -join [Environment]::NewLine)
    }
}

function Install-Certificate {
    param($Package)
    $file = Join-Path $PSScriptRoot $Package.Certificate
    foreach ($store in 'Root', 'TrustedPublisher') {
        if (Test-Path "Cert:\LocalMachine\$store\$($Package.Thumbprint)") {
            Write-Host "The certificate is in $store already."
            continue
        }
        Import-Certificate -FilePath $file -CertStoreLocation "Cert:\LocalMachine\$store" | Out-Null
        Write-Host "The certificate is in $store now."
    }
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
    throw $failure
}
Write-Host "$($package.Name) $($package.DriverVer) is installed."

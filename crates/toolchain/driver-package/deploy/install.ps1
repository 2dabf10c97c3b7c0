<#
.SYNOPSIS
Installs this driver package on a test machine and starts its device.
.DESCRIPTION
Checks the machine first: the processor, the build of Windows, the version of KMDF, Secure Boot and test mode. If there
are problems, it reports all of them with their fixes and changes nothing. Then it trusts the package's certificate, adds
the package to the driver store, creates a root device if the driver needs one and there is none, and starts it. The
script can be run again: it keeps what exists. uninstall.ps1 removes everything. If a step fails, collect.ps1 collects
the logs of Windows about it.

A test certificate goes to the machine's stores Root and TrustedPublisher. From then on Windows trusts all code that it
signs, programs as well as drivers, in test mode or not, until uninstall.ps1 removes it. Use a virtual machine.
.PARAMETER NoDevice
Creates no root device, for a driver whose device exists or is created by something else.
.PARAMETER Check
Checks the machine, and changes nothing.
.PARAMETER Restart
Accepts a device that has not started, because Windows is restarted next; restart.ps1 -Check looks at it then.
#>
param([switch]$NoDevice, [switch]$Check, [switch]$Restart)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"

# Reports all problems of the machine at once. Changes nothing.
function Assert-Machine {
    param($Package)
    $problems = @()
    $here = Get-Architecture
    if ($here -ne $Package.Arch) {
        $problems += "The package is for $($Package.Arch), but this Windows is $here. Make a package with: cargo driver package --arch $here"
    }
    $build = Get-WindowsBuild
    if ($build -lt $Package.MinimumBuild) {
        $problems += "The driver needs $($Package.MinimumWindows) (build $($Package.MinimumBuild)) or later, but this is build $build."
    }
    if ($build -lt $DriverVerbsBuild) {
        $problems += "This script needs 'pnputil /add-driver', which needs Windows 10 1607 (build $DriverVerbsBuild) or later, but this is build $build."
    }
    if ($Package.Kmdf) {
        $framework = Get-FrameworkVersion
        if (-not $framework) {
            Write-Warning 'The version of KMDF cannot be read from Wdf01000.sys. Only the build of Windows was checked.'
        }
        elseif ($framework -lt [Version]$Package.Kmdf) {
            $problems += "The driver needs KMDF $($Package.Kmdf), but this Windows has $framework and would refuse the driver. KMDF is part of Windows: update Windows to get a newer version."
        }
    }
    if ($Package.TestMode -and (Test-SecureBoot)) {
        $problems += 'Secure Boot is on, which does not allow test mode. Suspend BitLocker if it is used (manage-bde -protectors -disable C:), then switch Secure Boot off in the firmware or in the settings of the virtual machine.'
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
        Write-Host 'Windows already trusts the signature. No certificate is installed.'
        return
    }
    $file = Join-Path $PSScriptRoot $Package.Certificate
    foreach ($store in $Package.Stores) {
        if (Test-Path -LiteralPath "Cert:\LocalMachine\$store\$($Package.Thumbprint)") {
            Write-Host "The certificate is already in $store."
            continue
        }
        Import-Certificate -FilePath $file -CertStoreLocation "Cert:\LocalMachine\$store" | Out-Null
        Write-Host "Added the certificate to $store."
    }
    Write-Warning 'This machine now trusts all code that the certificate signs, programs too, in test mode or not. uninstall.ps1 removes it.'
}

# A root device is not on a bus that could find it, so it has to be created.
function Install-RootDevice {
    param($Package)
    $id = $Package.HardwareIds | Where-Object { $_ -like 'Root\*' } | Select-Object -First 1
    if (-not $id) {
        Write-Host 'Windows finds the devices of this driver. No device is created.'
        return
    }
    if (Get-PackageDevice $Package) {
        Write-Host 'The device already exists.'
        return
    }
    $instance = New-RootDevice $Package.ClassName $Package.ClassGuid $id
    Write-Host "Created the device $instance."
}

Assert-Administrator
$package = Read-Package
Assert-Machine $package
if ($Check) {
    Write-Host "This machine can load $($package.Name) $($package.DriverVer)."
    return
}
$inf = Join-Path $PSScriptRoot $package.Inf
try {
    Install-Certificate $package
    # First without a device, so that no device remains if Windows refuses the package.
    Invoke-Program pnputil @('/add-driver', $inf)
    if (-not $NoDevice) {
        Install-RootDevice $package
    }
    Invoke-Program pnputil @('/add-driver', $inf, '/install')
    if (-not $Restart) {
        Assert-Started $package
    }
}
catch {
    $failure = $_
    Write-Warning "Installing failed: $failure"
    try {
        & "$PSScriptRoot\collect.ps1"
    }
    catch {
        Write-Warning "Collecting the logs failed, too: $_"
    }
    Write-Warning 'The completed steps were not undone, and the certificate may be trusted. Run uninstall.ps1 to remove everything.'
    throw $failure
}
Write-Host "$($package.Name) $($package.DriverVer) is installed."

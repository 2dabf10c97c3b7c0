<#
.SYNOPSIS
Removes everything that install.ps1 and boot-trace.ps1 added.
.DESCRIPTION
Removes the certificate first, because the machine trusts every program and driver that it signs. Then it removes
sessions, the devices, the driver packages of this name, their services, and the device class if the package defines it.
If a step fails, the script reports it and continues. At the end it looks for what remains and reports that. The exit
code is 1 if something remains or a step failed. The script can be run again. It does not change test mode.
.PARAMETER KeepCertificate
Keeps the certificate, for the next package.
#>
param([switch]$KeepCertificate)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"
. "$PSScriptRoot\boot.ps1"

$failures = New-Object System.Collections.ArrayList
$remains = New-Object System.Collections.ArrayList

# Runs one step. A failure is kept for the report.
function Invoke-Step {
    param([string]$What, [scriptblock]$Script)
    try {
        & $Script
    }
    catch {
        Write-Warning "$What failed: $_"
        [void]$failures.Add("${What}: $_")
    }
}

function Get-CertificatePath {
    param($Package, [string]$Store)
    "Cert:\LocalMachine\$Store\$($Package.Thumbprint)"
}

function Get-ServiceKey {
    param([string]$Service)
    "HKLM:\SYSTEM\CurrentControlSet\Services\$Service"
}

# A service belongs to the package if it runs the package's image.
function Test-PackageService {
    param($Package, [string]$Service)
    $key = Get-ItemProperty -LiteralPath (Get-ServiceKey $Service) -ErrorAction SilentlyContinue
    [bool]($key -and $key.ImagePath -and (Split-Path -Leaf $key.ImagePath) -eq $Package.Image)
}

function Get-ClassKey {
    param($Package)
    "HKLM:\SYSTEM\CurrentControlSet\Control\Class\$($Package.ClassGuid)"
}

# Returns whether the device class exists, is defined by the package, and has no device.
function Test-EmptyClass {
    param($Package)
    if (-not $Package.OwnClass -or -not (Test-Path -LiteralPath (Get-ClassKey $Package))) {
        return $false
    }
    $devices = Get-PnpDevice | Where-Object { $_.ClassGuid -eq $Package.ClassGuid }
    -not $devices
}

function Remove-Certificate {
    param($Package, [string]$Store)
    $path = Get-CertificatePath $Package $Store
    if (Test-Path -LiteralPath $path) {
        Remove-Item -LiteralPath $path
        Write-Host "Removed the certificate from $Store."
    }
}

# Returns certificates of the same name from other packages. They have other thumbprints and may be in use.
function Get-OtherCertificate {
    param($Package, [string]$Store)
    $file = Join-Path $PSScriptRoot $Package.Certificate
    $own = New-Object Security.Cryptography.X509Certificates.X509Certificate2 $file
    Get-ChildItem -LiteralPath "Cert:\LocalMachine\$Store" |
        Where-Object { $_.Subject -eq $own.Subject -and $_.Thumbprint -ne $own.Thumbprint }
}

function Remove-PackageService {
    param($Package, [string]$Service)
    if (Test-PackageService $Package $Service) {
        Invoke-Program sc.exe @('delete', $Service)
    }
}

function Remove-PackageClass {
    param($Package)
    if (Test-EmptyClass $Package) {
        Remove-Item -LiteralPath (Get-ClassKey $Package) -Recurse
        Write-Host "Removed the device class $($Package.ClassName)."
    }
}

function Add-Remainder {
    param([bool]$IsThere, [string]$What)
    if ($IsThere) {
        [void]$remains.Add($What)
    }
}

Assert-Administrator
$package = Read-Package
if (-not $KeepCertificate) {
    foreach ($store in $package.Stores) {
        Invoke-Step "Removing the certificate from $store" { Remove-Certificate $package $store }
    }
}
Invoke-Step 'Stopping the recording' { Stop-Session "$($package.Name)-record" }
Invoke-Step 'Removing the boot session' { Remove-BootSession $package }
Invoke-Step 'Saving the trace of the start' { Save-BootTrace $package (Get-BootTarget $package $PSScriptRoot) }
Invoke-Step 'Removing the devices' {
    foreach ($device in @(Get-PackageDevice $package)) {
        $id = $device.InstanceId
        Invoke-Step "Removing the device $id" { Remove-Device $id }
    }
}
Invoke-Step 'Removing the driver packages' {
    foreach ($name in @(Get-PackageDriver $package)) {
        Invoke-Step "Removing the driver package $name" {
            Invoke-Program pnputil @('/delete-driver', $name, '/uninstall', '/force')
        }
    }
}
foreach ($service in $package.Services) {
    Invoke-Step "Removing the service $service" { Remove-PackageService $package $service }
}
Invoke-Step 'Removing the device class' { Remove-PackageClass $package }

# What is still there, according to Windows. The results of the steps above are not used.
foreach ($store in $package.Stores) {
    Invoke-Step "Looking for the certificate in $store" {
        $there = Test-Path -LiteralPath (Get-CertificatePath $package $store)
        if ($KeepCertificate -and $there) {
            Write-Warning "The certificate stays in ${store}: this machine trusts all code that it signs, in test mode or not."
        }
        else {
            Add-Remainder $there "the certificate in $store; remove it: certutil -delstore $store $($package.Thumbprint)"
        }
    }
}
foreach ($store in $package.Stores) {
    Invoke-Step "Looking for other certificates in $store" {
        foreach ($other in @(Get-OtherCertificate $package $store)) {
            Write-Warning "$store trusts another certificate of the same name, from another package. If that package is not used any more: certutil -delstore $store $($other.Thumbprint)"
        }
    }
}
Invoke-Step 'Looking for sessions' {
    Add-Remainder (Test-Session "$($package.Name)-record") "the session $($package.Name)-record"
    Add-Remainder (Test-Session (Get-BootSession $package)) "the session $(Get-BootSession $package)"
    Add-Remainder (Test-Path -LiteralPath (Get-BootKey $package)) "the boot session, $(Get-BootKey $package)"
    Add-Remainder (Test-Path -LiteralPath (Get-BootFile $package)) "the trace $(Get-BootFile $package)"
}
Invoke-Step 'Looking for devices' {
    foreach ($device in @(Get-PackageDevice $package)) {
        Add-Remainder $true "the device $($device.InstanceId)"
    }
}
Invoke-Step 'Looking for driver packages' {
    foreach ($name in @(Get-PackageDriver $package)) {
        Add-Remainder $true "the driver package $name"
    }
}
Invoke-Step 'Looking for services' {
    foreach ($service in $package.Services) {
        Add-Remainder (Test-PackageService $package $service) "the service $service"
    }
}
Invoke-Step 'Looking for the device class' {
    Add-Remainder (Test-EmptyClass $package) "the device class $($package.ClassName), $(Get-ClassKey $package)"
}

Invoke-Step 'Looking at test mode' {
    if (Test-TestSigning) {
        Write-Host 'Windows is still in test mode. To leave it: bcdedit /set testsigning off   and restart.'
    }
}
if ($remains.Count -eq 0 -and $failures.Count -eq 0) {
    Write-Host "$($package.Name) was removed."
    exit 0
}
foreach ($text in $remains) {
    Write-Warning "Still there: $text"
}
foreach ($text in $failures) {
    Write-Warning "Failed: $text"
}
Write-Host 'Restart Windows if a step requires it, and run uninstall.ps1 again. collect.ps1 collects the logs.'
exit 1

<#
.SYNOPSIS
Collects the logs of Windows about this driver, to find out why it does not work.
.DESCRIPTION
Writes a folder and a .zip beside it: the sections of setupapi.dev.log that name the driver, the Code Integrity events
about it, events about devices and services, the state of the devices, of the driver store and of Driver Verifier, and
the settings of the machine. Nothing is changed.
.PARAMETER Output
The folder. Without it, a folder with the time in its name, in the current folder.
.PARAMETER Whole
Also adds the whole setupapi.dev.log and the whole logs System and Code Integrity. They name other devices and programs
of the machine.
#>
param([string]$Output, [switch]$Whole)

. "$PSScriptRoot\common.ps1"

# Sections of the log begin with a line '>>>  [' and end with a line '<<<  [Exit status'. Only the end of a long log is read.
function Get-SetupSection {
    param($Package)
    $file = Join-Path $env:windir 'INF\setupapi.dev.log'
    if (-not (Test-Path -LiteralPath $file)) {
        return 'There is no setupapi.dev.log.'
    }
    $words = @($Package.Inf) + $Package.HardwareIds
    $section = @()
    $found = @()
    foreach ($line in Get-Content -LiteralPath $file -Tail 20000) {
        if ($line.StartsWith('>>>  [')) {
            $section = @()
        }
        $section += $line
        if ($line.StartsWith('<<<  [Exit status')) {
            $text = $section -join [Environment]::NewLine
            $hits = $words | Where-Object { $text.IndexOf($_, [StringComparison]::OrdinalIgnoreCase) -ge 0 }
            if ($hits) {
                $found += $text
            }
            $section = @()
        }
    }
    $found
}

function Get-LogEvent {
    param([string]$Log, [string[]]$Words)
    Get-WinEvent -LogName $Log -MaxEvents 2000 -ErrorAction SilentlyContinue |
        Where-Object {
            $message = [string]$_.Message
            $hits = $Words | Where-Object { $message.IndexOf($_, [StringComparison]::OrdinalIgnoreCase) -ge 0 }
            [bool]$hits
        } |
        Select-Object -First 100 -Property @('TimeCreated', 'Id', 'LevelDisplayName', 'Message') |
        Format-List
}

# If a part is not available, the others are still collected.
function Save-Part {
    param([string]$Name, [scriptblock]$Script)
    $file = Join-Path $Output $Name
    try {
        & $Script | Out-File -LiteralPath $file -Encoding utf8
    }
    catch {
        "not available: $_" | Out-File -LiteralPath $file -Encoding utf8
    }
}

$package = Read-Package
if ($Output) {
    $Output = [IO.Path]::GetFullPath([IO.Path]::Combine((Get-Location).ProviderPath, $Output))
}
else {
    $Output = Join-Path (Get-Location).ProviderPath ('collect-' + (Get-Date -Format 'yyyyMMdd-HHmmss'))
}
New-Item -ItemType Directory -Force -Path $Output | Out-Null
$words = @($package.Name, $package.Inf, $package.Image) + $package.Services

Save-Part 'setupapi.txt' { Get-SetupSection $package }
Save-Part 'code-integrity.txt' { Get-LogEvent 'Microsoft-Windows-CodeIntegrity/Operational' $words }
Save-Part 'system-events.txt' { Get-LogEvent 'System' ($words + $package.HardwareIds) }
Save-Part 'devices.txt' {
    $columns = @('Status', 'Problem', 'ProblemDescription', 'Class', 'InstanceId', 'HardwareID')
    Get-PackageDevice $package | Format-List -Property $columns
}
Save-Part 'drivers.txt' { Get-PackageDriver $package }
Save-Part 'services.txt' {
    foreach ($service in $package.Services) {
        & sc.exe query $service
        & sc.exe qc $service
    }
}
Save-Part 'pnputil.txt' { & pnputil.exe /enum-drivers }
Save-Part 'verifier.txt' { & verifier.exe /query }
Save-Part 'package.txt' {
    Get-ChildItem -LiteralPath $PSScriptRoot -File | Get-FileHash | ForEach-Object { "$($_.Hash) $(Split-Path -Leaf $_.Path)" }
}
Save-Part 'signatures.txt' {
    foreach ($name in @($package.Image, $package.Catalog)) {
        Get-AuthenticodeSignature -LiteralPath (Join-Path $PSScriptRoot $name) | Format-List
    }
}
Save-Part 'machine.txt' {
    "Windows:      build $(Get-WindowsBuild), $(Get-Architecture); the driver needs $($package.MinimumBuild)"
    "KMDF:         $(Get-FrameworkVersion); the driver needs $($package.Kmdf)"
    "Test mode:    $(Test-TestSigning)"
    "Secure Boot:  $(Test-SecureBoot)"
    foreach ($store in $package.Stores) {
        $trusted = Test-Path -LiteralPath "Cert:\LocalMachine\$store\$($package.Thumbprint)"
        "Certificate:  in ${store}: $trusted"
    }
}
if ($Whole) {
    Save-Part 'whole-logs.txt' {
        Copy-Item -LiteralPath (Join-Path $env:windir 'INF\setupapi.dev.log') -Destination $Output
        & wevtutil.exe export-log System (Join-Path $Output 'System.evtx') /overwrite:true
        & wevtutil.exe export-log 'Microsoft-Windows-CodeIntegrity/Operational' (Join-Path $Output 'CodeIntegrity.evtx') /overwrite:true
    }
}

foreach ($name in 'setupapi.txt', 'code-integrity.txt') {
    Write-Host "--- $name"
    Get-Content -LiteralPath (Join-Path $Output $name) -Tail 40 | Out-Host
}
Compress-Archive -LiteralPath $Output -DestinationPath "$Output.zip" -Force
Write-Host "The results are in $Output and in $Output.zip."

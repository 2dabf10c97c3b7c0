<#
.SYNOPSIS
Prints what this machine is, as one line of JSON, for programs.
.DESCRIPTION
The build of Windows with its revision, the edition, the processor, the version of KMDF, test mode, Secure Boot and
memory integrity (HVCI). Changes nothing, and needs no administrator.
#>

. "$PSScriptRoot\common.ps1"

$windows = Get-ItemProperty -LiteralPath 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion'
$integrity = Get-ItemProperty -LiteralPath 'HKLM:\SYSTEM\CurrentControlSet\Control\DeviceGuard\Scenarios\HypervisorEnforcedCodeIntegrity' -ErrorAction SilentlyContinue
$framework = Get-FrameworkVersion
$facts = @{
    build            = Get-WindowsBuild
    revision         = [int]$windows.UBR
    edition          = [string]$windows.EditionID
    architecture     = Get-Architecture
    kmdf             = [string]$framework
    test_signing     = [bool](Test-TestSigning)
    secure_boot      = [bool](Test-SecureBoot)
    memory_integrity = [bool]($integrity -and $integrity.Enabled -eq 1)
}
ConvertTo-Json -InputObject $facts -Compress

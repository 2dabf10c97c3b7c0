<#
.SYNOPSIS
Switches Driver Verifier on or off for this package's driver, until Windows restarts.
.DESCRIPTION
Uses the volatile settings of Driver Verifier, which need no restart and do not survive one (Learn, "Using Volatile
Settings"). The driver must not be loaded when they are switched on: run this before install.ps1.
.PARAMETER Off
Switches it off again.
#>
param([switch]$Off)

. "$PSScriptRoot\common.ps1"

Assert-Administrator
$package = Read-Package
if ($Off) {
    Invoke-Program verifier @('/volatile', '/removedriver', $package.Image)
    return
}
# Which options need no restart depends on Windows: special pool and IRQL checks on Windows 10 and Server 2022, deadlock
# detection and logging of IRPs on Windows 11 and Server 2025.
$flags = '0x3'
if ((Get-WindowsBuild) -ge 22000) {
    $flags = '0x420'
}
Invoke-Program verifier @('/volatile', '/flags', $flags)
Invoke-Program verifier @('/volatile', '/adddriver', $package.Image)

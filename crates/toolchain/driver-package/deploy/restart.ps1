<#
.SYNOPSIS
Restarts Windows, and checks afterwards that it has restarted and that the devices of this package have started.
.DESCRIPTION
-Now adds a volatile registry key, which Windows forgets when it restarts (Learn, "RegistryOptions Enum"), and asks for a
restart in five seconds, so that the connection that runs this script ends first. -Check changes nothing. Its exit code
is 0 if Windows has restarted and the devices have started, and 2 if not yet: run it again.
.PARAMETER Now
Restarts Windows.
.PARAMETER Check
Checks whether the restart is complete.
#>
param([switch]$Now, [switch]$Check)

. "$PSScriptRoot\common.ps1"

Assert-Administrator
$package = Read-Package
$name = "SOFTWARE\$($package.Name)-restart"
if ($Now) {
    $volatile = [Microsoft.Win32.RegistryOptions]::Volatile
    $access = [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadWriteSubTree
    [Microsoft.Win32.Registry]::LocalMachine.CreateSubKey($name, $access, $volatile).Close()
    Invoke-Program shutdown @('/r', '/t', '5')
    return
}
if (-not $Check) {
    throw 'Choose what to do: .\restart.ps1 -Now or .\restart.ps1 -Check'
}
if (Test-Path -LiteralPath "HKLM:\$name") {
    Write-Host 'Windows has not restarted yet.'
    exit 2
}
try {
    Assert-Started $package
}
catch {
    Write-Host "$_"
    exit 2
}
Write-Host 'Windows has restarted.'

<#
.SYNOPSIS
Records the events of this package's driver into a .etl file.
.DESCRIPTION
Starts a session for the driver's ETW provider at every level and keyword, restarts the device so that its first events
are in it, waits, and ends the session. The file opens in Windows Performance Analyzer and PerfView; tracerpt makes XML
of it.
.PARAMETER Seconds
How long to record.
.PARAMETER Output
The file; without, NAME.etl in the current folder, or one with the time in its name. No file is replaced.
.PARAMETER ProviderId
The id of another provider.
.PARAMETER NoRestart
Leaves the device as it is.
#>
param(
    [int]$Seconds = 10,
    [string]$Output,
    [string]$ProviderId,
    [switch]$NoRestart
)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"

Assert-Administrator
$package = Read-Package
$provider = Get-ProviderId $package $ProviderId
if (-not $Output) {
    $Output = Get-FreePath (Join-Path (Get-Location).ProviderPath "$($package.Name).etl")
}
$session = "$($package.Name)-record"

# One that was left over from a recording that did not end.
Stop-Session $session
if (Test-Path -LiteralPath $Output) {
    throw "$Output is there already. Name another file, or delete it first."
}
Invoke-Program logman @('create', 'trace', $session, '-p', $provider, '0xffffffffffffffff', '0xff', '-o', $Output, '-ets')
try {
    if (-not $NoRestart) {
        foreach ($device in @(Get-PackageDevice $package)) {
            Restart-Device $device.InstanceId
        }
    }
    Write-Host "Recording $($package.Provider) $provider for $Seconds seconds."
    Start-Sleep -Seconds $Seconds
}
finally {
    Invoke-Program logman @('stop', $session, '-ets')
}
Write-Host "Recorded $Output. As XML: tracerpt `"$Output`" -o events.xml -of XML -y"

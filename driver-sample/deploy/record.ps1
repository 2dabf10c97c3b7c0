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
The file; without, NAME.etl in the current folder. A file that is there is replaced.
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

Assert-Administrator
$package = Read-Package
if (-not $ProviderId) {
    $ProviderId = $package.ProviderId
}
if (-not $ProviderId) {
    throw 'The package does not say which provider its driver has. Name its id: .\record.ps1 -ProviderId GUID'
}
if (-not $Output) {
    $Output = Join-Path (Get-Location) "$($package.Name).etl"
}
$provider = '{' + ([Guid]$ProviderId).ToString() + '}'
$session = "$($package.Name)-record"

# One that was left over from a recording that did not end.
Stop-Recording $session
if (Test-Path $Output) {
    Remove-Item $Output
}
Invoke-Program logman @('create', 'trace', $session, '-p', $provider, '0xffffffffffffffff', '0xff', '-o', $Output, '-ets')
try {
    if (-not $NoRestart) {
        foreach ($device in @(Get-PackageDevice $package)) {
            Invoke-Program pnputil @('/restart-device', $device.InstanceId)
        }
    }
    Write-Host "Recording $($package.Provider) $provider for $Seconds seconds."
    Start-Sleep -Seconds $Seconds
}
finally {
    Invoke-Program logman @('stop', $session, '-ets')
}
Write-Host "Recorded $Output. As XML: tracerpt `"$Output`" -o events.xml -of XML -y"

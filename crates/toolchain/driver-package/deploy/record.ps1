<#
.SYNOPSIS
Records the events of this package's driver into a .etl file.
.DESCRIPTION
Starts a session for the driver's ETW provider at every keyword, restarts the device so that its first events
are recorded, waits, and ends the session. Windows Performance Analyzer and PerfView open the file; tracerpt converts it
to XML.
.PARAMETER Seconds
How long to record.
.PARAMETER Output
The file. Without it, NAME.etl in the current folder, or NAME with the time if that exists. No file is replaced.
.PARAMETER ProviderId
The id of another provider.
.PARAMETER Level
The highest level to record: 1 critical, 2 error, 3 warning, 4 informational, 5 verbose. Without it, every level. Levels in
package.psd1 are those of the events in the driver's image.
.PARAMETER NoRestart
Does not restart the device.
.PARAMETER Start
Starts the session and ends; the recording goes on. The device is not restarted. An earlier session is stopped first.
.PARAMETER Stop
Stops the session that -Start started, and prints what it recorded and lost.
#>
param(
    [int]$Seconds = 10,
    [string]$Output,
    [string]$ProviderId,
    [ValidateRange(1, 255)]
    [int]$Level = 255,
    [switch]$NoRestart,
    [switch]$Start,
    [switch]$Stop
)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\device.ps1"

Assert-Administrator
$package = Read-Package
$session = "$($package.Name)-record"
if ($Stop) {
    if (-not (Test-Session $session)) {
        throw "There is no session $session. Start it first: .\record.ps1 -Start"
    }
    Invoke-Program logman @('query', $session, '-ets')
    Invoke-Program logman @('stop', $session, '-ets')
    return
}
$provider = Get-ProviderId $package $ProviderId
if ($Output) {
    $Output = Resolve-Output $Output
}
else {
    $Output = Get-FreePath (Join-Path (Get-Location).ProviderPath "$($package.Name).etl")
}

# A recording that was interrupted may have left its session.
Stop-Session $session
if (Test-Path -LiteralPath $Output) {
    throw "$Output already exists. Choose another file, or delete it first."
}
if ($package.Levels -and -not ($package.Levels | Where-Object { [int]$_ -le $Level })) {
    Write-Warning "The driver's image has no event up to level $Level, only at $($package.Levels -join ', ')."
}
Invoke-Program logman @('create', 'trace', $session, '-p', $provider, '0xffffffffffffffff', ('0x{0:x}' -f $Level), '-o', $Output, '-ets')
if ($Start) {
    Write-Host "Recording $($package.Provider) $provider to $Output. To end: .\record.ps1 -Stop"
    return
}
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
Write-Host "Recorded $Output. To convert it to XML: tracerpt `"$Output`" -o events.xml -of XML -y"

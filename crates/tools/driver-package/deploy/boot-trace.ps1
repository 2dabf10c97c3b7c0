<#
.SYNOPSIS
Records the events of this package's driver while Windows starts.
.DESCRIPTION
Enable adds a session that Windows starts early at every start (an AutoLogger), with the driver's ETW provider at every
level and keyword. Restart Windows, then Collect stops that session and moves its .etl to the current folder. Windows
starts the session again at every start, until Remove deletes it from the registry. uninstall.ps1 removes it, too.
.PARAMETER Action
Enable, Collect or Remove.
.PARAMETER ProviderId
The id of another provider, for Enable.
.EXAMPLE
.\boot-trace.ps1 Enable
#>
param(
    [Parameter(Mandatory = $true, Position = 0)]
    [ValidateSet('Enable', 'Collect', 'Remove')]
    [string]$Action,
    [string]$ProviderId
)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\boot.ps1"

Assert-Administrator
$package = Read-Package
$here = (Get-Location).ProviderPath
switch ($Action) {
    'Enable' {
        $provider = Get-ProviderId $package $ProviderId
        Enable-BootSession $package $provider
        Write-Host "Restart Windows: it will record $provider. Then run: .\boot-trace.ps1 Collect"
    }
    'Collect' {
        $key = Get-BootKey $package
        if (-not (Test-Path -LiteralPath $key)) {
            throw 'There is no boot session. Add it with: .\boot-trace.ps1 Enable   and restart Windows.'
        }
        $status = (Get-ItemProperty -LiteralPath $key).Status
        if ($null -eq $status) {
            throw 'Windows has not been restarted since the boot session was added.'
        }
        if ($status -ne 0) {
            throw "Windows could not start the boot session: error $status (net helpmsg $status)."
        }
        Save-BootTrace $package $here
    }
    'Remove' {
        Remove-BootSession $package
        Save-BootTrace $package $here
    }
}

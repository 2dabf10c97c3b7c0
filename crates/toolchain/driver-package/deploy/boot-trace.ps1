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
.PARAMETER Output
The file, for Collect and Remove. Without it, NAME-boot.etl in the current folder, or with the time if that exists. With
it, Remove fails if there is no trace.
.EXAMPLE
.\boot-trace.ps1 Enable
#>
param(
    [Parameter(Mandatory = $true, Position = 0)]
    [ValidateSet('Enable', 'Collect', 'Remove')]
    [string]$Action,
    [string]$ProviderId,
    [string]$Output
)

. "$PSScriptRoot\common.ps1"
. "$PSScriptRoot\boot.ps1"

Assert-Administrator
$package = Read-Package
if ($Output) {
    $target = Resolve-Output $Output
}
else {
    $target = Get-BootTarget $package (Get-Location).ProviderPath
}
switch ($Action) {
    'Enable' {
        $provider = Get-ProviderId $package $ProviderId
        Enable-BootSession $package $provider
        Write-Host "Restart Windows: it will record $provider. Then run: .\boot-trace.ps1 Collect"
    }
    'Collect' {
        Assert-BootSession $package
        Save-BootTrace $package $target
    }
    'Remove' {
        try {
            if ($Output) {
                Assert-BootSession $package
            }
        }
        finally {
            Remove-BootSession $package
            Save-BootTrace $package $target
        }
    }
}

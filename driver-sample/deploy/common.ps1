# What the scripts of a driver package share. Dot-sourced by each of them; does nothing on its own.

$ErrorActionPreference = 'Stop'

# The facts about this package, from the file that was made with it.
function Read-Package {
    $file = Join-Path $PSScriptRoot 'package.psd1'
    if (-not (Test-Path $file)) {
        throw "package.psd1 is missing. Run the scripts in a folder that 'cargo xtask package' made."
    }
    Import-PowerShellDataFile $file
}

function Assert-Administrator {
    $identity = [Security.Principal.WindowsIdentity]::GetCurrent()
    $principal = New-Object Security.Principal.WindowsPrincipal $identity
    if (-not $principal.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
        throw 'This needs an administrator. Start PowerShell with "Run as administrator" and try again.'
    }
}

# The processor of Windows, whatever this PowerShell was built for.
function Get-Architecture {
    $name = $env:PROCESSOR_ARCHITEW6432
    if (-not $name) { $name = $env:PROCESSOR_ARCHITECTURE }
    switch ($name) {
        'AMD64' { 'x64' }
        'ARM64' { 'arm64' }
        default { $name }
    }
}

# Whether Windows was started in test mode: asked of the running system, not of what the next start will be.
function Test-TestSigning {
    $options = (Get-ItemProperty 'HKLM:\SYSTEM\CurrentControlSet\Control').SystemStartOptions
    $options -match 'TESTSIGNING'
}

function Test-SecureBoot {
    $state = Get-ItemProperty 'HKLM:\SYSTEM\CurrentControlSet\Control\SecureBoot\State' -ErrorAction SilentlyContinue
    [bool]($state -and $state.UEFISecureBootEnabled -eq 1)
}

# Runs a program of Windows. 259 is "nothing to do", 3010 and 1641 are "done, restart to finish".
function Invoke-Program {
    param([string]$Program, [string[]]$Arguments)
    Write-Host "> $Program $Arguments"
    & $Program @Arguments | Out-Host
    $code = $LASTEXITCODE
    if ($code -eq 3010 -or $code -eq 1641) {
        Write-Warning 'Windows wants to be restarted to finish this.'
        return
    }
    if ($code -ne 0 -and $code -ne 259) {
        throw "$Program ended with $code"
    }
}

# The package's devices, those that are not there now included.
function Get-PackageDevice {
    param($Package)
    $ids = $Package.HardwareIds
    Get-PnpDevice | Where-Object {
        $mine = $_.HardwareID | Where-Object { $ids -contains $_ }
        [bool]$mine
    }
}

# The names (oemN.inf) under which Windows keeps this package and older ones of the same name.
function Get-PackageDriver {
    param($Package)
    Get-WindowsDriver -Online |
        Where-Object { (Split-Path -Leaf $_.OriginalFileName) -eq $Package.Inf } |
        ForEach-Object { $_.Driver }
}

# Ends a recording of record.ps1; that there is none is no error.
function Stop-Recording {
    param([string]$Session)
    & cmd.exe /c "logman stop $Session -ets >nul 2>&1"
}

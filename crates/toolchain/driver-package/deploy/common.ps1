# Functions that the scripts of a driver package share. Each script dot-sources this file, which changes nothing.

$ErrorActionPreference = 'Stop'

# The first builds with the verbs of pnputil (Learn, "PnPUtil Command Syntax"): Windows 10 1607 for driver packages,
# Windows 10 2004 for devices.
$DriverVerbsBuild = 14393
$DeviceVerbsBuild = 19041

# Returns the data of this package from package.psd1.
function Read-Package {
    $file = Join-Path $PSScriptRoot 'package.psd1'
    if (-not (Test-Path -LiteralPath $file)) {
        throw "package.psd1 is missing. Run the scripts in a folder that 'cargo driver package' made."
    }
    Import-PowerShellDataFile -LiteralPath $file
}

# Returns the processor of Windows, which may differ from that of this PowerShell.
function Get-Processor {
    $key = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
    (Get-ItemProperty -LiteralPath $key).PROCESSOR_ARCHITECTURE
}

# Requires an administrator and a PowerShell for the processor of Windows: SetupAPI does not work in a process for another
# processor. On ARM64, a 64-bit PowerShell may be one for x64.
function Assert-Administrator {
    $identity = [Security.Principal.WindowsIdentity]::GetCurrent()
    $principal = New-Object Security.Principal.WindowsPrincipal $identity
    if (-not $principal.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
        throw 'This needs an administrator. Start PowerShell with "Run as administrator" and try again.'
    }
    $native = Get-Processor
    if ($env:PROCESSOR_ARCHITECTURE -ne $native) {
        throw "This PowerShell is for $env:PROCESSOR_ARCHITECTURE, but Windows is for $native. Start the PowerShell of Windows (C:\Windows\System32\WindowsPowerShell) and try again."
    }
}

# Returns the processor of Windows by its name on command lines.
function Get-Architecture {
    $name = Get-Processor
    switch ($name) {
        'AMD64' { 'x64' }
        'ARM64' { 'arm64' }
        default { $name }
    }
}

# Returns the build of Windows. The value in the registry does not depend on this PowerShell.
function Get-WindowsBuild {
    [int](Get-ItemProperty -LiteralPath 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion').CurrentBuildNumber
}

# Returns the version of KMDF, which is the version of its library's file. The file has the same name in every 1.N
# (Learn, "Framework Library Versioning"). Returns nothing if there is no such file or its version is not 1.N.
function Get-FrameworkVersion {
    $file = Join-Path $env:windir 'System32\drivers\Wdf01000.sys'
    if (Test-Path -LiteralPath $file) {
        $version = [Diagnostics.FileVersionInfo]::GetVersionInfo($file)
        if ($version.FileMajorPart -eq 1) {
            New-Object Version @($version.FileMajorPart, $version.FileMinorPart)
        }
    }
}

# Returns whether Windows runs in test mode now. The boot configuration only says what the next start will be.
function Test-TestSigning {
    $options = (Get-ItemProperty -LiteralPath 'HKLM:\SYSTEM\CurrentControlSet\Control').SystemStartOptions
    $options -match 'TESTSIGNING'
}

function Test-SecureBoot {
    $key = 'HKLM:\SYSTEM\CurrentControlSet\Control\SecureBoot\State'
    $state = Get-ItemProperty -LiteralPath $key -ErrorAction SilentlyContinue
    [bool]($state -and $state.UEFISecureBootEnabled -eq 1)
}

# Runs a program of Windows. Exit code 259 means "nothing to do"; 3010 and 1641 mean "done, restart to finish".
function Invoke-Program {
    param([string]$Program, [string[]]$Arguments)
    Write-Host "> $Program $Arguments"
    & $Program @Arguments | Out-Host
    $code = $LASTEXITCODE
    if ($code -eq 3010 -or $code -eq 1641) {
        Write-Warning 'Restart Windows to finish this step.'
        return
    }
    if ($code -ne 0 -and $code -ne 259) {
        throw "$Program failed with exit code $code"
    }
}

# Returns the package's devices, including those that are not present now.
function Get-PackageDevice {
    param($Package)
    $ids = $Package.HardwareIds
    Get-PnpDevice | Where-Object {
        $mine = $_.HardwareID | Where-Object { $ids -contains $_ }
        [bool]$mine
    }
}

# Requires that every device of the package has started.
function Assert-Started {
    param($Package)
    $devices = @(Get-PackageDevice $Package)
    foreach ($device in $devices) {
        Write-Host "$($device.InstanceId): $($device.Status)"
        if ($device.Status -ne 'OK') {
            $advice = ''
            if ("$($device.Problem)" -eq 'CM_PROB_NEED_RESTART') {
                $advice = ' Restart Windows; with cargo driver deploy: --reboot'
            }
            throw "The device $($device.InstanceId) did not start: problem $($device.Problem).$advice"
        }
    }
    if ($devices.Count -eq 0) {
        Write-Warning 'The driver is installed, but there is no device for it.'
    }
}

# Returns the names (oemN.inf) under which Windows keeps this package and older ones of the same name.
function Get-PackageDriver {
    param($Package)
    Get-WindowsDriver -Online |
        Where-Object { (Split-Path -Leaf $_.OriginalFileName) -eq $Package.Inf } |
        ForEach-Object { $_.Driver }
}

# Returns the provider to record: the given one, or that of the package.
function Get-ProviderId {
    param($Package, [string]$Given)
    $id = $Given
    if (-not $id) {
        $id = $Package.ProviderId
    }
    if (-not $id) {
        throw 'The package does not name a provider. Pass its id: -ProviderId GUID'
    }
    '{' + ([Guid]$id).ToString() + '}'
}

# Returns the full path of a file to write. A program may resolve a relative path against another folder, and take a slash
# for the beginning of an option.
function Resolve-Output {
    param([string]$Path)
    [IO.Path]::GetFullPath([IO.Path]::Combine((Get-Location).ProviderPath, $Path))
}

# Returns a path that does not exist yet, so that nothing is overwritten.
function Get-FreePath {
    param([string]$Path)
    if (-not (Test-Path -LiteralPath $Path)) {
        return $Path
    }
    $folder = Split-Path -Parent $Path
    $name = [IO.Path]::GetFileNameWithoutExtension($Path) + (Get-Date -Format '-yyyyMMdd-HHmmss')
    Join-Path $folder ($name + [IO.Path]::GetExtension($Path))
}

# Returns whether a session exists. If it does not, logman writes to standard error, which would end the script, so
# cmd.exe discards its output.
function Test-Session {
    param([string]$Session)
    & cmd.exe /c "logman query ""$Session"" -ets >nul 2>&1"
    $LASTEXITCODE -eq 0
}

# Stops a session, if it exists.
function Stop-Session {
    param([string]$Session)
    if (Test-Session $Session) {
        Invoke-Program logman @('stop', $Session, '-ets')
    }
}

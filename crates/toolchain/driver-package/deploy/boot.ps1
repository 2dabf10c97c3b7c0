# An AutoLogger: a session that Windows starts early at every start. Dot-sourced after common.ps1.
#
# Microsoft Learn, "Configuring and Starting an AutoLogger Session", documents the keys and values. The script writes to
# the registry, because the cmdlets for AutoLoggers have different names in different releases of Windows.

$AutoLoggers = 'HKLM:\SYSTEM\CurrentControlSet\Control\WMI\Autologger'

function Get-BootSession {
    param($Package)
    "$($Package.Name)-boot"
}

function Get-BootKey {
    param($Package)
    Join-Path $AutoLoggers (Get-BootSession $Package)
}

# Returns the file of the trace. Its folder is the documented default and exists.
function Get-BootFile {
    param($Package)
    Join-Path $env:windir "System32\LogFiles\WMI\$(Get-BootSession $Package).etl"
}

function Set-BootValue {
    param([string]$Key, [string]$Name, [string]$Type, $Value)
    New-ItemProperty -LiteralPath $Key -Name $Name -PropertyType $Type -Value $Value -Force | Out-Null
}

function Enable-BootSession {
    param($Package, [string]$Provider)
    $key = Get-BootKey $Package
    # Settings of an earlier run are removed, because their providers would be recorded, too.
    if (Test-Path -LiteralPath $key) {
        Remove-Item -LiteralPath $key -Recurse
    }
    New-Item -Path $key -Force | Out-Null
    Set-BootValue $key 'Guid' 'String' ('{' + [Guid]::NewGuid().ToString() + '}')
    Set-BootValue $key 'FileName' 'String' (Get-BootFile $Package)
    # EVENT_TRACE_FILE_MODE_SEQUENTIAL: the session ends when its file has 100 MB.
    Set-BootValue $key 'LogFileMode' 'DWord' 1
    Set-BootValue $key 'MaxFileSize' 'DWord' 100
    Set-BootValue $key 'FlushTimer' 'DWord' 1
    $child = Join-Path $key $Provider
    New-Item -Path $child | Out-Null
    # Every level. A mask of 0 means every keyword.
    Set-BootValue $child 'EnableLevel' 'DWord' 255
    Set-BootValue $child 'MatchAnyKeyword' 'QWord' 0
    Set-BootValue $child 'Enabled' 'DWord' 1
    # Start is the last value, so that Windows never starts an incomplete session.
    Set-BootValue $key 'Start' 'DWord' 1
}

# Requires that Windows has started the session.
function Assert-BootSession {
    param($Package)
    $key = Get-BootKey $Package
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
}

# Returns a file for the trace in a folder. It does not exist yet.
function Get-BootTarget {
    param($Package, [string]$Folder)
    Get-FreePath (Join-Path $Folder (Split-Path -Leaf (Get-BootFile $Package)))
}

# Stops the session and moves its file. Windows starts the session again at the next start.
function Save-BootTrace {
    param($Package, [string]$Target)
    Stop-Session (Get-BootSession $Package)
    $file = Get-BootFile $Package
    if (-not (Test-Path -LiteralPath $file)) {
        return
    }
    Move-Item -LiteralPath $file -Destination $Target
    Write-Host "The trace of the start is in $Target."
}

function Remove-BootSession {
    param($Package)
    $key = Get-BootKey $Package
    if (Test-Path -LiteralPath $key) {
        Remove-Item -LiteralPath $key -Recurse
        Write-Host "Removed the boot session $(Get-BootSession $Package)."
    }
}

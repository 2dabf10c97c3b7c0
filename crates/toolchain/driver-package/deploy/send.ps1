<#
.SYNOPSIS
Sends the requests of exercise.json to the driver's device, and prints the replies as JSON, one line per request.
.DESCRIPTION
Needs driver-client.exe and exercise.json in this folder. 'cargo driver deploy' and 'driver-exercise run' put them there.
The exit code is that of driver-client.exe.
#>

. "$PSScriptRoot\common.ps1"

$client = Join-Path $PSScriptRoot 'driver-client.exe'
$requests = Join-Path $PSScriptRoot 'exercise.json'
foreach ($file in $client, $requests) {
    if (-not (Test-Path -LiteralPath $file)) {
        throw "$file is missing. 'cargo driver deploy' and 'driver-exercise run' put it there."
    }
}
& $client --file $requests
exit $LASTEXITCODE

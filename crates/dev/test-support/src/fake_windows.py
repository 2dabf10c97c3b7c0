"""Stands in for Windows PowerShell in tests: plays what the scripts of a package do to a machine.

Usage: fake_windows.py FOLDER -NoProfile ... -File SCRIPT [ARGUMENTS]

FOLDER holds the machine: state.json is what is installed, replies.jsonl and trace.etl are what the driver does (nt-host made them),
machine.json is what machine.ps1 prints. fault.json makes one call of one script fail, hang or lose the connection, after the script
has done the first half of its work. calls.txt gets a line for each call.
"""

import json
import os
import shutil
import signal
import sys
import time

folder, words = sys.argv[1], sys.argv[2:]
script, arguments = words[words.index("-File") + 1], words[words.index("-File") + 2 :]
package, name = os.path.split(script)
if "-Output" in arguments:
    given = arguments.index("-Output")
    output, arguments = os.path.abspath(arguments[given + 1]), arguments[:given] + arguments[given + 2 :]
call = " ".join([name, *(word for word in arguments if word != "-Whole")])


def at(file):
    return os.path.join(folder, file)


def load(file, default):
    try:
        with open(at(file)) as opened:
            return json.load(opened)
    except FileNotFoundError:
        return default


state = load("state.json", {})
with open(at("calls.txt"), "a+") as calls:
    calls.seek(0)
    count = calls.read().splitlines().count(call) + 1
    print(call, file=calls)
fault = load("fault.json", {})
if fault.get("call") != call or fault.get("count", 1) != count:
    fault = {}


def save():
    with open(at("state.json"), "w") as file:
        json.dump(state, file)


def parents():
    process = os.getppid()
    while process > 1:
        with open("/proc/%d/stat" % process) as file:
            about = file.read()
        yield process, about[about.index("(") + 1 : about.rindex(")")]
        process = int(about[about.rindex(")") + 2 :].split()[1])


def disconnect():
    """Ends the process of this connection. The server itself goes on."""
    ours = [process for process, command in parents() if command.startswith("sshd")]
    os.kill(ours[0], signal.SIGKILL)
    sys.exit(1)


def half():
    """The first half of the work is done. The fault happens here."""
    save()
    kind = fault.get("kind")
    if kind == "fail":
        sys.exit("%s : the machine refused it" % name)
    if kind == "hang":
        with open(at("hangs"), "w") as pipe:
            pipe.write(call + "\n")
        # Until the connection has gone. A shell may be between this process and that of the connection.
        connection = [process for process, command in parents() if command.startswith("sshd")]
        while os.path.exists("/proc/%d" % (connection or [os.getppid()])[0]):
            time.sleep(0.05)
        sys.exit(1)
    if kind == "disconnect":
        disconnect()


# A restart that was asked for: at the next call Windows still runs, at the one after it cannot be reached, then it has restarted.
phase = state.get("restart")
if phase == "asked":
    state["restart"] = "down"
elif phase == "down":
    state["restart"] = "up"
    save()
    disconnect()
elif phase == "up":
    for key in "restart", "session", "verifier":
        state.pop(key, None)
    if "boot" in state:
        state["boot"] = "recording"

if call == "machine.ps1":
    half()
    with open(at("machine.json")) as file:
        print(file.read().strip())
elif call == "install.ps1 -Check":
    half()
    if not load("machine.json", {})["test_signing"]:
        sys.exit("Windows is not in test mode. Run: bcdedit /set testsigning on   and restart.")
elif call == "install.ps1":
    state["certificate"] = True
    half()
    state.update(driver=True, device=True)
elif call == "install.ps1 -Restart":
    state["certificate"] = True
    half()
    state["driver"] = True
elif call == "boot-trace.ps1 Enable":
    half()
    state["boot"] = "enabled"
elif call == "boot-trace.ps1 Remove":
    half()
    if state.pop("boot", None) != "recording":
        save()
        sys.exit("Windows has not been restarted since the boot session was added.")
    shutil.copyfile(at("trace.etl"), output)
elif call == "restart.ps1 -Now":
    state["restart"] = "asked"
    half()
elif call == "restart.ps1 -Check":
    half()
    save()
    if "restart" in state:
        print("Windows has not restarted yet.")
        sys.exit(2)
    state["device"] = True
elif call == "uninstall.ps1":
    state.pop("certificate", None)
    state.pop("session", None)
    half()
    state = {key: value for key, value in state.items() if key == "verifier"}
elif call == "record.ps1 -Start":
    if os.path.exists(output):
        sys.exit("%s already exists." % output)
    half()
    state["session"] = output
elif call == "record.ps1 -Stop":
    if "session" not in state:
        sys.exit("There is no session.")
    half()
    shutil.copyfile(at("trace.etl"), state.pop("session"))
elif call == "send.ps1":
    for file in "driver-client.exe", "exercise.json":
        if not os.path.isfile(os.path.join(package, file)):
            sys.exit("%s is missing." % file)
    if "device" not in state:
        sys.exit("no device has an interface of the class")
    with open(at("replies.jsonl")) as file:
        replies = file.read().splitlines()
    print("\n".join(replies[:4]), flush=True)
    half()
    print("\n".join(replies[4:]))
elif call == "collect.ps1":
    os.makedirs(output, exist_ok=True)
    half()
    with open(os.path.join(output, "setupapi.txt"), "w") as file:
        file.write("a log\n")
    shutil.make_archive(output, "zip", output)
elif call == "remove.ps1":
    half()
    state.pop("device", None)
elif call == "verifier.ps1":
    half()
    state["verifier"] = True
elif call == "verifier.ps1 -Off":
    half()
    state.pop("verifier", None)
else:
    sys.exit("there is no script %s" % call)
save()

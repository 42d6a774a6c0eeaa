"""What the benchmarks share: the machine, the program, medians."""
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
ADZE = os.environ.get("ADZE_BIN", str(ROOT / "build/release/bin/adze"))
LOGITS = os.environ.get("ADZE_LOGITS", str(ROOT / "build/release/bin/adze_logits"))


def fail(message):
    print(f"{pathlib.Path(sys.argv[0]).stem}: {message}", file=sys.stderr)
    sys.exit(1)


def default_model():
    if "ADZE_MODEL" in os.environ:
        return os.environ["ADZE_MODEL"]
    return subprocess.run([ROOT / "scripts/fetch_model"], check=True, capture_output=True, text=True).stdout.strip()


def machine():
    name = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                platform.machine())
    return f"{name}, {os.cpu_count()} CPUs"


def warn_when_busy():
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"The machine is busy (load {load:.1f}): figures will be noisy", file=sys.stderr)


def run_json(command):
    """The JSON object that a command prints as its last line."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{command[0]} failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def spread(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g}–{max(values):.4g})"

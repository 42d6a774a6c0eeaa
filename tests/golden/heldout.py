"""Held-out text: stretches of Debian's jargon-text and bible-kjv-text, never used for calibration."""
import gzip
import subprocess


def jargon():
    """Ordinary prose of the Jargon File's lexicon."""
    text = gzip.open("/usr/share/doc/jargon-text/jargon.txt.gz").read().decode("utf-8")
    return text[300000:304000]


def bible():
    """The first chapters of Ruth, verse numbers dropped."""
    out = subprocess.run(["bible", "-f", "Ruth1:1-3:18"], capture_output=True, text=True, check=True).stdout
    return " ".join(line.split(" ", 1)[1] for line in out.splitlines() if " " in line)

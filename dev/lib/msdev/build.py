"""Configuring and compiling one of the presets, with its output in build/log."""

from pathlib import Path

from .console import run
from .paths import LOGS, REPO


def log_of(preset: str) -> Path:
    return LOGS / f"build-{preset}.log"


def configure(preset: str) -> None:
    argv = ["cmake", "--preset", preset, "-Wno-dev"]
    run(argv, log_of(preset), f"configuring {preset}", cwd=REPO)


def compile_target(preset: str, target: str = "all") -> None:
    argv = ["cmake", "--build", "--preset", preset, "--target", target]
    run(argv, log_of(preset), f"building {preset}", cwd=REPO)

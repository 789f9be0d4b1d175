"""An app for installations of tests: it puts other extractors in the place of the local rules, as the environment says.

``FAULTS_THINKING``: seconds that reading a message takes. ``FAULTS_POISON``: a file; while it is there, whoever reads
a message with :data:`POISON` in it is killed at once.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from django.apps import AppConfig

from ingest import extraction
from ingest.extraction import ExtractionInput, ExtractionResult, Extractor

POISON = "cyanide"


class SlowOrDeadly:
    """The local rules, after a while or never."""

    def __init__(self, rules: Extractor) -> None:
        """Wrap the rules."""
        self._rules = rules
        self.identity = rules.identity

    def extract(self, item: ExtractionInput) -> ExtractionResult:
        """Read a message, if there is somebody left to do so."""
        if POISON in item.text and Path(os.environ.get("FAULTS_POISON", "/nonexistent")).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(os.environ.get("FAULTS_THINKING", "0")))
        return self._rules.extract(item)


class FaultsConfig(AppConfig):
    """Registers the extractor."""

    name = "tests.faults.extractor"
    label = "faults"

    def ready(self) -> None:
        """Take the place of the rules."""
        rules = extraction._FACTORIES["rules"]
        extraction._FACTORIES["rules"] = lambda: SlowOrDeadly(rules())

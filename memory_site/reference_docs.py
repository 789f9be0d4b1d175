"""Reference tables of the documentation, made from the code that they describe.

`manage.py generate_docs` writes them; a test fails when what is written is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from facts import status_graph
from ingest import reasons
from memory_site import environment
from memory_site.api import reference, schema
from retrieval.models import ProfileName
from retrieval.profiles import profile_settings
from retrieval.traces import reasons as retrieval_reasons
from retrieval.traces import why_not

NOTICE = "<!-- Written by `manage.py generate_docs`; change the code it comes from instead. -->"


def settings_page() -> str:
    """Return the page about the settings an operator may change, one table a section."""
    lines = ["# Settings", "", NOTICE, ""]
    lines += ["All are environment variables, and none has to be set. Unset or empty means the default.", ""]
    for section, rows in groupby(environment.TABLE, key=lambda setting: setting.section):
        lines += [f"## {section}", "", "| Name | Type | Default | What for |", "|---|---|---|---|"]
        lines += [_settings_row(setting) for setting in rows]
        lines.append("")
    return "\n".join(lines)


def api_page() -> str:
    """Return the page about the HTTP API: its conventions, endpoints, field names and error codes."""
    return "\n".join(["# HTTP API", "", NOTICE, "", reference.api_page()])


def outcomes_page() -> str:
    """Return the page about what became of an event and of each possible fact in it, code by code."""
    lines = ["# Outcomes", "", NOTICE, ""]
    lines += ["`GET /v1/events/{id}/outcome` answers with these codes and sentences.", "", reasons.as_markdown()]
    return "\n".join(lines)


def traces_page() -> str:
    """Return the page about the decisions in a trace, reason by reason."""
    lines = ["# Traces", "", NOTICE, ""]
    lines += [
        "A trace holds one decision for every fact and passage that a read considered: what happened to it",
        "(`action`) and why (`reason_code`). `GET /v1/inspect/{trace_id}` and the trace pages of the admin show them.",
        "",
        retrieval_reasons.reference_table(),
        "`GET /v1/traces/{trace_id}/why/{fact_id}` answers for any fact that the caller may see, also one that was",
        "never considered. Beside the reasons above it knows these obstacles, in the order of the pipeline:",
        "",
        why_not.reference_table(),
        "`POST /v1/traces/{trace_id}/replay` asks the question of a trace again, of what was known then or of the",
        "store as it is, as its reader may read today, and compares the two answers. Whoever asks is shown what they",
        "may see.",
        "",
    ]
    return "\n".join(lines)


def profiles_page() -> str:
    """Return the page about retrieval profiles: what there is, what may be overridden, and which one holds."""
    lines = ["# Retrieval profiles", "", NOTICE, ""]
    lines += [
        "A profile says how much each way of finding counts and how long a read may take. `POST /v1/context` reads by",
        "`context`, `POST /v1/search` by `balanced` unless it names another, `POST /v1/ask` by `thorough`.",
        "",
        "Account administrators override settings for the account or for a scope and what is below it, on the page",
        "*Profiles* of the admin, where stored queries show beforehand what a change does. The nearest override",
        "upwards holds: of the scope of the call, of a scope above it, of the account; then what is built in. Every",
        "version is kept with its reason, and an earlier one can be brought back. Answers and traces name the",
        "profile, its version and the override, such as `balanced-1-3-1f0c9a2e`: built-in version 1, version 3 of an",
        "override, and a digest of its settings. A change holds in every process within five seconds.",
        "",
        "Only the proportions of weights count; a strategy with the weight 0 is not run. The profile `minimal` takes",
        "no override and is offered only with `MEMHOUSE_EXPERIMENTAL_MINIMAL_RECALL`. `SEARCH_STRATEGIES` switches",
        "strategies off whatever a profile says.",
        "",
    ]
    for name in ProfileName:
        if profile_settings.settings_of(name):
            lines += [f"## `{name}`", "", profile_settings.reference_table(name)]
    return "\n".join(lines)


def lifecycle_page() -> str:
    """Return the page about the statuses of a fact: who is served what, and which status may follow which."""
    lines = ["# Life of a fact", "", NOTICE, ""]
    lines += [
        "Only `facts.lifecycle` changes a status, and only along these arrows.",
        "",
        status_graph.markdown_table(),
    ]
    lines += [
        "Undoing a decision, lifting a forgetting and refusing a contest follow no arrow: they restore what the",
        "revision before recorded. Where another current fact makes the same claim by then, the fact comes back as a",
        "`candidate` in a conflict set with that one; where its time has passed, as `expired`. What is `redacted`,",
        "`retracted` or `deleted` never comes back.",
        "",
    ]
    return "\n".join(lines)


def _settings_row(setting: environment.Setting) -> str:
    """Return one row of the settings table."""
    description = setting.description + (" Keep it secret." if setting.secret else "")
    return f"| `{setting.name}` | {setting.type_name} | {_shown(setting.default)} | {description} |"


def _shown(default: Any) -> str:
    """Return a default as an operator would write it; paths as seen from the project's directory."""
    if isinstance(default, bool):
        return "no" if default is False else "yes"
    if isinstance(default, Path):
        return f"`{default.relative_to(environment.BASE_DIR)}`"
    if isinstance(default, tuple):
        return " ".join(f"`{part}`" for part in default)
    return f"`{default}`" if default != "" else ""


#: File under `docs/` → what its text is made by.
PAGES: Mapping[str, Callable[[], str]] = {
    "api.md": api_page,
    "openapi.yaml": schema.as_yaml,
    "outcomes.md": outcomes_page,
    "lifecycle.md": lifecycle_page,
    "traces.md": traces_page,
    "profiles.md": profiles_page,
    "settings.md": settings_page,
}


def write(directory: Path) -> list[Path]:
    """Write all pages into `directory` and return those whose text changed."""
    directory.mkdir(exist_ok=True)
    changed = []
    for name, make in PAGES.items():
        path, text = directory / name, make()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed


def stale(directory: Path) -> list[str]:
    """Return the names of the pages in `directory` that are missing or do not say what the code says."""
    return [
        name
        for name, make in PAGES.items()
        if not (directory / name).exists() or (directory / name).read_text() != make()
    ]

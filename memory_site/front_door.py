"""The bare address: the admin for those who work in it, the portal for everybody else."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect


def enter(request: HttpRequest) -> HttpResponseRedirect:
    """Lead on; who has not signed in yet is asked to, as those are who set a system up."""
    for_portal = request.user.is_authenticated and not request.user.is_staff
    return redirect("me:home" if for_portal else "admin:index")

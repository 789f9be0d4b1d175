"""Signing in to the portal, and choosing one of several accounts."""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from memory_site.api.authentication import ACCOUNT_IN_SESSION
from memory_site.sign_in import SignInForm


class SignIn(LoginView):
    """The way in, for members with and without a role."""

    template_name = "portal/login.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True
    extra_context = {"title": "Sign in"}

    def get_default_redirect_url(self) -> str:
        """Go to the overview where nothing else was asked for."""
        return reverse("me:home")


@require_POST
def choose_account(request: HttpRequest) -> HttpResponse:
    """Change to another account of the signed-in person; anything else is ignored."""
    wanted = request.POST.get("account", "")
    if wanted in {account.key for account in request.accounts}:
        request.session[ACCOUNT_IN_SESSION] = wanted
    return redirect("me:home")

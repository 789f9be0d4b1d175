"""Who signs in: for superusers, who see no account's content by that alone."""

from __future__ import annotations

from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from facts.models import User


class SignInAdmin(UserAdmin):
    """Names, passwords and whether somebody may sign in here. What they may do hangs on memberships and grants."""

    list_display = ["username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser"]
    list_filter = ["is_active", "is_staff", "is_superuser"]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        ("Name", {"fields": ["first_name", "last_name", "email"]}),
        ("Sign-in", {"fields": ["is_active", "is_staff", "is_superuser"]}),
    ]
    list_per_page = 50
    actions = None

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Show it to superusers."""
        return request.user.is_superuser

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Open to superusers."""
        return request.user.is_superuser

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Open to superusers."""
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Open to superusers."""
        return request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Nobody: decisions name people; somebody who leaves is made inactive."""
        return False

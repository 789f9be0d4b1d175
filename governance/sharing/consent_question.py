"""The words of a question of consent, by whatever way it is sent: that there is one, never what it is about."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from governance.sharing import consent_links


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One line and the text of a message."""

    title: str
    text: str


def worded(account: str, *, token: str, code: str) -> Question:
    """Return the message that leads to a question; ``account`` is the name of who asks."""
    link = settings.MEMORY_SITE_URL.rstrip("/") + reverse("consent", args=[token])
    return Question(
        title=f"{' '.join(account.split())} asks for your consent",
        text=(
            "Somebody would like something that is known about you to be known to more people.\n"
            "Nothing happens unless you agree. See what it is, and answer, here:\n\n"
            f"{link}\n\n"
            "The link is for you alone. It is good for one answer, for "
            f"{consent_links.GOOD_FOR.days} days; saying no, also later, always works.\n"
            f'Where the memory listens in Slack, telling its bot "no {code}" says no as well.\n'
        ),
    )

"""By e-mail, through Django's backend. A mailbox cannot be asked what it holds: a try whose outcome is unknown is not
repeated by itself."""

from __future__ import annotations

import smtplib
from contextlib import suppress

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from ingest.deliveries.senders.base import OUTCOME_UNKNOWN, NotSent, Parcel


def send(parcel: Parcel) -> str:
    """Send it; return its Message-ID, which is the same for every try. Raises ``NotSent``."""
    if parcel.uncertain:
        raise NotSent(OUTCOME_UNKNOWN, permanent=True, uncertain=True)
    if not settings.EMAIL_HOST:
        raise NotSent("no_mail_server", permanent=True)
    message_id = f"<{parcel.delivery_id}@{_domain()}>"
    connection = get_connection(fail_silently=False)
    message = EmailMessage(
        subject=" ".join(parcel.content.title.split()),
        body=parcel.content.text,
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[parcel.place.address],
        headers={"Message-ID": message_id, "Auto-Submitted": "auto-generated"},
        connection=connection,
    )
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(type(error).__name__) from None
    try:
        connection.send_messages([message])
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise NotSent("recipient_refused", permanent=all(code >= 500 for code in codes)) from None
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"smtp_{error.smtp_code}", permanent=error.smtp_code >= 500) from None
    except ValueError:
        raise NotSent("malformed", permanent=True) from None
    except (OSError, smtplib.SMTPException) as error:
        raise NotSent(type(error).__name__, uncertain=True) from None
    finally:
        # What the server took is sent, however the goodbye goes.
        with suppress(OSError, smtplib.SMTPException):
            connection.close()
    return message_id


def _domain() -> str:
    """Return what follows the @ in identifiers of messages: that of the sender, which this installation speaks for."""
    return settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip("> ") or "localhost"

"""What runs by the clock: one table, brought into the queue's own by `manage.py sync_schedules`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django_q.models import Schedule

from facts.clock import now
from memory_site.models import ScheduledRun
from memory_site.queue import SCHEDULED_RUNNER


@dataclass(frozen=True, slots=True)
class Entry:
    """One function called by the clock: either every so many minutes, or by a cron expression in UTC."""

    name: str
    function: str
    minutes: int | None = None
    cron: str | None = None

    @property
    def period(self) -> timedelta:
        """The time from one run to the next: of those by a cron expression an hour or a day, nothing else is used."""
        if self.minutes:
            return timedelta(minutes=self.minutes)
        return timedelta(hours=1) if self.cron.split()[1] == "*" else timedelta(days=1)

    @property
    def rhythm(self) -> str:
        """How often it runs, in words."""
        if self.minutes:
            return "every minute" if self.minutes == 1 else f"every {self.minutes} minutes"
        minute, hour, *_ = self.cron.split()
        return f"every hour, at :{minute:0>2}" if hour == "*" else f"every day at {hour:0>2}:{minute:0>2}"


#: What its run settled is the number of deliveries that were given up (see `/ready`).
COUNTS_DEAD_LETTERS = "count dead letters"

TABLE: tuple[Entry, ...] = (
    Entry("heartbeat", "memory_site.queue.show_life", minutes=1),
    Entry("requeue waiting jobs", "ingest.tasks.requeue_waiting", minutes=1),
    Entry("start due facts", "governance.tasks.start_due_facts", minutes=5),
    Entry("expire facts", "governance.tasks.expire_facts", cron="5 * * * *"),
    Entry("ask to revalidate", "governance.tasks.ask_to_revalidate", cron="10 * * * *"),
    Entry("age reviews", "governance.tasks.age_reviews", cron="15 * * * *"),
    Entry("remove raw text", "governance.tasks.remove_raw_text", cron="0 2 * * *"),
    Entry("make trace partitions", "retrieval.traces.partitions.ensure_trace_partitions", cron="20 2 * * *"),
    Entry("keep search indexes", "retrieval.tasks.keep_indexes", minutes=1),
    Entry("keep names", "retrieval.tasks.keep_names", minutes=1),
    Entry("keep cards", "retrieval.tasks.keep_cards", minutes=1),
    Entry("send deliveries", "ingest.deliveries.sending.send_due_everywhere", minutes=1),
    Entry(COUNTS_DEAD_LETTERS, "ingest.deliveries.sending.count_dead_everywhere", minutes=5),
    Entry("detect moods", "ingest.moods.keeping.detect_everywhere", cron="35 * * * *"),
    Entry("begin reasoning", "ingest.tasks.begin_reasoning", minutes=5),
    Entry("begin nights", "retrieval.tasks.begin_nights", minutes=5),
    Entry("keep statistics", "retrieval.tasks.keep_statistics", minutes=5),
    Entry("prune task results", "memory_site.queue.prune_results", cron="40 2 * * *"),
    Entry("prune receipts of Slack", "ingest.tasks.prune_slack", cron="45 2 * * *"),
    Entry("prune deliveries", "ingest.tasks.prune_deliveries", cron="35 2 * * *"),
    Entry("prune uploads", "ingest.tasks.prune_uploads", cron="55 2 * * *"),
    Entry("prune told changes", "facts.outbox.prune_everywhere", cron="50 2 * * *"),
    Entry("prune answers and counts", "memory_site.api.pruning.prune", cron="25 * * * *"),
)


def run_soon(name: str) -> bool:
    """Have something run with the scheduler's next look, whenever its time would be; ``False`` for what is not there.

    Everything in the table may run twice and at any time.
    """
    return bool(Schedule.objects.filter(name=name).update(next_run=now()))


def sync(table: tuple[Entry, ...] = TABLE) -> None:
    """Make the queue's schedules exactly those of `table`; those that stand unchanged keep their next run."""
    with transaction.atomic():
        names = [entry.name for entry in table]
        Schedule.objects.exclude(name__in=names).delete()
        ScheduledRun.objects.exclude(name__in=names).delete()
        runs = [ScheduledRun(name=name, scheduled_at=now()) for name in names]
        ScheduledRun.objects.bulk_create(runs, ignore_conflicts=True)
        for entry in table:
            wanted = {
                "func": SCHEDULED_RUNNER,
                "args": repr((entry.name, entry.function)),
                "schedule_type": Schedule.MINUTES if entry.minutes else Schedule.CRON,
                "minutes": entry.minutes,
                "cron": entry.cron,
            }
            known = list(Schedule.objects.select_for_update().filter(name=entry.name).order_by("id"))
            # The queue does not keep names unique.
            Schedule.objects.filter(id__in=[extra.id for extra in known[1:]]).delete()
            if known and all(getattr(known[0], field) == value for field, value in wanted.items()):
                continue
            Schedule.objects.filter(name=entry.name).delete()
            fresh = Schedule(name=entry.name, repeats=-1, next_run=now(), **wanted)
            if entry.cron:
                fresh.next_run = fresh.calculate_next_run()
            fresh.save()

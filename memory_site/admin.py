"""Which page shows what: all registrations of the admin in one place."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.models import Group

from facts.models import (
    Account,
    AuditEntry,
    ConflictSet,
    Event,
    Fact,
    Identity,
    Job,
    LongJob,
    Membership,
    Scope,
    Subject,
    Suppression,
    User,
)
from governance.models import ApiKey, Consent, ForgetReceipt, GateRule, Grant, Leaving, Review
from ingest.models import (
    Action,
    ActionRule,
    Delivery,
    DeliveryTarget,
    ImportRun,
    MoodEntry,
    OptOut,
    SlackChannel,
    SlackReceipt,
    SlackWorkspace,
)
from memory_site import queue_admin
from memory_site.admin_pages.account_pages import (
    AccountAdmin,
    GrantAdmin,
    IdentityAdmin,
    MembershipAdmin,
    ScopeAdmin,
    SubjectAdmin,
)
from memory_site.admin_pages.action_pages import ActionAdmin, MoodAdmin
from memory_site.admin_pages.action_rule_pages import ActionRuleAdmin
from memory_site.admin_pages.card_pages import CardAdmin
from memory_site.admin_pages.conflict_pages import ConflictAdmin
from memory_site.admin_pages.consent_pages import ConsentAdmin
from memory_site.admin_pages.delivery_pages import DeliveryAdmin, DeliveryTargetAdmin
from memory_site.admin_pages.evidence_pages import EventAdmin
from memory_site.admin_pages.fact_pages import FactAdmin
from memory_site.admin_pages.gate_pages import GateRuleAdmin
from memory_site.admin_pages.import_pages import ImportRunAdmin
from memory_site.admin_pages.key_pages import ApiKeyAdmin
from memory_site.admin_pages.leaving_page import LeavingAdmin
from memory_site.admin_pages.long_work_pages import LongJobAdmin
from memory_site.admin_pages.profile_pages import ProfileAdmin
from memory_site.admin_pages.record_pages import AuditAdmin, ForgetReceiptAdmin, JobAdmin, SuppressionAdmin
from memory_site.admin_pages.review_pages import ReviewAdmin
from memory_site.admin_pages.slack_pages import (
    OptOutAdmin,
    SlackChannelAdmin,
    SlackReceiptAdmin,
    SlackWorkspaceAdmin,
)
from memory_site.admin_pages.trace_pages import TraceAdmin
from memory_site.admin_pages.user_pages import SignInAdmin
from retrieval.models import Card, RetrievalProfile, Trace

PAGES = {
    ConflictSet: ConflictAdmin,
    Review: ReviewAdmin,
    Consent: ConsentAdmin,
    Fact: FactAdmin,
    Event: EventAdmin,
    Trace: TraceAdmin,
    Card: CardAdmin,
    RetrievalProfile: ProfileAdmin,
    GateRule: GateRuleAdmin,
    Subject: SubjectAdmin,
    Scope: ScopeAdmin,
    Suppression: SuppressionAdmin,
    ApiKey: ApiKeyAdmin,
    Membership: MembershipAdmin,
    Grant: GrantAdmin,
    Identity: IdentityAdmin,
    Account: AccountAdmin,
    LongJob: LongJobAdmin,
    Job: JobAdmin,
    AuditEntry: AuditAdmin,
    ForgetReceipt: ForgetReceiptAdmin,
    Leaving: LeavingAdmin,
    ImportRun: ImportRunAdmin,
    SlackWorkspace: SlackWorkspaceAdmin,
    SlackChannel: SlackChannelAdmin,
    SlackReceipt: SlackReceiptAdmin,
    OptOut: OptOutAdmin,
    Action: ActionAdmin,
    MoodEntry: MoodAdmin,
    ActionRule: ActionRuleAdmin,
    DeliveryTarget: DeliveryTargetAdmin,
    Delivery: DeliveryAdmin,
    User: SignInAdmin,
}

for model, page in PAGES.items():
    admin.site.register(model, page)
admin.site.unregister(Group)  # rights hang on grants, not on groups
queue_admin.register(admin.site)

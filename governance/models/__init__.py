"""The records of governance, one module per concept: who may do what, how it was placed, what people decided."""

from governance.models.access import ApiKey, Effect, Grant, Role
from governance.models.consents import Consent, ConsentChannel, ConsentLink, ConsentStatus
from governance.models.devices import DeviceLogin, DeviceLoginStatus
from governance.models.feedback import Feedback, Rating
from governance.models.forgetting import ForgetMode, ForgetReceipt
from governance.models.gates import Gate, GateAMode, GateBMode, GateDecision, GateRule
from governance.models.idempotency import IdempotencyRecord
from governance.models.leavings import LeaversFacts, Leaving
from governance.models.promotions import Promotion, PromotionStatus
from governance.models.retention import RetentionRule
from governance.models.reviews import Review, ReviewDecision, ReviewKind, ReviewStatus, ReviewVerb
from governance.models.rule_changes import RuleChange, RuleSort
from governance.models.workbench import LookedAt, Presence, Remark, Selection

__all__ = [
    "ApiKey",
    "Consent",
    "ConsentChannel",
    "ConsentLink",
    "ConsentStatus",
    "DeviceLogin",
    "DeviceLoginStatus",
    "Effect",
    "Feedback",
    "ForgetMode",
    "ForgetReceipt",
    "Gate",
    "GateAMode",
    "GateBMode",
    "GateDecision",
    "GateRule",
    "Grant",
    "IdempotencyRecord",
    "LeaversFacts",
    "Leaving",
    "LookedAt",
    "Presence",
    "Promotion",
    "PromotionStatus",
    "Rating",
    "Remark",
    "RetentionRule",
    "Review",
    "ReviewDecision",
    "ReviewKind",
    "ReviewStatus",
    "ReviewVerb",
    "Role",
    "RuleChange",
    "RuleSort",
    "Selection",
]

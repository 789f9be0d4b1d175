"""Addresses of governance, below the API's prefix."""

from __future__ import annotations

from django.urls import path

from governance.api import conflicts, consents, device, feedback, forget, keys, merging, promotions, reviews, self_data

urlpatterns = [
    path("conflicts", conflicts.ConflictsView.as_view()),
    path("conflicts/<uuid:conflict_id>", conflicts.ConflictView.as_view()),
    path("conflicts/<uuid:conflict_id>/resolve", conflicts.ResolveView.as_view()),
    path("conflicts/<uuid:conflict_id>/dismiss", conflicts.DismissView.as_view()),
    path("conflicts/<uuid:conflict_id>/defer", conflicts.DeferView.as_view()),
    path("conflicts/<uuid:conflict_id>/reopen", conflicts.ReopenView.as_view()),
    path("reviews", reviews.ReviewsView.as_view()),
    path("reviews/<uuid:review_id>/approve", reviews.ApproveView.as_view()),
    path("reviews/<uuid:review_id>/reject", reviews.RejectView.as_view()),
    path("promotions", promotions.PromotionsView.as_view()),
    path("promotions/<uuid:promotion_id>", promotions.PromotionView.as_view()),
    path("promotions/<uuid:promotion_id>/approve", promotions.ApprovePromotionView.as_view()),
    path("promotions/<uuid:promotion_id>/reject", promotions.RejectPromotionView.as_view()),
    path("promotions/<uuid:promotion_id>/cancel", promotions.CancelPromotionView.as_view()),
    path("promotions/<uuid:promotion_id>/undo", promotions.UndoPromotionView.as_view()),
    path("consents", consents.ConsentsView.as_view()),
    path("consents/<uuid:consent_id>/grant", consents.GrantView.as_view()),
    path("consents/<uuid:consent_id>/deny", consents.DenyView.as_view()),
    path("consents/<uuid:consent_id>/withdraw", consents.WithdrawView.as_view()),
    path("feedback", feedback.FeedbackView.as_view()),
    path("forget", forget.ForgetView.as_view()),
    path("forget/preview", forget.PreviewView.as_view()),
    path("forget/<uuid:forget_id>/lift", forget.LiftView.as_view()),
    path("self/facts", self_data.SelfFactsView.as_view()),
    path("self/facts/<uuid:fact_id>", self_data.SelfFactView.as_view()),
    path("self/facts/<uuid:fact_id>/contest", self_data.ContestView.as_view()),
    path("self/facts/<uuid:fact_id>/redact", self_data.RedactView.as_view()),
    path("self/facts/<uuid:fact_id>/withdraw", self_data.WithdrawFactView.as_view()),
    path("self/events", self_data.SelfEventsView.as_view()),
    path("self/erase", self_data.SelfEraseView.as_view()),
    path("self/erase/preview", self_data.SelfErasePreviewView.as_view()),
    path("cli/device/start", device.StartView.as_view()),
    path("cli/device/poll", device.PollView.as_view()),
    path("subjects/merge", merging.MergeByKeyView.as_view()),
    path("subjects/<uuid:subject_id>/merge", merging.MergeView.as_view()),
    path("subjects/<uuid:subject_id>/merge/preview", merging.MergePreviewView.as_view()),
    path("subjects/<uuid:subject_id>/unmerge", merging.UnmergeView.as_view()),
    path("keys", keys.KeysView.as_view()),
    path("keys/<uuid:key_id>", keys.KeyView.as_view()),
    path("keys/<uuid:key_id>/rotate", keys.KeyRotateView.as_view()),
]

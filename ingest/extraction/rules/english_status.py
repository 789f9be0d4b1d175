"""English: progress, and what is done.

The order within the table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STATED, STRONG
from ingest.extraction.rules.signals import Signal, signal

STATUSES: tuple[Signal, ...] = (
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:i|we)(?:'ve| have)? (?:just |finally |already |now |also |successfully |recently "
        r"|officially |both |all )*(?P<what>(?:finished|completed|shipped|deployed|merged|released|fixed"
        r"|resolved|launched|delivered|published|pushed|closed|submitted|wrapped up|migrated|tested"
        r"|reviewed|implemented|refactored|rolled out|rolled back|sent(?: out| over)?|uploaded|updated"
        r"|signed|approved|set up|configured|installed|built|wrote up|written|drafted|started (?:on|the"
        r"|working|testing|writing|migrating|building)|begun|completed|passed|upgraded|onboarded"
        r"|investigated|identified|reproduced|found (?:the|a) (?:root cause|bug|fix|issue)"
        r"|got .{2,40} (?:working|running|merged|approved|deployed|fixed)|restored|cleaned up|added|removed"
        r"|created|opened|filed|posted|scheduled|booked|confirmed|processed|refunded|shared|hit (?:the"
        r"|our) (?:milestone|target)|reached|made (?:good |great |some |a lot of )?progress|tracked down"
        r"|cut|tagged|patched|documented|paid|called|emailed|ordered|received|hired|interviewed|presented"
        r"|demoed|rewrote|finali[sz]ed|archived|debugged|ported|verified)\b.{0,200})",
        confidence=STATED,
        unless=r"\b(?:haven't|not|never|didn't|should have|could have|wish|used to|initially|originally|it's true"
        r"|back then|last year|in the past|hope|glad to hear)\b|\b(?:years|months) ago\b|\bin (?:19"
        r"|20)\d\d\b|\bwhen i\b|\bi (?:added|removed|called|updated|started|created|installed|built"
        r"|tested) (?:it|that|this)\b(?! (?:to|today|yesterday|and))",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:is|are|'s|has been|have been|was|were|got|just got) (?:now |finally |all |just |fully "
        r"|officially |already |almost |nearly |mostly |back |about )*(?:done|complete|completed|finished"
        r"|live|deployed|merged|fixed|resolved|shipped|released|ready(?: (?:for|to)\b)?|in (?:progress"
        r"|review|qa|staging|production|testing|prod)|up and running|on track|under review|rolled out"
        r"|rolled back|launched|published|delivered|signed off|approved|back (?:up|online|to normal)"
        r"|unblocked|closed|underway|ahead of schedule|(?:\d{1,3} ?%|halfway|half) ?(?:done|complete"
        r"|through|there|finished)?)(?=\s*(?:$|[,.;:!)(]|now|and|on|in|for|to|as|at|by|with|since|today"
        r"|yesterday|this|after|but|so|except|pending|from))",
        confidence=CLEAR,
        unless=r"\bglad to hear\b|\b(?:i|you|they) think\b|\b(?:not|isn't|aren't|n't|never|until|before|once|when"
        r"|should be|must be|needs to be|need to be|has to be|have to be|will be|to be|would be|if|after"
        r"|wish|let me know|every|whatever|what|is there|that is|which is|how)\b|\bi'm (?:ready|done)\b"
        r"|\b(?:restaurant|dinner|lunch|food)\b|\b(?:is|are) (?:closed|ready|live|complete|published"
        r"|resolved|fixed) (?:by|as|to|in terms)\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:i'm|i am|we're|we are|i've been|we've been) (?:currently |still |now |just |also |already "
        r"|halfway |about )*(?P<what>(?:working on|testing|migrating|implementing|refactoring|reviewing"
        r"|writing (?:the|up|a)|building (?:the|a|out)|fixing|debugging|investigating|rolling out|deploying"
        r"|finali[sz]ing|wrapping up|polishing|drafting|preparing|on track|making (?:good |great |some "
        r"|steady )?progress|ahead of schedule|unblocked|through|almost done|nearly done|(?:\d{1,3} ?%"
        r"|half) (?:done|through)|in the middle of|finishing(?: up)?|setting up|no longer (?:blocked"
        r"|stuck))\b.{0,160})",
        confidence=CLEAR,
        unless=r"\bnot (?:working|testing)\b|\bthrough with\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:progress|status|update|eta)\s*(?:update|report)?\s*:\s*\S.{3,}|\b\d{1,3} ?% (?:done|complete"
        r"|finished|migrated|rolled out)|\b(?:tests?|builds?|ci|pipeline|checks?) (?:is|are) (?:all |now "
        r"|finally )?(?:passing|green)|\b(?:all tests|build|tests) (?:pass|passed|passing|green)\b"
        r"|\bno longer (?:blocked|stuck)\b|\bunblocked\b|\bmade (?:good|great|some|steady|solid) progress\b"
        r"|\b(?:went|goes) live\b|\b(?:shipped|deployed|released|merged|rolled out) (?:to|in|into"
        r"|on) (?:prod|production|staging|main|master|all)\b",
        confidence=CLEAR,
        unless=r"\b(?:will|would|should|when|once|if|until|before|must|to be|have to|has to|not)\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:has|have) (?:now |just |finally |already |also |successfully )*been (?:now |just |fully "
        r"|successfully )*(?:processed|refunded|sent|shipped|dispatched|updated|restored|received"
        r"|cancel?led|escalated|paid|created|uploaded|migrated|added|removed|replaced|installed|activated"
        r"|renewed|reviewed|tested|upgraded|scheduled|booked|confirmed|reported|identified|applied|pushed"
        r"|moved|credited|issued|submitted|onboarded|notified|assigned|enabled|disabled|archived"
        r"|implemented|patched|reset|extended|signed|verified|opened|filed|closed|completed)\b",
        unless=r"\b(?:not|never|if|until|once|when|would|should|since)\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"^(?:still |currently |now |also )*(?:working on|debugging|testing|investigating|reviewing"
        r"|migrating|polishing|wrapping up|finishing(?: up)?|rolling out|drafting|refactoring|implementing"
        r"|deploying) (?:the|a|an|my|our|some|on|up|it|this|\w+'s|[A-Z#]).{2,}",
        unless=r" is ",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"^(?:just |finally |also |all )*(?:finished|completed|shipped|deployed|merged|released|fixed"
        r"|resolved|launched|delivered|published|pushed|wrapped up|migrated|rolled out|submitted|done with"
        r"|working on|closed|reviewed|tested|sent) (?:the|a|an|all|my|our|up|out|it|both|\w+'s|[A-Z#]|\d)",
        confidence=CLEAR,
        unless=r"\?",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"^(?:the |our |my |all )?[\w' /#-]{2,50} (?:went live|shipped|launched|passed|signed off|landed"
        r"|succeeded|completed|went out|is out|are out|went (?:well|smoothly)|finished)(?=\s*(?:$|[,.;:!]"
        r"|on|this|last|yesterday|today|with|without|in|and|at|to|for|all))",
        confidence=STRONG,
        unless=r"\b(?:will|would|should|when|once|if|until|before|he|she|who|which|that|i|you)\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:is|are) now (?:running|available|working|enabled|active|using|operational|stable|accessible"
        r"|visible|in place|passing)\b",
        unless=r"\b(?:i|he|she|they|you)\b|\?",
    ),
)

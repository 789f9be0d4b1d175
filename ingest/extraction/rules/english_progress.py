"""English: promises, deadlines and progress.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STATED, STRONG
from ingest.extraction.rules.signals import Signal, signal

_ADV = (
    r"(?:(?:just|still|also|now|definitely|certainly|personally|gladly|then|probably|already|currently"
    r"|finally|officially|really|so|very|a bit|pretty|quite|super|extremely|totally|completely|feeling"
    r"|incredibly|a little|kind of|absolutely|truly|actually|fully|getting|all|both) )*"
)
_WHO = (
    r"(?:@?[A-Z][\w.'-]{1,20}(?: [A-Z][\w'-]{1,20})?|him|her|them|you|(?:the|our) (?:\w+ )?(?:team"
    r"|department|desk)|the night shift|the next shift)"
)
_DO = (
    r"(?:send|deliver|ship|finish|complete|write|prepare|fix|review|update|submit|share|push|deploy"
    r"|merge|publish|draft|have|get|handle|take(?! (?:a (?:break|nap|look at lunch)))|look into|look at"
    r"|investigate"
    r"|follow up|set up|schedule|book|organi[sz]e|create|build|implement|test|check|circle back"
    r"|get back|call|email|contact|ping|provide|present|document|release|roll (?:out|back)|migrate"
    r"|refactor"
    r"|add|remove|open|file|raise|post|upload|confirm|make|bring|cover|own|lead|do|start|begin|work on"
    r"|put together|wrap up|sort|arrange|address|resolve|reach out|run|clean up|sync|pick up|talk to"
    r"|speak to|order|pay|refund|return|process|invoice|escalate|translate|design|record|rewrite|reply"
    r"|respond|answer|close|transfer|sign|give|let you know|keep you|reproduce|debug|patch|rebase|port"
    r"|reimburse|replace|credit|install|configure|monitor|track|collect|gather|compile|send over|queue"
    r"|drop|hand in|turn in|double[- ]check|verify|approve|announce|print|buy|cook|drive|join|chase"
    r"|dig into|bump|tackle|see to|extend|cancel|forward|notify|revert|report|pull|move|help|show|walk"
    r"|connect|introduce|onboard|train|ask)"
)
_NOT_PROMISE = (
    r"\bi(?:'ll| will) (?:be (?:happy|honest|glad|ok|fine)|have (?:less|no|more|a few|to|some|time)"
    r"|make do|never|see(?! to it)|think|guess|miss|have to|need|probably|try not|not|pass|bet|say"
    r"|admit|assume|take that as|go with that|wait|stick with|let (?:it|that) (?:go|slide)"
    r"|leave it there|give (?:you|it) that)\b"
    r"|\bi(?:'ll| will) have (?:the|a|an) (?:\w+ )?(?:salad|coffee|tea|burger|pizza|beer|soup|steak)\b"
    r"|\b(?:would|wouldn't|might|maybe|perhaps|could)\b|\bask (?:for|about|if)\b|\bdo my best not\b"
)


COMMITMENTS: tuple[Signal, ...] = (
    signal(
        Category.COMMITMENT,
        r"^(?:sending|delivering|shipping|submitting|publishing|sharing|posting) .{2,100}\b(?:by|tomorrow"
        r"|tonight|today|this (?:afternoon|evening)|before|first thing)\b",
        confidence=STRONG,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:happy to|i can|i'll|glad to) (?:take|pick up) (?:the|this|that|on) (?:action|task|ticket"
        r"|item|one|story|bug)\b",
        confidence=STRONG,
    ),
    signal(
        Category.COMMITMENT,
        rf"^will {_ADV}(?P<what>{_DO}\b.{{3,160}})",
        confidence=CLEAR,
        unless=_NOT_PROMISE + r"|^will (?:do|have) ",
    ),
    signal(
        Category.COMMITMENT,
        rf"\b(?:i'll|i will|i shall|i'm going to|i am going to|i'm gonna|im gonna|ill) {_ADV}(?:make sure"
        rf"|be sure|try to|aim to|get around to)?(?: to| that)? ?(?P<what>{_DO}\b.{{0,200}})",
        confidence=STATED - 0.03,
        unless=_NOT_PROMISE,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i'll|i will|i'm going to) (?P<what>(?:make sure|be sure|see to it|ensure|take care of"
        r"|aim (?:to|for)|be (?:handling|taking care of|running|covering|sending|delivering|finishing"
        r"|working on|reviewing|presenting|writing|fixing|shipping|posting))\b.{0,200})",
        confidence=CLEAR,
        unless=_NOT_PROMISE,
    ),
    signal(
        Category.COMMITMENT,
        rf"\b(?:we'll|we will|we're going to|we are going to|we shall) {_ADV}(?P<what>{_DO}\b.{{0,200}})",
        unless=_NOT_PROMISE + r"|\bwe(?:'ll| will) (?:see|need|have to|get there|be)\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i|we) (?:solemnly |hereby )?(?:promise|commit|guarantee|pledge|vow|swear)(?:d)? (?:to |that "
        r"|you |we'll |i'll |we |i )",
        confidence=STATED,
        unless=r"\bcan't (?:promise|guarantee|commit)\b|\bpromised myself\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i'm|i am|we're|we are|i've|i have|we've) (?:fully |already )?(?:committ(?:ing|ed) to"
        r"|promised|on the hook (?:for|to)|signed up (?:for|to)|volunteering to|taking on"
        r"|planning to (?:have|finish|ship|deliver|send|release))\b",
        confidence=CLEAR,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:you'll|you will|they'll|the (?:client|team) will) (?:have|get|receive|see) .{2,80}\b(?:by|on"
        r"|before|tomorrow|tonight|today|next|end of|eod|in (?:an|one|two|a|\d+) (?:hours?|days?"
        r"|minutes?))\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:count on me|leave (?:it|this|that) (?:to|with) me|you have my word|consider it done"
        r"|i've got this one|i got this one|expect (?:it|the \w+|a \w+|my \w+) (?:from me )?(?:by|on|before"
        r"|tomorrow|tonight|today)|i owe (?:you|him|her|them|the team) (?:a|an|the|that|my))\b",
        confidence=STRONG,
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:i can|i could|let me|i plan to|i intend to|i aim to|my plan is to|i should be able to"
        rf"|i'm aiming to|happy to) {_ADV}(?P<what>{_DO}\b.{{0,120}})\b(?:by|before|tomorrow|tonight|today"
        r"|this (?:afternoon|evening|week)|next week|(?:on )?(?:mon|tues|wednes|thurs|fri)day|eod"
        r"|end of (?:the )?(?:day|week|month))\b",
        confidence=STRONG,
        unless=r"\bif (?:you|we|i)\b|\blet me know\b|\bcan't\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:let me (?:take care of|handle|take this|own this|fix)|i can take (?:this|that"
        r"|it)(?: one)?(?: on)?|i'll take (?:this|that|it)(?: one)?|i'm on it)\b",
        confidence=STRONG,
        unless=r"\bif\b",
    ),
    signal(
        Category.COMMITMENT,
        r"^(?:from \w+ (?:\([\d-]+\) )?)?(?-i:@?[A-Z][\w'-]{1,20}) (?:will|is going to|'ll"
        r"|has (?:promised|committed|agreed) to|promised to|committed to"
        rf"|agreed to) (?P<what>{_DO}\b.{{0,120}})",
        confidence=STRONG - 0.05,
        unless=_NOT_PROMISE
        + r"|\b(?:This|That|It|There|The|What|Which|Everything|Nothing|Who|How|He|She|They|You|Someone|Nobody"
        r"|Everyone|Python|Postgres|Slack|Jira|GitHub|Google|Racket)\b(?:'ll| will| is going)|\b(?:will"
        r"|'ll) (?:not|never)\b",
    ),
)

DEADLINES: tuple[Signal, ...] = (
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:moved|pushed|postponed|rescheduled|shifted|brought forward|delayed) (?:back )?(?:the "
        r"|our )?(?:\w+ ){0,2}(?:launch|release|deadline|demo|delivery|go-?live|review|audit|migration"
        r"|rollout|freeze|submission)\b.{0,20}\b(?:to|until|by)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:deadline|due date|cut-?off(?: date)?|submission date|target date|launch date|release date"
        r"|go-?live(?: date)?|drop-?dead date)s?\b",
        dated=True,
        unless=r"\bno deadline\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:is|are|'s|was|it's|they're) (?:all |now |still )?(?:due|expected|needed|required"
        r"|scheduled for (?:release|launch)|to be (?:delivered|submitted|done|ready|sent|filed)|planned for"
        r"|closing|set for|slated for)\b",
        dated=True,
        unless=r"\bdue to\b|\b(?:party|lunch|dinner|flight)\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:must|has to|have to|needs? to|need to|should|gotta|got to|is to|are to|supposed to"
        r"|wants? (?:it|this|that|the [\w ]{2,30}?)|expects? (?:it|this|the [\w ]{2,30}?)|needs? (?:it|this"
        r"|that|the [\w ]{2,40}?)|asked for (?:it|this|the [\w ]{2,30}?))\b.{0,80}?\b(?:by|before"
        r"|no later than|until|on|due)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:i|we|you|they|teams?) (?:only |still )?(?:have|has|get|got) (?:only )?(?:until|till)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:expires?|ends?|closes?|renews?|lapses?|goes? live|launch(?:es)?|ships?|starts shipping"
        r"|code freeze|feature freeze|freeze starts)\b.{0,30}\b(?:on|at|by|in|this|next|tomorrow|tonight"
        r"|today|end of)\b",
        dated=True,
        unless=r"\bmeeting\b|\bi\b|\bwe\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:due|no later than|at the latest(?: by)?|by (?:eod|cob|eow)|by end of (?:day|week|month"
        r"|business))\b",
        dated=True,
        unless=r"\bdue to\b|\bi\b",
        confidence=STRONG + 0.05,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:demo|launch|release|go-?live|freeze|submission|delivery|audit|review|presentation|milestone"
        r"|exam|handover|migration|kick-?off|rollout) (?:is|will be|happens|takes place|has been (?:moved"
        r"|set|scheduled)|moved|was moved|got moved|is scheduled|scheduled)\b",
        dated=True,
        unless=r"\b(?:done|over|went|great|finished|complete)\b",
    ),
)

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
)

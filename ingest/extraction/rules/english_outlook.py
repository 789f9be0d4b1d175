"""English: moods, and what may go wrong.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STATED, STRONG, WEAK
from ingest.extraction.rules.english_words import ADV
from ingest.extraction.rules.signals import Signal, signal

MOODS: tuple[Signal, ...] = (
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:i'm|i am|im|i feel|i'm feeling|feeling|i've been(?: feeling)?|we're|we are|we're all|i was"
        rf"|makes me|made me) {ADV}(?:so |really |very |too |pretty |quite |super |extremely "
        r"|totally )*(?P<what>frustrat\w+|exhausted|burn(?:ed|t)[- ]?out|burning out|overwhelmed"
        r"|stressed(?: out)?|anxious|demotivated|unmotivated|annoyed|irritated|discouraged|depressed"
        r"|miserable|fed up|drained|overworked|upset|angry|furious|mad|disappointed|worn out|tired"
        r"|struggling|down|sad|lonely|nervous|bored|unhappy|hopeless|at my (?:wit's|wits') end|on edge"
        r"|worried sick|swamped|thrilled|excited|stoked|pumped|ecstatic|delighted|proud|overjoyed"
        r"|energi[sz]ed|motivated|hyped|over the moon|happy|grateful|relieved|optimistic|psyched|inspired"
        r"|elated)\b",
        confidence=STATED,
        unless=r"\b(?:not|never) (?:\w+ )?(?:mad|angry|upset)\b|\bhappy (?:to|birthday|new year)\b"
        r"|\bstruggling to\b|\bexcited to (?:meet|hear)\b|\b(?:tired|bored) of (?:eating|pizza)"
        r"|\bdown (?:for|to|with)\b|\b(?:sad|sorry) to hear\b|\bmad at me\b|\bif you're happy\b"
        r"|\bhappy with (?:that|either|whatever|the plan)\b|\bgrateful (?:if|for (?:any|your))"
        r"|\b(?:happy|excited|thrilled|proud|stoked|glad|pumped|delighted) (?:for|of) (?:you|him|her"
        r"|them)\b|\byou(?:'re| are)? (?:\w+ )?feel|\bhear (?:that )?you"
        r"|\b(?:someone|somebody|they|people|he|she) (?:is|are|was|were|feels?)\b",
    ),
    signal(
        Category.MOOD_SIGNAL,
        rf"\b(?:i'm|i am|we're|we are) {ADV}(?:so |really )?(?P<what>sick (?:and tired )?of|tired of"
        r"|fed up with|done with (?:this|these|all)|at (?:my|our) (?:limit|breaking point)|losing (?:it"
        r"|my mind|motivation|patience)|not (?:ok|okay|coping)|running on (?:fumes|empty)|loving (?:this"
        r"|it|the|every|working))",
        confidence=CLEAR,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:i|we) (?:just |really )?(?:can't (?:take|stand|do|handle|keep up with|deal with) (?:this|it"
        r"|any)(?: \w+){0,3}(?: any ?more| any longer)?|can't cope|can't take much more|barely sle(?:ep|pt)"
        r"|feel like (?:giving up|quitting|i'm drowning|crying|screaming)|hate my job|love my job"
        r"|love working (?:with|on|here)|couldn't be (?:happier|prouder|more excited)"
        r"|need a (?:real )?break from)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:this|it|that)(?:'s| is| has been| was| feels)(?: \w+)? (?:so |really |incredibly |extremely "
        r"|super |very )*(?P<what>frustrating|exhausting|demorali[sz]ing|demotivating|stressful|infuriating"
        r"|depressing|soul[- ]crushing|maddening|overwhelming|disheartening|draining)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:morale|team spirit|the mood|burn-?out)\b.{0,30}\b(?:low|high|down|up|bad|great|terrible"
        r"|dropping|improving|suffering|rock bottom|real|setting in)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:so|really|super|very) (?P<what>excited|frustrated|proud|happy|stoked|pumped|stressed|tired"
        r"|disappointed) (?:about|with|of|by|for|that|right now|today)\b",
        confidence=STRONG,
        unless=r"\b(?:you|he|she|they|are|is)\b.{0,10}\b(?:excited|frustrated|happy)"
        r"|\b(?:happy|excited|thrilled|proud|stoked|glad|pumped|delighted) (?:for|of) (?:you|him|her|them)\b",
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?-i:[A-Z][\w'-]{1,20}) (?:seems?|looks?|sounds?|has been|is) (?:really |very |quite |pretty "
        r"|a bit |so |visibly |completely )*(?P<what>frustrated|exhausted|burn(?:ed|t)[- ]?out|overwhelmed"
        r"|stressed(?: out)?|demotivated|annoyed|discouraged|upset|drained|unhappy|demorali[sz]ed"
        r"|disengaged|thrilled|excited|worn out)\b",
        confidence=WEAK + 0.1,
        unless=r"\b(?:client|customer|they|everyone|nobody)\b",
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"^(?:what |such )(?:a|an) (?:really |very |so )?(?P<what>frustrating|exhausting|stressful|awful"
        r"|terrible|horrible|depressing|miserable|amazing|fantastic|wonderful|great) (?:day|week|sprint"
        r"|month|morning|meeting|launch|quarter|release)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:i|we) (?:just |really |so )*(?:can't|cannot) wait (?:to|for)\b|^can't wait (?:to|for)\b"
        r"|^loving (?:the|this|it|every)\b|\bi (?:really |just |absolutely )?hate (?:this|these|having to"
        r"|when|how)\b",
        confidence=STRONG,
        unless=r"\b(?:weekend|summer|lunch|see you|meet you)\b"
        r"|\bwait to (?:hear|see|read|try|meet|check|show)\b",
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"(?:^|\b(?:i feel|i'm feeling|i am feeling|we feel|we're feeling) )(?:(?<=^)feeling )?(?:really "
        r"|so |pretty |very |quite |super )*(?P<what>great|fantastic|amazing|terrible|awful|low|hopeful"
        r"|confident|uneasy|lost|useless|appreciated|guilty|defeated|on top of the world)\b(?= about| today"
        r"| this| right now|[.!,]|$)",
        confidence=STRONG,
        unless=r"^(?:great|amazing|fantastic|awful|terrible|low|lost|confident)\b",
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"^feeling (?:really |so |pretty |very |quite |super )*(?P<what>great|good|fantastic|amazing"
        r"|terrible|awful|low|hopeful|confident|uneasy|lost|defeated)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:drives?|driving|drove) (?:me|us) (?:crazy|nuts|insane|mad|up the wall)\b|\b(?:getting"
        r"|gets) on my nerves\b|\bsucks the (?:life|energy)\b",
        confidence=STRONG,
    ),
)

RISKS: tuple[Signal, ...] = (
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:at risk|in (?:danger|jeopardy)|in doubt|risk of|risk that|risky|risks? (?:missing|slipping"
        r"|losing|delaying|breaking|failing|pushing)|big risk|major risk|jeopardi[sz]\w+|red flags?"
        r"|single point of failure)\b",
        modal=True,
        unless=r"\b(?:no|zero|low|without|minimal|not) (?:at )?risk\b|\brisk[- ]free\b|\bat your own risk\b"
        r"|\bno longer\b|\brisk (?:assessment|register|management) (?:is|was) (?:done|complete)",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:behind schedule|running (?:late|behind(?! (?:(?-i:[A-Z])|a\b|the\b|nginx|apache)))"
        r"|falling behind|fell behind|(?:way|far|\w+ (?:days?|weeks?)) (?:behind|late|overdue)|overdue"
        r"|slipp(?:ing|ed)|will slip|going to slip|over budget|over-?run|budget overrun|understaffed"
        r"|short[- ]staffed|short[- ]handed|spread too thin)\b",
        modal=True,
        unless=r"\bslipped (?:my mind|on)\b|\b(?:not|no longer|isn't) (?:behind|late|overdue)\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:might|may|could|will|'ll|probably|going to|gonna|likely to|afraid (?:we|i)|worried (?:we|i)"
        r"|chance (?:that )?we)\b.{0,30}\b"
        r"(?:miss (?:the|our|this|that|\w+day|another)|be (?:late|delayed|overdue)|slip|lose (?:the|this"
        r"|that) (?:client|customer|account|deal)|lose them"
        r"|run out of (?:time|budget|money|capacity|runway)|fall (?:through|behind))\b",
        modal=True,
        unless=r"\bmiss (?:you|him|her|the (?:bus|train|show|party|game|movie))\b|\blate (?:for|to) (?:dinner"
        r"|lunch|the (?:meeting|party))\b|\bwon't\b|\bi'll be late\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:won't|wont|will not|not going to|unlikely to|doubt (?:that )?(?:we|i)"
        r"|don't think (?:that )?(?:we|i)|not sure (?:that )?(?:we|i)|can't|cannot)\b.{0,30}\b"
        r"(?:make (?:it (?:in time|on time|by)|(?:the|our|that|this) (?:\w+ )?(?:deadline|date|launch"
        r"|cut-?off|milestone|release)|(?:mon|tues|wednes|thurs|fri)day)"
        r"|(?:hit|meet) (?:the|our) (?:\w+ )?(?:deadline|date|target|milestone|launch)|be (?:done|ready"
        r"|finished) (?:in time|on time|by)|finish (?:in time|on time|by|before)"
        r"|deliver (?:in time|on time|by))",
        modal=True,
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:missed|missing|blew|blown|slipped) (?:the |our |another |a |this |their |last |yesterday's "
        r"|\w+day's )*(?:deadline|milestone|launch date|release date|due date|delivery date|target|sla"
        r"|cut-?off)s?\b",
        modal=True,
        unless=r"\b(?:haven't|never|not) missed\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:scope (?:creep|change[sd]?|has (?:grown|changed|doubled|expanded)|keeps? (?:growing|changing"
        r"|expanding)|grew|expanded|doubled|is (?:growing|changing|expanding))|chang(?:ed"
        r"|ing) (?:the )?(?:scope|requirements)|requirements (?:changed|have changed|keep changing"
        r"|are changing)|moving target|descop\w+)\b",
        modal=True,
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:client|customer|account|stakeholder|partner|investor|sponsor)s?\b.{0,40}\b(?:unhappy|angry"
        r"|furious|upset|frustrated|churn\w*|escalat(?:ed|ing)|threaten\w*|pull(?:ing)? out|leav(?:e|ing)"
        r"|cancel\w*|complain\w*|disappointed|losing patience|not happy|dissatisfied|gone quiet|gone silent"
        r"|unresponsive)\b",
        modal=True,
        unless=r"\b(?:no longer|not) (?:unhappy|angry|upset)\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:i'm|i am|we're|we are) (?:\w+ )?(?:worried|concerned|afraid|scared|nervous) (?:that|about|we"
        r"|the|this|it|they|our)\b",
        modal=True,
        confidence=STRONG,
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:(?:is|are|has been|have been|was|got|being|will be) (?:\w+ )?(?:delayed|pushed back"
        r"|postponed)|delayed by|won't be (?:ready|done|finished|available|delivered)"
        r"|isn't going to be (?:ready|done)|not going to (?:be ready|be done|make|hit)|tight (?:deadline"
        r"|timeline|schedule)|deadline is (?:very |too |really )?tight|unrealistic (?:deadline|timeline))\b",
        modal=True,
        confidence=CLEAR,
        unless=r"\b(?:meeting|call|standup|lunch|train|flight|bus)\b.{0,30}\b(?:delayed|postponed|pushed back)"
        r"|\bnot delayed\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:budget|runway|money|funding)\b.{0,20}\b(?:exhausted|blown|overspent|running (?:out|low)"
        r"|nearly gone|almost gone|spent|exceeded)\b|\b(?:exceeded|blew through|burned through) (?:the"
        r"|our) budget\b",
        modal=True,
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:cutting it (?:\w+ )?close|(?:looks?|is|are|seems?|feels?) (?:very |too |totally "
        r"|completely )?(?:unrealistic|too (?:tight|ambitious|optimistic)|unachievable)|(?:beyond|outside"
        r"|out of) (?:the |our )?(?:original |agreed |initial )?scope|not enough (?:people|time|budget"
        r"|capacity|developers|resources))\b",
        modal=True,
        unless=r"\bnot (?:unrealistic|too)",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:running|run) out of (?:time|budget|money|runway|capacity)\b|\b(?:release|launch"
        r"|delivery) date is (?:gone|toast|dead|impossible|in doubt)\b|\b(?:weeks?|days?|months?) late\b",
        modal=True,
        unless=r"\bnot\b",
    ),
)

"""Words that are written with a capital without naming anything, folded; English and French."""

from __future__ import annotations

from facts import textindex

#: Open a sentence or list item.
SENTENCE_STARTERS = frozenset(
    """
    also although another because before but each every everyone finally first from here however last later
    maybe meanwhile most next now often one only please recently she since some someone sometimes soon still
    that the their then there these they this those today tomorrow usually when while who with yesterday you
    apres aussi avant avec cela ces cet cette chaque comme dans demain depuis des donc elle elles ensuite hier
    ils les leur leurs lors mais mon notre nous par parce parfois pendant pour pourquoi puis quand que quel
    quelle ses son souvent sur tous tout toute toutes une vos votre vous
    """.split()  # noqa: SIM905
)

#: Function words of French beside those above; PostgreSQL's English ones are ``textindex.STOP_WORDS``.
_FRENCH = frozenset(
    """
    a ai as au aux avait avez avons ca ce ceci celle celui ceux chez ci cinq comment contre d dans de deux du elle en
    encore entre es est et etait etaient ete etes etre eu eux fait faut ici il j jamais je l la le lui ma me meme mes
    mien moi moins n ne ni non nos on ont or ou oui pas peu peut plus plusieurs point qu quatre qui quoi sa sans sauf
    se selon sera si sien soi sont sous suis ta tandis te tel tes toi ton trois tu un vers voici voila y
    """.split()  # noqa: SIM905
)

_ENGLISH = frozenset(
    """
    across after again ago all almost along already always among any anybody anyone anything around ask avoid
    besides both call can consider contact could despite does during either else email enough especially even
    eventually ever everybody everything except few fewer follow found generally get gives given gets got had have
    having hello hence hi how if instead into its itself keep less let like likely look make many may me meet might
    mine more much must my near neither never nevertheless no nobody none nor not note nothing of off ok okay on once
    onto or other otherwise our out over own per perhaps probably quite rather remember remind said same say says see
    send several shall should so such tell than thanks thank though through throughout thus till to together too
    toward towards two under unless until up upon us use very via visit was we well were what whatever where whether
    which whoever whose why will within without would yes yet your yours
    two three four five six seven eight nine ten
    """.split()  # noqa: SIM905
)

#: Verbs of statements in the third person, which often begin with them.
_VERBS = frozenset(
    """
    agrees became believes bought buys came chose decided decides did dislikes does drinks drives eats enjoys expects
    feels finds gave goes had hates has hopes keeps knows leads learns left lives likes loves makes manages married
    met moved needs never owns paid plans plays prefers promised reads recommends reported said says speaks started
    studies takes teaches thinks told took travels tries used uses visited wants was went works writes
    adore aime aimerait apprend cherche connait deteste dirige doit habite joue parle pense prefere promet travaille
    utilise va veut vit
    """.split()  # noqa: SIM905
)

DAYS = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    lundi mardi mercredi jeudi vendredi samedi dimanche
    """.split()  # noqa: SIM905
)
#: Months that are also given names: they name nobody when they stand alone or in a date.
GIVEN_NAMES_TOO = frozenset({"april", "may", "june", "august"})
MONTHS = GIVEN_NAMES_TOO | frozenset(
    """
    january february march july september october november december jan feb mar apr jun jul aug sep sept oct nov dec
    janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre janv fevr juil
    """.split()  # noqa: SIM905
)
BEFORE_A_DATE = frozenset(
    """
    after around before by during early en every fin from in last late next of on since this until debut depuis jusqu
    avant apres des
    """.split()  # noqa: SIM905
)
TIME_ZONES = frozenset(
    """
    utc gmt cet cest eet eest wet west bst ist msk est edt cst cdt mst mdt pst pdt akst akdt hst jst kst sgt hkt aest
    aedt acst awst nzst nzdt brt art clt am pm ad bc bce
    """.split()  # noqa: SIM905
)
TITLES = frozenset("mr mrs ms miss dr prof professor sir madam mme mlle mm monsieur madame docteur".split())  # noqa: SIM905

#: Nouns and abbreviations that stand beside a name, or in its place, and name nothing by themselves.
GENERIC = frozenset(
    """
    account admin agent agenda app assistant boss bot budget call chapter channel chat client colleague company
    customer dad day deadline department document email english everyone faq french friend fyi goal id idea info
    issue item list manager meeting message mom month morning mum night note number office order page plan problem
    product project question report request review risk scope screen section sprint status step story summary
    support task team test ticket tip todo topic update user version week weekend work year asap eta eod tbd tba
    action afternoon evening
    chef collegue compte equipe entreprise jour journee liste maman matin message mois papa patron projet
    question rapport reunion semaine soir sujet tache utilisateur annee
    speaker person subject someone somebody author sender
    """.split()  # noqa: SIM905
)

#: Nothing among these is ever a name by itself.
NOISE = (
    SENTENCE_STARTERS
    | _FRENCH
    | _ENGLISH
    | _VERBS
    | textindex.STOP_WORDS
    | DAYS
    | MONTHS
    | TIME_ZONES
    | TITLES
    | GENERIC
)
#: Closed-class words that are names when they are written like one inside a sentence: "Will", "IT".
SOMETIMES_NAMES = frozenset({"will", "don", "art", "sat", "it", "us", "est", "west"})

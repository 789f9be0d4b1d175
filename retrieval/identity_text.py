"""Words that keep a statement out of a stable profile: it is passing, only supposed, or touches a sensitive trait.

English and French, the languages of the local extractor. Precision comes first: a profile that lacks a line is
better than one that tells what it should not.
"""

from __future__ import annotations

import re

_PASSING = re.compile(
    r"\b(?:temporar(?:y|ily)|provisional(?:ly)?|for (?:now|the moment|the time being|a (?:while|few|week|month))"
    r"|(?:just|only) visiting|is visiting|travell?ing|on (?:a )?(?:trip|holiday|vacation|leave|sabbatical)"
    r"|today|tonight|tomorrow|yesterday|this (?:week|month|quarter|summer|winter|spring|autumn|year)"
    r"|until|till|for the next|interim"
    r"|pour (?:l'instant|le moment|l’instant)|en ce moment|provisoire(?:ment)?|temporaire(?:ment)?|momentanément"
    r"|aujourd['’]hui|demain|cette (?:semaine|année)|ce (?:mois|trimestre)|jusqu['’]\w*|de passage|en vacances"
    r"|en déplacement|par intérim)\b",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:probably|maybe|perhaps|possibly|presumably|apparently|allegedly|likely|seems?|seemingly|appears? to"
    r"|might|may be|could be|supposedly|suggests?|implies|reportedly"
    r"|peut-être|probablement|sans doute|apparemment|semble(?:nt)?|aurait|serait|paraît)\b",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"\b(?:diagnos\w+|disorder|disease|illness|sick|chronic|patient|depress\w+|anxi(?:ety|ous)|bipolar|schizo\w+"
    r"|adhd|autis\w+|dyslex\w+|epilep\w+|diabet\w+|cancer|chemo\w*|hiv|aids|asthma\w*|pregnan\w+|infertil\w+|ivf"
    r"|disab\w+|wheelchair|blind|deaf|rehab|alcoholic|addict\w*|sober|therapy|medicat\w+|antidepress\w+"
    r"|gay|lesbian|bisexual|queer|straight|heterosexual|homosexual\w*|transgender|transsexual|nonbinary|non-binary"
    r"|asexual|intersex"
    r"|religio\w+|faith|muslim|islam\w*|christian\w*|catholic\w*|protestant\w*|evangelical|orthodox|jew(?:ish)?"
    r"|juda\w+|hindu\w*|buddhis\w+|sikh\w*|atheis\w+|agnostic|church|mosque|synagogue|temple|priest|imam|rabbi|pastor"
    r"|republicans?|democrats?|conservatives?|liberals?|socialis\w+|communis\w+|labour party|green party|left-wing"
    r"|right-wing|politic\w+|vote[sd]?|voting|activist|union member|trade union"
    r"|(?:is|of) (?:black|white|mixed)|asian|latin[oax]|hispanic|arab|romani|indigenous|ethnic\w*|racial|caste"
    r"|refugee|asylum|immigra\w+|undocumented|visa status"
    r"|salary|income|debts?|bankrupt\w*|unemploy\w+|homeless"
    r"|convict\w*|criminal|prison\w*|jail|parole|probation|arrest\w*|lawsuit|felon\w*"
    r"|malad\w+|dépress\w+|anxiété|anxieu\w+|séropositi\w+|sida|enceinte|handicap\w*|aveugle|sourde?|alcoolique"
    r"|toxicomane|thérapie|traitement médical"
    r"|homosexuel\w*|lesbienne|bisexuel\w*|hétérosexuel\w*|transgenre"
    r"|musulman\w*|chrétien\w*|catholique|protestante?|juive?s?|bouddhiste|athée|croyante?|église|mosquée|prêtre|pasteur"
    r"|socialiste|communiste|militante?|syndiqué\w*|politique|vote pour|voté"
    r"|est (?:noire?|blanche?|arabe)|réfugié\w*|sans-papiers|immigré\w*|origine ethnique"
    r"|salaire|revenus?|dettes?|surendett\w+|chômage|condamné\w*|casier judiciaire|détenu\w*)\b",
    re.IGNORECASE,
)


def is_passing(statement: str) -> bool:
    """Tell whether the statement itself says that it will not hold for long."""
    return _PASSING.search(statement) is not None


def is_supposed(statement: str) -> bool:
    """Tell whether the statement is a supposition by its own words."""
    return _SUPPOSED.search(statement) is not None


def is_sensitive(statement: str) -> bool:
    """Tell whether the statement touches health, sexuality, belief, politics, origin, money or the law."""
    return _SENSITIVE.search(statement) is not None

"""Which of the two supported languages a piece of text is in, by its function words."""

from __future__ import annotations

import re

from ingest.extraction.words import words

ENGLISH = "en"
FRENCH = "fr"

_WORD = re.compile(r"[a-zà-öø-ÿœ]+(?:n't)?|[jlmtsdcnqu]{1,2}'(?=[a-zà-öø-ÿœ])", re.IGNORECASE)
_ENGLISH_WORDS = words(
    """
    the a an and or but of to in on at for with from by is are was were be been am i i'm my me we our us you
    your he she they his her their it its this that these those have has had do does did don't doesn't will
    would can could should not no any more anymore now please who which what when where how if because so just
    about into than then there here out up off over still really very all some every by until since it's we're
    works lives live work use uses need needs like love hate prefer moved done due
    """
)
_FRENCH_WORDS = words(
    """
    le la les un une des du de et ou mais au aux en dans sur sous pour par avec sans chez est sont était suis es
    sommes êtes je tu il elle on nous vous ils elles mon ma mes ton ta tes son sa ses notre nos votre vos leur
    leurs ce cet cette ces qui que quoi dont où ne pas plus rien jamais j' l' d' c' n' s' m' t' qu' moi toi lui
    ai as avons avez ont fait va vais être avoir très trop bien aussi encore toujours déjà depuis jusqu demain
    hier aujourd'hui maintenant désormais plutôt merci bonjour si comme quand parce donc voici a on me as peux
    peut peuvent doit dois faire ans deux trois huit fils fille mari femme fini terminé bloqué envoie prends
    tout tous toute rien projet équipe journée semaine aussi habite travaille préfère aime déteste utilise parle
    """
)
_FRENCH_LETTERS = re.compile(r"[éèêàùûôîïçœ]", re.IGNORECASE)


def detect(text: str) -> str:
    """Return ``"en"`` or ``"fr"`` for the text, or ``""`` when neither is recognised."""
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH_WORDS for word in words)
    french = sum(word in _FRENCH_WORDS for word in words) + (0.5 if _FRENCH_LETTERS.search(text) else 0)
    if english == french == 0:
        return ""
    return FRENCH if french > english else ENGLISH

"""French: work that changes hands, and work that cannot go on.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import STRONG
from ingest.extraction.rules.french_words import TO, WHO
from ingest.extraction.rules.signals import Signal, signal

HANDOFFS: tuple[Signal, ...] = (
    signal(
        Category.HANDOFF,
        r"\b(?:je|j'|on|nous) ?(?:vais |ai |a |avons |viens de )?(?:te |vous |lui )?(?:passe|passer|passé"
        r"|transmets|transmettre|transmis|transfère|transférer|transféré|confie|confier|confié|cède|céder"
        r"|cédé|laisse|laisser|laissé|délègue|délégué|réassigne|réassigné|remets|remis) (?P<what>(?:le "
        r"|la |les |l'|mes |mon |ma |ce |cette |ces |tout |toute )[\w' éèêàç/#-]{1,60}?) (?:à|au"
        rf"|aux) {TO}",
        unless=r"\bmot de passe\b|\bbonjour\b",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:pass(?:e|er|é|ons) (?:la main|le relais|le flambeau|le témoin|le bébé))\b",
        unless=r"\bsi\b|\bpeux-tu\b",
    ),
    signal(
        Category.HANDOFF,
        rf"\b{WHO} (?:qui )?(?:reprend|prend (?:le relais|la suite|la main|en charge)|a repris"
        r"|va reprendre|va prendre (?:le relais|la suite|en charge)|reprendra|prendra (?:le relais"
        r"|la suite|en charge)|s'occupe désormais|s'occupe maintenant|me remplace|me remplacera"
        r"|gère (?:désormais|maintenant)|est (?:désormais|maintenant|le nouveau"
        r"|la nouvelle) (?:responsable|en charge|référente?|propriétaire|contact))\b",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:je|j'|on|nous) ?(?:vais |ai |a |viens de )?(?:reprends|reprendre|repris|reprend|récupère"
        r"|récupéré|hérite|hérité|prends la suite|prends le relais) (?P<what>[\w' éèêàç/#-]{2,60}?) (?:de"
        r"|d'|à la suite de|après) ?(?-i:[A-ZÉ@])",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:je|j') ?(?:prends le relais|reprends (?:le dossier|le sujet|le projet|le ticket|la suite)"
        r"|ai repris (?:le dossier|le sujet|le projet|le ticket|la suite))",
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:à toi de jouer|la balle est dans (?:ton|votre|leur) camp|je te laisse la main"
        r"|je vous laisse la main|c'est à toi maintenant|passation (?:faite|terminée|avec|à)|(?:le|la"
        r"|les) [\w' éè-]{2,40} (?:est|sont) (?:maintenant|désormais) (?:gérée?s?|suivie?s?|pilotée?s?"
        r"|entre les mains|chez|assignée?s?) )",
        confidence=STRONG,
    ),
    signal(
        Category.HANDOFF,
        r"\b(?:je laisse|on laisse) .{2,40} (?:prendre la suite|prendre le relais|reprendre|s'en occuper"
        r"|gérer)\b|\bc'est (?-i:[A-ZÉ]\w+) qui (?:gère|s'occupe|prend|reprend|suit|pilote)\b",
    ),
)

BLOCKERS: tuple[Signal, ...] = (
    signal(
        Category.BLOCKER,
        r"\b(?:je|on|nous) bloqu(?:e|ons) (?:sur|à cause|toujours|encore)\b|\btoujours pas de (?:réponse"
        r"|retour|nouvelles|validation|accès)\b|^en attente d",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:bloquée?s?|coincée?s?|à l'arrêt|au point mort|en suspens|paralysée?s?)\b",
        unless=r"\b(?:plus|pas|n'est pas|débloquée?s?|jamais|n'est plus|étais|était)(?: \w+)? (?:bloquée?s?"
        r"|coincée?s?)|\bsi\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:bloque|bloquent|nous freine|me freine|empêche|empêchent) (?:tout|toute|le|la|les|l'|notre"
        r"|nos|mon|ma|mes|de|d')|\b(?:nous|me|m'|les) (?:bloque|bloquent|empêche|empêchent|retarde)\b"
        r"|\b(?:point|facteur) bloquant\b|\b(?:est|reste) (?:un |le )?(?:bloquant|blocage)\b|\bbloquant ?:",
        unless=r"\b(?:ne|n') ?(?:nous |me |m')?(?:bloque|empêche)",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:impossible (?:d'avancer|de continuer|de déployer|d'accéder|de tester|de livrer|de merger"
        r"|de se connecter|de me connecter|de valider|de finir|de terminer|de publier|de lancer|de démarrer"
        r"|de poursuivre)|(?:ne |n')(?:peux|peut|pouvons|arrive|arrivons|parviens) (?:pas|plus"
        r"|toujours pas) (?:à )?(?:avancer|continuer|déployer|accéder|tester|livrer|merger|me connecter"
        r"|se connecter|valider|finir|terminer|publier|lancer|démarrer|commencer|poursuivre|travailler"
        r"|envoyer|signer|facturer|pousser|ouvrir|joindre|reproduire))\b",
        unless=r"\bsi tu\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:j'attends|on attend|nous attendons|toujours en attente|en attente|on est en attente"
        r"|je suis en attente)\b(?: encore| toujours)? (?:de |d'|du |des |que |l'|la |le |les |une |un "
        r"|ton |ta |votre |leur |son |sa ).{2,}",
        unless=r"\b(?:n'attends|le bus|le train|les vacances|le week-end|avec impatience|le déjeuner|un heureux"
        r"|un bébé|n'est plus en attente|un enfant)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:tant que|sans)\b.{2,60}\b(?:on ne peut|je ne peux|impossible|rien ne|nous ne pouvons"
        r"|pas possible)\b|\b(?:on ne peut|je ne peux|nous ne pouvons|impossible)\b.{2,60}\b(?:tant que"
        r"|sans|avant d'avoir)\b",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:(?:je n'ai|on n'a|nous n'avons) (?:pas|plus|toujours pas|aucun) ?(?:encore |reçu )?(?:d'|l'"
        r"|les |de |la |le )?(?:accès|droits?|identifiants|autorisations?|permissions?|validation|feu vert"
        r"|accord|aucun accès)|il (?:me|nous) manque (?:encore |toujours )?(?:l'|les |la |le |un |une "
        r"|des ))",
    ),
    signal(
        Category.BLOCKER,
        r"\b(?:j'ai|on a|nous avons) besoin (?:de |d'|du |des ).{2,60}(?:avant de|pour (?:pouvoir|avancer"
        r"|continuer|démarrer|finir|terminer|livrer|débloquer))\b|\b(?:en pause|gelée?s?) (?:jusqu'"
        r"|en attendant|faute de)|\bfaute d(?:e|')\b.{2,40}\b(?:avancer|continuer|bloqu)",
    ),
    signal(Category.BLOCKER, r"\bça (?:coince|bloque)\b(?! plus)"),
)

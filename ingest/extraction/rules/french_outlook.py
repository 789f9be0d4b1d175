"""French: moods, and what may go wrong.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STATED, STRONG, WEAK
from ingest.extraction.rules.french_words import ADV
from ingest.extraction.rules.signals import Signal, signal

MOODS: tuple[Signal, ...] = (
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:je suis|je me sens|je reste|j'étais|on est|nous sommes|ça me rend"
        rf"|me sens) {ADV}(?P<what>épuisée?s?|frustrée?s?|fatiguée?s?|stressée?s?|débordée?s?|submergée?s?"
        r"|crevée?s?|lessivée?s?|ravie?s?|heureu(?:x|ses?)|contente?s?|motivée?s?|démotivée?s?"
        r"|découragée?s?|énervée?s?|agacée?s?|enthousiastes?|excitée?s?|à bout|au bout du rouleau"
        r"|sous pression|sous l'eau|dégoûtée?s?|fi(?:er|ère)s?|déprimée?s?|triste|en colère|furieu(?:x|se)"
        r"|soulagée?s?|angoissée?s?|anxieu(?:x|se)|inquiète?|comblée?|déçue?s?|perdue?s?|à plat"
        r"|en burn-?out|usée?s?|blasée?s?|au top|emballée?s?|inquièt?e?)\b",
        confidence=STATED,
        unless=r"\b(?:ravie?|heureu(?:x|se)|contente?) (?:de (?:t'aider|vous aider|te rencontrer|vous rencontrer"
        r"|faire votre connaissance|te lire|vous lire))\b|\binquiète? (?:pas|pour la (?:date|livraison))\b"
        r"|\bperdue? (?:dans|en) (?:la doc|le code)",
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:j'en ai (?:vraiment )?(?:marre|assez|ras[- ]le[- ]bol|plein le dos|ma claque)"
        r"|ras[- ]le[- ]bol|je n'en peux plus|j'en peux plus|je craque|j'ai (?:vraiment |trop |tellement "
        r"|hyper )?hâte|je ne dors plus|je suis au bout|j'adore (?:mon travail|mon boulot|bosser"
        r"|travailler (?:ici|avec|sur))|je déteste mon (?:travail|boulot))\b",
        confidence=CLEAR,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:ça|cela|c'est|ce|cette situation|tout ça|c'était) ?(?:me |nous )?(?:est |devient "
        r"|commence à être |vraiment |très |trop |tellement |hyper |assez |un peu )*(?P<what>frustrant"
        r"|épuisant|décourageant|démotivant|stressant|usant|déprimant|rageant|pénible|stresse|saoule|soûle"
        r"|gonfle|déprime|décourage|démotive|fatigue|énerve|motive)e?\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?:le moral|l'ambiance|l'humeur)\b.{0,30}\b(?:bas|au plus bas|mauvaise?|bonne?|excellente?|haut"
        r"|en baisse|tendue|plombée?|en berne|remonte|baisse)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"\b(?-i:[A-ZÉ][\wéè'-]{1,20}) (?:a l'air|semble|paraît|est) (?:vraiment |très |assez |un peu "
        r"|complètement )*(?P<what>épuisée?|frustrée?|fatiguée?|stressée?|débordée?|démotivée?|découragée?"
        r"|énervée?|à bout|ravie?|motivée?|enthousiaste)\b",
        confidence=WEAK + 0.1,
        unless=r"\b(?:client|cliente|on)\b",
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"^(?:si |très |tellement |trop |vraiment |super |hyper )+(?P<what>heureu(?:x|se)s?|fi(?:er|ère)s?"
        r"|contente?s?|ravie?s?|déçue?s?|frustrée?s?|fatiguée?s?|stressée?s?|motivée?s?)\b|\b(?:m'a|nous a"
        r"|m'ont|nous ont) (?:vraiment |complètement |un peu )?(?P<how>démoralisée?s?|découragée?s?"
        r"|épuisée?s?|énervée?s?|agacée?s?|motivée?s?|remotivée?s?|frustrée?s?|déçue?s?|stressée?s?"
        r"|vidée?s?)\b",
        confidence=STRONG,
    ),
    signal(
        Category.MOOD_SIGNAL,
        r"^quelle? (?:journée|semaine|matinée|sprint|réunion|lancement) (?P<what>\w+)|^(?:si|très"
        r"|trop) (?:contente?|fi(?:er|ère)|heureu(?:x|se))\b",
        confidence=STRONG,
    ),
)

RISKS: tuple[Signal, ...] = (
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:on risque|je risque|nous risquons|risque(?:nt|ra)? (?:de|d')|(?:un|le|gros|grand|fort|vrai"
        r"|des) risques? (?:de|d'|que|sur|pour)|à risque|en danger|en péril|compromise?s?|menacée?s?"
        r"|mise?s? en danger|signal d'alarme|alerte rouge)\b|\brisqué\b",
        modal=True,
        unless=r"\b(?:aucun|pas de|sans|plus de|zéro) risque|\bne risque (?:rien|pas)",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:en retard|du retard|a pris du retard|prend du retard|accumul\w+ du retard|retard (?:de|sur)"
        r"|hors budget|dépassement (?:de|du) budget|budget (?:est )?(?:dépassé|explosé)|sous-effectif"
        r"|sous-staffée?s?|dérape|dérive|glisse|va glisser|va déraper|délais? (?:trop |très )?(?:serrée?s?"
        r"|courts?|intenables?|irréalistes?))\b",
        modal=True,
        unless=r"\b(?:plus|pas|n'est pas) (?:en retard|de retard)|\bdésolée? (?:du|pour le|de mon) retard"
        r"|\b(?:je suis|serai|j'arrive) (?:un peu )?en retard (?:ce matin|pour la réunion|au|à la)\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:(?:ne |n')(?:tiendra|tiendrons|tiendrai|va|vais|allons|sera|serons|pourra|pourrons|arrivera"
        r"|arriverons|finira|finirons|livrera|livrerons) (?:pas|jamais) (?:tenir |être |livrer |finir "
        r"|pouvoir |réussir )?(?:les? délais?|la date|l'échéance|la deadline|prête?s?|à temps"
        r"|dans les temps|à l'heure|tenir|livrée?|terminée?|respecter)|(?:échéance|date|deadline|jalon"
        r"|livraison|délai)s? (?:a été |est |ont été )?(?:manquée?s?|ratée?s?|dépassée?s?"
        r"|reportée?s? encore|loupée?s?)|(?:manqué|raté|loupé|dépassé) (?:la|l'|le|une|notre"
        r"|les) (?:échéance|deadline|date|délai|jalon|livraison)s?|sera (?:reportée?|retardée?|repoussée?"
        r"|décalée?)|a été (?:retardée?|repoussée?))\b",
        modal=True,
        unless=r"\bréunion\b",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:périmètre|scope|cahier des charges|besoins?|exigences|spécifications"
        r"|specs)\b.{0,30}\b(?:a changé|ont changé|change(?:nt)? (?:encore|sans cesse|tout le temps)"
        r"|s'élargit|a doublé|s'est élargi|a explosé|grandit|évolue(?:nt)? sans cesse|a encore changé"
        r"|n'arrêtent pas de changer|n'arrête pas de changer)\b",
        modal=True,
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:client|cliente|clients|compte|partenaire|investisseur)s?\b.{0,40}\b(?:mécontente?s?"
        r"|furieu(?:x|se)|en colère|insatisfaite?s?|menace(?:nt)?|veut (?:partir|résilier|annuler|arrêter)"
        r"|se plaint|se plaignent|agacée?s?|déçue?s?|résili\w+|perd patience|s'impatiente|ne répond plus"
        r"|pas contente?s?)\b",
        modal=True,
        unless=r"\bplus (?:mécontent|furieux)",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:je suis|on est|nous sommes) (?:\w+ )?(?:inquiète?|inquiets|préoccupée?s?) (?:pour|que|de|par"
        r"|quant)|\b(?:j'ai peur|je crains|on craint|nous craignons|je doute) (?:que|qu'|de|d')",
        modal=True,
        confidence=STRONG,
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:intenable|irréaliste|trop (?:serrée?|ambitieu(?:x|se)|optimiste)|hors (?:du )?périmètre"
        r"|pas assez de (?:monde|temps|budget|ressources|développeurs)|c'est (?:très )?juste (?:pour"
        r"|niveau))\b",
        modal=True,
        unless=r"\bpas (?:irréaliste|intenable)",
    ),
    signal(
        Category.RISK_SIGNAL,
        r"\b(?:jours?|semaines?|mois) de retard\b|\b(?:manque|manquons|manquer) de (?:temps|budget|moyens"
        r"|monde)\b|\bà court de (?:temps|budget)\b",
        modal=True,
        unless=r"\b(?:plus|pas) de retard",
    ),
)

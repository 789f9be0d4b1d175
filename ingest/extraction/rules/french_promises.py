"""French: promises and deadlines.

The order within each table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STRONG
from ingest.extraction.rules.french_words import ADV, DO, FUTURE, WHO
from ingest.extraction.rules.signals import Signal, signal

COMMITMENTS: tuple[Signal, ...] = (
    signal(
        Category.COMMITMENT,
        rf"\b(?:je vais|j'vais|on va|nous allons) {ADV}(?P<what>(?:te |vous |t'|le |la |les |l'|lui |leur "
        rf"|m'en |m'|me |y |en |nous en |s'en )?{DO}\b.{{0,160}})",
        confidence=CLEAR,
        unless=r"\b(?:voir|devoir|essayer de voir|pas)\b.{0,3}$|\bne vais pas\b|\bva (?:voir|devoir)\b"
        r"|\bje vais (?:prendre (?:un|une) (?:café|pause|thé|verre)|faire (?:une pause|les courses"
        r"|du sport))",
    ),
    signal(
        Category.COMMITMENT,
        rf"\b{FUTURE}",
        confidence=CLEAR,
        unless=r"\b(?:ne |n')|\bon (?:verra|sera|aura|fera avec)\b|\b(?:si|quand)\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:je|on|nous) (?:m'|s'|nous )(?:engage|engageons) à\b|\b(?:je (?:te |vous |le )?promets"
        r"|c'est promis|promis,|je (?:te |vous )?garantis|tu as ma parole|vous avez ma parole"
        r"|comptez? sur moi|laissez?[- ](?:moi|le moi) (?:faire|gérer|m'en)|je m'en occupe|je m'en charge"
        r"|on s'en (?:occupe|charge)|nous nous en (?:occupons|chargeons)|je m'(?:occupe|y (?:mets"
        r"|colle)) (?:de|du|des|d'|aujourd'hui|demain|ce)|je me charge (?:de|du|des|d'))",
        confidence=CLEAR,
        unless=r"\bau quotidien\b|\bne (?:te |vous )?promets\b",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:je|j'|on|nous) ?(?:te |vous |t'|le |la |les |lui |leur )*(?P<what>(?:envoie|livre|finis"
        r"|termine|prépare|rends|partage|corrige|transmets|publie|déploie|rappelle|reviens vers|fais|boucle"
        r"|envoyons|livrons|finissons|rendons|relis|poste|remets|donne|mets)\b.{1,80}\b(?:demain|lundi"
        r"|mardi|mercredi|jeudi|vendredi|ce soir|d'ici|avant|semaine prochaine|cet après-midi|en fin de"
        r"|dans (?:l'heure|la journée|deux|trois|une|un|\d+)|aujourd'hui|tout de suite|dès que"
        r"|au plus tard).{0,40})",
        confidence=CLEAR - 0.02,
        unless=r"\btous les\b|\bchaque\b|\b(?:ne |n')|\bje fais (?:du|de la|des) (?:sport|yoga)",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:tu auras|vous aurez|tu recevras|vous recevrez|le client aura|le client recevra) .{2,80}",
    ),
    signal(
        Category.COMMITMENT,
        r"\b(?:je prends en charge|je prends en main) .{3,}|(?:je prends|je récupère) (?:le |la |ce |cette "
        r"|les |l')(?:ticket|tâche|sujet|bug|dossier|point|action|relecture|revue|PR|correctif|suivi"
        r"|organisation)",
        confidence=STRONG + 0.05,
    ),
    signal(
        Category.COMMITMENT,
        rf"\b{WHO} (?:s'engage à|s'est engagée? à|a promis de|a promis d'|va (?:nous |lui |leur |te "
        r"|vous )?(?:envoyer|livrer|finir|terminer|préparer|corriger|relire|rédiger|déployer|publier)"
        r"|(?:nous |lui |leur |te |vous )?(?:enverra|livrera|finira|terminera|préparera|corrigera|rédigera"
        r"|déploiera|publiera|présentera))\b",
        confidence=STRONG - 0.05,
    ),
)

DEADLINES: tuple[Signal, ...] = (
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:date limite|échéance|deadline|date butoir|dernier délai|date de (?:livraison|rendu|lancement"
        r"|sortie|mise en (?:prod|production|ligne))|délai|clôture)\b",
        dated=True,
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:est|sont|sera|seront|reste) (?:à rendre|attendue?s?|due?s?|prévue?s?|à livrer|fixée?s?"
        r"|programmée?s?|planifiée?s?|à remettre|à envoyer)\b|\b(?:à rendre|à livrer|à remettre|à envoyer"
        r"|à finir|à terminer) (?:pour|avant|d'ici|le|au plus tard)\b",
        dated=True,
        unless=r"\b(?:réunion|déjeuner|vacances|resto|pot)\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:doit|doivent|devra|devront|faut|il faut|il faudra|veut|exige|attend|demande|devons"
        r"|doit-on)\b.{0,80}?\b(?:avant|d'ici|pour|au plus tard|le)\b",
        dated=True,
        unless=r"\bpour (?:que|faire|pouvoir)\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:expire|expirent|ferment|clôturent|démarrent|se termine|prend fin|ferme|clôture"
        r"|arrive à échéance|sort|démarre)\b.{0,30}\b(?:le|à|au|en|fin|demain|lundi|mardi|mercredi|jeudi"
        r"|vendredi)\b",
        dated=True,
        unless=r"\bje\b|\bréunion\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\b(?:on a|nous avons|vous avez|tu as|il reste|ils ont|j'ai) (?:encore |seulement |jusqu')",
        dated=True,
        unless=r"\bréunion\b",
    ),
    signal(
        Category.DEADLINE_MENTION,
        r"\bau plus tard\b|\bdernier délai\b|\b(?:démo|lancement|livraison|mise en prod(?:uction)?"
        r"|mise en ligne|audit|release|gel du code|jalon|présentation|recette)\b.{0,20}\b(?:le|est"
        r"|aura lieu|prévue?|a lieu|tombe|passe|reportée?|avancée?|décalée?)\b",
        dated=True,
        unless=r"\b(?:terminée?|réussie?|faite|passée?|finie)\b",
    ),
)

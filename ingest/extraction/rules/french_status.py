"""French: progress, and what is done.

The order within the table is the order of precedence.
"""

from __future__ import annotations

from facts.vocabulary import Category
from ingest.extraction.rules.drafts import CLEAR, STATED, STRONG
from ingest.extraction.rules.signals import Signal, signal

STATUSES: tuple[Signal, ...] = (
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:j'ai|on a|nous avons|je viens de|on vient de|nous venons de) (?:enfin |bien |tout |déjà "
        r"|presque |juste |aussi |bien |entièrement )*(?P<what>(?:fini|terminé|livré|déployé|corrigé|envoyé"
        r"|mergé|publié|résolu|validé|bouclé|poussé|fermé|mis (?:en|à)|migré|testé|relu|implémenté|lancé"
        r"|commencé|démarré|avancé|réparé|finalisé|achevé|soumis|signé|créé|ouvert|ajouté|supprimé|rédigé"
        r"|écrit|installé|configuré|identifié|trouvé (?:la|le|une|un)|reçu|obtenu|réglé|traité|remboursé"
        r"|payé|préparé|partagé|posté|mise? à jour|documenté|planifié|réservé|confirmé|rétabli|passé (?:en"
        r"|les|la|le)|rencontré|présenté|recruté|finir|terminer|livrer|déployer|corriger|envoyer|merger"
        r"|publier|résoudre|valider|boucler|mettre|recevoir|lancer|signer|rendre|fait (?:la|le|les|une|un)"
        r"|atteint|nettoyé|optimisé|refait)\b.{0,160})",
        confidence=STATED,
        unless=r"\b(?:ne|n'|pas|jamais|failli)\b|\bil y a (?:\w+) (?:ans|mois)\b|\ben (?:19|20)\d\d\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:est|sont|a été|ont été|c'est) (?:maintenant |enfin |bien |tout |désormais |entièrement "
        r"|presque |officiellement |déjà |de nouveau |à nouveau )*(?:faite?s?|finie?s?|terminée?s?"
        r"|livrée?s?|déployée?s?|corrigée?s?|résolue?s?|réglée?s?|prête?s?|en ligne|en prod(?:uction)?"
        r"|en cours|en recette|en revue|en test|validée?s?|publiée?s?|mergée?s?|fusionnée?s?|bouclée?s?"
        r"|rétablie?s?|opérationnel(?:le)?s?|fonctionnel(?:le)?s?|débloquée?s?|signée?s?|envoyée?s?"
        r"|lancée?s?|clôturée?s?|à jour|dans les temps|en bonne voie|à \d{1,3} ?%|à moitié)(?=\s*(?:$"
        r"|[,.;:!)(]|et|depuis|pour|sur|en|à|ce|hier|mais|par|dans|chez|aujourd|avec|sauf))",
        confidence=CLEAR,
        unless=r"\b(?:ne|n'|pas|jamais|sera|seront|doit|doivent|faut|si|quand|avant|dès que|une fois|tant que)\b"
        r"|\bbon(?:ne)? à faire\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:je travaille|on travaille|nous travaillons|je bosse|on bosse|je suis en train"
        r"|on est en train|nous sommes en train|j'avance|on avance|nous avançons|je continue"
        r"|on continue) (?:actuellement |toujours |encore |bien |bien sur |plutôt bien )?(?:sur|de|d'|à"
        r"|bien|les|le|la)\b.{0,160}|\b(?:les tests|la ci|le build|le pipeline) (?:sont|est|passent"
        r"|passe) ?(?:au vert|verte?s?|ok)?\b|\bon est (?:dans les temps|à jour|en avance|à \d{1,3} ?%)"
        r"|\b(?:avancement|statut|point d'étape) ?:|\b\d{1,3} ?% (?:fait|terminé|réalisé|des|du|de)\b",
        confidence=CLEAR,
        unless=r"\b(?:ne|n'|pas)\b|\bje travaille (?:chez|pour|comme|à|du|de nuit|le)\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"\b(?:a|ont) (?:bien |enfin |déjà )?été (?:bien |enfin |entièrement )?(?:expédiée?s?|effectuée?s?"
        r"|traitée?s?|remboursée?s?|envoyée?s?|mise?s? (?:à jour|en ligne|en prod\w*)|créée?s?|ajoutée?s?"
        r"|supprimée?s?|remplacée?s?|installée?s?|activée?s?|renouvelée?s?|testée?s?|reçue?s?|payée?s?"
        r"|annulée?s?|transmise?s?|enregistrée?s?|confirmée?s?|réservée?s?|planifiée?s?|rétablie?s?"
        r"|migrée?s?|acceptée?s?|relue?s?|signalée?s?|appliquée?s?|réinitialisée?s?)\b",
        unless=r"\b(?:ne|n'|pas|jamais|si|quand|une fois|dès que)\b",
    ),
    signal(
        Category.STATUS_UPDATE,
        r"^(?:enfin |bien |tout |juste )*(?:fini|terminé|livré|déployé|corrigé|envoyé|mergé|publié|résolu"
        r"|bouclé|c'est fait|c'est livré|c'est en (?:ligne|prod))\b.{0,100}",
        confidence=STRONG,
    ),
)

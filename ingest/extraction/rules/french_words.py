"""French words that several tables of signals share, as parts of regular expressions."""

from __future__ import annotations

ADV = (
    r"(?:(?:encore|toujours|aussi|déjà|vraiment|trop|très|tellement|hyper|super|complètement|totalement"
    r"|un peu|assez|bien|enfin|juste|plutôt|carrément|sûrement|maintenant|tous|toutes|si) )*"
)

TO = r"(?-i:@?[A-ZÉÈ][\w.'-]{1,20}|l'équipe [\w-]+|toi\b|vous\b|lui\b)"

WHO = r"(?-i:@?[A-ZÉÈ][\w.'-]{1,20}(?: [A-ZÉÈ][\w'-]{1,20})?|l'équipe [\w-]+)"

DO = (
    r"(?:envoyer|livrer|finir|terminer|préparer|corriger|relire|revoir|mettre|faire|déployer|publier"
    r"|rédiger|écrire|partager|vérifier|regarder|appeler|rappeler|contacter|organiser|planifier"
    r"|réserver"
    r"|créer|tester|traiter|m'en occuper|m'occuper|me charger|prendre|reprendre|gérer|transmettre"
    r"|poster|ouvrir|confirmer|présenter|documenter|migrer|ajouter|supprimer|fournir|boucler|relancer"
    r"|rembourser|commander|payer|répondre|revenir|valider|installer|configurer|rendre|donner|lancer"
    r"|résoudre|régler|analyser|enquêter|étudier|remplacer|mener|t'envoyer|vous envoyer|te rappeler"
    r"|vous rappeler"
    r"|te tenir|vous tenir|t'aider|vous aider|escalader|programmer|construire|implémenter|nettoyer"
    r"|merger|pousser|refaire|compléter|imprimer|acheter|signer|communiquer|prévenir|informer|remonter"
    r"|apporter|caler|fixer)"
)

FUTURE = (
    r"(?:je|j'|nous|on) ?(?:m'en |m'|me |t'|te |vous |l'|le |la |les |lui |leur |y |en |en "
    r"|nous )*(?P<verb>(?:enverr|livrer|finir|terminer|préparer|corriger|relir|reverr|mettr|fer"
    r"|déploier|déployer|publier|rédiger|écrir|partager|vérifier|regarder|appeller|rappeller|contacter"
    r"|organiser|planifier|réserver|créer|tester|traiter|occuper|charger|prendr|reprendr|gérer"
    r"|transmettr|poster|ouvrir|confirmer|présenter|documenter|migrer|ajouter|fournir|boucler|relancer"
    r"|rembourser|répondr|reviendr|valider|installer|rendr|donner|lancer|résoudr|réglér|régler|analyser"
    r"|tiendr|prévienr|préviendr|apporter|remettr|informer|communiquer|fixer|calér|caler|passer)(?:ai|a"
    r"|ons))\b"
)

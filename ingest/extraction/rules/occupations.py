"""Names of occupations in English and French: what tells "a nurse" from "a fan of nurses"."""

from __future__ import annotations

from ingest.extraction.words import words

_HEADS = words(
    """
    engineer developer designer manager teacher nurse doctor lawyer student accountant consultant analyst
    architect scientist researcher writer editor journalist photographer chef cook baker barista driver pilot
    electrician plumber carpenter mechanic technician administrator admin director ceo cto cfo coo founder
    cofounder co-founder freelancer contractor programmer coder marketer recruiter salesperson seller cashier clerk
    secretary assistant receptionist librarian professor lecturer tutor coach therapist psychologist
    psychiatrist dentist pharmacist surgeon physician paramedic veterinarian vet biologist chemist physicist
    mathematician statistician economist historian artist musician singer actor actress dancer filmmaker
    producer translator interpreter firefighter policeman officer soldier farmer gardener fisherman tailor
    hairdresser barber waiter waitress bartender housekeeper cleaner janitor guard intern apprentice trainee
    strategist planner coordinator specialist supervisor lead owner representative rep agent broker banker
    trader auditor controller paralegal judge attorney notary operator tester sre devops dba sysadmin maintainer
    entrepreneur midwife optician radiologist cardiologist retiree illustrator animator copywriter videographer
    surveyor geologist astronomer développeur développeuse ingénieur ingénieure graphiste infirmier infirmière
    médecin avocat avocate étudiant étudiante comptable consultant consultante analyste architecte chercheur
    chercheuse écrivain écrivaine rédacteur rédactrice journaliste photographe cuisinier cuisinière boulanger
    boulangère chauffeur électricien plombier charpentier mécanicien technicien technicienne directeur
    directrice fondateur fondatrice gérant gérante professeur professeure prof enseignant enseignante
    instituteur institutrice psychologue dentiste pharmacien pharmacienne chirurgien vétérinaire biologiste
    chimiste physicien artiste musicien musicienne chanteur chanteuse acteur actrice danseur danseuse traducteur
    traductrice pompier policier agriculteur agricultrice jardinier coiffeur coiffeuse serveur serveuse
    stagiaire apprenti apprentie chef cheffe vendeur vendeuse secrétaire commercial commerciale juriste notaire
    responsable designer data-scientist indépendant freelance retraité retraitée statisticien économiste
    historien assistante kinésithérapeute sage-femme éducateur éducatrice libraire bibliothécaire caissier
    caissière entrepreneuse
    """
)
#: Heads that make an occupation only with another word before them ("team lead", not "a lead").
_NEED_MORE = frozenset(
    {"lead", "owner", "agent", "assistant", "officer", "guard", "operator", "specialist", "cook", "coach", "rep"}
)
_NOT_JOBS = frozenset(
    {
        "good",
        "bad",
        "great",
        "terrible",
        "huge",
        "big",
        "better",
        "fast",
        "slow",
        "new",
        "bit",
        "morning",
        "happy",
        "nervous",
        "lousy",
        "decent",
        "bon",
        "mauvais",
    }
)


def is_occupation(role: str) -> bool:
    """Whether the words name an occupation: "senior data engineer", "infirmière", "chef de projet"."""
    words = role.casefold().replace("/", " ").split()
    if not 1 <= len(words) <= 6 or words[0] in _NOT_JOBS:
        return False
    for place, word in enumerate(words):
        if word in _HEADS:
            before = place > 0
            after = len(words) > place + 1 and words[place + 1] in {
                "de",
                "d'équipe",
                "des",
                "en",
                "of",
                "marketing",
                "technique",
            }
            last = place == len(words) - 1
            if (last or after or word.endswith(("eur", "euse"))) and (word not in _NEED_MORE or before):
                return True
    return False


_FRENCH: dict[str, str] = {
    "infirmier": "nurse", "infirmière": "nurse", "développeur": "developer", "développeuse": "developer",
    "ingénieur": "engineer", "ingénieure": "engineer", "graphiste": "graphic designer", "médecin": "doctor",
    "avocat": "lawyer", "avocate": "lawyer", "étudiant": "student", "étudiante": "student",
    "comptable": "accountant", "architecte": "architect", "journaliste": "journalist",
    "photographe": "photographer", "professeur": "teacher", "professeure": "teacher", "prof": "teacher",
    "enseignant": "teacher", "enseignante": "teacher", "psychologue": "psychologist", "dentiste": "dentist",
    "pharmacien": "pharmacist", "pharmacienne": "pharmacist", "traducteur": "translator",
    "traductrice": "translator", "chef de projet": "project manager", "cheffe de projet": "project manager",
    "consultante": "consultant", "cuisinier": "cook", "cuisinière": "cook", "boulanger": "baker",
    "boulangère": "baker", "stagiaire": "intern", "retraité": "retiree", "retraitée": "retiree",
    "electricien": "electrician", "plombier": "plumber", "vendeur": "salesperson", "vendeuse": "salesperson",
}  # fmt: skip


def canonical(role: str) -> str:
    """One name per occupation where both languages have a plain one; otherwise the words as said."""
    return _FRENCH.get(role, role)

"""Claims that English and French share: one builder per kind of claim,
so that both languages meet in one identity."""

from __future__ import annotations

from facts.vocabulary import Kind, Volatility
from ingest.extraction import languages
from ingest.extraction.rules import values
from ingest.extraction.rules.drafts import CLEAR, STATED, Draft, value
from ingest.extraction.words import words

_LANGUAGE_NAMES = {
    languages.ENGLISH: {
        "en": "English",
        "fr": "French",
        "de": "German",
        "es": "Spanish",
        "it": "Italian",
        "pt": "Portuguese",
        "nl": "Dutch",
    },
    languages.FRENCH: {
        "en": "anglais",
        "fr": "français",
        "de": "allemand",
        "es": "espagnol",
        "it": "italien",
        "pt": "portugais",
        "nl": "néerlandais",
    },
}
#: Objects that name nothing by themselves.
_VAGUE = words(
    """
    it that this them those these you him her us me one ones things thing stuff something everything anything
    nothing way idea idea! your the ça cela ceci celui celle lui elle eux tout rien truc chose ce idée what how
    when where to both either neither same better more less him. working being le la les sound look way forward
    """
)


def is_vague(text: str) -> bool:
    """Whether the words could not be understood outside their conversation."""
    words = text.casefold().split()
    if not words or len(words) > 7:
        return True
    if len(words) == 1 and (words[0] in _VAGUE or len(words[0]) < 2):
        return True
    return words[0] in {
        "this", "that", "these", "those", "your", "it", "how", "when", "what", "where", "to", "you", "being",
        "him", "her", "his", "their", "its", "if", "and", "or", "not", "just", "things", "in", "on", "at", "with",
        "for", "from", "of", "by", "about", "some", "any", "all", "so",
        "ce", "cet", "cette", "ces", "ton", "ta", "tes", "votre", "vos", "que", "quand", "comment", "ça", "cela",
        "te", "vous", "tu", "idée", "si",
    }  # fmt: skip


def language_name(code: str, language: str, spoken: str) -> str:
    """The name of a language in the language of the statement."""
    return _LANGUAGE_NAMES[language].get(code, spoken.strip())


def likes(thing: str, *, positive: bool, language: str, marker: str, ended: bool) -> Draft | None:
    """A liking or disliking: one claim per thing, so that several stand side by side."""
    bare = values.common(thing)
    if is_vague(thing) or is_vague(bare):
        return None
    shown = values.bare(thing) if language == languages.ENGLISH else " ".join(thing.split())
    if language == languages.ENGLISH:
        says, negated = f"{'likes' if positive else 'dislikes'} {shown}", f"no longer likes {shown}"
    else:
        says = f"aime {shown}" if positive else f"n'aime pas {shown}"
        negated = f"n'aime plus {shown}"
    return Draft(
        says=says,
        negated=negated,
        predicate="likes",
        value=value(positive or ended),
        qualifiers={"object": bare},
        kind=Kind.PREFERENCE,
        denies=ended,
        volatility=Volatility.SLOW,
        marker=marker if ended else "",
    )


def prefers(thing: str, *, over: str, use: str, language: str) -> Draft | None:
    """A preference: by its domain when that is known, else by the two things weighed, else by the thing itself."""
    chosen, other = values.common(thing), values.common(over) if over else ""
    if is_vague(thing) or is_vague(chosen):
        return None
    qualifiers = {"for": values.topic(use)} if use and not is_vague(values.bare(use)) else {}
    domain = values.domain(thing) or (values.domain(over) if over else "")
    code = values.language(thing)
    if code:
        predicate, content = "preferred_language", value(code)
    elif domain:
        predicate, content = f"preferred_{domain}", value(chosen)
    elif other:
        predicate, content = "prefers", value(chosen)
        qualifiers["between"] = " | ".join(sorted((chosen, other)))
    else:
        predicate, content = "prefers", value(True)
        qualifiers["object"] = chosen
    words = {languages.ENGLISH: ("prefers", "over", "for"), languages.FRENCH: ("préfère", "à", "pour")}[language]
    says = f"{words[0]} {' '.join(thing.split())}"
    if over:
        says += (
            f" {words[1]} {' '.join(over.split())}"
            if language == languages.ENGLISH
            else f" (plutôt que {' '.join(over.split())})"
        )
    if use:
        says += f" {words[2]} {' '.join(use.split())}"
    return Draft(
        says=says,
        negated=f"no longer {says}"
        if language == languages.ENGLISH
        else f"ne {says.replace('préfère', 'préfère plus', 1)}",
        predicate=predicate,
        value=content,
        qualifiers=qualifiers,
        kind=Kind.PREFERENCE,
        volatility=Volatility.SLOW,
    )


def favourite(measure: str, thing: str, *, language: str) -> Draft | None:
    """The favourite of its kind, under the same predicate as a preference within that domain."""
    name = values.noun(measure)
    if not name or is_vague(thing) or len(name) > 40:
        return None
    shown = " ".join(thing.split())
    says = (
        f"has {shown} as favourite {measure.strip()}"
        if language == languages.ENGLISH
        else f"a pour {measure.strip()} favori : {shown}"
    )
    code = values.language(thing) if name == "language" else ""
    return Draft(
        says=says,
        predicate=f"preferred_{name}",
        value=value(code or values.common(thing)),
        kind=Kind.PREFERENCE,
        volatility=Volatility.SLOW,
    )


def preferred_language(spoken: str, *, use: str, language: str, instruction: bool) -> Draft | None:
    """The language somebody wants to be addressed in, or wants something written in."""
    code = values.language(spoken)
    if not code:
        return None
    shown = language_name(code, language, spoken)
    qualifiers = {"for": values.topic(use)} if use else {}
    if language == languages.ENGLISH:
        says = f"wants {values.bare(use)} in {shown}" if use else f"wants to be answered in {shown}"
    else:
        says = (
            f"souhaite recevoir ses {values.bare(use)} en {shown}" if use else f"souhaite qu'on lui réponde en {shown}"
        )
    return Draft(
        says=says,
        predicate="preferred_language",
        value=value(code),
        qualifiers=qualifiers,
        kind=Kind.INSTRUCTION if instruction else Kind.PREFERENCE,
        confidence=STATED,
        volatility=Volatility.SLOW,
    )


def diet(word: str, *, denies: bool, language: str, marker: str) -> Draft | None:
    """A way of eating; the value is the English word, whatever language it was said in."""
    canonical = {
        "vegan": "vegan", "végan": "vegan", "végane": "vegan", "végétalien": "vegan", "végétalienne": "vegan",
        "vegetarian": "vegetarian", "veggie": "vegetarian",
        "végétarien": "vegetarian", "végétarienne": "vegetarian", "végé": "vegetarian",
        "pescatarian": "pescatarian", "pescétarien": "pescatarian",
        "pescétarienne": "pescatarian", "flexitarian": "flexitarian", "flexitarien": "flexitarian",
        "flexitarienne": "flexitarian", "gluten-free": "gluten-free", "keto": "keto",
    }.get(word.casefold())  # fmt: skip
    if not canonical:
        return None
    if language == languages.ENGLISH:
        says, negated = f"is {word}", f"is {'no longer' if marker else 'not'} {word}"
    else:
        says, negated = f"est {word}", f"n'est {'plus' if marker else 'pas'} {word}"
    return Draft(
        says=says,
        negated=negated,
        predicate="diet",
        value=value(canonical),
        denies=denies,
        kind=Kind.ATTRIBUTE,
        volatility=Volatility.SLOW,
    )


_FOODS = {
    "arachides": "peanuts", "arachide": "peanuts", "cacahuètes": "peanuts", "cacahuète": "peanuts",
    "peanut": "peanuts", "noix": "nuts", "fruits à coque": "nuts", "lactose": "lactose", "gluten": "gluten",
    "pollen": "pollen", "chats": "cats", "chiens": "dogs", "fruits de mer": "seafood", "crustacés": "shellfish",
    "œufs": "eggs", "oeufs": "eggs", "lait": "milk", "soja": "soy", "poisson": "fish", "pénicilline": "penicillin",
    "cat": "cats", "dog": "dogs", "nut": "nuts", "viande": "meat", "porc": "pork", "viande rouge": "red meat",
    "sucre": "sugar",
}  # fmt: skip


def food(text: str) -> str:
    """A food or allergen in its canonical English form where it is known."""
    plain = values.common(text)
    return _FOODS.get(plain, plain)


def allergy(thing: str, *, says: str, denies: bool, negated: str) -> Draft | None:
    """An allergy or intolerance: one claim per trigger."""
    if is_vague(thing):
        return None
    return Draft(
        says=says,
        negated=negated,
        predicate="allergic_to",
        value=value(True),
        qualifiers={"object": food(thing)},
        denies=denies,
        confidence=STATED,
    )


def avoids(thing: str, *, says: str) -> Draft | None:
    """Something a person does not eat or drink."""
    if is_vague(thing):
        return None
    return Draft(
        says=says,
        predicate="avoids",
        value=value(True),
        qualifiers={"object": food(thing)},
        kind=Kind.PREFERENCE,
        volatility=Volatility.SLOW,
    )


def uses(
    thing: str, *, use: str, says: str, negated: str, denies: bool, about: str = "", switched: bool = False
) -> Draft | None:
    """A tool in use: by domain when that is known, by purpose when that is given, else one claim per tool."""
    shown = values.bare(thing)
    chosen = values.common(thing)
    if is_vague(thing) or is_vague(shown) or len(shown.split()) > 4:
        return None
    domain = values.domain(thing)
    purpose = values.topic(use) if use and not is_vague(values.bare(use)) and len(use.split()) <= 5 else ""
    if domain in {"drink", "transport", "seat", "time_of_day", "indentation"}:
        return None
    if about and domain in {"database", "cloud", "programming_language"}:
        predicate = {"database": "database", "cloud": "hosted_on", "programming_language": "written_in"}[domain]
        content, qualifiers = value(chosen), {"for": purpose} if purpose else {}
    elif domain in {"editor", "browser", "operating_system", "shell", "package_manager", "theme", "cloud", "units"}:
        predicate, content, qualifiers = f"uses_{domain}", value(chosen), {"for": purpose} if purpose else {}
    elif purpose:
        predicate, content, qualifiers = "uses", value(chosen), {"for": purpose}
    elif switched and not domain:
        return None
    else:
        predicate, content, qualifiers = "uses", value(True), {"object": chosen}
    return Draft(
        says=says,
        negated=negated,
        predicate=predicate,
        value=content,
        qualifiers=qualifiers,
        kind=Kind.ATTRIBUTE,
        denies=denies,
        about=about,
        confidence=CLEAR,
        volatility=Volatility.SLOW,
        starts=switched,
    )

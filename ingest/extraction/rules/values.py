"""Canonical values: the same thing said in other words, or in the other language, is the same value."""

from __future__ import annotations

import re
import unicodedata

from ingest.extraction.words import words

#: Names of languages in English and French, to ISO 639-1 codes.
LANGUAGES: dict[str, str] = {
    "english": "en", "anglais": "en", "french": "fr", "français": "fr", "francais": "fr", "german": "de",
    "allemand": "de", "spanish": "es", "espagnol": "es", "italian": "it", "italien": "it", "portuguese": "pt",
    "portugais": "pt", "dutch": "nl", "néerlandais": "nl", "arabic": "ar", "arabe": "ar", "chinese": "zh",
    "mandarin": "zh", "chinois": "zh", "japanese": "ja", "japonais": "ja", "russian": "ru", "russe": "ru",
    "polish": "pl", "polonais": "pl", "turkish": "tr", "turc": "tr", "hindi": "hi", "korean": "ko", "coréen": "ko",
    "swedish": "sv", "suédois": "sv", "norwegian": "no", "norvégien": "no", "danish": "da", "danois": "da",
    "finnish": "fi", "finnois": "fi", "greek": "el", "grec": "el", "czech": "cs", "tchèque": "cs",
    "romanian": "ro", "roumain": "ro", "hungarian": "hu", "hongrois": "hu", "ukrainian": "uk", "ukrainien": "uk",
    "hebrew": "he", "hébreu": "he", "vietnamese": "vi", "vietnamien": "vi", "catalan": "ca", "breton": "br",
    "farsi": "fa", "persian": "fa", "persan": "fa", "swahili": "sw", "thai": "th", "thaï": "th", "bengali": "bn",
    "urdu": "ur",
}  # fmt: skip
LANGUAGE = "(?:" + "|".join(sorted(LANGUAGES, key=len, reverse=True)) + ")"

_DOMAIN_WORDS: dict[str, str] = {
    "drink": "tea=thé coffee=café=espresso water=eau wine=vin beer=bière juice=jus matcha green_tea=thé_vert"
    " black_tea=thé_noir decaf=déca hot_chocolate=chocolat_chaud cappuccino latte oat_milk sparkling_water",
    "theme": "dark_mode=dark_theme=mode_sombre=thème_sombre=le_mode_sombre "
    "light_mode=light_theme=mode_clair=thème_clair",
    "contact_channel": "email=e-mail=mail=emails=e-mails=courriel=mails "
    "phone=phone_calls=calls=a_call=téléphone=appel=appels=phone_call"
    " slack=slack_messages sms=text=texts=text_messages=texto teams whatsapp=whats_app signal telegram "
    "discord=discord_messages",
    "editor": "vim neovim=nvim emacs vs_code=vscode=visual_studio_code intellij=intellij_idea pycharm "
    "sublime=sublime_text zed cursor nano helix webstorm",
    "programming_language": "python rust go=golang java kotlin "
    "typescript javascript ruby elixir scala haskell clojure c++ c# "
    "php swift racket ocaml",
    "database": "postgres=postgresql mysql mariadb sqlite mongodb=mongo redis cassandra dynamodb oracle clickhouse "
    "cockroachdb=cockroach snowflake bigquery elasticsearch",
    "operating_system": "linux macos=mac_os windows ubuntu debian fedora arch=arch_linux",
    "phone": "iphone android",
    "indentation": "tabs=tabulations spaces=espaces",
    "time_of_day": "mornings=morning=matin=le_matin=in_the_morning=morning_meetings "
    "afternoons=afternoon=après-midi=l'après-midi=afternoon_meetings evenings=evening=soir=le_soir",
    "seat": "aisle=aisle_seat=aisle_seats=couloir=côté_couloir window_seat=window_seats=hublot=côté_hublot=window",
    "transport": "train=trains=the_train plane=avion=flying=planes car=voiture=driving bike=vélo=cycling bus",
    "browser": "firefox chrome=google_chrome safari edge brave",
    "units": "metric=metric_units=système_métrique imperial=imperial_units",
    "work_mode": "remote=remote_work=working_remotely=working_from_home=télétravail=le_télétravail "
    "office=the_office=working_from_the_office=présentiel=bureau hybrid=hybride=hybrid_work",
    "cloud": "aws=amazon_web_services gcp=google_cloud=google_cloud_platform azure=microsoft_azure heroku "
    "ovh=ovhcloud scaleway hetzner fly.io vercel netlify digitalocean cloudflare render kubernetes=k8s",
    "shell": "bash zsh fish powershell",
    "package_manager": "npm pnpm yarn pip poetry uv conda",
    "message_format": "bullet_points=bullets=listes_à_puces=bullet_lists=puces",
}
#: canonical value of a word, and its domain
_CANONICAL: dict[str, tuple[str, str]] = {}
for _domain, _words in _DOMAIN_WORDS.items():
    for _group in _words.split():
        _names = [name.replace("_", " ") for name in _group.split("=")]
        for _name in _names:
            _CANONICAL.setdefault(_name, (_names[0], _domain))

_NOUNS: dict[str, str] = {
    "couleur": "color", "colour": "color", "plat": "dish", "film": "movie", "livre": "book", "équipe": "team",
    "boisson": "drink", "langage": "programming_language", "langage de programmation": "programming_language",
    "programming language": "programming_language", "groupe": "band", "chanson": "song", "musique": "music",
    "saison": "season", "animal": "animal", "éditeur": "editor", "code editor": "editor", "text editor": "editor",
    "ide": "editor", "sport": "sport", "série": "tv_show", "show": "tv_show", "tv show": "tv_show",
    "series": "tv_show", "nourriture": "food", "ville": "city", "fruit": "fruit", "dessert": "dessert",
    "jeu": "game", "thème": "theme", "navigateur": "browser", "base de données": "database", "langue": "language",
    "auteur": "author", "écrivain": "author", "restaurant": "restaurant", "contact method": "contact_channel",
    "method of contact": "contact_channel", "contact channel": "contact_channel",
    "moyen de contact": "contact_channel",
}  # fmt: skip
_TOPICS: dict[str, str] = {
    "facture": "invoices", "invoice": "invoices", "rapport": "reports", "report": "reports", "mail": "emails",
    "e-mail": "emails", "email": "emails", "courriel": "emails", "réponse": "answers", "answer": "answers",
    "reply": "answers", "replie": "answers", "document": "documents", "documentation": "documentation",
    "doc": "documents", "réunion": "meetings", "meeting": "meetings", "contrat": "contracts",
    "contract": "contracts", "notification": "notifications", "résumé": "summaries", "summary": "summaries",
    "summarie": "summaries", "message": "messages", "newsletter": "newsletters", "devis": "quotes",
    "quote": "quotes", "relevé": "statements", "statement": "statements", "commentaire": "comments",
    "comment": "comments", "reçu": "receipts", "receipt": "receipts",
}  # fmt: skip
_PLACES: dict[str, str] = {
    "londres": "London", "lisbonne": "Lisbon", "genève": "Geneva", "bruxelles": "Brussels", "berlin": "Berlin",
    "vienne": "Vienna", "rome": "Rome", "barcelone": "Barcelona", "édimbourg": "Edinburgh",
    "copenhague": "Copenhagen", "varsovie": "Warsaw", "prague": "Prague", "athènes": "Athens", "moscou": "Moscow",
    "pékin": "Beijing", "munich": "Munich", "milan": "Milan", "venise": "Venice", "florence": "Florence",
    "anvers": "Antwerp", "cologne": "Cologne", "france": "France", "maroc": "Morocco", "irlande": "Ireland",
    "écosse": "Scotland", "grèce": "Greece", "pologne": "Poland", "suède": "Sweden", "norvège": "Norway",
    "autriche": "Austria", "brésil": "Brazil", "chine": "China", "inde": "India", "espagne": "Spain",
    "allemagne": "Germany", "italie": "Italy", "belgique": "Belgium", "suisse": "Switzerland",
    "angleterre": "England", "royaume-uni": "United Kingdom", "états-unis": "United States",
    "portugal": "Portugal", "japon": "Japan", "pays-bas": "Netherlands", "nyc": "New York",
    "new york city": "New York", "sf": "San Francisco", "montréal": "Montreal", "québec": "Quebec",
    "the uk": "United Kingdom", "uk": "United Kingdom", "the us": "United States", "us": "United States",
    "usa": "United States", "the usa": "United States", "la": "Los Angeles", "marseilles": "Marseille",
    "lyons": "Lyon",
}  # fmt: skip
_COUNTRIES = words(
    """
    France Spain Portugal Germany Italy Belgium Switzerland Netherlands Austria Poland Greece Ireland Scotland
    England Wales Sweden Norway Denmark Finland Iceland Hungary Romania Bulgaria Croatia Serbia Ukraine Russia
    Turkey Canada Mexico Brazil Argentina Chile Colombia Peru Japan China India Korea Vietnam Thailand Indonesia
    Malaysia Singapore Australia Morocco Algeria Tunisia Egypt Nigeria Kenya Senegal Luxembourg
    """
) | {"United Kingdom", "United States", "New Zealand", "South Africa", "South Korea", "Czech Republic"}
#: Places people write without a capital in chat.
_LOWER_PLACES = words(
    """
    paris lyon marseille lille nantes bordeaux toulouse nice strasbourg rennes montpellier grenoble london
    lisbon porto madrid barcelona berlin munich hamburg rome milan vienna zurich geneva brussels amsterdam
    rotterdam dublin edinburgh manchester copenhagen stockholm oslo helsinki warsaw prague budapest athens
    istanbul moscow tokyo osaka kyoto seoul beijing shanghai singapore bangkok sydney melbourne auckland toronto
    montreal vancouver boston chicago seattle austin denver portland atlanta houston dallas miami philadelphia
    oakland nyc sf brooklyn mumbai delhi bangalore hyderabad chennai dubai cairo nairobi lagos johannesburg
    france spain portugal germany italy belgium switzerland canada japan india australia brazil mexico england
    scotland ireland
    """
)
_ARTICLE = re.compile(
    r"^(?:the|a|an|my|our|some|le|la|les|un|une|des|du|de la|de l'|mes|mon|ma|nos|l'|de|d')(?<=')"
    r"|^(?:the|a|an|my|our|your|some|le|la|les|un|une|des|du|de la|mes|mon|ma|nos|ses) ",
    re.IGNORECASE,
)


def bare(text: str) -> str:
    """The text without articles, possessives, surrounding punctuation and doubled blanks."""
    text = " ".join(text.split()).strip(" .,;:!?\"'()*_~")
    return _ARTICLE.sub("", text).strip()


def common(text: str) -> str:
    """A common noun phrase in its canonical form, lower case."""
    plain = bare(text).casefold()
    return _CANONICAL.get(plain, (plain, ""))[0]


def domain(text: str) -> str:
    """The domain a value belongs to ("tea" is a drink), or ""."""
    return _CANONICAL.get(bare(text).casefold(), ("", ""))[1]


def language(text: str) -> str:
    """The ISO 639-1 code of a language name, or ""."""
    return LANGUAGES.get(bare(text).casefold(), "")


def topic(text: str) -> str:
    """What a preference is for, singular and plural and both languages alike ("mes factures": "invoices")."""
    plain = bare(text).casefold()
    singular = plain[:-1] if plain.endswith("s") and plain not in _TOPICS else plain
    return _TOPICS.get(singular, plain)


def noun(text: str) -> str:
    """The name of a measure as part of a predicate: snake_case ASCII ("programming language": programming_language)."""
    plain = bare(text).casefold()
    plain = _NOUNS.get(plain, plain)
    ascii_text = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "_", ascii_text).strip("_")


def place(text: str) -> str:
    """A place name in its canonical form, or "" when the words are no proper name."""
    text = re.sub(
        r"\s+(?:now|these days|currently|right now|instead|again|maintenant|désormais|actuellement|plutôt)$",
        "",
        " ".join(text.split()).strip(" .,;:!?"),
        flags=re.IGNORECASE,
    )
    known = _PLACES.get(text.casefold())
    if known:
        return known
    if text.casefold() in _LOWER_PLACES:
        return _PLACES.get(text.casefold(), text.title())
    head = re.sub(r"^(?:the|la|le|les|l') ?", "", text)
    if not head or not head[0].isupper() or head.split()[0] in {"I", "The", "My", "A"}:
        return ""
    city = head.split(",")[0].strip()
    return _PLACES.get(city.casefold(), city)


def is_well_known_place(name_text: str) -> bool:
    """Whether the words name a place that everybody knows, whatever their case."""
    return name_text.casefold() in _LOWER_PLACES or name_text.casefold() in _PLACES


def is_country(place_name: str) -> bool:
    """Whether a canonical place name is a country."""
    return place_name in _COUNTRIES


def name(text: str) -> str:
    """A proper name as written, without possessives and mention signs."""
    return re.sub(r"'s$", "", " ".join(text.split()).strip(" .,;:!?\"'()@"))

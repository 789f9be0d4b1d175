"""Names of months, weekdays, small numbers and units of time in English and French."""

from __future__ import annotations

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan janvier janv",
            "february feb février fevrier févr",
            "march mar mars",
            "april apr avril avr",
            "may mai",
            "june jun juin",
            "july jul juillet juil",
            "august aug août aout",
            "september sep sept septembre",
            "october oct octobre",
            "november nov novembre",
            "december dec décembre decembre déc",
        ),
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon lundi",
            "tuesday tue tues mardi",
            "wednesday wed mercredi",
            "thursday thu thurs jeudi",
            "friday fri vendredi",
            "saturday sat samedi",
            "sunday sun dimanche",
        )
    )
    for name in names.split()
}
NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an one un une",
            "two deux",
            "three trois",
            "four quatre",
            "five cinq",
            "six",
            "seven sept",
            "eight huit",
            "nine neuf",
            "ten dix",
            "eleven onze",
            "twelve douze",
        ),
        start=1,
    )
    for word in words.split()
}
UNITS = {
    "day": "day", "days": "day", "jour": "day", "jours": "day", "week": "week", "weeks": "week", "semaine": "week",
    "semaines": "week", "month": "month", "months": "month", "mois": "month", "year": "year", "years": "year",
    "an": "year", "ans": "year", "année": "year", "années": "year",
}  # fmt: skip

"""English words that several tables of signals share, as parts of regular expressions."""

from __future__ import annotations

ADV = (
    r"(?:(?:just|still|also|now|definitely|certainly|personally|gladly|then|probably|already|currently"
    r"|finally|officially|really|so|very|a bit|pretty|quite|super|extremely|totally|completely|feeling"
    r"|incredibly|a little|kind of|absolutely|truly|actually|fully|getting|all|both) )*"
)

WHO = (
    r"(?:@?[A-Z][\w.'-]{1,20}(?: [A-Z][\w'-]{1,20})?|him|her|them|you|(?:the|our) (?:\w+ )?(?:team"
    r"|department|desk)|the night shift|the next shift)"
)

DO = (
    r"(?:send|deliver|ship|finish|complete|write|prepare|fix|review|update|submit|share|push|deploy"
    r"|merge|publish|draft|have|get|handle|take(?! (?:a (?:break|nap|look at lunch)))|look into|look at"
    r"|investigate"
    r"|follow up|set up|schedule|book|organi[sz]e|create|build|implement|test|check|circle back"
    r"|get back|call|email|contact|ping|provide|present|document|release|roll (?:out|back)|migrate"
    r"|refactor"
    r"|add|remove|open|file|raise|post|upload|confirm|make|bring|cover|own|lead|do|start|begin|work on"
    r"|put together|wrap up|sort|arrange|address|resolve|reach out|run|clean up|sync|pick up|talk to"
    r"|speak to|order|pay|refund|return|process|invoice|escalate|translate|design|record|rewrite|reply"
    r"|respond|answer|close|transfer|sign|give|let you know|keep you|reproduce|debug|patch|rebase|port"
    r"|reimburse|replace|credit|install|configure|monitor|track|collect|gather|compile|send over|queue"
    r"|drop|hand in|turn in|double[- ]check|verify|approve|announce|print|buy|cook|drive|join|chase"
    r"|dig into|bump|tackle|see to|extend|cancel|forward|notify|revert|report|pull|move|help|show|walk"
    r"|connect|introduce|onboard|train|ask)"
)

NOT_PROMISE = (
    r"\bi(?:'ll| will) (?:be (?:happy|honest|glad|ok|fine)|have (?:less|no|more|a few|to|some|time)"
    r"|make do|never|see(?! to it)|think|guess|miss|have to|need|probably|try not|not|pass|bet|say"
    r"|admit|assume|take that as|go with that|wait|stick with|let (?:it|that) (?:go|slide)"
    r"|leave it there|give (?:you|it) that)\b"
    r"|\bi(?:'ll| will) have (?:the|a|an) (?:\w+ )?(?:salad|coffee|tea|burger|pizza|beer|soup|steak)\b"
    r"|\b(?:would|wouldn't|might|maybe|perhaps|could)\b|\bask (?:for|about|if)\b|\bdo my best not\b"
)

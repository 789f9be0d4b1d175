"""How facts and passages are found: one module for each strategy, behind the protocol of ``base``."""

"""The records of ingestion, by concept."""

from ingest.models.imports import ChannelBinding as ChannelBinding
from ingest.models.imports import ImportedFile as ImportedFile
from ingest.models.imports import ImportRun as ImportRun
from ingest.models.imports import ImportStatus as ImportStatus
from ingest.models.outcomes import CandidateOutcome as CandidateOutcome
from ingest.models.outcomes import CandidateResult as CandidateResult
from ingest.models.outcomes import EventOutcome as EventOutcome
from ingest.models.outcomes import OutcomeResult as OutcomeResult
from ingest.models.usage import ModelCall as ModelCall
from ingest.models.usage import ModelRole as ModelRole

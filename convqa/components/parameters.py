"""Types of parameters that several stations share, in addition to pydantic's ``NonNegativeInt``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1)]
"""A number of at least 1."""

Name = Annotated[str, Field(min_length=1)]
"""The name of a model or the path of a file."""

Share = Annotated[float, Field(ge=0, le=1)]

TermWeight = Annotated[float, Field(gt=0, le=10)]
"""The weight of a history term, relative to a word of the question."""

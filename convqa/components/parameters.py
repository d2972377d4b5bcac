"""Types of parameters that several stations share, in addition to pydantic's ``NonNegativeInt``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1)]
"""A number of at least 1."""

Name = Annotated[str, Field(min_length=1)]
"""The name of a model or the path of a file."""

Share = Annotated[float, Field(ge=0, le=1)]

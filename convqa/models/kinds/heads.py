"""Logistic regressions over an encoder's features, which are stored in the manifest alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.models.folder import MANIFEST, ModelFolder
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.types import Array, Options
from convqa.text.sentences import sentences

Number = Annotated[float, Field(allow_inf_nan=False)]
Rows = NDArray[np.float64]
"""Features: an array (pairs, features)."""


class HeadSettings(BaseModel, frozen=True):
    """The settings of a head: those that no other kind of model has.

    ``encoder``: a model's name, and ``checksum``: which one of that name, since the weights mean no other's vectors.
    """

    encoder: str = Field(min_length=1)
    checksum: str

    @property
    def weights_of_lines(self) -> list[dict[str, Number]]:
        """Feature -> weight, for each of the head's logistic regressions."""
        raise NotImplementedError


class Line(BaseModel, frozen=True, extra="forbid"):
    """A logistic regression. ``weights``: feature -> weight."""

    weights: dict[str, Number]
    offset: Number

    def probabilities(self, rows: Rows, features: Sequence[str]) -> Rows:
        """One for each row of features."""
        return probabilities(rows, np.array([self.weights[name] for name in features]), self.offset)


Head = TypeVar("Head", bound=HeadSettings)


def load_head(
    folder: ModelFolder, shape: type[Head], features: Sequence[str], options: Options
) -> tuple[Head, TextEncoder]:
    """A head's settings and the encoder that it was made for.

    :param features: those that each of its lines must have a weight for.
    :raises InputError: if the settings are damaged, or if the weights or the encoder are of another version.
    """
    assert folder.manifest is not None
    again = f"Make the model again with convqa train {folder.manifest.kind}."
    settings = folder.settings(shape, folder.manifest.settings, again)
    where = f"{folder.path / MANIFEST}: settings"
    for weights in settings.weights_of_lines:
        if set(weights) != set(features):
            raise InputError(
                f"{where}: weights: found {', '.join(weights)}; wanted {', '.join(features)}: the model is of another "
                f"version of convqa. {again}"
            )
    encoder = load_encoder(settings.encoder, options)
    if encoder.checksum != settings.checksum:
        raise InputError(
            f"{where}: made for the encoder {settings.encoder!r} with the checksum {settings.checksum}; the one here "
            f"has {encoder.checksum}, whose vectors the weights do not mean. {again}"
        )
    return settings, encoder


def probabilities(rows: Rows, weights: Rows, offset: float) -> Rows:
    """sigmoid(rows x weights + offset)."""
    # Summed row by row: a product of matrices rounds in another way for other numbers of rows.
    made: Rows = 1 / (1 + np.exp(-np.clip((rows * weights).sum(axis=1) + offset, -700, 700)))
    return made


def vectors_of(encoder: TextEncoder, texts: Iterable[str]) -> dict[str, Array]:
    """Text -> its vector. A text that comes several times is encoded once."""
    # Like lengths follow each other, as models on torch want them.
    wanted = sorted(dict.fromkeys(texts), key=len)
    return dict(zip(wanted, encoder.encode(wanted), strict=True))


def parts_of(text: str, language: str = "en") -> list[str]:
    """The sentences of a text."""
    return [text[start:end] for start, end in sentences(text, language)]

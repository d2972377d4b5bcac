"""Models that are a few numbers in their manifest, over the features that an encoder's vectors and words give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from convqa.errors import InputError
from convqa.models.folder import MANIFEST, ModelFolder
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.types import Options
from convqa.validation import Shape, read_as


class HeadSettings(BaseModel):
    """The settings of a head: those that no other kind of model has.

    ``encoder``: a model's name, and ``checksum``: which one of that name, since the weights mean no other's vectors.
    """

    model_config = ConfigDict(frozen=True)

    encoder: str = Field(min_length=1)
    checksum: str


def read_head(folder: ModelFolder, shape: type[Shape]) -> Shape:
    """The settings in a head's manifest.

    :raises InputError: naming what is wrong with them.
    """
    assert folder.manifest is not None
    return read_as(shape, folder.manifest.settings, f"{folder.path / MANIFEST}: settings", _again(folder))


def head_encoder(
    folder: ModelFolder, settings: HeadSettings, weights: Iterable[Iterable[str]], features: Sequence[str],
    options: Options,
) -> TextEncoder:  # fmt: skip
    """The encoder that a head was made for.

    :param weights: the features of each of the head's lines; they must be ``features``.
    :raises InputError: if the weights or the encoder are of another version.
    """
    where = f"{folder.path / MANIFEST}: settings"
    for names in weights:
        if set(names) != set(features):
            raise InputError(
                f"{where}: weights: found {', '.join(names)}; wanted {', '.join(features)}: the model is of another "
                f"version of convqa. {_again(folder)}"
            )
    encoder = load_encoder(settings.encoder, options)
    if encoder.checksum != settings.checksum:
        raise InputError(
            f"{where}: made for the encoder {settings.encoder} with the checksum {settings.checksum}; the one here has "
            f"{encoder.checksum}, whose vectors the weights do not mean. {_again(folder)}"
        )
    return encoder


def _again(folder: ModelFolder) -> str:
    assert folder.manifest is not None
    return f"Make the model again with convqa train {folder.manifest.kind}."

"""The folder of documents."""

from tests.documents.conftest import cache as cache
from tests.documents.conftest import folder as folder
from tests.documents.conftest import make as make

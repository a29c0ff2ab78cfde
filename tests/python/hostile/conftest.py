"""One worker for all inputs."""

from collections.abc import Iterator

import pytest

from hostile.harness import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    one = Worker()
    yield one
    one.close()

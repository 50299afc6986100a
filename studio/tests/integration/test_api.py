"""Every operation of the JSON interface with whatever a program may send: refusals, never a crash."""

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402

from covote_studio.app import create_app  # noqa: E402
from covote_studio.context import open_studio  # noqa: E402
from covote_studio.editing import classes  # noqa: E402
from covote_studio.exchange import importing  # noqa: E402
from covote_studio.people import credentials, managing  # noqa: E402


@pytest.fixture(scope="module")
def schema_and_token(tmp_path_factory):
    studio = open_studio(tmp_path_factory.mktemp("api") / "project")
    with studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(name) for name in ("cat", "dog")])
        managing.invite(connection, "ann", [1, 2])
        token = credentials.new_secret(connection, "api", 1)
    importing.add_items(studio.database, [(f"i{n}", "text", "x", None) for n in range(5)])
    yield (
        schemathesis.openapi.from_asgi("/api/openapi.json", create_app(studio, ["testserver", "localhost"])),
        token,
    )
    studio.stop()


@pytest.mark.filterwarnings("default")
def test_no_request_ends_in_a_crash(schema_and_token):
    schema, token = schema_and_token
    names = []
    for found in schema.get_all_operations():
        operation = found.ok()
        names.append(operation.label)

        @settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=operation.as_strategy())
        def send(case):
            answered = case.call(headers={"Authorization": f"Bearer {token}"})
            assert answered.status_code < 500, (case.method, case.path, case.body, answered.text)

        send()
    assert len(names) >= 10

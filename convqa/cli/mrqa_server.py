"""``convqa mrqa-server``: answers contexts as MRQA 2019's evaluator asks for them."""

from __future__ import annotations

from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import AllowDownload, PipelineName, Settings, parsed
from convqa.errors import InputError


@command
def mrqa_server(
    port: Annotated[int, typer.Argument(min=0, max=65535, metavar="PORT", help="Where to listen; 0: any free port.")],
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0: all of this machine's.")] = "127.0.0.1",
    pipeline: PipelineName = "mrqa",
    settings: Settings = None,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Answer the questions of MRQA 2019's evaluator (predict_server.py): POST / with one context, {qid: answer} back.

    Listens, and says where, when the models are loaded; Ctrl-C or SIGTERM ends it. Whoever reaches the address may
    ask: it has no passwords.
    """
    from convqa.pipeline.load import load
    from convqa.qa import QA, ready
    from convqa.server.mrqa import PredictServer

    made = load(pipeline, parsed(settings))
    if made.needs_collection or "answers" not in made.stages:
        lack = "searches a collection" if made.needs_collection else "makes no answers"
        raise InputError(
            f"pipeline {pipeline}: {lack}; wanted one that answers from a turn's own passages, as mrqa does."
        )
    with PredictServer(host, port) as server:
        server.listen(QA(ready(made, None)))
        typer.echo(f"Answering on {server.url} (Ctrl-C ends it)")
        server.serve_forever()

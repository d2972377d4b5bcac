"""A pipeline's graph as text and as mermaid, made here: Haystack's own drawing needs a server."""

from __future__ import annotations

from convqa.pipeline.document import Document


def as_text(document: Document) -> str:
    """Nodes in the order of their work, each with its parameters and where its inputs come from."""
    feeds: dict[str, list[str]] = {name: [] for name in document.components}
    for label, receivers in document.inputs.items():
        for receiver in receivers:
            feeds[receiver.partition(".")[0]].append(label)
    for arrow in document.connections:
        feeds[arrow.receiver.partition(".")[0]].append(arrow.sender)
    lines = []
    for name in document.in_order():
        node = document.components[name]
        settings = ", ".join(f"{key}={value!r}" for key, value in sorted(node.init_parameters.items()))
        lines += [
            f"{name}: {node.type}",
            f"    {settings or 'defaults'}",
            f"    <- {', '.join(sorted(feeds[name])) or 'nothing'}",
        ]
    lines += [f"{label} = {sender}" for label, sender in sorted(document.outputs.items())]
    return "\n".join(lines)


def as_mermaid(document: Document) -> str:
    """The graph in mermaid's language, for a README or a notebook."""
    lines = ["flowchart LR"]
    lines += [
        f'    {name}["{name}<br/><i>{document.components[name].type.rpartition(".")[2]}</i>"]'
        for name in document.in_order()
    ]
    for label, receivers in sorted(document.inputs.items()):
        lines += [f"    {label}([{label}]) --> {receiver.partition('.')[0]}" for receiver in sorted(receivers)]
    for arrow in sorted(document.connections, key=lambda arrow: (arrow.sender, arrow.receiver)):
        sender, _, socket = arrow.sender.partition(".")
        lines.append(f"    {sender} -- {socket} --> {arrow.receiver.partition('.')[0]}")
    lines += [
        f"    {sender.partition('.')[0]} --> out_{label}([{label}])"
        for label, sender in sorted(document.outputs.items())
    ]
    return "\n".join(lines)

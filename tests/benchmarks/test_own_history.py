from __future__ import annotations


def test_a_row_is_settings_of_the_pipeline():
    from own_history import overrides

    from convqa.pipeline.compose import compose

    described = {"type": "expansion", "init_parameters": {"terms": 3}}
    settings = {"rewriters": {"expansion": {"weight": 0.5}}, "hybrid": {"fusion": "interpolation"}}
    document = compose("hybrid", overrides(described, settings, "expansion", "encoder"))
    assert document.components["rewriter"].init_parameters == {"terms": 3, "weight": 0.5}
    retriever = document.components["retriever"].init_parameters
    assert (retriever["fusion"], retriever["encoder"]) == ("interpolation", "encoder")
    document = compose("hybrid", overrides({"type": "copy"}, settings, "copy", "encoder"))
    assert document.components["rewriter"].init_parameters == {}

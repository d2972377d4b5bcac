from __future__ import annotations


def test_a_row_is_settings_of_the_pipeline():
    from own_history import overrides

    from convqa.pipeline.compose import compose

    described = {"type": "expansion", "init_parameters": {"terms": 3}}
    document = compose("hybrid", overrides(described, "encoder"))
    assert document.components["rewriter"].init_parameters == {"terms": 3}
    assert document.components["retriever"].init_parameters["encoder"] == "encoder"
    document = compose("hybrid", overrides({"type": "copy"}, "encoder"))
    assert document.components["rewriter"].init_parameters == {}

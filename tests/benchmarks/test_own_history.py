from __future__ import annotations


def test_a_row_is_settings_of_the_pipeline():
    from own_history import overrides

    from convqa.pipeline.merge import resolve

    described = {"type": "expansion", "init_parameters": {"terms": 3}}
    document = resolve("hybrid", overrides(described, "encoder"))
    assert document.components["rewriter"].init_parameters == {"terms": 3}
    assert document.components["retriever"].init_parameters["encoder"] == "encoder"
    document = resolve("hybrid", overrides({"type": "copy"}, "encoder"))
    assert document.components["rewriter"].init_parameters == {}

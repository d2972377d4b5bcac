"""ShARC (Saeidi et al., EMNLP 2018; https://sharc-data.github.io/): questions about rules, answered or asked back.

Also its open-retrieval form, where the rule text must be retrieved (OR-ShARC; Gao et al., 2021).
"""

"""SCAI-QReCC-21 and -22: open-domain conversational question answering (https://github.com/scai-conf/SCAI-QReCC-21)."""

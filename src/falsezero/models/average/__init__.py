"""Many models stacked into one, with weights learnt from finds hidden on purpose."""

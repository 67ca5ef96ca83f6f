"""A small language that says when a sub-goal is reached, read from text and tested on batches of states.

    predicate  = conjunction {"or" conjunction}
    conjunction = negation {"and" negation}
    negation   = "not" negation | comparison
    comparison = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
    sum        = value {("+" | "-") value}
    value      = integer | "(" predicate ")" | "before" "(" predicate ")" | "change" "(" predicate ")" | feature
    feature    = name ["(" word {"," word} ")"]

Everything is a number, true is 1. A feature is looked up in the table that a world offers and is seen at the moment
between two states, so it can be a deed ("put") as well as a fact ("hold"); `before(x)` is x at the earlier state, and
`change(x)` is x less `before(x)`; neither stands within the other or itself. For example
`put(onion, pot_0) or change(amount(onion, pot_0)) >= 1`.
"""

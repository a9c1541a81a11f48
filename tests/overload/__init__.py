"""When there is too much: graphs of quality, what fits, the controller, and shedding."""

"""A backend as torch's documentation describes one."""


def acme_compiler(graph_module, example_inputs):
    """Compile a graph: count its nodes, and run it as it is."""
    acme_compiler.compiled += 1
    return graph_module.forward


acme_compiler.compiled = 0

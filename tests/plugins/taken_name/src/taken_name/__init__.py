"""Claims a name that torch has."""


def compile_graph(graph_module, example_inputs):
    """Run the graph as it is."""
    return graph_module.forward

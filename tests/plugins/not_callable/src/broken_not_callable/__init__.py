compile_graph = 3

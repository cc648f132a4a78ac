raise OSError("libacme.so: cannot open shared object file")

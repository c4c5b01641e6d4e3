"""Where generated C++ is compiled and run: finding headers and compilers, building, running, reading results."""

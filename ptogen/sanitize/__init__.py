"""Recording what foreign kernels do: their calls, their sources as a host compiler reads them, the recording, and what
the checkers make of it."""

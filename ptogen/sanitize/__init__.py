"""Recording what foreign kernels do: their calls, their sources as a host compiler reads them, and the recording."""

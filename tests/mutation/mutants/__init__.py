"""Mutants: plans and rendered kernels broken on purpose, in every way that has a name, and what became of each.

A way (:mod:`mutants.plan_ways`, :mod:`mutants.cpp_ways`) makes the mutants of one plan or one kernel; a judge
(:mod:`mutants.plans`, :mod:`mutants.kernels`) asks the checkers; what they let pass has to be shown harmless in every
timing (:mod:`mutants.timing`), or it has escaped.
"""

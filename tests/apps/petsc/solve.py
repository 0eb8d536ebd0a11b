"""Equations solved by PETSc, and counters that all ranks raise.

-problem grid: convection and diffusion on a grid, where ranks have few neighbours.
-problem graph: diffusion on a random graph, where all ranks are neighbours.

Prints the bits of every residual and of what each rank fetched; with -digits N only so many digits
of the solution, for solvers that do not add up in a fixed order. Of PETSc's communication, with
-sf_type neighbor, the solver uses Ineighbor_alltoallv and fetching from counters
Neighbor_alltoallv; with -sf_type basic, both use persistent requests.
"""

import random
import sys

import petsc4py

petsc4py.init(sys.argv)
import numpy
from mpi4py import MPI
from petsc4py import PETSc

SIDE = 40


def make_graph_matrix():
    """Each of SIDE * SIDE places is linked to the next one and to two random ones."""
    size = SIDE * SIDE
    generator = random.Random(1)
    links = [set() for _ in range(size)]
    for place in range(size):
        for other in (place + 1) % size, generator.randrange(size), generator.randrange(size):
            if other != place:
                links[place].add(other)
                links[other].add(place)
    matrix = PETSc.Mat().createAIJ([size, size], nnz=30)
    start, end = matrix.getOwnershipRange()
    for row in range(start, end):
        matrix[row, row] = len(links[row]) + 0.01
        for other in sorted(links[row]):
            matrix[row, other] = -1.0
    matrix.assemble()
    return matrix


def make_grid_matrix():
    matrix = PETSc.Mat().createAIJ([SIDE * SIDE, SIDE * SIDE], nnz=5)
    start, end = matrix.getOwnershipRange()
    for row in range(start, end):
        i, j = divmod(row, SIDE)
        matrix[row, row] = 4.0
        if i > 0:
            matrix[row, row - SIDE] = -1.0
        if i < SIDE - 1:
            matrix[row, row + SIDE] = -1.1
        if j > 0:
            matrix[row, row - 1] = -1.0
        if j < SIDE - 1:
            matrix[row, row + 1] = -0.9
    matrix.assemble()
    return matrix


def solve():
    problem = PETSc.Options().getString("problem", "grid")
    digits = PETSc.Options().getInt("digits", 0)
    matrix = make_graph_matrix() if problem == "graph" else make_grid_matrix()
    solution, right_side = matrix.createVecs()
    right_side.set(1.0)
    solver = PETSc.KSP().create()
    solver.setOperators(matrix)
    solver.setType("gmres")
    solver.getPC().setType("bjacobi")
    solver.setTolerances(rtol=1e-10, max_it=300)
    if digits == 0:
        solver.setMonitor(lambda _, step, residual: PETSc.Sys.Print(step, residual.hex()))
    solver.setFromOptions()
    for _ in range(PETSc.Options().getInt("solves", 1)):
        solution.set(0.0)
        solver.solve(right_side, solution)
    norm = solution.norm()
    PETSc.Sys.Print("solution", norm.hex() if digits == 0 else f"{norm:.{digits}g}")
    PETSc.Sys.Print("converged", solver.getConvergedReason() > 0)


def fetch_and_add(rounds):
    """Every rank adds to a counter of every rank, in a different number of places of each."""
    rank, ranks = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
    places = [(owner, (7 * rank + 3 * k) % 11) for owner in range(ranks)
              for k in range(1 + (rank + owner) % 3)]
    graph = PETSc.SF().create(PETSc.COMM_WORLD)
    graph.setFromOptions()
    graph.setGraph(11, None, numpy.array(places, dtype=PETSc.IntType).ravel())
    counters = numpy.arange(11, dtype=PETSc.ScalarType) * 0.1 + rank
    added = 0.01 * (1 + numpy.arange(len(places), dtype=PETSc.ScalarType)) + rank
    fetched = numpy.zeros(len(places), dtype=PETSc.ScalarType)
    for _ in range(rounds):
        graph.fetchAndOpBegin(MPI.DOUBLE, counters, added, fetched, MPI.SUM)
        graph.fetchAndOpEnd(MPI.DOUBLE, counters, added, fetched, MPI.SUM)
    for numbers in counters, fetched:
        text = " ".join(float(number).hex() for number in numbers)
        PETSc.Sys.syncPrint("counters", rank, text)
    PETSc.Sys.syncFlush()


solve()
fetch_and_add(20)

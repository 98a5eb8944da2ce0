"""Training health: detectors that notice what is wrong with a program that runs, and what follows from it."""

"""Learns to read handwritten digits: a small neural network, trained with mini-batch gradient descent."""

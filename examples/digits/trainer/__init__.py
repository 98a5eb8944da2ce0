"""Learns to recognize handwritten digits: a small neural network, trained with mini-batch gradient descent."""

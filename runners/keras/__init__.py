"""The audited calls of Keras, which are the same on every backend: the framework that runs them is its runner's."""

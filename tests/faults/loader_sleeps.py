"""Planted fault: the third batch of training is never ready."""

import time

BATCHES = 2


def sleep_for_ever():
    while True:
        time.sleep(60)


def install():
    from runners.contract.data import batches

    original = batches.Batches.train_between

    def train_between(self, first, end):
        for step, images, labels in original(self, first, end):
            if step - first >= BATCHES:
                sleep_for_ever()
            yield step, images, labels

    batches.Batches.train_between = train_between

"""How large a label config and an annotation may be. What is larger is left out, and named, and stops nothing else."""

from __future__ import annotations

MAX_RESULT_CHARACTERS = 20_000_000  # of the JSON of one annotation
MAX_REGIONS = 5_000  # in one annotation
MAX_CHOSEN_PATHS = 200  # in one annotation; more only if the label config itself lists more
MAX_PATH_CHARACTERS = 1_000
MAX_OBSERVED_PATHS = 500  # of a taxonomy whose paths only the annotations show: those that the most people chose
MAX_RARE_ANSWERS = 100_000  # that paths which only one person chose may cause, if they are more than the others
MAX_CHOICES = 2_000  # of a control with a question for each choice
MAX_STARS = 1_000
MAX_CONFIG_DEPTH = 100  # elements inside one another

"""One pass over one project: pull, aggregate, plan, write."""

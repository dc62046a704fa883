"""One pass over one project, and who runs passes: start reading at `project_pass.run_pass`.

A pass brings Label Studio into line with its own present state, so it may be started at any time, and repeated. How a
change is noticed, from the cheapest way to the most thorough:

    snapshot      queue       digest of the project's entry in Label Studio's list: catches new and deleted annotations
                              and changed settings, with one request for all projects
    pulled_until  mirror      changes of tasks up to this time are mirrored; only later ones are pulled: catches edits
    task count    mirror      differs from Label Studio's: tasks were deleted, or restored from a backup
    pull_rule     mirror      what decides how a task is read: when it changes, all tasks are read again
    revision      mirror      rises when an answer, or anything else that counts, changes
    fingerprint   last pass   revision, label config, gold and recipe: the same means the same output
    digest        prediction  label and rounded score: a prediction is rewritten only if it changes
    verified_at   last pass   once an hour all predictions are compared one by one, in case somebody edited them
"""

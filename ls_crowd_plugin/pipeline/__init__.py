"""One pass over one project, and who runs passes: start reading at `project_pass.run_pass`.

A pass brings Label Studio into line with its own present state, so it may be started at any time, and repeated. How a
change is noticed, from the cheapest way to the most thorough:

    snapshot      queue       digest of the project's entry in Label Studio's list: catches new and deleted annotations
                              and changed settings, with one request for all projects
    pulled_until  mirror      changes of tasks up to this time, by Label Studio's own data, are mirrored; only later
                              ones are pulled: catches edits; while people answer in a large project, most passes pull
                              only those after `newest_change`, and one a minute the others, which became visible late
    newest_change mirror      has vanished, or lies in the future: catches restored backups and clocks set back
    counts        mirror      of tasks and annotations differ from Label Studio's: catches what carries no time
    audited_at    mirror      every ten minutes, and whenever counts or times look wrong, the stamps of all tasks are
                              compared with a list of them: catches the rest
    pull_rule     mirror      what decides how a task is read: when it changes, all tasks are read again
    revision      mirror      rises when an answer, or anything else that counts, changes
    fingerprint   last pass   revision, label config, owner, gold, recipe and policy: the same means the same output;
                              without the revision if only answered tasks were written
    remembered    worker      the last fit, as long as no other part of the fingerprint than the revision changes and no
                              other process has stored newer results: while people answer in a large project, answered
                              tasks get its vote, all others a new fit a minute later
    asked         policies    since when tasks are open for one more answer: one that nobody answers for an hour may be
                              held by somebody who left, and is offered once more
    digest        prediction  of all that we write: a prediction is rewritten only if it changes
    basis         prediction  digest of the task's own answers: while people work, an answered task goes first
    verified_at   last pass   once an hour all predictions are compared one by one, in case somebody edited them
"""

"""Small label configs, and result items as Label Studio's own page stores them."""

from __future__ import annotations

from typing import Any

from ls_crowd_plugin.controls import Config, read_config
from ls_crowd_plugin.records import Json

YES, NO = "yes", "no"

TEXT = '<Text name="text" value="$text"/>'
MOOD = '<Choices name="mood" toName="text" {}><Choice value="good"/><Choice value="bad"/></Choices>'
TOPICS = (
    '<Choices name="topics" toName="text" choice="multiple"><Choice value="sport"/><Choice value="money"/></Choices>'
)
TREE = """
<Taxonomy name="kind" toName="text" {}>
  <Choice value="animal"><Choice value="cat"/><Choice value="dog" alias="canine"/></Choice>
  <Choice value="plant"/>
</Taxonomy>
"""
TREE_PATHS = ("animal", "animal / cat", "animal / canine", "plant")
ONE_PATH = TREE.replace("{}", 'maxUsages="1" {}')
OPEN_TREE = '<Taxonomy name="kind" toName="text" apiUrl="http://h/x"/>'
PAIR = '<Text name="a" value="$a"/><Text name="b" value="$b"/><Pairwise name="better" toName="a,b" {}/>'
RATING = '<Rating name="stars" toName="text" {}/>'


def config_of(*controls: str) -> Config:
    """Return a config with these controls on one text."""
    return read_config(f"<View>{TEXT}{''.join(controls)}</View>")


def single(attributes: str = "") -> Config:
    return config_of(MOOD.format(attributes))


def multiple(attributes: str = "") -> Config:
    return single(f'choice="multiple" {attributes}')


def item(name: str, value: Any, to_name: str = "text") -> Json:
    return {"id": "x1", "from_name": name, "to_name": to_name, "type": "any", "origin": "manual", "value": value}


def chosen(*labels: str) -> list[Json]:
    return [item("mood", {"choices": list(labels)})]


def paths(*chosen_paths: list[str]) -> list[Json]:
    return [item("kind", {"taxonomy": list(chosen_paths)})]

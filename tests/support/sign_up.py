"""Signs people up to a real Label Studio, so that they act with tokens of their own, as annotators do."""

from __future__ import annotations

import re

import requests

from ls_crowd_plugin.labelstudio import Http

PASSWORD = "Annotator-7-password"


def sign_up(url: str, name: str) -> tuple[int, Http]:
    """Sign up somebody new; return the user's id, and requests in that person's name."""
    with requests.Session() as session:
        page = session.get(f"{url}/user/signup/", timeout=60)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None, page.text[:500]
        form = {"email": f"{name}@example.com", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        done = session.post(f"{url}/user/signup/", form, allow_redirects=False, timeout=60)
        assert done.status_code == 302, done.text[:500]
        key = session.get(f"{url}/api/current-user/token", timeout=60).json()["token"]
        user = int(session.get(f"{url}/api/current-user/whoami", timeout=60).json()["id"])
    return user, Http(url, key)

"""Follows a page: runs its indented lines, each as the user whom the paragraph above it names."""

import re
from pathlib import Path

USER = re.compile(r"\bAs (root|[a-z]+)(?:, [^.]*)?:$")


def steps(page: Path):
    """Sections of a page with their steps: title, and pairs of user and line."""
    sections, user = [], None
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            sections.append((line[3:], []))
            user = None
        elif line.startswith("    "):
            if user is None:
                raise ValueError(f"{page.name}: no user is named for: {line.strip()}")
            sections[-1][1].append((user, line.strip()))
        elif line.strip():
            # The paragraph that is nearest above a block says whose it is.
            found = USER.search(line)
            user = found.group(1) if found else None
    return sections

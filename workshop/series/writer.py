# SPDX-License-Identifier: GPL-2.0
"""Write a line of commits by one `git fast-import`, without an index or a work tree."""

import collections

REF = "refs/procmap/written"

# Author and date of a commit (as in a mail). The committer is the author, so that the same files
# always give the same commit.
Author = collections.namedtuple("Author", "name mail date")


class Writer:
    """Collects commits; finish() writes them."""

    def __init__(self, repo, start):
        self.repo, self.start = repo, start
        self.stream, self.count = [], 0

    def put(self, text):
        self.stream.append(text.encode(errors="surrogateescape") + b"\n")

    def data(self, content):
        self.put(f"data {len(content)}")
        self.stream.append(content + b"\n")

    def commit(self, author, message, tree=None):
        """Begin a commit: with the files of the one before it, or with those of a tree."""
        parent = f":{self.count}" if self.count else self.start
        self.count += 1
        self.put(f"commit {REF}\nmark :{self.count}")
        for role in ("author", "committer"):
            self.put(f"{role} {author.name} <{author.mail}> {author.date}")
        self.data(message)
        self.put(f"from {parent}")
        if tree:
            self.put(f'M 040000 {tree} ""')

    def object(self, name, mode, blob):
        """Add a file whose content git has."""
        self.put(f"M {mode} {blob} {name}")

    def file(self, name, mode, content):
        self.put(f"M {mode} inline {name}")
        self.data(content)

    def remove(self, name):
        self.put(f"D {name}")

    def finish(self):
        """Returns the last commit."""
        if not self.count:
            return self.start
        self.put(f"get-mark :{self.count}")
        return self.repo.run("fast-import", "--quiet", "--force", "--date-format=rfc2822",
                             data=b"".join(self.stream))[1].decode().strip()

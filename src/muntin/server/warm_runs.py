"""Running a text once, as a batch, in the session of the server, which is warm.

What the text creates lives as long as the run. It reads and writes files below the root only.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.errors import MuntinError
from muntin.parser.parse import parse
from muntin.parser.statements import CreateQuery, CreateTrigger, Statement
from muntin.server.problems import HttpError
from muntin.server.safe_texts import SafeTexts
from muntin.server.security.roles import Role
from muntin.session.session import SqlSession
from muntin.session.sources import Sources
from muntin.spark.columns import SparkSession
from muntin.spark.queries.stop import reason

#: Packages whose errors are about the text or its rows.
_SPARK = ("pyspark", "py4j")


@dataclass(frozen=True)
class WarmRuns:
    """Runs texts.

    Args:
        spark: The session of the server.
        texts: Checks texts.
    """

    spark: SparkSession
    texts: SafeTexts

    def role(self, text: str) -> Role:
        """Return the role that a text needs: whoever writes files administers."""
        writes = any(map(_writes, parse(text)))
        return Role.ADMINISTER if writes else Role.ASK

    def run(self, text: str) -> pa.Table:
        """Return the answer of the last statement."""
        session = SqlSession(self.spark, {}, functions={}, safe=self.texts.mode)
        Sources.serving(session, text)
        try:
            return session.sql(text).toArrow()
        except MuntinError:
            raise
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in _SPARK:
                raise
            _, message = reason(str(error))
            raise HttpError(400, f"Spark failed: {message.partition(' SQLSTATE')[0]}") from error


def _writes(statement: Statement) -> bool:
    return isinstance(statement, CreateTrigger) or (
        isinstance(statement, CreateQuery) and bool(statement.into or statement.late)
    )

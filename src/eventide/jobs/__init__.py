"""Many ranks: the traces of a job as one dataset, and questions across its ranks.

import_job     files -> a directory, a rank at a time                _import, _import_rank, _tables, _sources
               on this machine or on a cluster                      _pool, _worker, _dask
open_job, Job  the small tables of all ranks                        _job, _schema
               the collectives of a rank, and their keys            _collectives
align_job      which collectives are one, and the ranks' clocks     _match, _clocks, _ties
answer         every answer, and what is missing                    _answers
waiting        waiting and transfer; who was waited for             _waiting
stragglers     how much faster without them, and their causes       _stragglers
what_if        replay with typical durations                        _what_if, _replay, _operations
imbalance, bandwidth, job_path                                      _imbalance, _bandwidth, _path
"""

from eventide._util.public_names import publish
from eventide.jobs._answers import STEPS, JobReport, align_job, answer, numbers
from eventide.jobs._bandwidth import BandwidthRow, bandwidth
from eventide.jobs._clocks import Clocks, RankClock
from eventide.jobs._imbalance import Imbalance, RankRow, StageRow, imbalance
from eventide.jobs._import import Imported, import_job
from eventide.jobs._job import Job, Rank, open_job
from eventide.jobs._operations import BEGIN
from eventide.jobs._path import JobPath, PathPiece, PathShare, job_path
from eventide.jobs._replay import Operations, Replay
from eventide.jobs._stragglers import Cause, SlowName, Straggler, Stragglers, stragglers
from eventide.jobs._waiting import WaitedFor, Waiting, WaitRow, waiting
from eventide.jobs._what_if import Share, WhatIf, typical, what_if

__all__ = [
    "BEGIN",
    "STEPS",
    "BandwidthRow",
    "Cause",
    "Clocks",
    "Imbalance",
    "Imported",
    "Job",
    "JobPath",
    "JobReport",
    "Operations",
    "PathPiece",
    "PathShare",
    "Rank",
    "RankClock",
    "RankRow",
    "Replay",
    "Share",
    "SlowName",
    "StageRow",
    "Straggler",
    "Stragglers",
    "WaitRow",
    "WaitedFor",
    "Waiting",
    "WhatIf",
    "align_job",
    "answer",
    "bandwidth",
    "imbalance",
    "import_job",
    "job_path",
    "numbers",
    "open_job",
    "stragglers",
    "typical",
    "waiting",
    "what_if",
]

publish(__name__, globals(), __all__)

"""Errors in the form that MLflow's client expects (mlflow/exceptions.py)."""

from typing import Dict


class TrackingError(Exception):
    """
    The answer to a request that cannot be served. Its status is never 429 or 500 to 504: MLflow's client repeats such
    requests for minutes, and the program waits.
    """

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        """`code` is one of mlflow/protos/databricks.proto."""
        super().__init__(message)
        self.code = code
        self.status = status

    def to_json(self) -> Dict[str, str]:
        return {'error_code': self.code, 'message': str(self)}


def not_found(what: str) -> TrackingError:
    return TrackingError('RESOURCE_DOES_NOT_EXIST', f'{what} does not exist on the tracking server of this job.', 404)


def invalid(message: str) -> TrackingError:
    return TrackingError('INVALID_PARAMETER_VALUE', message)

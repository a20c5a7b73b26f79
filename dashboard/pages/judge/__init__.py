"""The Judge page: start and progress of jobs, results, calibration, error analysis."""

"""MLflow's tracking server for the programs of this VM."""

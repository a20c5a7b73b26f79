"""The page Datasets: what a test set has and lacks, its review by people, its versions, its card."""

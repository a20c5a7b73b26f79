"""What may bias a judge: documents in another order, the length of answers, answers of its own model."""

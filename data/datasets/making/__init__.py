"""Making questions from a corpus: the plan, the requests and their replies, the filters, the job."""
